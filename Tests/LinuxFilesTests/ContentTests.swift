import Glibc
import LinuxFiles
import Testing

extension LinuxFilesTests {
  @Suite("Bytes, space and locks") struct ContentTests {
    let world: TemporaryDirectory

    init() throws {
      world = try TemporaryDirectory()
    }

    @Test("bytes written at an offset come back from there")
    func readsAndWrites() throws {
      let file = try world.descriptor.createFile(try FileName("file"), mode: 0o600)
      try file.writeAll(bytes("hello world"), at: 3)
      let (whole, middle, beyond) = try (
        file.read(upTo: 100), file.read(upTo: 5, at: 9), file.read(upTo: 5, at: 100)
      )
      #expect(whole == [0, 0, 0] + bytes("hello world") && middle == bytes("world") && beyond.isEmpty)
      var small = [UInt8](repeating: 1, count: 4)
      var span = small.mutableSpan
      let count = try file.read(into: &span, at: 3)
      #expect(count == 4 && small == bytes("hell"))
      expectFailure(.invalid) { () throws(Errno) in _ = try file.read(upTo: 1, at: -1) }
      expectFailure(.fileTooBig) { () throws(Errno) in try file.truncate(to: .max) }
      try file.truncate(to: 2)
      let size = try file.status().size
      #expect(size == 2)
      try file.sync(dataOnly: true)
      try file.sync()
    }

    @Test(
      "pieces that lie apart come to stand behind each other",
      arguments: [(0, 0, 0), (3, 0, 2), (0, 5, 0), (4096, 300_000, 4096)])
    func pieces(_ head: Int, _ body: Int, _ tail: Int) throws {
      let file = try world.descriptor.createFile(try FileName("pieces"), mode: 0o600)
      let (first, second, third) = (
        [UInt8](repeating: 1, count: head), [UInt8](repeating: 2, count: body),
        [UInt8](repeating: 3, count: tail)
      )
      try file.writeAll(first.span, second.span, third.span, at: 5)
      let found = try file.read(upTo: head + body + tail + 10, at: 5)
      #expect(found == first + second + third)
    }

    @Test("holes are found, made and not copied")
    func holes() throws {
      let source = try world.descriptor.createFile(try FileName("source"), mode: 0o600)
      let target = try world.descriptor.createFile(try FileName("target"), mode: 0o600)
      let block = [UInt8](repeating: 7, count: 65_536)
      try source.writeAll(block, at: 1 << 20)
      try source.truncate(to: 4 << 20)
      let (start, end) = try (
        source.seek(offset: 0, whence: .data), source.seek(offset: 1 << 20, whence: .hole)
      )
      #expect(start == 1 << 20 && end == (1 << 20) + 65_536)
      expectFailure(.noDevice) { () throws(Errno) in try source.seek(offset: 2 << 20, whence: .data) }
      expectFailure(.noDevice) { () throws(Errno) in try source.seek(offset: 8 << 20, whence: .data) }
      let copied = try source.copyRange(from: 1 << 20, to: target, at: 0, length: 65_536)
      let text = try target.read(upTo: 65_536)
      #expect(copied == 65_536 && text == block)
      try target.allocate(mode: [.keepSize, .punchHole], offset: 0, length: 65_536)
      expectFailure(.noDevice) { () throws(Errno) in try target.seek(offset: 0, whence: .data) }
      let size = try target.status().size
      #expect(size == 65_536)
    }

    @Test("a file system tells its size and kind, also through a held place")
    func fileSystems() throws {
      let name = try FileName("file")
      _ = try world.descriptor.createFile(name, mode: 0o600)
      let status = try world.descriptor.openPath(name).fileSystemStatus()
      #expect(status.nameMax == 255 && status.fragmentSize > 0 && status.blocks > 0 && !status.isReadOnly)
      #expect(status.magic != 0)
      let proc = try Descriptor.directory(atPath: "/proc").fileSystemStatus().magic
      #expect(proc == 0x9FA0)
    }

    @Test("the generation of an inode is told, or refused as an unknown request")
    func generations() throws {
      let file = try world.descriptor.createFile(try FileName("file"), mode: 0o600)
      do throws(Errno) {
        let (first, second) = try (file.generation(), file.generation())
        #expect(first == second)
      } catch {
        #expect(error == .notTerminal)
      }
      let memory = try Descriptor.directory(atPath: "/dev/shm")
      guard try memory.fileSystemStatus().magic == FileSystemStatus.tmpfsMagic else { return }
      expectFailure(.notTerminal) { () throws(Errno) in _ = try memory.generation() }
    }

    @Test("a second open file finds the lock taken and reads by whom")
    func locks() throws {
      let name = try FileName("lock")
      let first = try world.descriptor.createFile(name, mode: 0o600)
      let second = try world.descriptor.open(name, .readWrite)
      let taken = try first.tryLockWhole(exclusive: true)
      let unnamed = try second.tryLockWhole(exclusive: true)
      try first.recordHolder(bytes("\(getpid())\nhost there\n"))
      let (named, shared) = try (
        second.tryLockWhole(exclusive: true), second.tryLockWhole(exclusive: false)
      )
      #expect(taken == .locked && unnamed == .held(by: nil))
      #expect(named == .held(by: getpid()) && shared == named)
      // Its own lock it may weaken.
      let (both, also) = try (
        first.tryLockWhole(exclusive: false), second.tryLockWhole(exclusive: false)
      )
      #expect(both == .locked && also == .locked)
    }

    @Test("a lock goes with the open file")
    func lockEnds() throws {
      let name = try FileName("lock")
      do {
        let first = try world.descriptor.createFile(name, mode: 0o600)
        _ = try first.tryLockWhole(exclusive: true)
      }
      let second = try world.descriptor.open(name, .readWrite)
      let outcome = try second.tryLockWhole(exclusive: true)
      #expect(outcome == .locked)
    }

    @Test(
      "only a plain process id is read as the holder",
      arguments: [
        "12x\n", "", "\n", "99999999999\n", "-5\n", "0\n",
      ])
    func strangeHolders(_ text: String) throws {
      let file = try world.descriptor.createFile(try FileName("lock"), mode: 0o600)
      try file.writeAll(bytes(text), at: 0)
      let holder = file.recordedHolder()
      #expect(holder == nil)
    }
  }
}
