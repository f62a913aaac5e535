import MountSupport
import Testing

extension CommandTests {
  @Suite("check of content that was half replaced") struct HalfReplacedCheckTests {
    /// A record that says "replacing" (b10) and nothing else.
    private static let record = "0xa7010004000000003e845901000000000500000000000000010000000000000000000000"

    @Test("A file whose content was half replaced is named, and a repair does not touch it") func lost()
      throws
    {
      let desk = try Desk("", "echo text > f; touch g; varve chflags hidden g")
      defer { desk.volume.remove() }
      try desk.volume.unmount()
      try desk.expect(
        """
        UP=$BASE/upper; setfattr -n trusted.varve.m -v \(HalfReplacedCheckTests.record) $UP/f
        varve check $UP; echo $?; varve check --repair -y $UP > said; echo $?
        getfattr --absolute-names --only-values -n trusted.varve.m $UP/f | od -An -tx1 | tr -d ' \\n'; echo; cat $UP/f
        """,
        prints: """
          BASE/upper/f: content: cannot be read: its content was being replaced, and the new content is missing or damaged
          1
          1
          a7010004000000003e845901000000000500000000000000010000000000000000000000
          text

          """)
    }

    @Test("Through a mount, and below one, a file that cannot be finished is named once") func mounted()
      throws
    {
      let desk = try Desk("", "echo text > f; ln f second; touch g; varve chflags hidden g")
      defer { desk.volume.remove() }
      try desk.volume.unmount()
      // Whatever the mount may do about it, the new content is gone.
      try desk.expect(
        """
        UP=$BASE/upper; setfattr -n trusted.varve.m -v \(HalfReplacedCheckTests.record) $UP/f
        for options in rw ro; do
          varve mount -o $options $UP $BASE/mount; cat $BASE/mount/f > /dev/null 2>&1; echo $?
          varve check $BASE/mount | sed 's,/second:,/f:,'; varve check $UP | sed 's,/second:,/f:,'
          varve umount $BASE/mount
        done
        """,
        prints: """
          1
          BASE/mount/f: interrupted: cannot be read: its content was being replaced, and that was not finished; 'varve check' of the directory that stores it tells more
          BASE/upper/f: content: cannot be read: its content was being replaced, and the new content is missing or damaged
          1
          BASE/mount/f: interrupted: cannot be read: its content was being replaced, and that was not finished; 'varve check' of the directory that stores it tells more
          BASE/upper/f: content: cannot be read: its content was being replaced, and the new content is missing or damaged

          """)
    }
  }
}
