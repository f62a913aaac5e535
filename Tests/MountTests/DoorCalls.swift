// System calls as the tests of rights make them: each answers `nil`, or the number of the refusal.

import CMountSupport
import Glibc
import LinuxFiles

/// One call, and what came of it.
enum Calls {
  /// Opens and closes again.
  static func open(_ path: String, _ flags: CInt, mode: UInt32 = 0o644) -> Errno? {
    let number = Glibc.open(path, flags | O_CLOEXEC, mode)
    guard number >= 0 else { return .current }
    close(number)
    return nil
  }

  static func create(_ path: String, mode: UInt32 = 0o666) -> Errno? {
    open(path, O_WRONLY | O_CREAT | O_EXCL, mode: mode)
  }

  static func read(_ path: String) -> Result<String, Errno> {
    let number = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return .failure(.current) }
    defer { close(number) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = Glibc.read(number, &bytes, bytes.count)
    guard count >= 0 else { return .failure(.current) }
    return .success(String(decoding: bytes.prefix(count), as: UTF8.self))
  }

  /// Replaces the content, or with `O_APPEND` adds to it.
  static func write(_ path: String, _ text: String, _ flags: CInt = O_CREAT | O_TRUNC) -> Errno? {
    let number = Glibc.open(path, O_WRONLY | O_CLOEXEC | flags, 0o644)
    guard number >= 0 else { return .current }
    defer { close(number) }
    return answer(Glibc.write(number, text, text.utf8.count))
  }

  static func list(_ path: String) -> Result<[String], Errno> {
    guard let stream = opendir(path) else { return .failure(.current) }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return .success(names.sorted())
  }

  static func status(_ path: String) -> Result<stat, Errno> {
    var found = stat()
    return lstat(path, &found) == 0 ? .success(found) : .failure(.current)
  }

  /// Runs a program as the calling thread and waits for it; answers why it did not start.
  static func execute(_ path: String) -> Errno? {
    if case .failure(let failure) = spawned([path]) { return failure }
    return nil
  }

  /// Runs a program as the calling thread, and answers how it ended; -1 if it did not start or was killed.
  static func run(_ words: [String]) -> CInt {
    guard case .success(let status) = spawned(words), status & 0x7F == 0 else { return -1 }
    return status >> 8 & 0xFF
  }

  private static func spawned(_ words: [String]) -> Result<CInt, Errno> {
    var child = pid_t()
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    let failure = posix_spawn(&child, words[0], nil, nil, &arguments, nil)
    guard failure == 0 else { return .failure(Errno(rawValue: failure)) }
    var status: CInt = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    return .success(status)
  }

  /// utimensat with nanoseconds that may be ``now`` or ``omit``.
  static func setTimes(_ path: String, access: Int = 0, modification: Int = 0) -> Errno? {
    let times = [access, modification].map { timespec(tv_sec: 1_000_000, tv_nsec: $0) }
    return answer(utimensat(AT_FDCWD, path, times, 0))
  }

  /// `UTIME_NOW` and `UTIME_OMIT`.
  static let now = (1 << 30) - 1
  static let omit = (1 << 30) - 2

  static func answer(_ result: CInt) -> Errno? { result >= 0 ? nil : .current }

  static func answer(_ result: Int) -> Errno? { result >= 0 ? nil : .current }
}

/// Extended attributes of an object itself.
enum Attribute {
  static let flags = "system.varve.flags"
  static let list = "system.varve.acl"

  static func set(
    _ path: String, _ name: String, _ value: some Collection<UInt8>, flags: CInt = 0
  ) -> Errno? {
    let bytes = Array(value)
    return refusal(lt_set_attribute(path, name, bytes, bytes.count, flags))
  }

  static func set(_ path: String, _ name: String, _ text: String) -> Errno? { set(path, name, text.utf8) }

  static func get(_ path: String, _ name: String) -> Result<[UInt8], Errno> {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = lt_attribute(path, name, &bytes, bytes.count)
    if let refusal = refusal(count) { return .failure(refusal) }
    return .success(Array(bytes.prefix(count)))
  }

  static func text(_ path: String, _ name: String) -> Result<String, Errno> {
    get(path, name).map { String(decoding: $0, as: UTF8.self) }
  }

  static func remove(_ path: String, _ name: String) -> Errno? { refusal(lt_remove_attribute(path, name)) }

  static func names(_ path: String) -> Result<[String], Errno> {
    var bytes = [CChar](repeating: 0, count: 65_536)
    let count = lt_attribute_names(path, &bytes, bytes.count)
    if let refusal = refusal(count) { return .failure(refusal) }
    let text = bytes.prefix(count).map { UInt8(bitPattern: $0) }
    return .success(text.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }.sorted())
  }

  private static func refusal(_ result: Int) -> Errno? {
    result >= 0 ? nil : Errno(rawValue: CInt(-result))
  }
}

extension Result where Failure == Errno {
  /// The refusal, or `nil`.
  var refusal: Errno? {
    if case .failure(let error) = self { error } else { nil }
  }
}
