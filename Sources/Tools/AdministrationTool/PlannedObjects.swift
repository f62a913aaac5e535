// A plan changes nothing, so what it comes to twice, by two names or because it was named twice, has to be remembered as the
// first time would leave it.

import LinuxFiles
import Synchronization

/// What a plan would have made by now of the objects it may come to again.
final class PlannedObjects: Sendable {
  private struct State {
    /// Objects of which it is not known yet what becomes of them.
    var open: Set<ObjectKey> = []
    var states: [ObjectKey: PlannedState] = [:]
    /// Each list once, however many objects will have it.
    var lists: Set<[UInt8]> = []
    var listBytes = 0
    var isFull = false

    mutating func shared(_ list: [UInt8]) -> [UInt8] {
      let (isNew, known) = lists.insert(list)
      if isNew { listBytes += list.count + 64 }
      return known
    }
  }

  // Some 40 MB at most, and as much for lists.
  private static let most = 262_144
  private static let mostListBytes = 40 << 20

  /// Whether any object may come again, and not only one with several names.
  private let remembersAll: Bool
  private let state: Mutex<State> = Mutex(State())

  init(remembersAll: Bool) {
    self.remembersAll = remembersAll
  }

  /// Whether something had to be left out that may come again.
  var isFull: Bool { state.withLock { $0.isFull } }

  /// Something has to be left out.
  func overflow() { state.withLock { $0.isFull = true } }

  /// Whether the plan may come to such an object again.
  func mayReturn(_ status: FileStatus) -> Bool {
    remembersAll || (status.linkCount > 1 && status.kind != .directory)
  }

  subscript(key: ObjectKey) -> PlannedState? { state.withLock { $0.states[key] } }

  func isOpen(_ key: ObjectKey) -> Bool { state.withLock { $0.open.contains(key) } }

  func open(_ key: ObjectKey) {
    state.withLock { _ = $0.open.insert(key) }
  }

  /// Takes what a change leaves; nil if that is what was there.
  func settle(_ key: ObjectKey, _ left: PlannedState?) {
    state.withLock { state in
      state.open.remove(key)
      guard let left else { return }
      guard state.states.count < PlannedObjects.most || state.states[key] != nil else {
        state.isFull = true
        return
      }
      var kept = left
      if let list = kept.list { kept.list = state.shared(list) }
      guard state.listBytes <= PlannedObjects.mostListBytes else {
        state.isFull = true
        return
      }
      state.states[key] = kept
    }
  }
}
