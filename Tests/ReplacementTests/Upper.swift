// An upper directory with a keybag, and files in it that have everything a file can have.

import AccessControl
import FlagRules
import Foundation
import Glibc
import KeyFixture
import LinuxFiles
import RecordFormat
import SealedFormat
import Testing

@testable import KeyringFixture
@testable import LayeredVolume

/// What is to stay of a file, whatever becomes of its bytes.
struct Appearance: Equatable {
  var inode: UInt64
  var links: UInt32
  var mode: UInt16
  var user: UInt32
  var group: UInt32
  var modified: Timestamp
  var flags: FileFlags
  var list: AccessList?
  var attributes: [String: [UInt8]]
}

/// A volume nobody has mounted.
final class Upper {
  let path: String
  let root: SharedDescriptor
  let directory: VolumeDirectory
  let workshop: SharedDescriptor
  let store: MetadataStore
  private(set) var keyring: Keyring
  private(set) var site: ReplacementSite
  let budget = IndexBudget(pages: 64)
  let frames = FrameCache()

  static let isRoot = geteuid() == 0
  /// VFS_CAP_REVISION_2 with cap_net_raw, effective: what `setcap cap_net_raw+ep` stores.
  static let capability: [UInt8] =
    [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]

  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("upper-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    root = SharedDescriptor(try Descriptor.directory(atPath: path))
    directory = try VolumeDirectory.open(root: root, readOnly: false)
    try StoredKeys.storeKeybag(in: path)
    guard let workshop = directory.workshop else { throw Errno.noSuchFile }
    self.workshop = workshop
    let live = LiveOptions(VolumeOptions().live)
    store = MetadataStore(
      namespace: directory.namespace, records: RecordsExist(true) {},
      memory: RecordMemory(live, trustsChangeTimes: false), heads: SealedHeads())
    site = ReplacementSite(of: directory, store: store)
    keyring = Keyring(of: directory)
    try unlock()
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  private func unlock() throws {
    _ = try keyring.unlock(with: StoredKeys.secret())
  }

  /// The process is gone, and the volume is mounted again: what is unfinished is swept, what was interrupted is settled.
  @discardableResult
  func mountAgain() throws -> ReplacementRecovery {
    site = ReplacementSite(of: directory, store: store)
    try Sweeper.empty(workshop: workshop)
    return try site.recover(beneath: root)
  }

  func restart(killed: Bool) throws {
    if !killed { try keyring.sessions.end() }
    keyring = Keyring(of: directory)
    try unlock()
  }

  // MARK: Files

  /// Makes a plain file with two names, flags, a list, attributes, set-id bits and, for root, a capability.
  func make(_ name: String, _ content: [UInt8]) throws {
    let file = open(name)
    try Data(content).write(to: URL(fileURLWithPath: file))
    try link(name, name + ".link")
    let object = try object(name)
    try object.descriptor.setAttribute(try AttributeName("user.comment"), to: Array("mine".utf8))
    if Upper.isRoot { chown(file, 12, 34) }
    chmod(file, 0o6755)
    if Upper.isRoot {
      try object.descriptor.setAttribute(try AttributeName("security.capability"), to: Upper.capability)
    }
    var record = CoreRecord()
    record.flags = .hidden
    let list = AccessList([AccessEntry(.deny, .user(1001), .delete)])
    try store.write(record, list: .store(list), over: .none, to: object.descriptor)
    try object.descriptor.changeTimes(
      access: .omit, modification: .set(Timestamp(seconds: 1_600_000_000, nanoseconds: 7)))
    try settle(name)
  }

  /// Waits until a replacement need not wait: so its calls are the same each time.
  private func settle(_ name: String) throws {
    let object = try object(name)
    while try !object.descriptor.status().isSettled { Clock.pause(milliseconds: 2) }
  }

  func open(_ name: String) -> String { "\(path)/\(name)" }

  private func link(_ name: String, _ other: String) throws {
    try FileManager.default.linkItem(atPath: open(name), toPath: open(other))
  }

  func object(_ name: String) throws -> SharedDescriptor {
    let bytes = Array(name.utf8)
    return SharedDescriptor(
      try FileName.with(bytes) { (name) throws(Errno) in try root.descriptor.openPath(name) })
  }

  func stored(_ name: String) throws -> StoredRecord { try site.record(of: try object(name)) }

  func bytes(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: open(name))))
  }

  func appearance(_ name: String) throws -> Appearance {
    let object = try object(name)
    let (status, stored) = (try object.descriptor.status(), try stored(name))
    var attributes: [String: [UInt8]] = [:]
    for name in ["user.comment", "security.capability"] {
      attributes[name] = try AttributeName.with(Array(name.utf8)) { (name) throws(Errno) in
        try object.descriptor.attribute(name)
      }
    }
    return Appearance(
      inode: status.inode, links: status.linkCount, mode: status.mode, user: status.user,
      group: status.group, modified: status.modification,
      // It tells of the form.
      flags: stored.core.flags.subtracting(.compressed), list: stored.list,
      attributes: attributes)
  }

  var workNames: [String] {
    ((try? workshop.descriptor.names()) ?? []).map { String(decoding: $0, as: UTF8.self) }.sorted()
  }

  // MARK: Forms

  func surroundings(_ protection: StaticSector.ProtectionClass = .complete) -> KeyringSurroundings {
    KeyringSurroundings(keyring, protection)
  }

  func sealed(_ name: String) throws -> SealedFile<BackingStore> {
    try SealedFile(BackingStore(try object(name)), in: surroundings(), budget: budget)
  }

  /// The content as programs see it, by what the record says of its form.
  func content(_ name: String) throws -> [UInt8] {
    let core = try stored(name).core
    if let size = core.logicalSize {
      let file = try Descriptor.open(path: open(name), .readOnly)
      let frames = try FrameFile(file, logicalSize: size, frames)
      var content = [UInt8](repeating: 0, count: Int(size))
      var span = content.mutableSpan
      guard try frames.read(file, at: 0, into: &span) == content.count else { throw Errno.inputOutput }
      return content
    }
    guard core.isEncrypted else { return try bytes(name) }
    let file = try sealed(name)
    var content = [UInt8](repeating: 0, count: Int(file.size))
    var span = content.mutableSpan
    guard try file.read(at: 0, into: &span) == content.count else { throw Errno.inputOutput }
    return content
  }

  enum Goal: Sendable {
    case protected
    case plain
    case compressed
    case expanded

    /// What a file has to be before; nil: plain.
    var former: Goal? {
      switch self {
      case .protected, .compressed: nil
      case .plain: .protected
      case .expanded: .compressed
      }
    }

    var form: Form {
      switch self {
      case .protected: .encrypted
      case .compressed: .compressed
      case .plain, .expanded: .plain
      }
    }
  }

  /// How a file is stored, by its record.
  enum Form {
    case plain
    case encrypted
    case compressed
  }

  func form(_ name: String) throws -> Form {
    let core = try stored(name).core
    #expect(core.flags.contains(.compressed) == core.isCompressed)
    return core.isEncrypted ? .encrypted : core.isCompressed ? .compressed : .plain
  }

  func replaced(_ name: String, _ goal: Goal) throws -> (ReplacedFile, NewBody) {
    let present = try stored(name)
    var final = present.core.protected(by: goal == .protected ? .a : .none)
    if goal == .expanded { final.noteCompressed(size: nil) }
    let file = ReplacedFile(
      object: try object(name), path: Array(name.utf8), present: present, final: final)
    return (file, try body(name, goal, present.core))
  }

  private func body(_ name: String, _ goal: Goal, _ core: CoreRecord) throws -> NewBody {
    switch goal {
    case .protected: return .encrypting(surroundings(), budget)
    case .plain: return .decrypting(surroundings(), budget)
    case .compressed: return .compressing(level: 3)
    case .expanded:
      let file = try Descriptor.open(path: open(name), .readOnly)
      return .expanding(try FrameFile(file, logicalSize: core.logicalSize ?? 0, frames))
    }
  }

  /// What is left to do, done; false if there is nothing.
  func redo(_ name: String, at site: ReplacementSite? = nil) throws -> Bool {
    let (site, file) = (site ?? self.site, try object(name))
    guard try site.record(of: file).core.isReplacing else { return false }
    let half = try site.halfReplaced(file)
    try site.copyOver(half)
    try site.settle(half)
    return true
  }

  /// All steps.
  func replace(_ name: String, _ goal: Goal) throws {
    let (file, body) = try replaced(name, goal)
    var replacement = try Replacement.prepare(file, as: body, at: site)
    try replacement.begin { false }
    try replacement.copyOver()
    try replacement.settle()
  }

  /// What a change of class notes of a file.
  func note(of name: String, at path: String? = nil) throws -> ReplacementTrailer {
    let status = try object(name).descriptor.status()
    return ReplacementTrailer(
      .plain, inode: status.inode, generation: status.workGeneration, mode: status.mode, user: status.user,
      group: status.group,
      modified: .init(
        seconds: status.modification.seconds, nanoseconds: status.modification.nanoseconds),
      storedSize: 0, size: 0, record: CoreRecord(), capability: Upper.isRoot ? Upper.capability : [],
      path: Array((path ?? name).utf8))
  }

  /// Gives an encrypted file another class, but for its record.
  func changeClass(_ name: String, to wanted: StaticSector.ProtectionClass) throws {
    let (object, note, file) = (try object(name), try note(of: name), try sealed(name))
    func giveBack() throws(Errno) { try site.giveBack(note, to: object.descriptor) }
    try site.noting(note, of: object, restore: giveBack) { () throws(Errno) in
      let isChanged = try file.changeClass(restoreTimes: giveBack) { [keyring] (keys) throws(Errno) in
        do throws(KeyFailure) { return try keyring.header(for: keys, wanted) } catch { throw error.number }
      }
      guard isChanged else { throw .invalid }
    }
  }

  /// The same, for a file that is about to be replaced again.
  func replaceAndSettle(_ name: String, _ goal: Goal) throws {
    try replace(name, goal)
    try settle(name)
  }

  /// Up to and with step 2, and then nothing any more.
  func begin(_ name: String, _ goal: Goal) throws {
    let (file, body) = try replaced(name, goal)
    var replacement = try Replacement.prepare(file, as: body, at: site)
    try replacement.begin { false }
  }
}

/// Two pieces of data, a hole between them, and a last block that is not full.
func exampleContent(_ count: Int = 100_000) -> [UInt8] {
  var content = [UInt8](repeating: 0, count: count)
  for index in 0..<min(20_000, count) { content[index] = UInt8(truncatingIfNeeded: index / 3 + 1) }
  for index in max(0, count - 9_000)..<count { content[index] = UInt8(truncatingIfNeeded: index / 5 + 1) }
  return content
}

/// The error that `body` ends with.
func failure(_ body: () throws -> Void) -> Errno? {
  do {
    try body()
    return nil
  } catch let error as Errno {
    return error
  } catch {
    return Errno(rawValue: -1)
  }
}
