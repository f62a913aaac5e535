// Requests about what lies below a directory while that directory moves: it is there all the time.

import Foundation
import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Directories that move", .timeLimit(.minutes(2))) struct MoveTests {
  /// One rename of a round; each round ends where it began.
  struct Step: Sendable {
    var name: String
    var from: String
    var newName: String
    var to: String
    var style = RenameStyle.noReplace
  }

  /// What moves above `inner` and its file.
  ///
  /// Directories are named by where they are before the first step.
  enum Move: String, CaseIterable, Sendable {
    case elsewhere, newName, exchange, exchangeWithLink, severalLevels, fileAsWell

    var steps: [Step] {
      switch self {
      case .elsewhere: Move.thereAndBack("gate", "a", "gate", "b")
      case .newName: Move.thereAndBack("gate", "a", "renamed", "a")
      case .exchange: Array(repeating: Move.swap(with: "twin"), count: 2)
      case .exchangeWithLink: Array(repeating: Move.swap(with: "link"), count: 2)
      case .severalLevels:
        [
          Step(name: "gate", from: "a", newName: "gate", to: "b"),
          Step(name: "b", from: "", newName: "b", to: "a"),
          Step(name: "a", from: "", newName: "moved", to: ""),
          Step(name: "moved", from: "", newName: "a", to: ""),
          Step(name: "b", from: "a", newName: "b", to: ""),
          Step(name: "gate", from: "b", newName: "gate", to: "a"),
        ]
      case .fileAsWell:
        Move.thereAndBack("gate", "a", "gate", "b") + Move.thereAndBack("file", "a/gate/inner", "file", "b")
      }
    }

    private static func thereAndBack(
      _ name: String, _ from: String, _ newName: String, _ to: String
    ) -> [Step] {
      [
        Step(name: name, from: from, newName: newName, to: to),
        Step(name: newName, from: to, newName: name, to: from),
      ]
    }

    private static func swap(with other: String) -> Step {
      Step(name: "gate", from: "a", newName: other, to: "b", style: .exchange)
    }
  }

  @Test("What is below a directory that moves is reached all the while", arguments: Move.allCases)
  func reached(move: Move) throws {
    let stage = try Stage()
    defer { stage.remove() }
    let directories = try ["", "a", "b", "a/gate", "a/gate/inner"].map { try stage.node($0) }
    let places = Dictionary(uniqueKeysWithValues: zip(["", "a", "b", "a/gate", "a/gate/inner"], directories))
    let file = try stage.node("a/gate/inner/file")
    let isOver = Atomic<Bool>(false)
    let refusals: Mutex<[String]> = Mutex([])
    let calls = Atomic<Int>(0)
    let walkers = try (0..<2).map { number in
      try Walker {
        for turn in number... {
          guard !isOver.load(ordering: .acquiring) else { return }
          // As if others had been used since.
          directories.forEach { stage.closeDirectory($0) }
          do throws(Errno) {
            try stage.call(turn, on: file, in: directories[4])
            calls.add(1, ordering: .relaxed)
          } catch {
            refusals.withLock { $0.append("call \(turn % Stage.calls): \(error)") }
            return
          }
        }
      }
    }
    defer {
      isOver.store(true, ordering: .releasing)
      for walker in walkers { walker.join() }
    }
    var rounds = 0
    while rounds < 2_000, refusals.withLock({ $0.isEmpty }) {
      for step in move.steps { try stage.take(step, among: places) }
      rounds += 1
    }
    #expect(refusals.withLock { $0 } == [], "after \(rounds) rounds")
    #expect(calls.load(ordering: .relaxed) > 100)
  }

  @Test("What is in a directory that was forgotten and found again moves with it") func foundAgain() throws {
    let stage = try Stage()
    defer { stage.remove() }
    let (a, b) = (try stage.node("a"), try stage.node("b"))
    let former = try stage.lookup("gate", in: a)
    let inner = try stage.lookup("inner", in: former)
    // The kernel forgets both and finds both again; its word about `inner` comes late.
    stage.volume.forget(former, references: 1)
    let gate = try stage.lookup("gate", in: a)
    #expect(gate != former)
    #expect(try stage.lookup("inner", in: gate) == inner)
    stage.volume.forget(inner, references: 1)
    try stage.rename("gate", in: a, to: "gate", in: b)
    for directory in [a, b, gate, inner] { stage.closeDirectory(directory) }
    for turn in 0..<Stage.calls {
      #expect(throws: Never.self) { try stage.call(turn, on: stage.node("file", from: inner), in: inner) }
    }
  }

  @Test("A file is found through a directory that was forgotten under another name") func forgotten() throws {
    let stage = try Stage()
    defer { stage.remove() }
    let (a, b) = (try stage.node("a"), try stage.node("b"))
    let file = try stage.node("b/second")
    let former = try stage.lookup("gate", in: a)
    let inner = try stage.lookup("inner", in: former)
    // Last seen under the name that the kernel drops now, with all above it.
    #expect(try stage.lookup("file", in: inner) == file)
    for node in [file, inner, former] { stage.volume.forget(node, references: 1) }
    let gate = try stage.lookup("gate", in: a)
    try stage.rename("gate", in: a, to: "renamed", in: b)
    for directory in [a, b, gate] { stage.closeDirectory(directory) }
    #expect(throws: Never.self) { try stage.call(0, on: file, in: gate) }
  }
}

/// A volume that no kernel has mounted, with `a/gate/inner/file` in it.
private final class Stage: Sendable {
  let volume: Volume
  private let path: String
  private let caller = Caller(user: getuid(), group: getgid(), thread: 0)

  init() throws {
    var template = Array("/tmp/varve-move.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno.current }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    for name in ["a", "b", "a/gate", "a/gate/inner", "b/twin"] { mkdir("\(path)/\(name)", 0o755) }
    close(creat("\(path)/a/gate/inner/file", 0o644))
    guard link("\(path)/a/gate/inner/file", "\(path)/b/second") == 0, symlink("a", "\(path)/b/link") == 0
    else { throw Errno.current }
    var options = VolumeOptions()
    options.live.cache = .none
    volume = try Volume(UpperRoot(Array(path.utf8)), options: options)
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }

  func lookup(_ name: String, in parent: NodeID) throws(Errno) -> NodeID {
    let answer = try FileName.with(Array(name.utf8)) { name throws(Errno) in
      try volume.lookup(name, in: parent, for: caller)
    }
    guard case .found(let entry) = answer else { throw .noSuchFile }
    return entry.node
  }

  func node(_ path: String, from start: NodeID = Volume.rootNode) throws(Errno) -> NodeID {
    var node = start
    for name in path.split(separator: "/") { node = try lookup(String(name), in: node) }
    return node
  }

  func rename(
    _ name: String, in parent: NodeID, to newName: String, in newParent: NodeID,
    _ style: RenameStyle = .noReplace
  ) throws(Errno) {
    try FileName.with(Array(name.utf8)) { name throws(Errno) in
      try FileName.with(Array(newName.utf8)) { newName throws(Errno) in
        try volume.rename(name, in: parent, to: newName, in: newParent, style, for: caller)
      }
    }
  }

  func take(_ step: MoveTests.Step, among places: [String: NodeID]) throws {
    let (from, to) = (try #require(places[step.from]), try #require(places[step.to]))
    try rename(step.name, in: from, to: step.newName, in: to, step.style)
  }

  /// The cache lets go of a directory.
  func closeDirectory(_ id: NodeID) {
    guard let attachment = volume.nodes.node(id)?.existingAttachment else { return }
    volume.resolver.directories.drop(attachment)
  }

  static let calls = 6

  /// Everything that goes by a name from above: an answer, or ESTALE.
  func call(_ turn: Int, on file: NodeID, in directory: NodeID) throws(Errno) {
    switch turn % Stage.calls {
    case 0: _ = try volume.attributes(of: file, handle: nil, for: caller)
    case 1: volume.release(try volume.open(file, .read, for: caller).handle)
    case 2: volume.release(try volume.openDirectory(directory, for: caller).handle)
    case 3: try volume.access(file, mask: 4, for: caller)
    case 4:
      var change = AttributeChange()
      change.mode = 0o644
      _ = try volume.changeAttributes(of: file, change, handle: nil, for: caller)
    default: _ = try volume.attributes(of: directory, handle: nil, for: caller)
    }
  }
}

/// A thread that can be kept in a list and waited for.
private final class Walker {
  private let thread: Mutex<PlainThread?>

  init(_ body: @escaping @Sendable () -> Void) throws(Errno) {
    thread = Mutex(try PlainThread(name: "walker", body))
  }

  func join() {
    let thread = thread.withLock { $0.take() }
    thread?.join()
  }
}
