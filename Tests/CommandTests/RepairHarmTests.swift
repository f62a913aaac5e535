import Foundation
import MountSupport
import Testing

extension CommandTests {
  /// What a check or a repair could take away from a volume that is sound, or was only interrupted.
  @Suite("Repairs take nothing away", .timeLimit(.minutes(6))) struct RepairHarmTests {
    /// Ends the daemon of `vol` as a power cut would.
    private static let killed = """
      killed() {
        local daemon=$(varve status --json vol | sed -n 's/.*"pid": \\([0-9]*\\),/\\1/p'); kill -9 $daemon
        while kill -0 $daemon 2>/dev/null; do sleep 0.01; done; varve umount vol
      }
      """

    /// A file of a lower with two names, one of which is brought up and removed: the index alone leads to the copy.
    private static let lonely = """
      mkdir vol low; echo plain >low/a; ln low/a low/b
      \(killed)
      entry() { find upper/.varve/index -type f -links 1; }

      """

    @Test("A repair of a sound volume leaves what only the index leads to, and it keeps mode and count")
    func index() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.lonely + """
          varve mount -o lower=low upper vol; exec 3<vol/a; rm vol/a; chmod 600 /proc/self/fd/3; exec 3<&-
          stat -c '%a %h' vol/b; varve umount vol; varve check upper; varve check --repair -y upper; echo $?
          varve mount -o lower=low upper vol; stat -c '%a %h' vol/b; varve umount vol
          """,
        prints: """
          600 1
          0
          600 1

          """)
    }

    @Test("fsck looks at an encrypted file that only the index leads to, and keeps its doubt until then")
    func encryptedInIndex() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        Self.lonely + """
          varve mount -o lower=low,keyfile=raw upper vol 2>/dev/null; varve protect -q complete vol/a; rm vol/a; echo more >>vol/b
          killed
          printf x | dd of=$(entry) bs=1 seek=600 conv=notrunc status=none
          varve fsck --keyfile raw upper | sed 's,index/.*: h,index/ENTRY: h,'
          varve fsck --repair --keyfile raw upper | sed 's,index/.*: \\([dh]\\),index/ENTRY: \\1,'; varve fsck --keyfile raw upper; echo $?
          varve mount -o lower=low,keyfile=raw upper vol; cat vol/b; varve umount vol
          """,
        prints: """
          varve fsck: 'varve fsck --repair --keyfile' mends 1 of these
          varve fsck: the writing of 1 file did not end, as far as is known, as after a crash or where the session log was lost; 'varve fsck --repair --keyfile' settles it
          BASE/upper/.varve/index/ENTRY: header: the copy of the header is damaged; the header is whole
          BASE/upper/.varve/index/ENTRY: doubt: its writing did not end, as far as is known; what was not synced is as it was before
          BASE/upper/.varve/index/ENTRY: header: the copy of the header is damaged; the header is whole; repaired
          0
          plain
          more

          """)
    }

    @Test("fsck leaves a file whose class is being changed as it is, and it tells nothing of its directory")
    func halfReplaced() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol; varve mount -o keyfile=raw upper vol 2>/dev/null; mkdir vol/d
        \(Self.killed)
        class() { getfattr --only-values -n system.varve.class $1 2>/dev/null || printf none; echo " $1"; }
        half() {
          for try in $(seq 20); do
            varve protect -q $1 vol/d/big 2>/dev/null & until ls upper/.varve/work/r-* >/dev/null 2>&1 || ! kill -0 $! 2>/dev/null; do :; done
            # The name comes before the record says that bytes are written over, and that may take a disk a while.
            sleep 0.0$((try % 10)); killed; wait
            varve check upper 2>/dev/null | grep -q ': interrupted: ' && return
            varve mount -o keyfile=raw upper vol; varve protect -q $2 vol/d/big
          done
          echo never
        }
        head -c 300M /dev/zero >vol/d/big; sync vol/d/big; sum=$(cksum <vol/d/big)
        half complete none
        for keyfile in "" "--keyfile raw"; do varve fsck $keyfile upper | sed 's/r-.*: /FILE: /'; varve fsck -q --repair $keyfile upper; echo $?; done
        varve mount -o keyfile=raw upper vol; class vol/d; class vol/d/big; test "$sum" = "$(cksum <vol/d/big)" && echo same
        half none complete; varve fsck --keyfile raw upper | sed 's/r-.*: /FILE: /'; varve fsck -q --repair --keyfile raw upper; echo $?
        varve mount -o keyfile=raw upper vol; class vol/d; class vol/d/big; test "$sum" = "$(cksum <vol/d/big)" && echo same; varve umount vol
        """,
        prints: """
          BASE/upper/.varve/work/FILE: a change of class that a crash interrupted; the next mount continues it
          0
          BASE/upper/.varve/work/FILE: a change of class that a crash interrupted; the next mount continues it
          0
          varved: replaced the content of 1 file, which a crash interrupted
          none vol/d
          complete vol/d/big
          same
          BASE/upper/.varve/work/FILE: a change of class that a crash interrupted; the next mount continues it
          0
          varved: replaced the content of 1 file, which a crash interrupted
          none vol/d
          none vol/d/big
          same

          """)
    }

    @Test(
      "fsck gives back the capability and the set-id bits of what it mends",
      .enabled(if: KeyDrawer.isRoot, "needs root"))
    func capability() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol; varve mount -o keyfile=raw upper vol 2>/dev/null; echo text >vol/tool; : >vol/plain; varve protect -q complete vol/tool; echo >vol/plain; chmod 4755 vol/tool
        setfattr -n security.capability -v 0x0100000200200000000000000000000000000000 vol/tool; varve umount vol
        printf x | dd of=upper/tool bs=1 seek=600 conv=notrunc status=none
        setfattr -n security.capability -v 0x0100000200200000000000000000000000000000 upper/tool; touch -d 2001-02-03 upper/tool
        varve fsck --repair --keyfile raw upper; echo $?; getfattr -e hex --only-values -n security.capability upper/tool | wc -c
        stat -c '%a %y' upper/tool | cut -c1-15
        """,
        prints: """
          BASE/upper/tool: header: the copy of the header is damaged; the header is whole; repaired
          0
          20
          4755 2001-02-03

          """)
    }

    @Test("A file with bytes at the far end of what a file can have is verified like any other")
    func farEnd() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      // Few file systems take so long a file.
      let memory = "/dev/shm/varve-far-\(UUID().uuidString)"
      defer { try? FileManager.default.removeItem(atPath: memory) }
      try drawer.expect(
        """
        mkdir vol; cp -a upper \(memory); varve mount -o keyfile=raw \(memory) vol 2>/dev/null; : >vol/f; varve protect -q complete vol/f
        python3 -c 'import os; os.pwrite(os.open("vol/f", os.O_WRONLY), b"x", 19 * 10**16)'; varve verify vol/f; echo $?; varve umount vol
        """,
        prints: """
          1 encrypted file, 1 block: no damage
          0

          """)
    }
  }
}
