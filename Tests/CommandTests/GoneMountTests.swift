import MountSupport
import Testing

extension CommandTests {
  @Suite(
    "Volumes whose mount point is gone from here", .timeLimit(.minutes(2)),
    .enabled(if: KeyDrawer.isRoot && Programs.has("python3"), "needs root and python3"))
  struct GoneMountTests {
    /// A volume that is unlocked and mounted, `vol`; `holds` waits until a process works in a directory.
    private static let begin = """
      mkdir vol; varve mount upper vol; varve unlock vol raw 2>/dev/null
      socket() { python3 -c 'import os, sys; print(os.getxattr(sys.argv[1], "system.varve.control").decode())' $1; }
      export SOCKETS=$(socket vol)
      holds() { until test "$(readlink /proc/$1/cwd)" = "$2"; do sleep 0.01; done; }
      ends() { until ! test -e ${1-$SOCKETS}; do sleep 0.01; done; }

      """

    @Test("After umount -l a lock of all finds the daemon, and the list says that it is there") func lazy()
      throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.begin + """
          (cd vol && exec sleep 60) & holder=$!; holds $holder "$BASE/vol"; varve umount -l vol
          alone 'varve status; varve status --json | tr -d " \\n"; echo; varve lock -v; varve lock --all; varve lock --all'
          alone 'varve status'; kill $holder; ends; alone 'varve status; varve lock --all'; echo $?
          """,
        prints: """
          varve umount: vol: programs still use it, and its encrypted files stay open to them; 'varve lock --all BASE/upper' closes them
          BASE/upper on BASE/vol unlocked  gone from here: served to programs that still use it, or to another mount namespace; 'varve lock --all BASE/upper' closes its encrypted files
          [{"source":"BASE/upper","mountPoint":"BASE/vol","state":"gone","classes":{"complete":"open","complete-unless-open":"open","until-first-unlock":"open"}}]
          BASE/vol locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          BASE/vol locked (0 files dropped from memory)
          varve lock: all volumes that you have mounted were locked already
          BASE/upper on BASE/vol locked  gone from here: served to programs that still use it, or to another mount namespace
          no Varve volume is mounted
          varve lock: you have mounted no volume
          0

          """)
    }

    @Test("One that is gone from here is locked alone, by its source or its former mount point")
    func bySource()
      throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.begin + """
          cp -a upper second; mkdir more; varve mount -o keyfile=raw second more 2>/dev/null; varve lock upper; echo $?
          (cd vol && exec sleep 60) & holder=$!; holds $holder "$BASE/vol"; varve umount -l vol 2>/dev/null
          varve lock -v --all upper; varve lock vol; varve lock --json upper/; states more
          kill $holder; ends; varve lock upper; echo $?; varve umount more
          """,
        prints: """
          varve lock: upper: not on a Varve volume, but in the source of the one that is mounted on BASE/vol; name that
          1
          upper locked (0 files dropped from memory)
          varve lock: vol: was locked already
          {"path": "upper/", "closed": [], "purged": 0, "unwritten": [], "kept": [], "cached": [], "stillOpen": [], "processes": []}
          open open open 
          varve lock: upper: not on a Varve volume; 'varve status' lists the volumes
          1

          """)
    }

    @Test("So it does where another mount namespace keeps the mount, and where another mount covers it")
    func elsewhere() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.begin + """
          unshare --mount --propagation private bash -c 'cd /; exec sleep 60' & keeper=$!; holds $keeper /
          mount -t tmpfs none vol; alone 'varve lock -v'; umount vol; varve unlock vol raw 2>/dev/null
          umount vol; alone 'varve lock -v --all'; kill $keeper; ends
          """,
        prints: """
          BASE/vol locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          BASE/vol locked (0 files dropped from memory)

          """)
    }

    @Test("Daemons that do not answer, and that only their sockets lead to, are waited for at the same time")
    func silent() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.begin + """
          (cd vol && exec sleep 60) & holds $! "$BASE/vol"; varve umount -l vol 2>/dev/null
          stopped=; trap 'kill -CONT $stopped; kill $(jobs -p); for socket in $SOCKETS; do ends $socket; done' EXIT
          for name in a b c; do
            mkdir $name m$name; varve mount $name m$name; SOCKETS="$SOCKETS $(socket m$name)"
            stopped="$stopped $(grep -o '"pid":[0-9]*' m$name/.varve/status | tr -dc 0-9)"
            (cd m$name && exec sleep 60) & holds $! "$BASE/m$name"; varve umount -l m$name 2>/dev/null
          done
          kill -STOP $stopped; began=$SECONDS; alone 'varve lock >said 2>&1'; echo $((SECONDS - began < 5))
          grep "^$BASE" said; grep -c 'does not answer' said
          """,
        prints: """
          1
          BASE/vol locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          3

          """)
    }
  }
}
