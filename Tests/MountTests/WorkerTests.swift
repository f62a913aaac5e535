import Glibc
import LinuxFiles
import MountSupport
import Synchronization
import Testing

extension MountTests {
  @Suite("Workers of a mount", .timeLimit(.minutes(3))) struct WorkerTests {
    /// Makes the kernel forget the content of one file: what others measure of it is theirs.
    private static func dropPages(of path: String) throws {
      let file = open(path, O_RDONLY)
      defer { close(file) }
      guard file >= 0, fsync(file) == 0, posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0 else {
        throw TestFailure("\(path): \(Errno.current)")
      }
    }

    @Test("Data of every length arrives as it was sent", arguments: ["", "passthrough=off"])
    func lengths(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      // Around pages, the longest request, and several of those; each written and read in one call.
      for count in [0, 1, 4095, 4096, 4097, 1 << 20, (1 << 20) + 1, 5_000_001] {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 12) }
        let path = "\(volume.path)/\(count)"
        let file = open(path, O_RDWR | O_CREAT, 0o644)
        try #require(file >= 0)
        #expect(bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, count, 0) } == count)
        close(file)
        for place in [path, "\(volume.upper)/\(count)"] {
          // The second one is what was stored; the first comes back through the daemon, for its pages are dropped.
          for place in [path, "\(volume.upper)/\(count)"] { try Self.dropPages(of: place) }
          let again = open(place, O_RDONLY)
          var found = [UInt8](repeating: 0, count: count + 1)
          #expect(found.withUnsafeMutableBytes { pread(again, $0.baseAddress, count + 1, 0) } == count)
          #expect(found.dropLast() == bytes[...], "\(count) bytes of \(place)")
          close(again)
        }
      }
    }

    @Test("Requests that hang hold up no others", arguments: ["cache=none", "cache=none,threads=1"])
    func hanging(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      _ = try volume.file("free", 0, 0, 0o644)
      // Who holds a lease is told by this signal that a request waits for the lease.
      signal(SIGIO, SIG_IGN)
      var leases: [CInt] = []
      var crowd = Crowd()
      let opened = Atomic<Int>(0)
      for number in 0..<12 {
        // Made behind the mount: the daemon must not have it open, not even for a moment longer than we.
        let path = "\(volume.path)/leased-\(number)"
        let lease = open("\(volume.upper)/leased-\(number)", O_RDWR | O_CREAT, 0o644)
        // F_SETLEASE: the daemon's open(2) waits until the lease is given back.
        try #require(lease >= 0 && fcntl(lease, 1024, CInt(F_WRLCK)) == 0)
        leases.append(lease)
        try crowd.add {
          if Calls.open(path, O_WRONLY) == nil { opened.add(1, ordering: .relaxed) }
        }
      }
      var slowest = Duration.zero
      for _ in 0..<30 {
        usleep(10_000)
        let began = ContinuousClock.now
        #expect(Calls.status(volume.path + "/free").refusal == nil)
        slowest = max(slowest, ContinuousClock.now - began)
      }
      // It did hang all the while.
      #expect(opened.load(ordering: .relaxed) == 0)
      #expect(slowest < .seconds(2))
      for lease in leases { close(lease) }
      crowd.join()
      #expect(opened.load(ordering: .relaxed) == 12)
      try volume.unmount()
    }

    @Test("What waits behind changes of directories that hang is served") func hangingDirectories() throws {
      let base = try TemporaryDirectory.make()
      try Program.shell(
        "truncate -s 16M \(base).image; mkfs.ext4 -q \(base).image; mount -o loop \(base).image \(base)")
      defer {
        umount2(base, CInt(MNT_DETACH))
        unlink(base + ".image")
        TemporaryDirectory.remove(base)
      }
      let volume = try MountedVolume("cache=none", base: base)
      defer { umount2(volume.path, CInt(MNT_DETACH)) }
      let root = volume.path
      for number in 0..<12 { try #require(mkdir("\(root)/\(number)", 0o755) == 0) }
      let files = (0..<3).map { open("\(root)/free-\($0)", O_RDWR | O_CREAT, 0o644) }
      defer { for file in files { close(file) } }
      // Whoever changes something waits from now on.
      try #require(try Program.shell("fsfreeze -f \(base)").exit == 0)
      var isFrozen = true
      func thaw() { if isFrozen { _ = try? Program.shell("fsfreeze -u \(base)") } }
      defer { thaw() }
      var crowd = Crowd()
      let made = Atomic<Int>(0)
      let answered = Atomic<Int>(0)
      // All of them before a worker is added.
      for number in 0..<12 {
        try crowd.add {
          // In a directory of its own each, as the kernel lets nobody else into it meanwhile.
          if mkdir("\(root)/\(number)/new", 0o755) == 0 { made.add(1, ordering: .relaxed) }
        }
      }
      usleep(5_000)
      // Three, because one may share the daemon's lock with one of the directories.
      for file in files {
        try crowd.add {
          var status = stat()
          if fstat(file, &status) == 0 { answered.add(1, ordering: .relaxed) }
        }
      }
      var patience = 400
      while answered.load(ordering: .relaxed) < 3, patience > 0 {
        usleep(5_000)
        patience -= 1
      }
      #expect(answered.load(ordering: .relaxed) > 0)
      // They did hang all the while.
      #expect(made.load(ordering: .relaxed) == 0)
      thaw()
      isFrozen = false
      crowd.join()
      #expect(made.load(ordering: .relaxed) == 12 && answered.load(ordering: .relaxed) == 3)
    }

    @Test("A daemon that is killed, one that is told to end and one that is unmounted are gone")
    func ends() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      for turn in 0..<6 {
        let daemon = try #require(volume.daemon)
        let stop = Atomic(false)
        var crowd = Crowd()
        let root = volume.path
        for number in 0..<4 {
          try crowd.add {
            // Until the mount is gone.
            while Calls.write("\(root)/\(number)", "text") == nil, !stop.load(ordering: .relaxed) {
              _ = Calls.status("\(root)/\(number)")
            }
          }
        }
        usleep(20_000)
        switch turn % 3 {
        case 0: try volume.kill()
        case 1: #expect(kill(daemon, SIGTERM) == 0)
        default: umount2(volume.path, CInt(MNT_DETACH))
        }
        stop.store(true, ordering: .relaxed)
        crowd.join()
        var patience = 1_000
        while MountedVolume.isRunning(daemon), patience > 0 {
          usleep(5_000)
          patience -= 1
        }
        #expect(patience > 0, "the daemon of turn \(turn) lives on")
        try volume.mount()
      }
      try volume.unmount()
    }
  }
}
