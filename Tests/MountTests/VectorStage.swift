// The scene of one decision vector, set up on a mount by root.

import AccessControl
import Glibc
import LinuxFiles
import MountSupport
import RecordFormat
import VectorFixture

/// The objects of a scene.
///
/// Everything lies below one directory that anybody may search.
struct Stage: Sendable {
  let scene: AuthorizationVector.Scene
  /// This scene's own directory on the mount, and the same one in the upper directory.
  let place: String
  let backing: String

  init(_ vector: AuthorizationVector, below place: String, backing: String) {
    scene = vector.scene
    self.place = "\(place)/v\(vector.number)"
    self.backing = "\(backing)/v\(vector.number)"
  }

  var parent: String { "\(place)/parent" }
  var node: String { "\(parent)/node" }
  var newParent: String { scene.newParent == nil ? parent : "\(place)/target" }
  /// Where a new name goes, or what a rename replaces.
  var newName: String { "\(newParent)/arrived" }

  /// Makes everything: objects first, then who may do what, then the flags, which would forbid the rest.
  func build() throws {
    try require(mkdir(place, 0o755), "mkdir \(place)")
    try make(.directory, parent)
    if let node = scene.node { try make(node.type, self.node) }
    if scene.newParent != nil { try make(.directory, newParent) }
    if let victim = scene.victim { try make(victim.type, newName) }
    if scene.operation == .getExtended { try refuse(Attribute.set(node, "user.test", "x"), "xattr") }
    for (object, path) in objects {
      try require(chown(path, object.uid, object.gid), "chown \(path)")
      try require(chmod(path, mode_t(object.mode)), "chmod \(path)")
      try setList(object, path)
    }
    for (object, path) in objects where !object.flags.isEmpty {
      let words = object.flags.joined(separator: ",")
      try refuse(Attribute.set(path, Attribute.flags, words), "flags of \(path)")
    }
  }

  private var objects: [(AuthorizationVector.Object, String)] {
    [(scene.node, node), (scene.victim, newName), (scene.newParent, newParent), (scene.parent, parent)]
      .compactMap { object, path in object.map { ($0, path) } }
  }

  private func make(_ kind: AuthorizationVector.Kind, _ path: String) throws {
    switch kind {
    case .directory: try require(mkdir(path, 0o755), "mkdir \(path)")
    case .pipe: try require(mkfifo(path, 0o644), "mkfifo \(path)")
    case .file:
      if scene.operation == .execute {
        try Program.run("/bin/cp", ["/bin/true", path])
      } else {
        try refuse(Calls.write(path, "content"), "write \(path)")
      }
    }
  }

  /// By the door where it can say it; a list without entries only the stored record can hold.
  private func setList(_ object: AuthorizationVector.Object, _ path: String) throws {
    guard let entries = object.acl else { return }
    guard entries.isEmpty else {
      return try refuse(
        Attribute.set(path, Attribute.list, entries.map(\.text).joined(separator: "\n")), "list of \(path)")
    }
    let below = backing + path.dropFirst(place.count)
    try refuse(
      Attribute.set(below, "trusted.varve.acl", try AccessListBytes.encode(AccessList())), "list of \(below)")
    var record = CoreRecord()
    record.marks.insert(.accessList)
    try refuse(Attribute.set(below, "trusted.varve.m", record.encoded()), "record of \(below)")
  }

  /// Looks at everything there is, so that the kernel knows it.
  func walk() {
    for path in [place, parent, node, newParent, newName] {
      _ = Calls.status(path)
      _ = Calls.list(path)
    }
  }

  private func require(_ result: CInt, _ what: String) throws {
    try refuse(Calls.answer(result), what)
  }

  private func refuse(_ error: Errno?, _ what: String) throws {
    if let error { throw TestFailure("\(what): \(error)") }
  }
}

extension AuthorizationVector.Entry {
  /// The entry as a line of the door.
  var text: String {
    let names = ["everyone": "group:everyone", "owner": "owner@", "group": "group@", "nobody": "nobody@"]
    return "\(names[who] ?? who) \(kind) \((rights + flags).joined(separator: ","))"
  }
}
