// Encrypted files in lowers, seen through the command line.

import Testing

extension CommandTests {
  @Suite("Encrypted files in lowers", .timeLimit(.minutes(2))) struct EncryptedLowerTests {
    /// `low` is a volume with the same keybag as `upper`, copied while `d/short` was being written; the upper's log of
    /// sessions goes from before that to after it.
    private static let layers = """
      mkdir vol l; varve mount upper vol; varve unlock vol raw 2>/dev/null; mkdir vol/d
      setfattr -n system.varve.class -v complete vol/d; echo text >vol/d/short; echo other >vol/d/other; varve umount vol
      cp -a upper former; varve mount former l; varve unlock l raw
      exec 3>>l/d/short; echo more >&3; cp -a former low; exec 3>&-; varve umount l
      varve mount upper vol; varve unlock vol raw; echo again >>vol/d/other; varve umount vol; rm upper/d/short
      over() { varve mount -o lower=low upper vol; varve unlock vol raw; }

      """

    @Test("They are read and copied up with the upper's keys, and copied up without any") func copiedUp()
      throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        EncryptedLowerTests.layers + """
          over; cat vol/d/short; varve lock vol; chmod 600 vol/d/short; cmp upper/d/short low/d/short; cat vol/d/short 2>&1
          varve unlock vol raw; cat vol/d/short; echo end >>vol/d/short; cat vol/d/short; varve umount vol; grep -c end upper/d/short
          """,
        prints: """
          text
          more
          cat: vol/d/short: Required key not available
          text
          more
          text
          more
          end
          0

          """)
    }

    @Test("One that is in use cannot be changed, and nothing is brought up for it") func inUse() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        EncryptedLowerTests.layers + """
          mkdir low/e
          rm -rf upper/d; over; exec 3<vol/d/short
          mv vol/d/short vol/d/new 2>&1 | grep -o busy; ln vol/d/short vol/e/new 2>&1 | grep -o busy; chmod 600 vol/d/short 2>&1 | grep -o busy
          ls -A upper | grep -v varve; exec 3<&-; mv vol/d/short vol/d/new && cat vol/d/new; varve umount vol
          """,
        prints: """
          busy
          busy
          busy
          text
          more

          """)
    }

    /// The record of the size that is whole counts, as after a crash: the one before the append, or the one after it.
    @Test("What the upper's log says of sessions is not about those of a lower") func tornSlot() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        EncryptedLowerTests.layers + """
          for at in 1024 1536; do
            byte=$(od -An -tu1 -j$at -N1 low/d/short); cp low/d/short whole
            printf "\\\\x$(printf %x $((byte ^ 1)))" | dd of=low/d/short bs=1 seek=$at conv=notrunc status=none
            over; cat vol/d/short 2>&1; varve umount vol; cat whole >low/d/short
          done
          """,
        prints: """
          text
          text
          more

          """)
    }
  }
}
