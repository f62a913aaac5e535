import CMountSupport
import Glibc
import LinuxFiles

// Calls on open files, extended attributes and listings, for both sides of a comparison.

extension Side {
  @discardableResult
  func write(_ fd: Int, _ text: String, at offset: Int? = nil) -> Int {
    let bytes = Array(text.utf8)
    let written = bytes.withUnsafeBytes { bytes in
      let base = Int(bitPattern: bytes.baseAddress)
      return offset.map { Side.call(SYS_pwrite64, fd, base, bytes.count, $0) }
        ?? Side.call(SYS_write, fd, base, bytes.count)
    }
    return note("write \(bytes.count) at \(offset.map(String.init) ?? "position")", written)
  }

  func read(_ fd: Int, _ count: Int, at offset: Int? = nil) {
    var bytes = [UInt8](repeating: 0, count: count)
    let done = bytes.withUnsafeMutableBytes { bytes in
      let base = Int(bitPattern: bytes.baseAddress)
      return offset.map { Side.call(SYS_pread64, fd, base, count, $0) }
        ?? Side.call(SYS_read, fd, base, count)
    }
    note("read \(count) at \(offset.map(String.init) ?? "position")", done)
    if done > 0 { say("  \(Side.digest(bytes.prefix(done)))") }
  }

  /// Short content as it is, long content as a sum of it.
  static func digest(_ bytes: ArraySlice<UInt8>) -> String {
    if bytes.count <= 48 { return Path(bytes: Array(bytes)).description }
    let sum = bytes.reduce(UInt64(14_695_981_039_346_656_037)) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
    return "\(bytes.count) bytes, sum \(String(sum, radix: 16))"
  }

  @discardableResult
  func ftruncate(_ fd: Int, _ size: Int) -> Int {
    note("ftruncate \(size)", Side.call(SYS_ftruncate, fd, size))
  }

  @discardableResult
  func fchmod(_ fd: Int, _ mode: Int) -> Int {
    note("fchmod \(String(mode, radix: 8))", Side.call(SYS_fchmod, fd, mode))
  }

  @discardableResult
  func fsync(_ fd: Int) -> Int { note("fsync", Side.call(SYS_fsync, fd)) }

  @discardableResult
  func seek(_ fd: Int, _ offset: Int, _ whence: Int) -> Int {
    note("lseek \(offset) \(whence)", Side.call(SYS_lseek, fd, offset, whence))
  }

  @discardableResult
  func fallocate(_ fd: Int, _ mode: Int, _ offset: Int, _ length: Int) -> Int {
    note("fallocate \(mode) \(offset) \(length)", Side.call(SYS_fallocate, fd, mode, offset, length))
  }

  @discardableResult
  func copyRange(_ from: Int, at start: Int, to: Int, at target: Int, _ count: Int, flags: Int = 0) -> Int {
    var (start, target) = (start, target)
    let what = "copy_file_range \(start) \(target) \(count) \(flags)"
    return withUnsafeMutablePointer(to: &start) { s in
      withUnsafeMutablePointer(to: &target) { t in
        note(
          what,
          Side.call(SYS_copy_file_range, from, Int(bitPattern: s), to, Int(bitPattern: t), count, flags))
      }
    }
  }

  func fstat(_ fd: Int) { stat("", at: fd) }

  /// Data and holes of a whole file, as the file system tells them.
  func extents(_ fd: Int) {
    var place = 0
    var map: [String] = []
    while map.count < 32 {
      let data = Side.call(SYS_lseek, fd, place, 3)
      guard data >= 0 else { break }
      let hole = Side.call(SYS_lseek, fd, data, 4)
      map.append("\(data)-\(hole)")
      guard hole > place else { break }
      place = hole
    }
    say("  data \(map)")
  }

  // MARK: Extended attributes

  private func named(_ path: Path, _ body: (Int) -> Int) -> Int {
    Path(bytes: Array("/proc/self/fd/\(root)/".utf8) + path.bytes).withPointer(body)
  }

  @discardableResult
  func setAttribute(_ path: Path, _ name: Path, _ value: String, flags: Int = 0) -> Int {
    let bytes = Array(value.utf8)
    return note(
      "lsetxattr \(path) \(name) \(bytes.count) \(flags)",
      named(path) { p in
        name.withPointer { n in
          bytes.withUnsafeBytes {
            Side.call(SYS_lsetxattr, p, n, Int(bitPattern: $0.baseAddress), $0.count, flags)
          }
        }
      })
  }

  func attribute(_ path: Path, _ name: Path, room: Int = 8192) {
    var bytes = [UInt8](repeating: 0, count: room)
    let count = named(path) { p in
      name.withPointer { n in
        bytes.withUnsafeMutableBytes { Side.call(SYS_lgetxattr, p, n, Int(bitPattern: $0.baseAddress), room) }
      }
    }
    note("lgetxattr \(path) \(name) into \(room)", count)
    if count > 0, room > 0 { say("  \(Side.digest(bytes.prefix(count)))") }
  }

  func attributes(_ path: Path, room: Int = 8192) {
    var bytes = [UInt8](repeating: 0, count: room)
    let count = named(path) { p in
      bytes.withUnsafeMutableBytes { Side.call(SYS_llistxattr, p, Int(bitPattern: $0.baseAddress), room) }
    }
    note("llistxattr \(path) into \(room)", count)
    guard count > 0, room > 0 else { return }
    say("  \(bytes.prefix(count).split(separator: 0).map { Path(bytes: Array($0)).description }.sorted())")
  }

  @discardableResult
  func removeAttribute(_ path: Path, _ name: Path) -> Int {
    note(
      "lremovexattr \(path) \(name)",
      named(path) { p in name.withPointer { Side.call(SYS_lremovexattr, p, $0) } })
  }

  // MARK: Listings

  /// The entries of an open directory from where it stands: names with kinds and cookies.
  static func entries(
    _ fd: Int, onePage: Bool = false, of size: Int? = nil
  ) -> [(name: [UInt8], kind: UInt8, next: Int)]? {
    var page = [UInt8](repeating: 0, count: size ?? (onePage ? 4096 : 65_536))
    var found: [(name: [UInt8], kind: UInt8, next: Int)] = []
    while true {
      let count = page.withUnsafeMutableBytes {
        Side.call(SYS_getdents64, fd, Int(bitPattern: $0.baseAddress), $0.count)
      }
      guard count >= 0 else { return nil }
      guard count > 0 else { return found }
      page.withUnsafeBytes { page in
        var place = 0
        while place < count {
          let next = page.loadUnaligned(fromByteOffset: place + 8, as: Int.self)
          let length = page.loadUnaligned(fromByteOffset: place + 16, as: UInt16.self)
          let name = page[(place + 19)..<(place + Int(length))].prefix { $0 != 0 }
          found.append((Array(name), page[place + 18], next))
          place += Int(length)
        }
      }
      if onePage { return found }
    }
  }

  /// A listing that goes back to each cookie with a seek, as telldir and seekdir do.
  static func entriesBySeeking(_ fd: Int) -> [(name: [UInt8], kind: UInt8, next: Int)]? {
    var found: [(name: [UInt8], kind: UInt8, next: Int)] = []
    var place = 0
    while true {
      guard call(SYS_lseek, fd, place, 0) == place, let page = entries(fd, onePage: true) else {
        return nil
      }
      guard !page.isEmpty else { return found }
      // The second half of the page is read again from its cookie.
      let taken = page.prefix(max(1, page.count / 2))
      found += taken
      place = taken.last?.next ?? place
    }
  }

  /// Everything below the root: names, what stat shows, content, links' targets.
  func showTree() {
    show(directory: root, indent: "tree ")
  }

  private func show(directory: Int, indent: String) {
    _ = Side.call(SYS_lseek, directory, 0, 0)
    guard let entries = Side.entries(directory) else { return say("\(indent)cannot be listed") }
    for entry in entries.sorted(by: { $0.name.lexicographicallyPrecedes($1.name) }) {
      let name = Path(bytes: entry.name)
      if name.description == "." || name.description == ".." { continue }
      var status = Glibc.stat()
      let result = name.withPointer { n in
        withUnsafeMutablePointer(to: &status) {
          Side.call(SYS_newfstatat, directory, n, Int(bitPattern: $0), Side.noFollow)
        }
      }
      guard result == 0 else {
        say("\(indent)\(name) \(entry.kind): \(Errno(rawValue: CInt(-result)))")
        continue
      }
      say("\(indent)\(name) \(entry.kind) \(text(status)) \(content(name, status, in: directory))")
      guard status.st_mode & S_IFMT == S_IFDIR, indent.count < 64 else { continue }
      let inner = name.withPointer { Side.call(SYS_openat, directory, $0, Int(O_RDONLY | O_DIRECTORY)) }
      guard inner >= 0 else { continue }
      show(directory: inner, indent: indent + "  ")
      _ = Side.call(SYS_close, inner)
    }
  }

  private func content(_ name: Path, _ status: Glibc.stat, in directory: Int) -> String {
    guard status.st_mode & S_IFMT == S_IFREG, status.st_size < 1 << 24 else { return "" }
    let fd = name.withPointer { Side.call(SYS_openat, directory, $0, Int(O_RDONLY)) }
    guard fd >= 0 else { return "\(Errno(rawValue: CInt(-fd)))" }
    defer { _ = Side.call(SYS_close, fd) }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size) + 1)
    let count = bytes.withUnsafeMutableBytes {
      Side.call(SYS_read, fd, Int(bitPattern: $0.baseAddress), $0.count)
    }
    return count > 0 ? Side.digest(bytes.prefix(count)) : "(\(count))"
  }
}
