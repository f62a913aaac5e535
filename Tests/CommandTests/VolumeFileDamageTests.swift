import MountSupport
import Testing

extension CommandTests {
  @Suite("A volume file that lost a bit", .timeLimit(.minutes(2))) struct VolumeFileDamageTests {
    /// A volume that is not mounted, with a locked file and a directory of a class.
    private static let volume = """
      mkdir vol; varve mount upper vol; varve unlock vol raw 2>/dev/null; mkdir vol/d; varve protect -q complete vol/d
      echo text >vol/d/text; echo kept >vol/locked; varve chflags uchg vol/locked; varve umount vol
      used() { rm -f vol/locked; echo secret >vol/d/new; grep -c secret upper/d/new; varve verify -R vol; varve umount vol; }

      """

    @Test("It refuses the mount, and repaired it has its flags and classes as before") func refused() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      let said = "the volume file is damaged: its checksum does not fit"
      try drawer.expect(
        Self.volume + """
          cp upper/.varve/volume kept
          # In the first two nobody would look for records; the last two would be a later version's.
          for row in 's/^compat = 1/compat = 0/' 's/^compat/bompat/' 's/^incompat = 0/incompat = 1/' 's/^ro_compat = 0/ro_compat = 4/'; do
            sed -i "$row" upper/.varve/volume; varve mount -o keyfile=raw upper vol; echo $?; varve check upper; echo $?
            varve fsck upper; echo $?; varve check --repair -y upper; echo $?; grep -E '^(ro_)?compat' upper/.varve/volume
            varve mount -o keyfile=raw upper vol; used; rm upper/d/new; cp kept upper/.varve/volume
          done
          """,
        prints: String(
          repeating: """
            varve mount: BASE/upper: \(said); 'varve check --repair' mends it
            32
            BASE/upper/.varve/volume: header: \(said)
            1
            varve fsck: upper: \(said); 'varve check --repair' mends it
            2
            BASE/upper/.varve/volume: header: \(said); repaired
            0
            ro_compat = 2
            compat = 1
            rm: cannot remove 'vol/locked': Operation not permitted
            0
            2 encrypted files, 2 blocks: no damage

            """, count: 4))
    }

    @Test("That of an earlier version has no checksum, and gets one from a mount for writing") func earlier()
      throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.volume + """
          cp upper/.varve/volume kept; sed -i /^crc/d upper/.varve/volume; cp upper/.varve/volume earlier
          varve check upper; echo $?; varve mount -o ro upper vol; varve umount vol; cmp upper/.varve/volume earlier
          varve mount -o keyfile=raw upper vol; cmp upper/.varve/volume kept; used
          # So an earlier version leaves it: the line that it does not know is behind the others.
          { sed 2d kept; sed -n 2p kept; } >upper/.varve/volume; tail -1 upper/.varve/volume | cut -c 1-6
          varve mount upper vol; varve umount vol; cmp upper/.varve/volume kept
          """,
        prints: """
          0
          rm: cannot remove 'vol/locked': Operation not permitted
          0
          2 encrypted files, 2 blocks: no damage
          crc = 

          """)
    }
  }
}
