// Asking a mounted volume why, over its control socket, and the random scenes it is asked about.

import AccessControl
import CMountSupport
import Glibc
import JSONForm
import LinuxFiles
import MountSupport
import Randomness
import TextForms

/// The daemon behind a mount, as a program asks it.
struct WhyClient: Sendable {
  private let socket: String
  /// What the kernel forbids on the mount by which things are tried.
  private let mount: [String]

  init(_ volume: MountSupport.MountedVolume, mount: [String] = []) throws {
    socket = try Attribute.text(volume.path, "system.varve.control").get()
    self.mount = mount
  }

  /// The answer to one request, asked by the calling thread's user.
  func ask(_ verb: String, _ members: [JSON.Member]) throws -> JSON {
    guard let slash = socket.lastIndex(of: "/") else { throw TestFailure("no socket in '\(socket)'") }
    let directory = try Descriptor.open(path: String(socket[..<slash]), [.path, .directory])
    let stream = try FileName.with(Array(socket[socket.index(after: slash)...].utf8)) {
      name throws(Errno) in try LocalStream(to: name, in: directory)
    }
    let deadline = Clock.monotonicNanoseconds + 20_000_000_000
    let request = JSON.object([JSON.Member("verb", .string(verb))] + members)
    try stream.send(Array(request.text.utf8) + [0x0A], deadline: deadline)
    let line = try stream.receiveLastLine(limit: 1 << 24, deadline: deadline)
    guard let answer = JSON(line) else {
      throw TestFailure("no JSON: \(String(decoding: line, as: UTF8.self))")
    }
    return answer
  }

  /// Explanations of several questions, about `user` if that is not who asks.
  func explain(_ questions: [JSON], as user: TestUser? = nil) throws -> [JSON] {
    var members = [JSON.Member("questions", .array(questions))]
    if !mount.isEmpty {
      members.append(JSON.Member("mount", .object(mount.map { JSON.Member($0, .bool(true)) })))
    }
    if let user { members.append(JSON.Member("as", user.json)) }
    let answer = try ask("why", members)
    guard case .array(let explanations)? = answer["explanations"] else {
      throw TestFailure("refused: \(answer.text)")
    }
    return explanations
  }

  static func question(_ operation: String, _ path: String, to newPath: String? = nil) -> JSON {
    .object(
      [JSON.Member("operation", .string(operation)), JSON.Member("path", .string(path))]
        + (newPath.map { [JSON.Member("newPath", .string($0))] } ?? []))
  }
}

extension TestUser {
  var json: JSON {
    .object([
      JSON.Member("user", .number(user)), JSON.Member("group", .number(group)),
      JSON.Member("groups", .array(groups.map { .number($0) })),
    ])
  }
}

/// What decides about one object of a scene.
struct Dress: Sendable, CustomStringConvertible {
  var user: UInt32
  var group: UInt32
  var mode: UInt32
  var list: [String] = []
  var flags: [String] = []

  var description: String {
    "\(user):\(group) 0\(String(mode, radix: 8)) \(flags.joined(separator: ",")) \(list)"
  }

  static func random(isDirectory: Bool, using dice: inout Dice) -> Dress {
    var dress = Dress(
      user: dice.pick([0, 1001, 1001, 1002, 1003]), group: dice.pick([2001, 2001, 2002, 2009]),
      mode: UInt32(dice.below(0o1000)))
    // Half of the directories can be passed by most, or nothing below them would ever be asked.
    if isDirectory, dice.once(in: 2) { dress.mode |= 0o111 }
    if isDirectory, dice.once(in: 3) { dress.mode |= 0o1000 }
    if !isDirectory, dice.once(in: 8) { dress.mode |= dice.pick([0o4000, 0o2000]) }
    if dice.once(in: 2) {
      dress.list = (0...dice.below(3)).map { _ in entry(isDirectory: isDirectory, using: &dice) }
    }
    if dice.once(in: 5) {
      dress.flags = [dice.pick(["uchg", "uappnd", "schg", "sappnd", "sunlnk", "hidden"])]
    }
    return dress
  }

  private static func entry(isDirectory: Bool, using dice: inout Dice) -> String {
    let who = dice.pick([
      "user:1001", "user:1002", "group:2001", "group:2002", "group:2003", "group:everyone", "owner@",
      "group@",
    ])
    let words = [
      isDirectory ? "list" : "read", isDirectory ? "add_file" : "write", isDirectory ? "search" : "execute",
      isDirectory ? "add_subdirectory" : "append", "delete", "delete_child", "readattr", "writeattr",
      "readextattr", "writeextattr", "readsecurity", "writesecurity", "chown",
    ]
    let rights = words.filter { _ in dice.once(in: 3) }
    let kind = dice.once(in: 2) ? "allow" : "deny"
    let travel = dice.once(in: 8) ? ",file_inherit,only_inherit" : ""
    return "\(who) \(kind) \((rights.isEmpty ? ["read"] : rights).joined(separator: ","))\(travel)"
  }

  /// Dresses an object as root; flags last, because they forbid the rest.
  func apply(to path: String) throws {
    guard chown(path, user, group) == 0, chmod(path, mode) == 0 else {
      throw TestFailure("dress \(path): \(Errno.current)")
    }
    if !list.isEmpty, let error = Attribute.set(path, Attribute.list, list.joined(separator: "\n")) {
      throw TestFailure("list of \(path): \(error) for \(list)")
    }
    if !flags.isEmpty, let error = Attribute.set(path, Attribute.flags, flags.joined(separator: ",")) {
      throw TestFailure("flags of \(path): \(error)")
    }
  }
}

/// A node in a directory, another directory, and perhaps something there that a rename would replace.
struct WhyScene: Sendable, CustomStringConvertible {
  let way: Dress
  let node: Dress
  let nodeIsDirectory: Bool
  let target: Dress
  let victim: Dress?
  let victimIsDirectory: Bool

  init(using dice: inout Dice) {
    way = .random(isDirectory: true, using: &dice)
    nodeIsDirectory = dice.once(in: 3)
    node = .random(isDirectory: nodeIsDirectory, using: &dice)
    target = .random(isDirectory: true, using: &dice)
    victimIsDirectory = dice.once(in: 6) ? !nodeIsDirectory : nodeIsDirectory
    victim = dice.once(in: 2) ? .random(isDirectory: victimIsDirectory, using: &dice) : nil
  }

  var description: String {
    "way \(way); node (\(nodeIsDirectory ? "directory" : "file")) \(node); target \(target); victim "
      + (victim.map { "(\(victimIsDirectory ? "directory" : "file")) \($0)" } ?? "none")
  }

  /// Makes the scene in a directory of its own.
  func build(_ place: String) throws {
    for path in [place, place + "/way", place + "/target"] {
      guard mkdir(path, 0o755) == 0 else { throw TestFailure("mkdir \(path): \(Errno.current)") }
    }
    try make(nodeIsDirectory, place + "/way/node")
    try node.apply(to: place + "/way/node")
    if let victim {
      try make(victimIsDirectory, place + "/target/victim")
      try victim.apply(to: place + "/target/victim")
    }
    try target.apply(to: place + "/target")
    try way.apply(to: place + "/way")
  }

  private func make(_ isDirectory: Bool, _ path: String) throws {
    if isDirectory {
      guard mkdir(path, 0o755) == 0 else { throw TestFailure("mkdir \(path): \(Errno.current)") }
    } else if let error = Calls.write(path, TinyProgram.bytes) {
      throw TestFailure("write \(path): \(error)")
    }
  }
}

/// A program of 132 bytes that ends at once.
enum TinyProgram {
  static let bytes: [UInt8] = {
    var header: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    func put(_ value: UInt64, _ size: Int) {
      for byte in 0..<size { header.append(UInt8(truncatingIfNeeded: value >> UInt64(byte * 8))) }
    }
    #if arch(x86_64)
    let (machine, code): (UInt64, [UInt8]) = (62, [0xB8, 0x3C, 0, 0, 0, 0x31, 0xFF, 0x0F, 0x05, 0, 0, 0])
    #else
    let (machine, code): (UInt64, [UInt8]) = (183, [0, 0, 0x80, 0xD2, 0xA8, 0x0B, 0x80, 0xD2, 1, 0, 0, 0xD4])
    #endif
    put(2, 2)
    put(machine, 2)
    put(1, 4)
    put(0x40_0078, 8)
    put(64, 8)
    put(0, 8)
    put(0, 4)
    put(64, 2)
    put(56, 2)
    put(1, 2)
    put(0, 6)
    put(1, 4)
    put(5, 4)
    put(0, 8)
    put(0x40_0000, 8)
    put(0x40_0000, 8)
    put(132, 8)
    put(132, 8)
    put(4_096, 8)
    return header + code
  }()
}

extension Calls {
  /// Replaces the content by bytes.
  static func write(_ path: String, _ bytes: [UInt8]) -> Errno? {
    let number = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard number >= 0 else { return .current }
    defer { close(number) }
    return answer(Glibc.write(number, bytes, bytes.count))
  }
}
