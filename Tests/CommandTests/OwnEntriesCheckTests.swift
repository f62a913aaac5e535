import MountSupport
import Testing

extension CommandTests {
  /// What `varve check` says of the entries of `.varve` themselves.
  @Suite("check of the bookkeeping's entries") struct OwnEntriesCheckTests {
    /// An unmounted volume over lowers whose `.varve`, `$V`, has a workshop, an index with somebody's file, and whiteouts.
    private func unmounted() throws -> Desk {
      let desk = try Desk.layered(
        "echo x > a; ln a b; chown 7001 a; echo y > c",
        "echo more >> a; rm c; touch own; varve chflags hidden own")
      try desk.volume.unmount()
      return desk
    }

    @Test("Entries of other types and of other users are named, whose content is not asked") func named()
      throws
    {
      let desk = try unmounted()
      defer { desk.volume.remove() }
      try desk.expect(
        """
        V=$BASE/upper/.varve; check() { varve check "$@" --lower $BASE/one:$BASE/two $BASE/upper; echo $?; }
        check; test "$(stat -c %u $V/index/*)" = 7001
        chown 7001 $V/volume; mkdir $V/later $V/trash; chown 7002 $V/later; chown 7003 $V/trash; check
        check -y --repair; check; stat -c %u $V/volume $V/later $V/trash $V/index/* | tr '\\n' ' ' | sed 's/ $//'; echo
        ln -s volume $V/damaged; rmdir $V/trash; mkfifo $V/trash; check; check -y --repair | grep -c type
        rm $V/damaged $V/trash; check; mv $V/work $BASE/away; touch $V/work; check --json 2>/dev/null | grep -o '"kind": "[a-z]*"'
        rm $V/work; varve mount -o lower=$BASE/one:$BASE/two $BASE/upper $BASE/mount; chown 7001 $V/volume; check
        chown 0 $V/volume; check
        """,
        prints: """
          0
          BASE/upper/.varve/later: owner: belongs to the user 7002, not to the one whose volume this is
          BASE/upper/.varve/trash: owner: belongs to the user 7003, not to the one whose volume this is
          BASE/upper/.varve/volume: owner: belongs to the user 7001, not to the one whose volume this is
          1
          BASE/upper/.varve/later: owner: belongs to the user 7002, not to the one whose volume this is; repaired
          BASE/upper/.varve/trash: owner: belongs to the user 7003, not to the one whose volume this is; repaired
          BASE/upper/.varve/volume: owner: belongs to the user 7001, not to the one whose volume this is; repaired
          0
          0
          0 0 0 7001
          BASE/upper/.varve/damaged: type: is not a regular file; move it away, so that a new one can be made
          BASE/upper/.varve/trash: type: is not a directory; move it away, so that a new one can be made
          1
          2
          0
          "kind": "type"
          BASE/upper/.varve/volume: owner: belongs to the user 7001, not to the one whose volume this is
          1
          0

          """)
    }
  }
}
