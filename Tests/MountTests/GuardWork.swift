import CMountSupport
import Glibc
import LinuxFiles
import MountSupport

/// The operations whose system calls are counted, each done to many files by an ordinary user.
struct GuardWork {
  /// How many files there are.
  static let count = 100

  /// All files at once, or few at a time: what is known or rests is so for a second, and a slow machine takes longer for all
  /// of them.
  static func groups(few: Bool) -> [Range<Int>] {
    let size = few ? 25 : count
    return stride(from: 0, to: count, by: size).map { $0..<min($0 + size, count) }
  }

  private let path: String
  private let groups: [Range<Int>]

  /// `few`: whatever takes place in time does so on any machine, and the count takes half a minute longer.
  init(_ path: String, few: Bool) {
    self.path = path
    groups = GuardWork.groups(few: few)
  }

  /// Makes the files, as the user whose they are.
  static func prepare(_ path: String) throws {
    let failure = TestUser.bob.run(umask: 0o022) { () -> String? in
      for name in ["/listed", "/viewed"] where Glibc.mkdir(path + name, 0o755) != 0 {
        return "mkdir: \(Errno.current)"
      }
      let text = String(repeating: "x", count: 4096)
      for number in 0..<count {
        if let error = Calls.write("\(path)/f\(number)", text) { return "f\(number): \(error)" }
        if let error = Calls.create("\(path)/listed/f\(number)") { return "listed: \(error)" }
        if let error = Calls.create("\(path)/viewed/f\(number).txt") { return "viewed: \(error)" }
      }
      return nil
    }
    if let failure { throw TestFailure(failure) }
  }

  /// Files of 10 GiB with a byte in each of them.
  static func prepareLarge(_ path: String) throws {
    let failure = TestUser.bob.run(umask: 0o022) { () -> String? in
      for number in 0..<count {
        let file = Glibc.open("\(path)/large\(number)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        defer { _ = Glibc.close(file) }
        for gigabyte in 1...10 where pwrite(file, "x", 1, off_t(gigabyte) << 30 - 1) != 1 {
          return "large\(number): \(Errno.current)"
        }
      }
      return nil
    }
    if let failure { throw TestFailure(failure) }
  }

  /// Counts all operations, or only those that open files.
  func count(with tracer: CallTracer, _ way: MountTests.GuardTests.Way) throws -> [String: CallCount] {
    let onlyOpens = way == .served || way == .encrypted
    let box = Unshared(tracer)
    let (path, groups) = (path, groups)
    return try TestUser.bob.run(umask: 0o022) { () -> Result<[String: CallCount], TestFailure> in
      do {
        let pass = try Pass(path, groups, box.value)
        defer { pass.close() }
        if !onlyOpens { try pass.look() }
        try pass.openAndClose()
        if way == .encrypted { try pass.encrypted() }
        if !onlyOpens { try pass.change() }
        return .success(pass.found)
      } catch {
        return .failure(error as? TestFailure ?? TestFailure("\(error)"))
      }
    }.get()
  }
}

/// Used by one thread at a time.
private struct Unshared<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

/// One pass through the operations.
private final class Pass {
  private let tracer: CallTracer
  private let path: String
  private let directory: CInt
  private let groups: [Range<Int>]
  private(set) var found: [String: CallCount] = [:]

  init(_ path: String, _ groups: [Range<Int>], _ tracer: CallTracer) throws {
    (self.tracer, self.path, self.groups) = (tracer, path, groups)
    directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { throw TestFailure("\(path): \(Errno.current)") }
  }

  func close() { _ = Glibc.close(directory) }

  /// Counts `body`, done to every number; it answers a negative number when it fails.
  private func each(
    _ operation: String, of numbers: Range<Int> = 0..<GuardWork.count, _ body: (Int) -> Int
  ) throws {
    var failure: String?
    let count = try tracer.count {
      for number in numbers where body(number) < 0 {
        failure = failure ?? "\(operation) \(number): \(Errno.current)"
      }
    }
    found[operation, default: CallCount()] += count
    if let failure { throw TestFailure(failure) }
  }

  private func stat(_ name: String) -> Int {
    var status = Glibc.stat()
    return Int(fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW))
  }

  /// Makes the kernel remember the names for another second, and the daemon their records.
  ///
  /// Only after a second are both asked for; and only of what was left alone for a while is a record remembered.
  private func refresh(_ prefix: String, _ numbers: Range<Int> = 0..<GuardWork.count) {
    usleep(1_100_000)
    for number in numbers { _ = stat("\(prefix)\(number)") }
  }

  /// Counts `body`, done to every number while the kernel knows the names that begin with `prefix`.
  private func each(_ operation: String, known prefix: String, _ body: (Int) -> Int) throws {
    for group in groups {
      refresh(prefix, group)
      try each(operation, of: group, body)
    }
  }

  func look() throws {
    try each("stat, first time") { stat("f\($0)") }
    usleep(1_100_000)
    try each("stat, a second later") { stat("f\($0)") }
    let files = (0..<GuardWork.count).map { openat(directory, "f\($0)", lt_o_path | O_CLOEXEC) }
    defer { for file in files { _ = Glibc.close(file) } }
    usleep(1_100_000)
    try each("fstat, a second later") {
      var status = Glibc.stat()
      return Int(fstat(files[$0], &status))
    }
    let listed = openat(directory, "listed", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard listed >= 0 else { throw TestFailure("listed: \(Errno.current)") }
    defer { _ = Glibc.close(listed) }
    found["list 100 names, each"] = try tracer.count {
      guard let names = Side.entries(Int(listed)), names.count == GuardWork.count + 2 else {
        throw TestFailure("listed: \(Errno.current)")
      }
    }
    try lookInView()
  }

  /// In a view, whose names are made once.
  private func lookInView() throws {
    let view = open(
      "\(path.dropLast("/d".count))/.varve/view/en/d/viewed", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard view >= 0 else { throw TestFailure("view: \(Errno.current)") }
    defer { _ = Glibc.close(view) }
    func stat(_ name: String) -> Int {
      var status = Glibc.stat()
      return Int(fstatat(view, name, &status, AT_SYMLINK_NOFOLLOW))
    }
    try each("stat of a real name in a view") { stat("f\($0).txt") }
    guard Side.entries(Int(view))?.count == GuardWork.count + 2 else {
      throw TestFailure("viewed: \(Errno.current)")
    }
    try each("stat of a shown name in a view") { stat("f\($0)") }
    let files = (0..<GuardWork.count).map { openat(view, "f\($0)", O_RDWR | O_CLOEXEC) }
    defer {
      for file in files { _ = Glibc.close(file) }
      // The kernel tells of it later, which must not be counted with what comes next.
      refresh("f")
    }
    var bytes = [UInt8](repeating: 7, count: 4096)
    for file in files where pwrite(file, bytes, 4096, 0) != 4096 {
      throw TestFailure("write: \(Errno.current)")
    }
    try each("write, read 4 KiB of an open file in a view") {
      let isDone = pwrite(files[$0], bytes, 4096, 0) == 4096 && pread(files[$0], &bytes, 4096, 0) == 4096
      return isDone ? 0 : -1
    }
  }

  func openAndClose() throws {
    try each("create, close") { opened("new\($0)", O_WRONLY | O_CREAT | O_EXCL) { _ in 0 } }
    var bytes = [UInt8](repeating: 7, count: 4096)
    for group in groups {
      refresh("f", group)
      for operation in ["open, read 4 KiB, close", "open, read 4 KiB, close, again"] {
        try each(operation, of: group) {
          opened("f\($0)", O_RDONLY) { read($0, &bytes, 4096) == 4096 ? 0 : -1 }
        }
      }
    }
    try each("open, write 4 KiB, close", known: "f") {
      opened("f\($0)", O_WRONLY) { write($0, bytes, 4096) == 4096 ? 0 : -1 }
    }
  }

  /// What an encrypted file costs more than others.
  func encrypted() throws {
    usleep(1_100_000)
    try each("stat of an encrypted file, first time") { stat("new\($0)") }
    let bytes = [UInt8](repeating: 7, count: 4096)
    try each("create, write 100 bytes, close") {
      opened("small\($0)", O_WRONLY | O_CREAT | O_EXCL) { write($0, bytes, 100) == 100 ? 0 : -1 }
    }
    let files = (0..<GuardWork.count).map { openat(directory, "f\($0)", O_RDWR | O_CLOEXEC) }
    defer { for file in files { _ = Glibc.close(file) } }
    try each("first write 4 KiB in place") { pwrite(files[$0], bytes, 4096, 0) == 4096 ? 0 : -1 }
    try each("write 4 KiB in place") { pwrite(files[$0], bytes, 4096, 0) == 4096 ? 0 : -1 }
    try each("fsync") { Int(fsync(files[$0])) }
    let large = (0..<GuardWork.count).map { openat(directory, "large\($0)", O_WRONLY | O_CLOEXEC) }
    defer { for file in large { _ = Glibc.close(file) } }
    try each("first write 4 KiB to 10 GiB") { pwrite(large[$0], bytes, 4096, 5 << 30) == 4096 ? 0 : -1 }
  }

  private func opened(_ name: String, _ flags: CInt, _ body: (CInt) -> Int) -> Int {
    let file = openat(directory, name, flags | O_CLOEXEC, 0o644)
    guard file >= 0 else { return -1 }
    defer { _ = Glibc.close(file) }
    return body(file)
  }

  func change() throws {
    try each("chmod", known: "f") { Int(fchmodat(directory, "f\($0)", 0o640, 0)) }
    let files = (0..<GuardWork.count).map { openat(directory, "f\($0)", O_RDONLY | O_CLOEXEC) }
    try each("chmod of an open file", known: "f") { Int(fchmod(files[$0], 0o644)) }
    for file in files { _ = Glibc.close(file) }
    try each("rename", known: "f") { Int(renameat(directory, "f\($0)", directory, "r\($0)")) }
    try each("unlink", known: "r") { Int(unlinkat(directory, "r\($0)", 0)) }
    try each("mkdir") { Int(mkdirat(directory, "d\($0)", 0o755)) }
    try each("rmdir", known: "d") { Int(unlinkat(directory, "d\($0)", AT_REMOVEDIR)) }
  }
}
