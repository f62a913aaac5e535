import MountSupport
import Testing

extension CommandTests {
  @Suite("check of content that was half replaced") struct HalfReplacedCheckTests {
    /// A record that says "replacing" (b10) and nothing else.
    private static let record = "0xa7010004000000003e845901000000000500000000000000010000000000000000000000"

    private static let lost =
      "cannot be read: its content was being replaced, and the new content is missing or damaged"
    private static let unfinished =
      "cannot be read: its content was being replaced, and that was not finished; 'varve check' of the directory that stores "
      + "it tells more"
    private static let doubtful =
      "may be half replaced: the damaged record says that its content was being replaced, and the new content is missing or "
      + "damaged; compare it with a backup"

    /// Runs a script beside an unmounted volume that has records: `$UP` is its upper directory, `$RECORD` a record for a file.
    private func expect(
      _ items: String, _ script: String, prints: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
      let desk = try Desk("", "\(items); touch other; varve chflags hidden other")
      defer { desk.volume.remove() }
      try desk.volume.unmount()
      try desk.expect(
        "UP=$BASE/upper; RECORD=\(HalfReplacedCheckTests.record)\n" + script, prints: prints,
        sourceLocation: sourceLocation)
    }

    @Test("A file whose content was half replaced is named, and a repair does not touch it") func lost()
      throws
    {
      try expect(
        "echo text > f",
        """
        setfattr -n trusted.varve.m -v $RECORD $UP/f
        varve check $UP; echo $?; varve check --repair -y $UP > said; echo $?
        getfattr --absolute-names --only-values -n trusted.varve.m $UP/f | od -An -tx1 | tr -d ' \\n'; echo; cat $UP/f
        """,
        prints: """
          BASE/upper/f: content: \(HalfReplacedCheckTests.lost)
          1
          1
          a7010004000000003e845901000000000500000000000000010000000000000000000000
          text

          """)
    }

    @Test("Both troubles of one file are named: what its record has, and that its content was half replaced")
    func both() throws {
      // The record of one file has another checksum; beside that of the other is a list.
      try expect(
        "echo text > f; echo text > g",
        """
        setfattr -n trusted.varve.m -v ${RECORD/3e845901/3f845901} $UP/f
        setfattr -n trusted.varve.m -v $RECORD $UP/g; setfattr -n trusted.varve.acl -v 0x00 $UP/g
        varve check $UP/f $UP/g; echo $?; varve check --repair -y $UP/f $UP/g; echo $?; varve check $UP
        """,
        prints: """
          BASE/upper/f: record: the record of flags and owner is damaged: its checksum is 0x0159843f and should be 0x0159843e
          BASE/upper/f: content: \(HalfReplacedCheckTests.doubtful)
          BASE/upper/g: residue: has an access list that its record does not announce; it is ignored
          BASE/upper/g: content: \(HalfReplacedCheckTests.lost)
          1
          BASE/upper/f: record: the record of flags and owner is damaged: its checksum is 0x0159843f and should be 0x0159843e; repaired
          BASE/upper/f: content: \(HalfReplacedCheckTests.doubtful)
          BASE/upper/g: residue: has an access list that its record does not announce; it is ignored; repaired
          BASE/upper/g: content: \(HalfReplacedCheckTests.lost)
          1
          BASE/upper/g: content: \(HalfReplacedCheckTests.lost)

          """)
    }

    @Test("Through a mount, and below one, a file that cannot be finished is named once") func mounted()
      throws
    {
      // Whatever the mount may do about it, the new content is gone.
      try expect(
        "echo text > f; ln f second",
        """
        setfattr -n trusted.varve.m -v $RECORD $UP/f
        for options in rw ro; do
          varve mount -o $options $UP $BASE/mount; cat $BASE/mount/f > /dev/null 2>&1; echo $?
          varve check $BASE/mount | sed 's,/second:,/f:,'; varve check $UP | sed 's,/second:,/f:,'
          varve umount $BASE/mount
        done
        """,
        prints: """
          1
          BASE/mount/f: interrupted: \(HalfReplacedCheckTests.unfinished)
          BASE/upper/f: content: \(HalfReplacedCheckTests.lost)
          1
          BASE/mount/f: interrupted: \(HalfReplacedCheckTests.unfinished)
          BASE/upper/f: content: \(HalfReplacedCheckTests.lost)

          """)
    }
  }
}
