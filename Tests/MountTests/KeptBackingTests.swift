// Files that stay with the kernel after they were closed: nobody may be let through or held up by that.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite(
    "Passthrough: kept backings", .timeLimit(.minutes(2)),
    .enabled(if: Machine.passesThrough, "this kernel passes no files through")) struct KeptBackingTests
  {
    /// How many descriptors of the daemon lead to what stood under a path of the upper directory.
    private func held(_ volume: MountedVolume, _ name: String) throws -> Int {
      let daemon = try #require(volume.daemon)
      return try Calls.list("/proc/\(daemon)/fd").get().count { number in
        var target = [CChar](repeating: 0, count: 4096)
        guard readlink("/proc/\(daemon)/fd/\(number)", &target, target.count - 1) > 0 else { return false }
        let path = String(decoding: target.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.hasPrefix("\(volume.upper)/\(name)")
      }
    }

    private func becomesTrue(in seconds: Double, _ isTrue: () throws -> Bool) throws -> Bool {
      let end = ContinuousClock.now + .seconds(seconds)
      while try !isTrue() {
        guard ContinuousClock.now < end else { return false }
        usleep(5_000)
      }
      return true
    }

    @Test("A file that was read stays for a moment and no longer, and takes no lease away")
    func moment() throws {
      let volume = try PassthroughTests.volume()
      defer { volume.remove() }
      let path = try volume.file("f", 0, 0, 0o644)
      // Whoever made it is gone.
      #expect(try becomesTrue(in: 5) { try held(volume, "f") == 0 })
      for _ in 0..<3 { #expect(Calls.read(path).refusal == nil) }
      #expect(try becomesTrue(in: 5) { try held(volume, "f") == 1 })
      signal(SIGIO, SIG_IGN)
      let native = open(volume.upper + "/f", O_RDWR)
      defer { close(native) }
      // F_SETLEASE: whoever has the file open for reading would stand against it.
      let isLeased = try becomesTrue(in: 0.3) { fcntl(native, 1024, CInt(F_WRLCK)) == 0 }
      #expect(isLeased)
      #expect(try held(volume, "f") == 1, "it was looked at too late")
      #expect(fcntl(native, 1024, CInt(F_UNLCK)) == 0)
      // Without another request.
      #expect(try becomesTrue(in: 5) { try held(volume, "f") == 0 })
    }

    @Test("A file that is removed, or replaced by another, is let go at once") func removal() throws {
      let volume = try PassthroughTests.volume()
      defer { volume.remove() }
      for removal in ["unlink", "rename"] {
        // On a busy machine half a second may pass all the same, and then anybody lets go.
        let isLetGo = try (0..<10).contains { number in
          let path = try volume.file("\(removal)-\(number)", 0, 0, 0o644)
          #expect(Calls.read(path).refusal == nil)
          guard try becomesTrue(in: 0.2, { try held(volume, "\(removal)-\(number)") == 1 }) else {
            return false
          }
          if removal == "unlink" {
            #expect(unlink(path) == 0)
          } else {
            #expect(Calls.create(volume.path + "/other") == nil && rename(volume.path + "/other", path) == 0)
          }
          return try becomesTrue(in: 0.2) { try held(volume, "\(removal)-\(number)") == 0 }
        }
        #expect(isLetGo, "\(removal)")
      }
    }

    @Test("Everybody who opens it is decided about, by what stands under the name now") func decisions()
      throws
    {
      let volume = try PassthroughTests.volume()
      defer { volume.remove() }
      let directory = try volume.directory("d", 0, 0, 0o755)
      let path = directory + "/f"
      let native = volume.upper + "/d/f"
      try #require(Calls.write(path, "first") == nil)
      func bob() -> Result<String, Errno> { TestUser.bob.run { Calls.read(path) } }
      for place in [path, native] {
        #expect(try bob().get() == "first")
        #expect(chmod(place, 0o600) == 0)
        #expect(bob().refusal == .accessDenied, "\(place)")
        #expect(try Calls.read(path).get() == "first")
        #expect(chmod(place, 0o644) == 0)
      }
      #expect(try bob().get() == "first")
      #expect(RawAttribute.set(path, "system.varve.acl", "group:everyone deny read") == nil)
      #expect(bob().refusal == .accessDenied)
      #expect(RawAttribute.set(path, "system.varve.acl", "") == nil)
      // Another file under its name, behind the mount.
      #expect(try bob().get() == "first")
      #expect(Calls.write(native + ".new", "second") == nil && rename(native + ".new", native) == 0)
      #expect(try bob().get() == "second")
      #expect(unlink(native) == 0)
      #expect(bob().refusal == .noSuchFile)
    }

    @Test("Writers, and flags that forbid the kernel the file, find nothing in their way") func others()
      throws
    {
      let volume = try PassthroughTests.volume()
      defer { volume.remove() }
      let path = try volume.file("f", 0, 0, 0o755)
      try #require(truncate(path, 0) == 0)
      for turn in 0..<3 {
        #expect(try Calls.read(path).get().count == 4 * turn)
        let writer = open(path, O_RDWR)
        let reader = open(path, O_RDONLY)
        #expect(pwrite(writer, "one ", 4, off_t(4 * turn)) == 4)
        #expect(try Calls.read(volume.upper + "/f").get().count == 4 * (turn + 1))
        close(reader)
        close(writer)
      }
      #expect(RawAttribute.set(path, "system.varve.flags", "uappnd") == nil)
      #expect(try Calls.read(path).get().count == 12)
      let appender = open(path, O_WRONLY | O_APPEND)
      #expect(write(appender, "end", 3) == 3)
      close(appender)
      #expect(Calls.open(path, O_RDWR) == .notPermitted)
      #expect(try Calls.read(path).get().count == 15)
      #expect(RawAttribute.set(path, "system.varve.flags", "") == nil)
      #expect(Calls.open(path, O_RDWR) == nil)
      // It is a program now, and run where it was written.
      #expect(Calls.write(path, "#!/bin/true\n") == nil)
      #expect(try Calls.read(path).get() == "#!/bin/true\n")
      #expect(try Program.shell("\(volume.upper)/f && \(path)").exit == 0)
    }

    @Test("Whoever has it open can do with it what readers can") func handles() throws {
      let volume = try PassthroughTests.volume()
      defer { volume.remove() }
      try Program.shell("truncate -s 1M f; echo end >> f; touch copy", in: volume.path)
      let path = volume.path + "/f"
      #expect(Calls.read(path).refusal == nil)
      for isRemoved in [false, true] {
        let file = open(path, O_RDONLY)
        let below = open(volume.upper + "/f", O_RDONLY)
        let copy = open(volume.path + "/copy", O_WRONLY)
        defer { for number in [file, below, copy] { close(number) } }
        if isRemoved { #expect(unlink(volume.upper + "/f") == 0) }
        // SEEK_DATA and SEEK_HOLE.
        for whence: CInt in [3, 4] { #expect(lseek(file, 10, whence) == lseek(below, 10, whence)) }
        #expect(fsync(file) == 0 && lseek(file, 0, SEEK_SET) == 0)
        #expect(lt_call(Int(SYS_copy_file_range), Int(file), 0, Int(copy), 0, 4096, 0) == 4096)
        var status = stat()
        #expect(fstat(file, &status) == 0 && status.st_size == 1_048_580)
        #expect(ftruncate(file, 0) < 0 && errno == EINVAL)
        #expect(fchmod(file, 0o640) == 0 && fstat(file, &status) == 0 && status.st_mode & 0o777 == 0o640)
        var bytes = [UInt8](repeating: 0, count: 3)
        #expect(pread(file, &bytes, 3, 1_048_576) == 3 && bytes == Array("end".utf8))
      }
    }

    @Test("More files than may be kept") func many() throws {
      let volume = try PassthroughTests.volume()
      defer { volume.remove() }
      let directory = try volume.directory("d", 0, 0, 0o755)
      for number in 0..<6_000 { try #require(Calls.write("\(directory)/f\(number)", "\(number)") == nil) }
      for _ in 0..<2 {
        for number in 0..<6_000 where try Calls.read("\(directory)/f\(number)").get() != "\(number)" {
          Issue.record("f\(number)")
        }
        #expect(try held(volume, "d/") <= 4_096)
      }
      #expect(try becomesTrue(in: 5) { try held(volume, "d/f") == 0 })
    }
  }
}
