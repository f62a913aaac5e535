import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Synchronization
import Testing

// What the crash tests share: chance with a seed, objects as they should be, objects as they are.

/// A small generator, so that a seed in a report repeats the run's choices.
struct Chance {
  private var state: UInt64
  init(seed: UInt64) { state = seed &+ 0x9E37_79B9_7F4A_7C15 }

  mutating func next(below limit: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state >> 11) % limit
  }

  static func seed(_ what: String) -> UInt64 {
    let seed = UInt64(Glibc.time(nil)) &* 1000 &+ UInt64(Glibc.getpid())
    print("\(what): seed \(seed)")
    return seed
  }
}

extension Errno {
  /// What callers are told whose daemon is gone.
  var isEndOfMount: Bool { [.notConnected, .connectionAborted].contains(self) }
}

/// An extended attribute of a path, not following links.
enum RawAttribute {
  static func get(_ path: String, _ name: String) -> Result<[UInt8], Errno> {
    var bytes = [UInt8](repeating: 0, count: 16_384)
    let count = path.withCString { p in
      name.withCString { n in
        bytes.withUnsafeMutableBytes {
          lt_call(
            Int(SYS_lgetxattr), Int(bitPattern: p), Int(bitPattern: n), Int(bitPattern: $0.baseAddress),
            16_384, 0, 0)
        }
      }
    }
    guard count >= 0 else { return .failure(Errno(rawValue: CInt(-count))) }
    return .success(Array(bytes.prefix(count)))
  }

  @discardableResult
  static func set(_ path: String, _ name: String, _ value: String) -> Errno? {
    let bytes = Array(value.utf8)
    let result = path.withCString { p in
      name.withCString { n in
        bytes.withUnsafeBytes {
          lt_call(
            Int(SYS_lsetxattr), Int(bitPattern: p), Int(bitPattern: n), Int(bitPattern: $0.baseAddress),
            bytes.count,
            0, 0)
        }
      }
    }
    return result < 0 ? Errno(rawValue: CInt(-result)) : nil
  }

  static func text(_ path: String, _ name: String) -> String {
    switch get(path, name) {
    case .success(let bytes): String(decoding: bytes, as: UTF8.self)
    case .failure(let error): "\(error)"
    }
  }
}

/// The names in a directory.
func names(in directory: String) -> [String] {
  let fd = Glibc.open(directory, O_RDONLY | O_DIRECTORY)
  guard fd >= 0 else { return [] }
  defer { Glibc.close(fd) }
  return (Side.entries(Int(fd)) ?? []).map { String(decoding: $0.name, as: UTF8.self) }
    .filter { $0 != "." && $0 != ".." }
}

/// A directory into which several users put things, whose access list is inherited; and how each thing must look.
struct SharedBox: Sendable {
  static let users = [TestUser.alice, .bob, TestUser(1004, group: 2004)]
  static let group: UInt32 = 2055
  static let list = """
    user:1002 deny delete
    group:2055 allow list,add_file,search,file_inherit,directory_inherit
    user:1003 allow read,write,file_inherit,only_inherit
    """

  /// What is made: by a word of its name.
  static let kinds: [(word: String, mode: UInt32, shown: UInt32)] = [
    ("file", 0o666, 0o100640), ("tight", 0o600, 0o100600), ("dir", 0o777, 0o040750),
    ("pipe", 0o666, 0o010640),
  ]

  let volume: MountedVolume
  var path: String { volume.path + "/box" }
  var upper: String { volume.upper + "/box" }

  /// For each kind, the bytes stored and the text shown of an inherited list.
  private let stored: [String: [UInt8]]
  private let shown: [String: String]

  init(_ volume: MountedVolume) throws {
    self.volume = volume
    let path = volume.path + "/box"
    try #require(Glibc.mkdir(path, 0o777) == 0)
    try #require(Glibc.chown(path, 0, SharedBox.group) == 0 && Glibc.chmod(path, 0o777) == 0)
    try #require(RawAttribute.set(path, "system.varve.acl", SharedBox.list) == nil)
    var stored: [String: [UInt8]] = [:]
    var shown: [String: String] = [:]
    for kind in SharedBox.kinds {
      let name = "\(path)/\(kind.word)-reference"
      try #require(SharedBox.make(name, kind.word, kind.mode) == nil)
      let below = "\(volume.upper)/box/\(kind.word)-reference"
      stored[kind.word] = try RawAttribute.get(below, "trusted.varve.acl").get()
      shown[kind.word] = RawAttribute.text(name, "system.varve.acl")
      SharedBox.remove(name)
    }
    // The tests would prove nothing if nothing were inherited.
    try #require(shown["file"]?.contains("1003") == true && shown["dir"]?.contains("2055") == true)
    self.stored = stored
    self.shown = shown
  }

  static func make(_ path: String, _ word: String, _ mode: UInt32, at directory: CInt = AT_FDCWD) -> Errno? {
    let result: CInt
    switch word {
    case "dir": result = Glibc.mkdirat(directory, path, mode)
    case "pipe": result = Glibc.mknodat(directory, path, S_IFIFO | mode, 0)
    default:
      result = Glibc.openat(directory, path, O_CREAT | O_EXCL | O_RDWR, mode)
      if result >= 0 { Glibc.close(result) }
    }
    return result < 0 ? .current : nil
  }

  static func remove(_ path: String) {
    if Glibc.unlink(path) != 0 { _ = Glibc.rmdir(path) }
  }

  /// What is wrong with an item of that name; `nil` for one that is right or gone.
  func fault(_ name: String, throughMount: Bool) -> String? {
    let path = "\(throughMount ? self.path : upper)/\(name)"
    let words = name.split(separator: "-")
    guard words.count == 3, let kind = SharedBox.kinds.first(where: { $0.word == words[0] }),
      let user = UInt32(words[1])
    else { return "nobody made '\(name)'" }
    var status = Glibc.stat()
    guard lstat(path, &status) == 0 else { return errno == ENOENT ? nil : "\(name): lstat \(Errno.current)" }
    let list =
      throughMount
      ? RawAttribute.get(path, "system.varve.acl").map {
        String(decoding: $0, as: UTF8.self) == shown[String(words[0])]
      }
      : RawAttribute.get(path, "trusted.varve.acl").map { $0 == stored[String(words[0])] }
    switch list {
    case .success(true): break
    case .success(false): return "\(name): another list, \(throughMount)"
    case .failure(.noSuchFile): return nil
    case .failure(let error): return "\(name): the list: \(error), \(throughMount)"
    }
    guard status.st_uid == user, status.st_gid == SharedBox.group, status.st_mode == kind.shown else {
      return "\(name): \(String(status.st_mode, radix: 8)) \(status.st_uid):\(status.st_gid)"
    }
    return nil
  }

  /// One user's part of a storm: makes things until the mount is gone or `end` is given.
  func makeThings(as user: TestUser, until end: Signal, removing: Bool) -> String? {
    let path = self.path
    return user.run(umask: 0o027) {
      // By descriptor: when the mount is gone, the same path would be a plain directory.
      let directory = Glibc.open(path, O_RDONLY | O_DIRECTORY)
      guard directory >= 0 else {
        // Whoever starts late may find the end already, or the directory below the mount.
        let error = Errno.current
        return error.isEndOfMount || error == .noSuchFile ? nil : "open the box: \(error)"
      }
      defer { Glibc.close(directory) }
      var number = 0
      while !end.isGiven {
        let kind = SharedBox.kinds[number % SharedBox.kinds.count]
        let name = "\(kind.word)-\(user.user)-\(number)"
        if let error = SharedBox.make(name, kind.word, kind.mode, at: directory) {
          return error.isEndOfMount ? nil : "make \(name): \(error)"
        }
        end.countOne()
        if removing, number >= 8 {
          let old = SharedBox.kinds[(number - 8) % SharedBox.kinds.count].word
          _ = Glibc.unlinkat(directory, "\(old)-\(user.user)-\(number - 8)", old == "dir" ? 0x200 : 0)
        }
        number += 1
      }
      return nil
    }
  }
}

/// A word that several threads look at.
final class Signal: Sendable {
  private let state = Atomic<Bool>(false)
  private let counter = Atomic<Int>(0)
  var isGiven: Bool { state.load(ordering: .acquiring) }
  func give() { state.store(true, ordering: .releasing) }
  var count: Int { counter.load(ordering: .acquiring) }
  func countOne() { counter.add(1, ordering: .acquiringAndReleasing) }
}
