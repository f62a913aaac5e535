import CMountSupport
import Glibc
import LinuxFiles
import MountSupport

// One side of a comparison: a directory, and a transcript of everything that was asked of it. Every call is
// a raw system call, so that nothing of the C library stands between, and answers a value or `-errno`.

/// The bytes of a path, which need not be UTF-8.
struct Path: ExpressibleByStringInterpolation, CustomStringConvertible, Sendable {
  let bytes: [UInt8]
  private let label: String?

  init(bytes: [UInt8], label: String? = nil) {
    self.bytes = bytes
    self.label = label
  }

  init(stringLiteral text: String) { self.init(bytes: Array(text.utf8)) }

  /// What a descriptor leads to; its number is no part of a transcript.
  static func descriptor(_ number: Int) -> Path {
    Path(bytes: Array("/proc/self/fd/\(number)".utf8), label: "/proc/self/fd/N")
  }

  /// Long runs are folded, so that a transcript stays readable.
  var description: String {
    if let label { return label }
    let text = bytes.map {
      (0x21...0x7E).contains($0) ? String(UnicodeScalar($0)) : "\\\(String($0, radix: 16))"
    }
    return text.count <= 80 ? text.joined() : "\(text.prefix(20).joined())...(\(text.count))"
  }

  func withPointer<R>(_ body: (Int) -> R) -> R {
    (bytes + [0]).withUnsafeBufferPointer { body(Int(bitPattern: $0.baseAddress)) }
  }
}

/// What stands at the root of a comparison, and what was said about it.
final class Side {
  let root: Int
  private(set) var lines: [String] = []
  /// Closed at the end, if not before.
  private var opened: Set<Int> = []
  static let noFollow = 0x100

  private let manner: Manner
  /// The calls so far, if all of them only made things.
  private(set) var preparation: [Made] = []
  private var isPreparing = true
  private var isMaking = false

  private init(root: Int, _ manner: Manner) {
    (self.root, self.manner) = (root, manner)
  }

  /// What a user's calls in a directory answered, followed by what is there in the end.
  static func transcript(
    of body: @escaping @Sendable (Side) -> Void, as user: TestUser, in path: String,
    _ manner: Manner = Manner()
  ) -> [String] {
    run(body, as: user, in: path, manner).lines
  }

  /// The same, with the calls it began with that only made things.
  static func run(
    _ body: @escaping @Sendable (Side) -> Void, as user: TestUser, in path: String, _ manner: Manner
  ) -> (lines: [String], preparation: [Made]) {
    user.run(umask: 0o022) {
      let root = Glibc.open(path, O_RDONLY | O_DIRECTORY)
      guard root >= 0 else { return (["cannot open \(path): \(Errno.current)"], []) }
      let side = Side(root: Int(root), manner)
      if manner.pause?.calls == 0 { manner.pause?.body() }
      body(side)
      side.showTree()
      for fd in side.opened { _ = call(SYS_close, fd) }
      Glibc.close(root)
      return (side.lines, side.preparation)
    }
  }

  func say(_ line: String) {
    if !isMaking { isPreparing = false }
    lines.append(line)
  }

  /// A call by a path that makes something or changes it, and tells nothing of what is there.
  private func making(_ body: () -> Int) -> Int {
    guard isPreparing else { return body() }
    if preparation.count < manner.made.count {
      let made = manner.made[preparation.count]
      preparation.append(made)
      lines += made.lines
      return made.result
    }
    isMaking = true
    let before = lines.count
    let result = body()
    isMaking = false
    preparation.append(Made(lines: Array(lines[before...]), result: result))
    if let pause = manner.pause, pause.calls == preparation.count { pause.body() }
    return result
  }

  /// Makes a call and writes down what it answered.
  @discardableResult
  func note(_ what: String, _ result: Int, isDescriptor: Bool = false) -> Int {
    let answer = result < 0 ? "\(Errno(rawValue: CInt(-result)))" : isDescriptor ? "opened" : "\(result)"
    say("\(what) = \(answer)")
    if isDescriptor, result >= 0 { opened.insert(result) }
    return result
  }

  func close(_ fd: Int) {
    opened.remove(fd)
    note("close", Side.call(SYS_close, fd))
  }

  static func call(
    _ number: CInt, _ a: Int = 0, _ b: Int = 0, _ c: Int = 0, _ d: Int = 0, _ e: Int = 0, _ f: Int = 0
  )
    -> Int
  {
    lt_call(Int(number), a, b, c, d, e, f)
  }

  // MARK: Names

  @discardableResult
  func open(_ path: Path, _ flags: CInt, _ mode: Int = 0, at directory: Int? = nil) -> Int {
    note(
      "open \(path) \(String(flags, radix: 8)) \(String(mode, radix: 8))",
      path.withPointer { Side.call(SYS_openat, directory ?? root, $0, Int(flags), mode) }, isDescriptor: true)
  }

  /// Creates a file with content; the calls are not noted, only that it failed.
  func file(_ path: Path, _ text: String = "", mode: Int = 0o644) {
    _ = making {
      fill(path, text, mode: mode)
      return 0
    }
  }

  private func fill(_ path: Path, _ text: String, mode: Int) {
    let fd = path.withPointer {
      // A FIFO may be there from before.
      Side.call(SYS_openat, root, $0, Int(O_CREAT | O_WRONLY | O_TRUNC | O_NONBLOCK), mode)
    }
    guard fd >= 0 else { return say("no file \(path): \(Errno(rawValue: CInt(-fd)))") }
    let bytes = Array(text.utf8)
    let written = bytes.withUnsafeBytes {
      Side.call(SYS_write, fd, Int(bitPattern: $0.baseAddress), $0.count)
    }
    if written != bytes.count { say("no content in \(path): \(written)") }
    _ = Side.call(SYS_close, fd)
  }

  @discardableResult
  func mkdir(_ path: Path, _ mode: Int = 0o755, at directory: Int? = nil) -> Int {
    making {
      note(
        "mkdir \(path) \(String(mode, radix: 8))",
        path.withPointer { Side.call(SYS_mkdirat, directory ?? root, $0, mode) })
    }
  }

  @discardableResult
  func mknod(_ path: Path, _ mode: Int, device: Int = 0) -> Int {
    making {
      note(
        "mknod \(path) \(String(mode, radix: 8)) \(device)",
        path.withPointer { Side.call(SYS_mknodat, root, $0, mode, device) })
    }
  }

  @discardableResult
  func symlink(_ target: Path, _ path: Path) -> Int {
    making {
      note(
        "symlink \(target) \(path)",
        target.withPointer { t in path.withPointer { Side.call(SYS_symlinkat, t, root, $0) } })
    }
  }

  @discardableResult
  func link(_ path: Path, _ new: Path, flags: Int = 0, from directory: Int? = nil) -> Int {
    making {
      note(
        "link \(path) \(new) \(flags)",
        path.withPointer { p in
          new.withPointer { Side.call(SYS_linkat, directory ?? root, p, root, $0, flags) }
        })
    }
  }

  @discardableResult
  func unlink(_ path: Path, at directory: Int? = nil) -> Int {
    note("unlink \(path)", path.withPointer { Side.call(SYS_unlinkat, directory ?? root, $0, 0) })
  }

  @discardableResult
  func rmdir(_ path: Path) -> Int {
    note("rmdir \(path)", path.withPointer { Side.call(SYS_unlinkat, root, $0, 0x200) })
  }

  @discardableResult
  func rename(_ path: Path, _ new: Path, flags: Int = 0) -> Int {
    func call() -> Int {
      path.withPointer { p in new.withPointer { Side.call(SYS_renameat2, root, p, root, $0, flags) } }
    }
    func inode(_ path: Path) -> ino_t {
      var status = Glibc.stat()
      return path.withPointer { p in
        withUnsafeMutablePointer(to: &status) {
          Side.call(SYS_newfstatat, root, p, Int(bitPattern: $0), Side.noFollow)
        }
      } == 0 ? status.st_ino : 0
    }
    var result = call()
    // Two names of one file the kernel leaves as they are, and asks no file system.
    if manner.exchangesNothing, flags == 2, result == 0, inode(path) != inode(new) {
      let back = call()
      result = back == 0 ? -Int(EINVAL) : back
    }
    return note("rename \(path) \(new) \(flags)", result)
  }

  func readlink(_ path: Path, room: Int = 4096) {
    var bytes = [UInt8](repeating: 0, count: room)
    let count = path.withPointer { p in
      bytes.withUnsafeMutableBytes {
        Side.call(SYS_readlinkat, root, p, Int(bitPattern: $0.baseAddress), room)
      }
    }
    note("readlink \(path) into \(room)", count)
    if count > 0 { say("  \(Path(bytes: Array(bytes.prefix(count))))") }
  }

  // MARK: Attributes

  @discardableResult
  func chmod(_ path: Path, _ mode: Int) -> Int {
    note(
      "chmod \(path) \(String(mode, radix: 8))", path.withPointer { Side.call(SYS_fchmodat, root, $0, mode) })
  }

  @discardableResult
  func chown(_ path: Path, _ user: Int, _ group: Int, flags: Int = Side.noFollow) -> Int {
    note(
      "chown \(path) \(user) \(group)",
      path.withPointer { Side.call(SYS_fchownat, root, $0, user & 0xFFFF_FFFF, group & 0xFFFF_FFFF, flags) })
  }

  @discardableResult
  func truncate(_ path: Path, _ size: Int) -> Int {
    let full = Path(bytes: Array("/proc/self/fd/\(root)/".utf8) + path.bytes)
    return note("truncate \(path) \(size)", full.withPointer { Side.call(SYS_truncate, $0, size) })
  }

  @discardableResult
  func access(_ path: Path, _ mask: Int) -> Int {
    note("access \(path) \(mask)", path.withPointer { Side.call(SYS_faccessat, root, $0, mask) })
  }

  static let now = 0x3FFF_FFFF
  static let omit = 0x3FFF_FFFE

  @discardableResult
  func utimens(_ path: Path?, _ times: [timespec]?, flags: Int = 0, at directory: Int? = nil) -> Int {
    let what =
      "utimens \(path?.description ?? "fd") \(times?.map { "\($0.tv_sec).\($0.tv_nsec)" } ?? ["now"])"
    func act(_ pointer: Int) -> Int {
      guard let times else { return Side.call(SYS_utimensat, directory ?? root, pointer, 0, flags) }
      return times.withUnsafeBufferPointer {
        Side.call(SYS_utimensat, directory ?? root, pointer, Int(bitPattern: $0.baseAddress), flags)
      }
    }
    return note(what, path.map { $0.withPointer(act) } ?? act(0))
  }

  /// lstat of a name, or fstat of a descriptor with an empty path; times only where they were set.
  func stat(_ path: Path, at directory: Int? = nil, withTimes: Bool = false) {
    var status = Glibc.stat()
    let result = path.withPointer { p in
      withUnsafeMutablePointer(to: &status) {
        Side.call(
          SYS_newfstatat, directory ?? root, p, Int(bitPattern: $0),
          Side.noFollow | (path.bytes.isEmpty ? 0x1000 : 0))
      }
    }
    note("stat \(path)", result)
    if result == 0 { say("  " + text(status, withTimes: withTimes)) }
  }

  func text(_ status: Glibc.stat, withTimes: Bool = false) -> String {
    let isDirectory = status.st_mode & S_IFMT == S_IFDIR
    let links = isDirectory && manner.countsNoDirectories ? min(status.st_nlink, 1) : status.st_nlink
    var text = "\(String(status.st_mode, radix: 8)) \(links) \(status.st_uid):\(status.st_gid)"
    // The size of a directory is the business of the file system that keeps it.
    if !isDirectory { text += " \(status.st_size) rdev \(status.st_rdev) blksize \(status.st_blksize)" }
    if withTimes {
      text +=
        " a \(status.st_atim.tv_sec).\(status.st_atim.tv_nsec) m \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
    }
    return text
  }
}
