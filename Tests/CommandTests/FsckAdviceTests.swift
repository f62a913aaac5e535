import MountSupport
import Testing

extension CommandTests {
  @Suite("What fsck advises", .timeLimit(.minutes(2))) struct FsckAdviceTests {
    /// A volume that is not mounted, with two encrypted files in `upper/d`, and its export.
    private static let volume = """
      mkdir vol; varve mount upper vol; varve unlock vol raw 2>/dev/null; mkdir vol/d; varve protect -q complete vol/d
      echo one >vol/d/one; echo two >vol/d/two; varve key export vol out; varve umount vol

      """

    @Test("Without .varve fsck says how that comes back, and inside a volume what to name") func noVolume()
      throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.volume + """
          varve fsck upper/d; echo $?; varve fsck upper/d/one
          rm -rf upper/.varve; varve fsck --keyfile raw upper; echo $?
          # As that says.
          varve mount upper vol; varve unlock --keybag out vol raw 2>/dev/null; varve umount vol
          varve fsck --repair --keyfile raw upper; echo $?
          """,
        prints: """
          varve fsck: upper/d: is inside a volume; name its upper directory, 'BASE/upper'
          2
          varve fsck: upper/d/one: is inside a volume; name its upper directory, 'BASE/upper'
          varve fsck: upper: has no .varve, so it is not the upper directory of a volume; where that was lost, mount it, give an export of its keybag to 'varve unlock --keybag', and unmount it before this
          2
          BASE/upper/d/one: doubt: its writing did not end, as far as is known; what was not synced is as it was before
          BASE/upper/d/two: doubt: its writing did not end, as far as is known; what was not synced is as it was before
          0

          """)
    }

    @Test(
      "That the session log is lost is told without a keyfile as well, and that files are in doubt until a repair"
    )
    func lostSessions() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.volume + """
          rm upper/.varve/sessions; varve fsck upper; echo $?; varve fsck -q --repair upper; echo $?; varve fsck -q --keyfile raw upper; echo $?
          varve mount -o keyfile=raw upper vol 2>/dev/null; varve umount vol; varve fsck upper; varve fsck --keyfile raw upper; echo $?
          varve fsck --repair --keyfile raw upper; varve fsck --keyfile raw upper; echo $?
          """,
        prints: """
          \(Self.lost)
          varve fsck: 'varve fsck --repair --keyfile' mends 1 of these
          1
          \(Self.lost)
          1
          \(Self.lost)
          1
          varve fsck: the writing of 2 files did not end, as far as is known, as after a crash or where the session log was lost; 'varve fsck --repair --keyfile' settles them
          0
          BASE/upper/d/one: doubt: its writing did not end, as far as is known; what was not synced is as it was before
          BASE/upper/d/two: doubt: its writing did not end, as far as is known; what was not synced is as it was before
          0

          """)
    }

    private static let lost =
      "BASE/upper/.varve/sessions: sessions: the session log is missing or damaged, so every file counts as one that was being written at a crash"

    @Test("What a mount refuses in .varve for its type, fsck refuses as well") func types() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.volume + """
          for name in keybag sessions work volume; do
            mv upper/.varve/$name aside; ln -s ../aside upper/.varve/$name
            varve fsck upper; varve fsck --repair --keyfile raw upper; echo $?; rm upper/.varve/$name; mv aside upper/.varve/$name
          done
          mv upper/.varve/keybag aside; mkdir upper/.varve/keybag; varve fsck upper
          rmdir upper/.varve/keybag; varve fsck --repair --keyfile raw upper; echo $?; cmp aside upper/.varve/keybag
          """,
        prints: """
          \(["keybag", "sessions", "work", "volume"].map(Self.linked).joined())varve fsck: upper: '.varve/keybag' is a directory, not a regular file; put back what was there, or move it away
          BASE/upper/.varve/keybag: keybag: the keybag and its copy are not alike; repaired
          0

          """)
    }

    private static func linked(_ name: String) -> String {
      let sentence =
        "varve fsck: upper: '.varve/\(name)' is a symbolic link, not a \(name == "work" ? "directory" : "regular file"); "
        + "put back what was there, or move it away\n"
      return sentence + sentence + "2\n"
    }

    @Test("Findings that a repair mends name it once, and those that none mends do not") func repair() throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.volume + """
          setfattr -x trusted.varve.m upper/d/one; setfattr -x trusted.varve.m upper/d/two
          varve fsck upper >out; wc -l <out; varve fsck -q upper 2>&1 >out; varve fsck --json upper 2>&1 >out; grep -c stays out
          chmod u+w upper/.varve/keybag; printf x >upper/.varve/keybag; varve fsck upper >out
          varve fsck --keyfile raw upper >out; varve fsck --repair --keyfile raw upper >out
          printf x | dd of=upper/d/one bs=1 seek=5000 conv=notrunc status=none; varve fsck --keyfile raw upper; echo $?
          """,
        prints: """
          varve fsck: 'varve fsck --repair' mends 2 of these
          2
          2
          varve fsck: 'varve fsck --repair --keyfile' mends 3 of these
          varve fsck: 'varve fsck --repair --keyfile' mends 3 of these
          BASE/upper/d/one: content: bytes 0-4095: damaged
          1

          """)
    }

    @Test("An empty directory that lost its class is named where the one around it has a class") func empty()
      throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.volume + """
          varve mount -o keyfile=raw upper vol; mkdir -p vol/d/bare/inner vol/d/none vol/other/bare
          varve protect -q none vol/d/none; varve umount vol
          cp -r upper copy; chmod 700 copy/.varve; : >copy/d/bare/empty; setfattr -x trusted.varve.m upper/d/bare
          varve fsck upper; echo $?; varve fsck -q upper; varve fsck --repair --keyfile raw copy | grep class:
          varve fsck copy; echo $?; varve mount -o keyfile=raw copy vol; varve protect -q complete vol/d/bare vol/d/none vol/d/bare/inner
          varve umount vol; varve fsck copy; echo $?
          """,
        prints: """
          BASE/upper/d/bare: class: has none, and the directory that it is in is complete: new files are not encrypted; 'varve protect' gives it one
          BASE/upper/d/none: class: has none, and the directory that it is in is complete: new files are not encrypted; 'varve protect' gives it one
          0
          BASE/copy/d: class: all its files are complete, and new ones would not be encrypted; repaired
          BASE/copy/d/bare: class: has none, and the directory that it is in is complete: new files are not encrypted; 'varve protect' gives it one
          BASE/copy/d/none: class: has none, and the directory that it is in is complete: new files are not encrypted; 'varve protect' gives it one
          BASE/copy/d/bare: class: has none, and the directory that it is in is complete: new files are not encrypted; 'varve protect' gives it one
          BASE/copy/d/none: class: has none, and the directory that it is in is complete: new files are not encrypted; 'varve protect' gives it one
          0
          0

          """)
    }
  }
}
