import MountSupport
import Testing

extension CommandTests {
  @Suite("acl propagate, more than inherited entries") struct PropagateWholeTests {
    @Test("With --replace every item below has what is handed down and nothing else, and --undo goes back")
    func replaced() throws {
      let desk = try Desk(
        "",
        """
        mkdir -p d/s/t; touch d/f d/s/g d/s/t/h
        varve acl set -e "group:701 allow list,read,file_inherit,directory_inherit" d
        varve acl set -e "user:5 allow read" -e "group:701 allow read" d/f
        varve acl set -e "user:6 deny write" d/s

        """)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve acl check -R d | grep copied
        varve acl dump d > $BASE/before
        varve acl propagate --replace --undo $BASE/undo d; varve acl get -R d
        varve acl propagate --replace -qv d; varve acl check -R d | grep -c copied
        varve acl restore -q $BASE/undo; varve acl dump d | diff - $BASE/before && echo same
        varve acl inherit --replace d/f; varve acl get d/f
        """,
        prints: """
          d/f: copied: entry 1: the directory above hands this down, but here it is an entry of its own, which stays when the directory takes it back; 'varve acl inherit --replace' leaves what is handed down
          # file: d
          group:701 allow list,file_inherit,directory_inherit

          # file: d/f
          group:701 inherited allow read

          # file: d/s
          group:701 inherited allow list,file_inherit,directory_inherit

          # file: d/s/t
          group:701 inherited allow list,file_inherit,directory_inherit

          # file: d/s/t/h
          group:701 inherited allow read

          # file: d/s/g
          group:701 inherited allow read
          0
          same
          # file: d/f
          group:701 inherited allow read

          """)
      try desk.end()
    }

    @Test("Owner, group and mode are handed down, with a plan and a way back") func permissions() throws {
      let desk = try Desk(
        "",
        """
        mkdir -p d/s; echo > d/f; echo > d/s/run; ln -s f d/link
        chown 1001:2001 d; chmod 2770 d; chmod 644 d/f; chmod 4755 d/s/run

        """)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        program=$(type varve | sed -n "s/.*'\\(.*\\)'.*/\\1/p")
        shown() { find d -printf '%p %U:%G %m\\n' | sed 's/ 777$//' | LC_ALL=C sort; }
        shown > $BASE/before
        varve acl propagate -n --group --mode d
        varve acl propagate --owner --group --mode --undo $BASE/undo d; echo $?; shown
        varve acl propagate --owner --group --mode -qv d
        varve acl restore -q $BASE/undo; shown | diff $BASE/before -; chmod 4755 d/s/run
        varve acl propagate --mode --replace d; echo $?
        varve acl propagate --mode d/f; echo $?
        chmod 755 d; setpriv --reuid 1002 --regid 2009 --clear-groups $program acl propagate --mode d; echo $?
        """,
        prints: """
          d/f: owner 0:0 -> 0:2001, mode 0644 -> 0660
          d/s: owner 0:0 -> 0:2001, mode 0755 -> 2770
          d/s/run: owner 0:0 -> 0:2001, mode 4755 -> 0770
          3 of 3 items would change
          varve acl propagate: as things stand now; earlier steps of the same run are not taken into account
          0
          d 1001:2001 2770
          d/f 1001:2001 660
          d/link 0:0
          d/s 1001:2001 2770
          d/s/run 1001:2001 770
          varve acl restore: BASE/mount/d/s/run: its set-id bits stay off, as its content may have changed; if it can be trusted: varve chmod 4755 BASE/mount/d/s/run
          5c5
          < d/s/run 0:0 4755
          ---
          > d/s/run 0:0 755
          varve acl propagate: --replace is about lists, which --owner, --group and --mode leave alone
          2
          varve acl propagate: d/f: not a directory: there is nothing below it
          1
          varve acl propagate: d/s/run: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else
          varve acl propagate: d/s: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else
          1

          """)
      try desk.end()
    }
  }
}
