// Every case of Tests/Fixtures/authorization-vectors.json, done for real: real users, real calls, the kernel in between.
// There is no vector that Linux answers differently by itself before it asks us.

import Glibc
import LinuxFiles
import MountSupport
import Testing
import VectorFixture

extension MountTests {
  @Suite("The decision vectors on a mount", .timeLimit(.minutes(2))) struct VectorTests {
    @Test(
      "Every vector is answered as written, by kernel caches that are cold and by warm ones",
      arguments: Arrangement.all)
    func everyVector(arrangement: String) throws {
      let vectors = try AuthorizationVector.load()
      #expect(vectors.count == 130)
      let volume = try MountedVolume()
      defer { volume.remove() }
      for tree in ["cold", "warm"] {
        try #require(mkdir("\(volume.path)/\(tree)", 0o755) == 0)
        for vector in vectors { try stage(vector, tree, volume).build() }
      }
      try volume.unmount()

      for (options, group) in Dictionary(grouping: vectors, by: \.scene.volume.words) {
        let words = options.isEmpty ? arrangement : "\(arrangement),\(options)"
        let mounted = try MountedVolume(words, base: volume.base)
        for vector in group { stage(vector, "cold", mounted).check(vector, "cold, '\(words)'") }
        for vector in group {
          let stage = stage(vector, "warm", mounted)
          stage.walk()
          stage.check(vector, "warm, '\(words)'")
        }
        try mounted.unmount()
      }
    }

    private func stage(_ vector: AuthorizationVector, _ tree: String, _ volume: MountedVolume) -> Stage {
      Stage(vector, below: "\(volume.path)/\(tree)", backing: "\(volume.upper)/\(tree)")
    }
  }
}

extension AuthorizationVector.Volume {
  /// The mount options that make it so.
  var words: String {
    var words: [String] = []
    if isReadOnly { words.append("ro") }
    if forbidsExecution { words.append("noexec") }
    if ignoresOwnership { words.append("noowners") }
    if !usesLists { words.append("noacl") }
    if secureLevel != 0 { words.append("securelevel=\(secureLevel)") }
    return words.joined(separator: ",")
  }
}

extension AuthorizationVector.Answer {
  var refusal: Errno? {
    switch self {
    case .ok: nil
    case .notPermitted: .notPermitted
    case .accessDenied: .accessDenied
    case .readOnly: .readOnly
    }
  }
}

extension Stage {
  /// Does what the scene says as its caller, and compares.
  func check(_ vector: AuthorizationVector, _ how: String) {
    let caller = vector.scene.caller
    let user = TestUser(caller.uid, group: caller.gid, groups: caller.groups)
    let refusal = user.run { perform() }
    if refusal != vector.expected.refusal {
      let seen = refusal.map { "\($0)" } ?? "ok"
      let expected = vector.expected.rawValue
      Issue.record("vector \(vector.number) (\(how)): \(vector.why): \(seen), not \(expected)")
    }
  }

  /// The operation of the scene, by the calling thread.
  fileprivate func perform() -> Errno? {
    let argument = scene.argument
    switch scene.operation {
    case .openRead: return Calls.open(node, O_RDONLY)
    case .openWrite where scene.node?.type == .pipe: return openPipe()
    case .openWrite: return Calls.open(node, O_WRONLY)
    case .openReadWrite: return Calls.open(node, O_RDWR)
    case .openAppend: return Calls.open(node, O_WRONLY | O_APPEND)
    case .openAppendTruncating: return Calls.open(node, O_WRONLY | O_APPEND | O_TRUNC)
    case .openReadTruncating: return Calls.open(node, O_RDONLY | O_TRUNC)
    case .openDirectory: return Calls.list(node).refusal
    case .execute: return Calls.execute(node)
    case .access:
      let letters: [Character: CInt] = ["r": R_OK, "w": W_OK, "x": X_OK]
      let mask = (argument.mask ?? "").reduce(CInt(0)) { $0 | (letters[$1] ?? 0) }
      return Calls.answer(access(node, mask))
    case .stat: return Calls.status(node).refusal
    case .truncate: return Calls.answer(Glibc.truncate(node, 3))
    case .getExtended: return Attribute.get(node, "user.test").refusal
    case .setExtended: return Attribute.set(node, "user.test", "y")
    case .touch: return Calls.setTimes(node, access: Calls.now, modification: Calls.now)
    case .setTimes: return Calls.setTimes(node)
    case .changeMode: return Calls.answer(chmod(node, mode_t(argument.mode ?? 0)))
    case .changeOwner: return Calls.answer(chown(node, argument.uid ?? .max, argument.gid ?? .max))
    case .changeFlags:
      return Attribute.set(node, Attribute.flags, (argument.flags ?? []).joined(separator: ","))
    case .setList: return Attribute.remove(node, Attribute.list)
    case .create: return Calls.create(newName)
    case .makeDirectory: return Calls.answer(mkdir(newName, 0o777))
    case .unlink: return Calls.answer(Glibc.unlink(node))
    case .removeDirectory: return Calls.answer(rmdir(node))
    case .link: return Calls.answer(Glibc.link(node, newName))
    case .rename: return Calls.answer(Glibc.rename(node, newName))
    }
  }

  /// A pipe opens for writing at once only where somebody reads; here the same process does.
  private func openPipe() -> Errno? {
    let reader = Glibc.open(node, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard reader >= 0 else { return .current }
    defer { close(reader) }
    return Calls.open(node, O_WRONLY | O_NONBLOCK)
  }
}
