import CMountSupport
import Glibc

// Bytes: writing and reading, holes, space, ranges, big offsets, mappings.

extension ParityScenarios {
  private static let page = 4096

  static let bytes: [Scenario] = [
    Scenario("reading and writing") { side in
      let fd = side.open("file", O_CREAT | O_RDWR, 0o644)
      side.write(fd, "hello world")
      side.read(fd, 10)
      side.seek(fd, 6, 0)
      side.read(fd, 100)
      side.write(fd, "HELLO", at: 0)
      side.write(fd, "far", at: 10_000)
      side.read(fd, 20_000, at: 0)
      side.read(fd, 10, at: 10_003)
      side.read(fd, 10, at: -1)
      side.write(fd, "x", at: -1)
      side.write(fd, "")
      side.seek(fd, -3, 2)
      side.read(fd, 3)
      side.seek(fd, -1, 0)
      side.seek(fd, 0, 99)
      side.fstat(fd)
      let reader = side.open("file", O_RDONLY)
      side.write(reader, "x")
      side.ftruncate(reader, 0)
      side.fallocate(reader, 0, 0, 10)
      let writer = side.open("file", O_WRONLY)
      side.read(writer, 1)
      let emptied = side.open("file", O_WRONLY | O_TRUNC)
      side.fstat(emptied)
      side.read(reader, 10, at: 0)
      side.fstat(fd)
      for fd in [fd, reader, writer, emptied] { side.close(fd) }
      side.write(fd, "closed")
    },
    Scenario("appending") { side in
      side.file("log", "start ")
      let fd = side.open("log", O_WRONLY | O_APPEND)
      let other = side.open("log", O_RDWR)
      side.write(fd, "one ")
      side.write(other, "START", at: 0)
      side.write(fd, "two ")
      side.write(fd, "three", at: 0)
      side.seek(fd, 0, 1)
      side.ftruncate(other, 8)
      side.write(fd, "four")
      side.read(other, 100, at: 0)
      // The flag goes and comes while the file is open.
      side.note("F_SETFL", Side.call(SYS_fcntl, fd, 4, 0))
      side.write(fd, "S", at: 0)
      side.note("F_SETFL", Side.call(SYS_fcntl, fd, 4, Int(O_APPEND)))
      side.write(fd, "E", at: 0)
      side.read(other, 100, at: 0)
    },
    Scenario("sizes") { side in
      side.file("file", "0123456789")
      side.truncate("file", 4)
      side.truncate("file", 8)
      side.truncate("file", -1)
      let fd = side.open("file", O_WRONLY)
      let reader = side.open("file", O_RDONLY)
      side.read(reader, 20)
      side.ftruncate(fd, 0)
      side.ftruncate(fd, 1 << 20)
      side.fstat(fd)
      side.ftruncate(fd, -1)
      side.ftruncate(fd, .max)
      side.ftruncate(fd, 5)
      side.write(fd, "tail", at: 7)
      side.read(reader, 20, at: 0)
      side.extents(reader)
    },
    Scenario("holes") { side in
      // While somebody may have it mapped for writing, not every route shows holes.
      let fd = side.open("file", O_CREAT | O_WRONLY, 0o644)
      let reader = side.open("file", O_RDONLY)
      side.write(fd, "a", at: 0)
      side.write(fd, "b", at: 1 << 20)
      side.ftruncate(fd, 3 << 20)
      side.fsync(fd)
      side.extents(reader)
      for offset in [0, 1, 4096, 1 << 20, (1 << 20) + 4096, (3 << 20) - 1, 3 << 20, 4 << 20, -1] {
        side.seek(reader, offset, 3)
        side.seek(reader, offset, 4)
      }
      side.read(reader, 8192, at: (1 << 20) - 4096)
      let empty = side.open("empty", O_CREAT | O_RDWR, 0o644)
      side.seek(empty, 0, 3)
      side.seek(empty, 0, 4)
    },
    Scenario("offsets beyond four gigabytes") { side in
      let fd = side.open("big", O_CREAT | O_WRONLY, 0o644)
      let reader = side.open("big", O_RDONLY)
      for offset in [(1 << 32) - 3, 1 << 32, (1 << 32) + 5, 5 << 32, (1 << 40) + 1] {
        side.write(fd, "at \(offset)", at: offset)
        side.read(reader, 40, at: offset - 4)
        side.fstat(fd)
      }
      side.fsync(fd)
      side.extents(reader)
      side.write(fd, "x", at: 1 << 60)
      side.fallocate(fd, 1, 6 << 32, 4096)
      side.fallocate(fd, 3, (1 << 32) - 4096, 8192)
      side.read(reader, 40, at: (1 << 32) - 4)
      side.ftruncate(fd, (1 << 32) + 1)
      side.seek(fd, 0, 2)
    },
    Scenario("space") { side in
      let fd = side.open("file", O_CREAT | O_WRONLY, 0o644)
      let reader = side.open("file", O_RDONLY)
      func show() {
        side.fsync(fd)
        side.fstat(fd)
        side.extents(reader)
        side.read(reader, 1 << 18, at: 0)
      }
      for letter in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        side.write(fd, String(repeating: letter, count: 4096))
      }
      show()
      side.fallocate(fd, 0, 0, 65_536)
      show()
      side.fallocate(fd, 1, 65_536, 65_536)
      show()
      side.fallocate(fd, 3, 4096, 8192)
      show()
      side.fallocate(fd, 3, 100, 50)
      side.fallocate(fd, 16, 12_000, 9000)
      show()
      side.fallocate(fd, 17, 60_000, 90_000)
      show()
      side.fallocate(fd, 2, 0, 4096)
      side.fallocate(fd, 0, 0, 0)
      side.fallocate(fd, 0, -1, 10)
      side.fallocate(fd, 0, 0, -1)
      side.fallocate(fd, 64, 0, 4096)
      side.fallocate(fd, 0x8000, 0, 4096)
      side.fallocate(fd, 0, 1 << 60, 1 << 62)
      side.note("posix_fadvise", Side.call(SYS_fadvise64, fd, 0, 0, 4))
      side.note("readahead", Side.call(SYS_readahead, fd, 0, 4096))
      side.note("sync_file_range", Side.call(SYS_sync_file_range, fd, 0, 4096, 7))
      side.note("syncfs", Side.call(SYS_syncfs, fd))
    },
    Scenario("ranges from file to file") { side in
      side.file("from", (0..<5000).map { "line \($0)\n" }.joined())
      let from = side.open("from", O_RDONLY)
      let to = side.open("to", O_CREAT | O_RDWR, 0o644)
      side.copyRange(from, at: 0, to: to, at: 0, 100)
      side.copyRange(from, at: 40_000, to: to, at: 1000, 100_000)
      side.copyRange(from, at: 1 << 30, to: to, at: 0, 10)
      side.copyRange(from, at: 0, to: to, at: 0, 10, flags: 1)
      side.copyRange(to, at: 0, to: from, at: 0, 10)
      side.copyRange(to, at: 0, to: to, at: 100, 500)
      side.copyRange(to, at: 0, to: to, at: 100, 50)
      side.copyRange(from, at: -1, to: to, at: 0, 10)
      let appends = side.open("to", O_WRONLY | O_APPEND)
      side.copyRange(from, at: 0, to: appends, at: 0, 10)
      side.note("sendfile", Side.call(SYS_sendfile, to, from, 0, 5000))
      side.fstat(to)
      side.read(to, 100_000, at: 0)
    },
    Scenario("mappings agree with reads and writes") { side in
      let fd = side.open("file", O_CREAT | O_RDWR, 0o644)
      side.ftruncate(fd, 3 * page)
      let shared = Glibc.mmap(nil, 3 * page, PROT_READ | PROT_WRITE, MAP_SHARED, CInt(fd), 0)
      let private_ = Glibc.mmap(nil, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, CInt(fd), 0)
      guard let shared, shared != MAP_FAILED, let private_, private_ != MAP_FAILED else {
        return side.say("no mapping: \(errno)")
      }
      let (all, mine) = (
        shared.assumingMemoryBound(to: UInt8.self), private_.assumingMemoryBound(to: UInt8.self)
      )
      side.write(fd, "written", at: page)
      side.say("shared sees \(all[page]), private sees \(mine[page])")
      all[page + 1] = 0x52
      side.read(fd, 10, at: page)
      mine[0] = 0x50
      side.read(fd, 2, at: 0)
      all[1] = 0x53
      side.note("msync", Side.call(SYS_msync, Int(bitPattern: shared), 3 * page, 4))
      let other = side.open("file", O_RDWR)
      side.read(other, 2, at: 0)
      side.write(other, "other", at: 2 * page)
      side.say("shared sees \(all[2 * page]), private sees \(mine[0]) \(mine[2 * page])")
      side.ftruncate(other, 2 * page)
      side.ftruncate(other, 3 * page)
      side.say("after truncation shared sees \(all[2 * page])")
      all[2 * page] = 0x41
      side.note("munmap", Side.call(SYS_munmap, Int(bitPattern: shared), 3 * page))
      side.note("munmap", Side.call(SYS_munmap, Int(bitPattern: private_), 3 * page))
      side.read(other, 1, at: 2 * page)
      let reader = side.open("file", O_RDONLY)
      side.note(
        "writable mapping of a reader",
        Side.call(SYS_mmap, 0, page, Int(PROT_WRITE), Int(MAP_SHARED), reader, 0))
    },
    Scenario("a mapping outlives its name and its descriptor") { side in
      let fd = side.open("file", O_CREAT | O_RDWR, 0o644)
      side.write(fd, "before")
      guard let map = Glibc.mmap(nil, page, PROT_READ | PROT_WRITE, MAP_SHARED, CInt(fd), 0),
        map != MAP_FAILED
      else { return side.say("no mapping") }
      side.link("file", "second")
      side.close(fd)
      side.unlink("file")
      map.assumingMemoryBound(to: UInt8.self)[0] = 0x42
      side.note("msync", Side.call(SYS_msync, Int(bitPattern: map), page, 4))
      side.note("munmap", Side.call(SYS_munmap, Int(bitPattern: map), page))
      side.stat("second")
    },
    Scenario("direct and synchronous") { side in
      for flags in [lt_o_direct, O_SYNC, O_DSYNC, lt_o_direct | O_SYNC] {
        let fd = side.open("file\(flags)", O_CREAT | O_RDWR | flags, 0o644)
        var raw: UnsafeMutableRawPointer?
        guard posix_memalign(&raw, 4096, 8192) == 0, let raw else { return side.say("no memory") }
        defer { free(raw) }
        raw.initializeMemory(as: UInt8.self, repeating: 0x44, count: 8192)
        let base = Int(bitPattern: raw)
        side.note("write 8192", Side.call(SYS_pwrite64, fd, base, 8192, 0))
        side.note("write 4096 at 8192", Side.call(SYS_pwrite64, fd, base, 4096, 8192))
        side.note("read 8192 at 4096", Side.call(SYS_pread64, fd, base, 8192, 4096))
        side.note("read past the end", Side.call(SYS_pread64, fd, base, 8192, 12_288))
        side.fstat(fd)
        side.close(fd)
      }
    },
    Scenario("vectors") { side in
      let fd = side.open("file", O_CREAT | O_RDWR, 0o644)
      var parts = (0..<64).map { [UInt8](repeating: UInt8($0 + 33), count: 3000) }
      let vectors = parts.indices.map { index in
        parts[index].withUnsafeMutableBytes { iovec(iov_base: $0.baseAddress, iov_len: 3000) }
      }
      vectors.withUnsafeBufferPointer {
        _ = side.note("writev", Side.call(SYS_writev, fd, Int(bitPattern: $0.baseAddress), 64))
        _ = side.note("pwritev", Side.call(SYS_pwritev, fd, Int(bitPattern: $0.baseAddress), 64, 7))
      }
      side.read(fd, 400_000, at: 0)
      withExtendedLifetime(parts) {}
      // More than one request to the daemon carries.
      side.write(fd, String(repeating: "0123456789abcdef", count: 200_000), at: 12_345)
      side.read(fd, 4_000_000, at: 0)
    },
  ]
}
