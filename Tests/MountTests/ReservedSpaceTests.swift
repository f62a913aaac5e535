// What users write through the mount counts as theirs: neither the blocks kept for root nor a quota is exceeded.

import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Space that is kept for root", .timeLimit(.minutes(3))) struct ReservedSpaceTests {
    @Test("No thread of the daemon may exceed quotas and reserves (CAP_SYS_RESOURCE)")
    func capability() throws {
      let base = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(base) }
      let volume = try MountedVolume("audit=\(base)/log,threads=4")
      defer { volume.remove() }
      _ = try volume.file("f", 1001, 2001, 0o644)
      let daemon = try #require(volume.daemon)
      let threads = try Calls.list("/proc/\(daemon)/task").get()
      #expect(threads.count > 4)
      var looked = 0
      for thread in threads {
        // One that helped the others may have ended.
        guard let status = try? Text.read("/proc/\(daemon)/task/\(thread)/status") else { continue }
        looked += 1
        for set in ["CapEff", "CapPrm"] {
          let match = try #require(status.firstMatch(of: try Regex("\(set):\\s*([0-9a-f]+)")))
          let mask = try #require(UInt64(match[1].substring ?? "", radix: 16))
          #expect(mask & 1 << 24 == 0, "\(set) of \(status.prefix { $0 != "\n" })")
        }
      }
      #expect(looked > 4)
    }

    /// A disk of which half is kept for root; `left` is what users may still take.
    private static let halfReserved = """
      mkdir disk mount; truncate -s 64M image
      mkfs.ext4 -q -m 50 -O ^has_journal image && mount -o loop image disk && rm -rf disk/lost+found
      mkdir disk/upper && chmod 777 disk/upper
      user() { setpriv --reuid 1002 --regid 1002 --clear-groups "$@"; }
      left() { sync -f disk; stat -f -c %a disk; }
      """

    @Test(
      "A user fills a disk through the mount no further than without it, root's own files further",
      .enabled(if: Machine.knows(fileSystem: "ext4") && Programs.has("mkfs.ext4"), "needs ext4 and its mkfs"),
      arguments: ["", "passthrough=off"])
    func reserve(options: String) throws {
      let words = options.isEmpty ? "" : "-o \(options)"
      let varve = Program.built("varve")
      // Half of the disk is kept for root. Each way of filling ends with what is left to users.
      let script = """
        \(Self.halfReserved)
        fill() { "$@" 2> /dev/null && return 1; test "$(left)" -lt 200; }
        # What is removed is free once nothing holds it any more, neither the kernel nor the daemon.
        free() {
          rm -f "$1"
          for _ in $(seq 200); do if [ "$(left)" -gt 20000 ]; then return; fi; sleep 0.05; done
          return 1
        }
        '\(varve)' mount \(words) disk/upper mount
        echo native; fill user dd if=/dev/zero of=disk/upper/f bs=64k; test "$(stat -f -c %f disk)" -gt 5000; free disk/upper/f
        echo new; fill user dd if=/dev/zero of=mount/f bs=64k; test "$(stat -f -c %f disk)" -gt 5000; free mount/f
        echo appended; fill user dd if=/dev/zero of=mount/f bs=64k oflag=append conv=notrunc
        test "$(stat -f -c %f disk)" -gt 5000; free mount/f
        echo allocated; user touch mount/f; user fallocate -l 60M mount/f 2> /dev/null && exit 1; test "$(stat -f -c %f disk)" -gt 5000; free mount/f
        echo by root; user touch mount/f; fill dd if=/dev/zero of=mount/f bs=64k conv=notrunc
        test "$(stat -f -c %f disk)" -gt 5000; free mount/f
        echo of root; dd if=/dev/zero of=mount/f bs=64k 2> /dev/null && exit 1; sync -f disk
        test "$(stat -f -c %f disk)" -lt 2000
        '\(varve)' umount mount; umount disk
        """
      try run(script, options)
    }

    @Test(
      "A user expands files no further than a disk goes for users",
      .enabled(if: Machine.knows(fileSystem: "ext4") && Programs.has("mkfs.ext4"), "needs ext4 and its mkfs"))
    func replaced() throws {
      let varve = Program.built("varve")
      let script = """
        \(Self.halfReserved)
        form() { user setfattr -n system.varve.compression -v $1 mount/f; }
        try() { for i in $(seq 100); do said=$("$@" 2>&1) && return; case $said in *busy*) sleep 0.05;; *) return 1;; esac; done; return 1; }
        '\(varve)' mount disk/upper mount
        # 10 MB that take little.
        user sh -c 'yes "a line that is like all others" | head -c 10000000 > mount/f'; sleep 0.1
        echo compressed; try form zstd
        user dd if=/dev/zero of=mount/g bs=64k 2> /dev/null && exit 1; sync -f disk
        used=$(stat -f -c %f disk)
        echo no room; form none 2> said && exit 1; grep -q 'No space left' said
        test "$(getfattr --only-values -n system.varve.compression mount/f | cut -c1-4)" = zstd
        sync -f disk; test "$(stat -f -c %f disk)" -gt $((used - 100))
        # Room for the work file, and none for the file itself.
        echo half of it; user truncate -s -12M mount/g; free=$(left)
        form none 2> said && exit 1; grep -q 'No space left' said; test "$(left)" -gt $((free - 100))
        echo room; user truncate -s -12M mount/g; left; form none
        '\(varve)' umount mount; umount disk
        """
      try run(script, "")
    }

    private func run(_ script: String, _ options: String) throws {
      let base = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(base) }
      _ = chmod(base, 0o755)
      let result = try Program.run(
        "/usr/bin/unshare",
        ["--mount", "--propagation", "private", "/bin/bash", "-ec", script], in: base)
      #expect(result.exit == 0, "\(options): \(result.output)")
    }
  }
}
