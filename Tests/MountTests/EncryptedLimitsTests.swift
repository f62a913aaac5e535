import Glibc
import LinuxFiles
import MountSupport
import Testing

// Memory and times of volumes with keys.

extension MountTests {
  @Suite("Limits of volumes with keys", .timeLimit(.minutes(20))) struct EncryptedLimitsTests {
    private func milliseconds(_ work: () throws -> Void) rethrows -> Double {
      let began = ContinuousClock.now
      try work()
      let took = (ContinuousClock.now - began).components
      return Double(took.attoseconds) / 1e15 + Double(took.seconds) * 1000
    }

    private func varve(_ words: String...) throws {
      let ran = try Program.run(Program.built("varve"), words)
      try #require(ran.exit == 0, "\(words): \(ran.output)")
    }

    @Test("An unlock takes 100 ms at most beside scrypt, and the daemon 20 MB before and 30 MB after it")
    func unlock() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try volume.addKeys()
      try volume.protect()
      try volume.unmount()
      try volume.mount()
      let daemon = try LimitsTests.status(volume.path, "pid")
      let before = try LimitsTests.residentMegabytes(daemon)
      var times: [Double] = []
      for _ in 0..<9 {
        times.append(try milliseconds { try varve("unlock", volume.path, volume.base + "/key") })
        try varve("lock", volume.path)
      }
      try varve("unlock", volume.path, volume.base + "/key")
      let after = try LimitsTests.residentMegabytes(daemon)
      print("unlock: \(times.sorted()[4]) ms (median of 9); resident: \(before) MB before, \(after) MB after")
      #expect(before <= 20 && after <= 30)
      #expect(times.sorted()[4] <= 100)
      try volume.unmount()
    }

    /// With `LONG=1` 1 GiB.
    @Test(
      "Unlock and lock of an idle volume take 100 ms, and a lock with 1,000 files in memory 3 s; no page of them stays",
      .enabled(if: EncryptedStage.hasPython, "needs python3"))
    func lock() throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      let isLarge = EncryptedStage.isLong && Machine.freeMemory > 4 << 30
      try stage.run("durations", "1000", String(isLarge ? 1 << 20 : 64 << 10))
    }

    @Test(
      "An encrypted file that was written and closed takes less than 700 bytes of the daemon, once others follow it"
    )
    func written() throws {
      let base = try TemporaryDirectory.make()
      defer {
        umount2(base + "/mount", CInt(MNT_DETACH))
        umount2(base, CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      try #require(try Program.shell("mount -t tmpfs -o size=1g,mode=755 written '\(base)'").exit == 0)
      let volume = try MountedVolume("cache=exclusive", base: base)
      try volume.addKeys()
      try volume.protect()
      let daemon = try LimitsTests.status(volume.path, "pid")
      // The kernel forgets no file that is watched.
      let watching = inotify_init1(0)
      defer { close(watching) }
      func write(_ files: Range<Int>) throws {
        for file in files {
          let path = "\(volume.path)/f\(file)"
          let opened = open(path, O_WRONLY | O_CREAT, 0o644)
          defer { close(opened) }
          try #require(opened >= 0 && Glibc.write(opened, "text", 4) == 4)
          try #require(inotify_add_watch(watching, path, UInt32(IN_DELETE_SELF)) >= 0)
        }
      }
      // First as many as rest in memory with their keys, and as many of which the last change is remembered for a while.
      var count = 17_000
      try write(0..<count)
      let more = EncryptedStage.isLong ? 100_000 : 10_000
      var least = Double.infinity
      // Beside other work a thread more, with a heap of its own, may come meanwhile.
      for _ in 0..<3 where least >= 700 {
        let before = try LimitsTests.residentMegabytes(daemon)
        try write(count..<count + more)
        let after = try LimitsTests.residentMegabytes(daemon)
        count += more
        least = min(least, (after - before) * 1_048_576 / Double(more))
        print("encrypted files: \(before) MB, \(after) MB with \(count) of them: \(least) bytes each")
      }
      #expect(least < 700)
      #expect(try LimitsTests.status(volume.path, "nodes") >= count)
      try volume.unmount()
    }

    @Test(
      "A million encrypted files with content looked up: below 300 MB, and their state is told in time",
      .enabled(if: EncryptedStage.isLong && Machine.freeMemory > 12 << 30, "LONG=1 and 12 GB of free memory"))
    func million() throws {
      let base = try TemporaryDirectory.make()
      defer {
        umount2(base + "/mount", CInt(MNT_DETACH))
        umount2(base, CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      try #require(
        try Program.shell("mount -t tmpfs -o size=10g,nr_inodes=0,mode=755 million '\(base)'").exit == 0)
      let volume = try MountedVolume("cache=exclusive", base: base)
      try volume.addKeys()
      try volume.protect()
      // Each takes two pages.
      try atOnce(2) { LimitsTests.makeItems(below: volume.path, part: $0, holding: "text") }
      let told = try milliseconds { _ = try LimitsTests.status(volume.path, "nodes") }
      print("state of them: \(told) ms")
      // The tools wait two seconds.
      #expect(told <= 1_500)
      try volume.unmount()
      try volume.mount(more: volume.keyOption)
      var rounds = 0
      repeat {
        try atOnce(2) { LimitsTests.lookUp(below: volume.path, part: $0) }
        rounds += 1
      } while try LimitsTests.status(volume.path, "nodes") < 1_000_000 && rounds < 3
      let nodes = try LimitsTests.status(volume.path, "nodes")
      let memory = try LimitsTests.residentMegabytes(try LimitsTests.status(volume.path, "pid"))
      print("\(nodes) encrypted nodes looked up: \(memory) MB resident")
      #expect(nodes >= 1_000_000)
      #expect(memory < 300)
      try volume.unmount()
    }
  }
}
