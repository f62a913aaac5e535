// Every case of Tests/Fixtures/authorization-vectors.json, put to the engines.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import Testing
import VectorFixture

@Suite("The decision vectors") struct VectorTests {
  @Test func everyVectorIsAnsweredAsWritten() throws {
    let vectors = try AuthorizationVector.load()
    #expect(vectors.count == 130)
    for vector in vectors {
      let verdict = try answer(vector.scene)
      let seen = try #require(AuthorizationVector.Answer(rawValue: Outcome(verdict).rawValue))
      if seen != vector.expected {
        Issue.record("vector \(vector.number) (\(vector.why)): \(seen), not \(vector.expected); \(verdict)")
      }
    }
  }

  /// Nobody's list is read wrongly by the reference either.
  @Test func theReferenceAgrees() throws {
    for vector in try AuthorizationVector.load() {
      let verdict = try answer(vector.scene, by: Reference.answer)
      if verdict.rawValue != vector.expected.rawValue {
        Issue.record("vector \(vector.number) (\(vector.why)): \(verdict), not \(vector.expected)")
      }
    }
  }
}

/// Runs a scene: the search of the parent first where the scene names one, then the operation.
private func answer(_ scene: AuthorizationVector.Scene) throws -> Verdict {
  let cast = try Cast(scene)
  let judge = Judge(rules: cast.rules, subject: cast.subject)
  let request = try cast.request(scene)
  let search = judge.decide(.search, on: cast.parent)
  return search.isAllowed ? request.put(to: judge) : search
}

private func answer(
  _ scene: AuthorizationVector.Scene, by reference: (Reference, Request) -> Outcome
) throws -> Outcome {
  let cast = try Cast(scene)
  let teller = Reference(cast.subject, cast.rules)
  let search = reference(teller, .check(cast.parent, .search))
  return search == .ok ? reference(teller, try cast.request(scene)) : search
}

/// The objects of a scene as the engines see them.
private struct Cast {
  let subject: Subject
  let rules: VolumeRules
  let node: Item
  let parent: Item
  let newParent: Item
  let victim: Item?

  init(_ scene: AuthorizationVector.Scene) throws {
    let caller = scene.caller
    subject = Subject(user: caller.uid, group: caller.gid, groups: .listed(caller.groups))
    var rules = VolumeRules()
    rules.isReadOnly = scene.volume.isReadOnly
    rules.forbidsExecution = scene.volume.forbidsExecution
    rules.ignoresOwnership = scene.volume.ignoresOwnership
    rules.usesLists = scene.volume.usesLists
    rules.secureLevel = scene.volume.secureLevel
    self.rules = rules
    // Where no parent is given for an operation on an object: "use a root-owned 0755 directory".
    let anywhere = Item(kind: .directory, user: 0, group: 0, mode: Mode(0o755))
    node = try scene.node.map(Item.init) ?? anywhere
    parent = try scene.parent.map(Item.init) ?? anywhere
    newParent = try scene.newParent.map(Item.init) ?? parent
    victim = try scene.victim.map(Item.init)
  }

  func request(_ scene: AuthorizationVector.Scene) throws -> Request {
    let argument = scene.argument
    switch scene.operation {
    case .openRead: return .open(node, OpenRequest(reads: true))
    // The kernel opens a FIFO by itself; what it takes to write into it is asked by access.
    case .openWrite where node.kind == .special: return .access(node, .write)
    case .openWrite: return .open(node, OpenRequest(writes: true))
    case .openReadWrite: return .open(node, OpenRequest(reads: true, writes: true))
    case .openAppend: return .open(node, OpenRequest(writes: true, appends: true))
    case .openAppendTruncating: return .open(node, OpenRequest(writes: true, appends: true, truncates: true))
    case .openReadTruncating: return .open(node, OpenRequest(reads: true, truncates: true))
    case .openDirectory: return .check(node, .list)
    case .execute: return .open(node, OpenRequest(executes: true))
    case .access: return .access(node, AccessMode(letters: try #require(argument.mask)))
    case .stat: return .stat(node)
    case .truncate: return .truncate(node)
    case .getExtended: return .readExtended(node)
    case .setExtended: return .writeExtended(node)
    case .touch: return .touch(node)
    case .setTimes: return .changeTimes(node)
    case .changeMode: return .changeMode(node, Mode(try #require(argument.mode)))
    case .changeOwner: return .changeOwner(node, OwnerChange(user: argument.uid, group: argument.gid))
    case .changeFlags:
      let wanted = try FileFlags(words: try #require(argument.flags))
      return .changeFlags(node, wanted)
    case .setList: return .changeList(node, nil)
    case .create: return .create(false, parent)
    case .makeDirectory: return .create(true, parent)
    case .unlink, .removeDirectory: return .remove(node, parent)
    case .link: return .link(node, newParent, protected: false)
    case .rename: return .rename(node, parent, newParent, moves: !scene.staysInParent, over: victim)
    }
  }
}

extension AccessMode {
  fileprivate init(letters: String) {
    self = []
    if letters.contains("r") { insert(.read) }
    if letters.contains("w") { insert(.write) }
    if letters.contains("x") { insert(.execute) }
  }
}

extension FileFlags {
  fileprivate init(words: [String]) throws {
    self = try FileFlags.instruction(words.joined(separator: ",")).applied(to: [])
  }
}

extension Item {
  fileprivate init(_ object: AuthorizationVector.Object) throws {
    let kind: ItemKind =
      switch object.type {
      case .file: .file
      case .directory: .directory
      case .pipe: .special
      }
    try self.init(
      kind: kind, user: object.uid, group: object.gid, mode: Mode(object.mode),
      flags: FileFlags(words: object.flags),
      list: object.acl.map { AccessList(try $0.map(AccessEntry.init)) })
  }
}

extension AccessEntry {
  fileprivate init(_ entry: AuthorizationVector.Entry) throws {
    let kinds: [String: Kind] = ["allow": .allow, "deny": .deny, "audit": .audit, "alarm": .alarm]
    self.init(
      try #require(kinds[entry.kind]), try Identity(words: entry.who),
      Rights(try entry.rights.map { try #require(rightWords[$0], "\($0)") }),
      Inheritance(try entry.flags.map { try #require(inheritanceWords[$0], "\($0)") }))
  }
}

extension Identity {
  fileprivate init(words: String) throws {
    let special: [String: Identity] = [
      "everyone": .everyone, "nobody": .nobody, "owner": .owner, "group": .owningGroup,
    ]
    if let identity = special[words] {
      self = identity
      return
    }
    let parts = words.split(separator: ":")
    let number = try #require(parts.last.flatMap { UInt32($0) })
    self = parts.first == "user" ? .user(number) : .group(number)
  }
}

private let rightWords: [String: Rights] = [
  "read": .read, "list": .list, "write": .write, "add_file": .addFile, "execute": .execute,
  "search": .search, "delete": .delete, "append": .append, "add_subdirectory": .addSubdirectory,
  "delete_child": .deleteChild, "readattr": .readAttributes, "writeattr": .writeAttributes,
  "readextattr": .readExtended, "writeextattr": .writeExtended, "readsecurity": .readSecurity,
  "writesecurity": .writeSecurity, "chown": .takeOwnership, "generic_all": .genericAll,
  "generic_read": .genericRead, "generic_write": .genericWrite, "generic_execute": .genericExecute,
]

private let inheritanceWords: [String: AccessEntry.Inheritance] = [
  "inherited": .inherited, "file_inherit": .fileInherit, "directory_inherit": .directoryInherit,
  "limit_inherit": .limitInherit, "only_inherit": .onlyInherit,
]
