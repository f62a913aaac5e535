// What a run would come to (`--dry-run`): the daemon is asked once per item, as things stand, with the values of the run and
// as the user who runs it. Items wait until a request is full, and everything is told at the end, in the order of paths.
//
// For administrators before a recursive change, as `--undo` is after a wrong one; keeping the way back makes `acl propagate` take
// 3.61 times as long as setfacl instead of 2.62 (docs/performance.md, "Whole trees").

import AccessForms
import FlagRules
import JSONForm
import LinuxFiles
import LinuxPrograms
import Synchronization
import TextForms

/// A call a change consists of, as the daemon is asked about it.
enum AskedChange: Sendable {
  case mode(UInt32)
  case owner(UInt32?, group: UInt32?)
  case ownerGroup(UInt32)
  case flags(FileFlags)
  /// Which list it is matters to no rule.
  case list(isRemoved: Bool)
  /// The word of a class, or "none".
  case protection(String)
  /// Whether the content is to be compressed.
  case compression(Bool)

  /// The calls of `chown`.
  static func changes(of owner: ItemFacts.Owner?, group: UInt32?) -> [AskedChange] {
    switch owner {
    case .group(let number):
      [.ownerGroup(number)] + (group.map { [.owner(nil, group: $0)] } ?? [])
    case .user(let user): [.owner(user, group: group)]
    case nil: group == nil ? [] : [.owner(nil, group: group)]
    }
  }

  fileprivate var json: JSON {
    var members: [JSON.Member] = []
    switch self {
    case .mode(let mode): members.append(JSON.Member("mode", .number(mode & 0o7777)))
    case .owner(let user, let group):
      members = ItemFacts(owner: user.map { .user($0) }, group: group).owningMembers
    case .ownerGroup(let group): members = ItemFacts(owner: .group(group)).owningMembers
    case .flags(let flags): members.append(JSON.Member("flags", .number(flags.rawValue)))
    case .list(let isRemoved): members.append(JSON.Member("list", .bool(!isRemoved)))
    case .protection(let word): members.append(JSON.Member("class", .string(word)))
    case .compression(let compresses): members.append(JSON.Member("compressed", .bool(compresses)))
    }
    return .object(members)
  }
}

/// What is told of a change: for a script as members of an object, else as a line.
///
/// It holds no descriptor: a dry run keeps what it tells until the end.
struct ToldChange: Sendable {
  let members: @Sendable () -> [JSON.Member]
  let line: @Sendable () -> Void

  init(members: @escaping @Sendable () -> [JSON.Member], line: @escaping @Sendable () -> Void) {
    (self.members, self.line) = (members, line)
  }

  /// As two states.
  init(
    before: @escaping @Sendable () -> JSON, after: @escaping @Sendable () -> JSON,
    line: @escaping @Sendable () -> Void
  ) {
    self.init(members: { [JSON.Member("before", before()), JSON.Member("after", after())] }, line: line)
  }
}

/// An item, and what a run changes or would change of it.
struct ItemChange: Sendable {
  let location: ItemLocation
  let held: SharedDescriptor
  let changes: [AskedChange]
  /// The sentence of the run about an error of a change, of which the word for `varve why` is given.
  let refusal: @Sendable (Errno, _ deed: String) -> Refusal
  /// What is told of it; nil where nothing differs, which may be refused all the same.
  let tell: @Sendable (Prospect) -> ToldChange?
}

/// What would become of an item.
struct Prospect: Sendable {
  /// Nil if it would be changed.
  var refusal: Refusal?
  /// For a script: the error, and the rule behind it.
  var refused: JSON?
  /// The mode that would be set in place of the one that is asked for.
  var otherMode: UInt32?
  /// Whether the owner would stay, though nothing is refused.
  var keepsOwner = false
  /// Of an item of a lower, which would be copied to the upper directory: how much content.
  var copiedBytes: Int?
}

/// Collects items, asks about them, and keeps what is to be told.
final class DryRun: Sendable {
  private struct State {
    var waiting: [ItemChange] = []
    var told: [(path: [UInt8], say: @Sendable () -> Void)] = []
    var table: [MountedVolume]?
    /// The mounts whose daemons cannot be asked: asking each time would take a minute each time.
    var silent: Set<String> = []
    /// The first reason why something is not known.
    var unknown: String?
  }

  /// Items of a request; each holds a descriptor, and the walk holds 64.
  private static let most = 128
  /// A request has room for 65,536 bytes.
  private static let mostBytes = 40_000

  private let console: Console
  private let state: Mutex<State> = Mutex(State())

  init(_ console: Console) {
    self.console = console
  }

  /// Why it is not known of everything what would be refused; nil if it is.
  var unknown: String? { state.withLock { $0.unknown } }

  /// Takes the next item; `settle` takes those that are settled by then.
  func add(_ item: ItemChange, _ settle: (ItemChange, Prospect) -> Void) {
    if state.withLock({ $0.waiting.count >= DryRun.most }) { ask(settle) }
    state.withLock { $0.waiting.append(item) }
  }

  /// Keeps what is to be said of a path.
  func tell(_ path: [UInt8], _ say: @escaping @Sendable () -> Void) {
    state.withLock { $0.told.append((path, say)) }
  }

  /// Says everything, in the order of paths.
  func end() {
    let told = state.withLock { state in
      defer { state.told = [] }
      return state.told
    }
    // What is said of one path stays in its order.
    let order = told.indices.sorted { one, other in
      let (path, next) = (told[one].path, told[other].path)
      return path == next ? one < other : path.lexicographicallyPrecedes(next)
    }
    for index in order { told[index].say() }
  }

  // MARK: - Asking

  /// Asks about everything that waits; answers why the last of it would be refused, if it would.
  @discardableResult
  func ask(_ settle: (ItemChange, Prospect) -> Void) -> Refusal? {
    var waiting = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting[...]
    }
    var last: Refusal?
    while let first = waiting.first {
      let (mount, asked) = questions(waiting)
      let taken = waiting.prefix(max(1, asked.count))
      waiting = waiting.dropFirst(taken.count)
      let told = mount.map { answers($0, asked, about: first) } ?? []
      for (index, item) in taken.enumerated() {
        let prospect = told.indices.contains(index) ? self.prospect(of: item, told[index]) : Prospect()
        settle(item, prospect)
        last = prospect.refusal
      }
    }
    return last
  }

  /// The questions about the first items, as far as one daemon answers them and a request has room.
  private func questions(_ items: ArraySlice<ItemChange>) -> (mount: VolumePath?, questions: [JSON]) {
    var mount: VolumePath?
    var questions: [JSON] = []
    var bytes = 0
    for item in items {
      let volumePath: VolumePath
      do throws(Refusal) { volumePath = try self.volumePath(item) } catch {
        if mount == nil { isUnknown(item, error.sentence) }
        break
      }
      if let mount, mount.named != volumePath.named { break }
      let question = JSON.object(
        JSON.nameMembers("path", volumePath.path) + [JSON.Member("changes", .array(item.changes.map(\.json)))]
      )
      bytes += question.compactText.utf8.count
      guard questions.isEmpty || bytes <= DryRun.mostBytes else { break }
      mount = mount ?? volumePath
      questions.append(question)
    }
    return (mount, questions)
  }

  private func volumePath(_ item: ItemChange) throws(Refusal) -> VolumePath {
    let path = try attempt(item.held.descriptor.heldPath()) { Refusal("\($0)") }
    var table = state.withLock { $0.table }
    if table == nil {
      table = try volumeTable()
      state.withLock { $0.table = table }
    }
    return try VolumePath(held: path, table ?? [])
  }

  private func answers(_ volumePath: VolumePath, _ questions: [JSON], about item: ItemChange) -> [JSON] {
    let key = volumePath.mount.device
    guard !state.withLock({ $0.silent.contains(key) }) else { return [] }
    do throws(Refusal) {
      return try askDryRun(volumePath, questions)
    } catch {
      // One that answers, and only not this, is asked again about what comes.
      if error.status == 32 { state.withLock { _ = $0.silent.insert(key) } }
      isUnknown(item, error.sentence)
      return []
    }
  }

  private func isUnknown(_ item: ItemChange, _ sentence: String) {
    let isFirst = state.withLock { state in
      defer { state.unknown = state.unknown ?? sentence }
      return state.unknown == nil
    }
    if isFirst { console.note(item.location.path, "what would be refused is not known: \(sentence)") }
  }

  private func prospect(of item: ItemChange, _ answer: JSON) -> Prospect {
    guard let number = answer["number"]?.integer.flatMap({ Int32(exactly: $0) }) else {
      return Prospect(
        otherMode: answer["mode"]?.integer.flatMap { UInt32(exactly: $0) },
        keepsOwner: answer["keepsOwner"] == .bool(true), copiedBytes: answer["copiedBytes"]?.integer)
    }
    let because = answer["because"]?.string ?? ""
    guard answer["isOnTheWay"] == nil else {
      // A user who came here by another mount may not walk there from the root of the volume.
      isUnknown(item, "the way to it from the root of the volume: \(because)")
      return Prospect()
    }
    let error = Errno(rawValue: number)
    let refused = JSON.object([
      JSON.Member("error", .string(error.name)), JSON.Member("because", .string(because)),
    ])
    return Prospect(refusal: item.refusal(error, answer["asked"]?.string ?? ""), refused: refused)
  }
}
