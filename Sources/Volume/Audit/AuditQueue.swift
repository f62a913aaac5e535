// What waits for the audit log, with bounds: changes of policy in a queue that no refusal can fill, and refusals, of
// which one that comes again and again takes one place.

import Decisions
import LinuxFiles

/// The queue of one audit log.
struct AuditQueue: Sendable {
  /// Changes that may wait, and refusals that may: a second of either on a busy machine.
  static let room = 4_096
  /// Different refusals of which the repetitions are counted; further ones are written each time.
  static let kinds = 1_024
  /// How long repetitions of a refusal are counted before a line tells how many there were.
  static let window: UInt64 = 1_000_000_000

  /// What makes two refusals the same.
  private struct Kind: Hashable {
    let user: UInt32
    let deed: String
    let path: [UInt8]
    let newName: [UInt8]?
    let error: Errno
    let verdict: Verdict

    init(_ denial: Denial) {
      let request = denial.request
      (user, deed, path) = (denial.caller.user, request.deed, request.path)
      newName = request.newName.map { (request.newNodePath ?? []).path(to: $0) }
      (error, verdict) = (request.error, denial.verdict)
    }
  }

  private struct Repetitions {
    var count = 0
    /// The latest of them.
    var latest: Denial
  }

  /// What is taken out to be written down.
  struct Batch: Sendable {
    var events: [AuditEvent] = []
    var lost = Lost()

    var isEmpty: Bool { events.isEmpty && lost == Lost() }
  }

  /// How many events there was no room for, or that could not be written.
  struct Lost: Equatable, Sendable {
    var changes = 0
    var denials = 0
  }

  private var changes: [(time: Timestamp, event: AuditEvent)] = []
  private var denials: [Denial] = []
  private var repetitions: [Kind: Repetitions] = [:]
  private var windowBegan: UInt64 = 0
  var lost = Lost()
  /// Whether repetitions are told of without waiting for the end of the window.
  var isFlushing = false

  /// Takes an event; whether the writer has something new to do.
  mutating func add(_ event: AuditEvent, at now: UInt64) -> Bool {
    switch event {
    case .change(let change): return add(event, of: change.time)
    case .keys(let change): return add(event, of: change.time)
    case .options(let change): return add(event, of: change.time)
    case .denial(let denial, _): return add(denial, at: now)
    }
  }

  private mutating func add(_ event: AuditEvent, of time: Timestamp) -> Bool {
    guard changes.count < AuditQueue.room else {
      lost.changes += 1
      return false
    }
    changes.append((time, event))
    return true
  }

  private mutating func add(_ denial: Denial, at now: UInt64) -> Bool {
    let kind = Kind(denial)
    if let index = repetitions.index(forKey: kind) {
      repetitions.values[index].count += 1
      repetitions.values[index].latest = denial
      return false
    }
    guard denials.count < AuditQueue.room else {
      lost.denials += 1
      return false
    }
    if repetitions.isEmpty { windowBegan = now }
    if repetitions.count < AuditQueue.kinds { repetitions[kind] = Repetitions(latest: denial) }
    denials.append(denial)
    return true
  }

  /// How many milliseconds until repetitions are told of; nil while none are counted.
  func wait(at now: UInt64) -> Int? {
    guard !repetitions.isEmpty else { return nil }
    let passed = now &- windowBegan
    return passed >= AuditQueue.window ? 0 : Int((AuditQueue.window - passed) / 1_000_000) + 1
  }

  /// Takes out what is to be written, in the order in which it happened.
  mutating func take(at now: UInt64) -> Batch {
    var told = changes
    told += denials.map { ($0.time, .denial($0, repeated: 0)) }
    if isFlushing || now &- windowBegan >= AuditQueue.window { tellRepetitions(&told, at: now) }
    told.sort { $0.time < $1.time }
    let batch = Batch(events: told.map(\.event), lost: lost)
    (changes, denials, lost, isFlushing) = ([], [], Lost(), false)
    return batch
  }

  /// A refusal that was not repeated for a whole window is written at once the next time.
  private mutating func tellRepetitions(
    _ told: inout [(time: Timestamp, event: AuditEvent)], at now: UInt64
  ) {
    windowBegan = now
    repetitions = repetitions.filter { $0.value.count > 0 }
    for index in repetitions.indices {
      let (count, latest) = (repetitions.values[index].count, repetitions.values[index].latest)
      told.append((latest.time, .denial(latest, repeated: count)))
      repetitions.values[index].count = 0
    }
  }

  /// Counts a batch that could not be written.
  mutating func lose(_ batch: Batch) {
    lost.changes += batch.lost.changes
    lost.denials += batch.lost.denials
    for event in batch.events {
      switch event {
      case .change, .keys, .options: lost.changes += 1
      case .denial(_, let repeated): lost.denials += max(1, repeated)
      }
    }
  }

  var isEmpty: Bool { changes.isEmpty && denials.isEmpty && !isFlushing }
}
