// What of a plan would be refused: the daemon is asked, with the values each change would be made with, as the user who
// plans. Changes wait until a request is full, and are told in their order.

import JSONForm
import LinuxFiles
import LinuxPrograms
import Synchronization
import TextForms

/// Why a planned change would be refused.
struct ForeseenRefusal: Sendable {
  /// The sentence of the real run.
  let refusal: Refusal
  /// What was refused, in the word of `varve why`.
  let deed: String
  /// For a script: the error, and the rule behind it.
  let json: JSON
}

/// What would become of a planned change.
struct Foreseen: Sendable {
  /// Nil if it would be carried out.
  var refusal: ForeseenRefusal?
  /// The mode that would be set in place of the one that is asked for.
  var otherMode: UInt32?
  /// Whether the owner would stay, though nothing is refused.
  var keepsOwner = false
}

/// An item that a plan tells of.
struct PlannedItem: Sendable {
  let location: ItemLocation
  let place: SharedDescriptor
  var steps: [PlannedStep]
  /// The sentence of the real run about an error of a step, of which the word for `varve why` is given.
  let refusal: @Sendable (Errno, _ deed: String) -> Refusal
  /// Is told what would become of it, where nothing else is wanted.
  var settled: (@Sendable (Foreseen) -> Void)?
  /// What it leaves, where the plan may come to the object again.
  var leaves: (key: ObjectKey, state: PlannedState)?
  /// Whether it is asked about as it is, and not as an earlier part of the plan leaves it.
  var isAboutNow = false
  /// Prints it, and answers whether anything would differ; absent where nothing would, which may be refused all the same.
  var tell: (@Sendable (Foreseen) -> Bool)?
}

/// Collects changes, asks about them, and settles them in order.
final class Foresight: Sendable {
  private struct State {
    var waiting: [PlannedItem] = []
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

  /// Takes an item with what would become of it.
  typealias Settling = (PlannedItem, Foreseen) -> Void

  private let console: Console
  private let state: Mutex<State> = Mutex(State())

  init(_ console: Console) {
    self.console = console
  }

  /// Why it is not known of everything what would be refused; nil if it is.
  var unknown: String? { state.withLock { $0.unknown } }

  /// Takes the next item.
  func add(_ change: PlannedItem, _ settle: Settling) {
    // Not behind it: what is to be told of it is not there yet.
    if state.withLock({ $0.waiting.count >= Foresight.most }) { _ = ask(settle) }
    state.withLock { $0.waiting.append(change) }
  }

  /// Adds to the last change what is to be printed of it.
  func attach(_ tell: @escaping @Sendable (Foreseen) -> Bool) {
    state.withLock { state in
      guard let last = state.waiting.indices.last else { return }
      state.waiting[last].tell = tell
    }
  }

  /// Asks about everything that waits; answers what would become of the last of it.
  @discardableResult
  func ask(_ settle: Settling) -> Refusal? {
    var waiting = state.withLock { state in
      let waiting = state.waiting
      state.waiting = []
      return waiting[...]
    }
    var last: Refusal?
    while let first = waiting.first {
      let (mount, asked) = questions(waiting)
      let taken = waiting.prefix(max(1, asked.count))
      waiting = waiting.dropFirst(taken.count)
      let told = mount.map { answers($0, asked, about: first) } ?? []
      for (index, change) in taken.enumerated() {
        let foreseen = told.indices.contains(index) ? foreseen(told[index], change) : Foreseen()
        settle(change, foreseen)
        last = foreseen.refusal?.refusal
      }
    }
    return last
  }

  // MARK: - Asking

  /// The questions about the first changes, as far as one daemon answers them and a request has room.
  private func questions(_ changes: ArraySlice<PlannedItem>) -> (mount: VolumePath?, questions: [JSON]) {
    var mount: VolumePath?
    var questions: [JSON] = []
    var bytes = 0
    for change in changes {
      let place: VolumePath
      do throws(Refusal) { place = try self.place(change) } catch {
        if mount == nil { isUnknown(change, error.sentence) }
        break
      }
      if let mount, mount.named != place.named { break }
      let question = JSON.object(
        JSON.nameMembers("path", place.path) + [JSON.Member("steps", .array(change.steps.map(\.json)))])
      bytes += question.compactText.utf8.count
      guard questions.isEmpty || bytes <= Foresight.mostBytes else { break }
      mount = mount ?? place
      questions.append(question)
    }
    return (mount, questions)
  }

  private func place(_ item: PlannedItem) throws(Refusal) -> VolumePath {
    let path: [UInt8]
    do throws(Errno) { path = try item.place.descriptor.heldPath() } catch { throw Refusal("\(error)") }
    var table = state.withLock { $0.table }
    if table == nil {
      table = try volumeTable()
      state.withLock { $0.table = table }
    }
    return try VolumePath(held: path, table ?? [])
  }

  private func answers(_ place: VolumePath, _ questions: [JSON], about change: PlannedItem) -> [JSON] {
    let key = place.mount.device
    guard !state.withLock({ $0.silent.contains(key) }) else { return [] }
    do throws(Refusal) {
      return try askAboutPlan(place, questions)
    } catch {
      // One that answers, and only not this, is asked again about what comes.
      if error.status == 32 { state.withLock { _ = $0.silent.insert(key) } }
      isUnknown(change, error.sentence)
      return []
    }
  }

  private func isUnknown(_ item: PlannedItem, _ sentence: String) {
    let isFirst = state.withLock { state in
      defer { state.unknown = state.unknown ?? sentence }
      return state.unknown == nil
    }
    if isFirst { console.note(item.location.path, "what would be refused is not known: \(sentence)") }
  }

  private func foreseen(_ answer: JSON, _ change: PlannedItem) -> Foreseen {
    guard let number = answer["number"]?.integer.flatMap({ Int32(exactly: $0) }) else {
      return Foreseen(
        otherMode: answer["mode"]?.integer.flatMap { UInt32(exactly: $0) },
        keepsOwner: answer["keepsOwner"] == .bool(true))
    }
    let because = answer["because"]?.string ?? ""
    guard answer["isOnTheWay"] == nil else {
      // Whoever came here by another mount may not walk there from the root of the volume.
      isUnknown(change, "the way to it from the root of the volume: \(because)")
      return Foreseen()
    }
    let error = Errno(rawValue: number)
    let json = JSON.object([
      JSON.Member("error", .string(error.shortName)), JSON.Member("because", .string(because)),
    ])
    let deed = answer["asked"]?.string ?? ""
    return Foreseen(
      refusal: ForeseenRefusal(refusal: change.refusal(error, deed), deed: deed, json: json))
  }
}
