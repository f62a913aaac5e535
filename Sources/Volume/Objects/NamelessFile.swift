// A file that has lost its last name while it is open, where the store keeps its bytes and its size, and nothing else.
//
// GlusterFS is such a store. Nobody can find the file any more, and it can get no name again: what is true of it besides
// goes with the last who has it open, so it is kept here.

import LinuxFiles
import Synchronization

/// The metadata of a file without a name.
final class NamelessFile: Sendable {
  /// A time that was set, and what the store said then: when that moves, it is right again.
  private struct SetTime: Sendable {
    let value: Timestamp
    let below: Timestamp

    func shown(_ present: Timestamp) -> Timestamp { present == below ? value : present }
  }

  private struct State: Sendable {
    var facts: StoredFacts
    var mode: UInt16
    var user: UInt32
    var group: UInt32
    var access: SetTime?
    var modification: SetTime?
    var changed = Timestamp(seconds: 0, nanoseconds: 0)
    var attributes: [[UInt8]: [UInt8]]

    var attributeBytes: Int { attributes.reduce(0) { $0 + $1.key.count + $1.value.count } }
  }

  /// As much as Linux lets one attribute have; it is the daemon's memory.
  private static let mostAttributeBytes = 65_536

  private let state: Mutex<State>

  /// `attributes`: those that are stored, our own left out.
  init(_ status: FileStatus, _ facts: StoredFacts, attributes: [[UInt8]: [UInt8]]) {
    state = Mutex(
      State(
        facts: facts, mode: status.mode, user: status.user, group: status.group, attributes: attributes))
  }

  /// What is true now, of which the store says this.
  func shown(_ present: FileStatus) -> FileStatus {
    state.withLock { state in
      var status = present
      (status.mode, status.user, status.group) = (state.mode, state.user, state.group)
      status.linkCount = 0
      status.access = state.access?.shown(present.access) ?? present.access
      status.modification = state.modification?.shown(present.modification) ?? present.modification
      status.change = max(present.change, state.changed)
      return status
    }
  }

  /// `head`: of an encrypted file, as far as that is open.
  func stored(_ head: KnownHead?) -> StoredFacts {
    let facts = state.withLock { $0.facts }
    return StoredFacts(facts.record, head ?? facts.head)
  }

  // MARK: Changing

  private func change(_ body: (inout State) -> Void) {
    let now = Clock.realtime
    state.withLock { state in
      body(&state)
      state.changed = now
    }
  }

  func keep(_ record: StoredRecord) { change { $0.facts = StoredFacts(record, $0.facts.head) } }

  func changeMode(_ mode: UInt16) { change { $0.mode = mode } }

  func changeOwner(user: UInt32?, group: UInt32?) {
    change { state in
      state.user = user ?? state.user
      state.group = group ?? state.group
    }
  }

  /// `present`: what the store says.
  func changeTimes(_ present: FileStatus, access: TimeChange, modification: TimeChange) {
    let now = Clock.realtime
    func set(_ change: TimeChange, _ below: Timestamp, _ former: SetTime?) -> SetTime? {
      switch change {
      case .omit: former
      case .now: SetTime(value: now, below: below)
      case .set(let time): SetTime(value: time, below: below)
      }
    }
    change { state in
      state.access = set(access, present.access, state.access)
      state.modification = set(modification, present.modification, state.modification)
    }
  }

  // MARK: Extended attributes

  var attributeNames: [[UInt8]] {
    state.withLock { $0.attributes.keys.sorted { $0.lexicographicallyPrecedes($1) } }
  }

  func attribute(_ name: [UInt8]) -> [UInt8]? { state.withLock { $0.attributes[name] } }

  /// ENOSPC beyond what one attribute may have.
  func setAttribute(_ name: [UInt8], to value: [UInt8], _ setting: AttributeSetting) throws(Errno) {
    let now = Clock.realtime
    let failure = state.withLock { state -> Errno? in
      let former = state.attributes[name]
      if setting == .create, former != nil { return .exists }
      if setting == .replace, former == nil { return .noData }
      let growth = value.count - (former?.count ?? -name.count)
      guard state.attributeBytes + growth <= NamelessFile.mostAttributeBytes else { return .noSpace }
      state.attributes[name] = value
      state.changed = now
      return nil
    }
    if let failure { throw failure }
  }

  func removeAttribute(_ name: [UInt8]) throws(Errno) {
    let now = Clock.realtime
    let isGone = state.withLock { state in
      guard state.attributes.removeValue(forKey: name) != nil else { return false }
      state.changed = now
      return true
    }
    guard isGone else { throw .noData }
  }
}

extension Node {
  /// What is kept of it since it lost its last name, if it is.
  var nameless: NamelessFile? {
    get { existingAttachment?.state.withLock { $0.file.nameless } }
    set { attachment.state.withLock { $0.file.nameless = newValue } }
  }
}
