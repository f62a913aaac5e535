// System calls that fail because a test wants it.

import CFaults
import Glibc
package import LinuxFiles

/// Kinds of system calls.
package struct CallKinds: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let open = CallKinds(rawValue: 1 << 0)
  package static let make = CallKinds(rawValue: 1 << 1)
  package static let look = CallKinds(rawValue: 1 << 2)
  package static let read = CallKinds(rawValue: 1 << 3)
  package static let write = CallKinds(rawValue: 1 << 4)
  package static let attribute = CallKinds(rawValue: 1 << 5)
  package static let mode = CallKinds(rawValue: 1 << 6)
  package static let owner = CallKinds(rawValue: 1 << 7)
  package static let times = CallKinds(rawValue: 1 << 8)
  package static let name = CallKinds(rawValue: 1 << 9)
  package static let sync = CallKinds(rawValue: 1 << 10)
  package static let lease = CallKinds(rawValue: 1 << 11)
  /// Those of `sync` that need not take times and attributes along.
  package static let dataSync = CallKinds(rawValue: 1 << 12)

  package static let changes: CallKinds = [.make, .write, .attribute, .mode, .owner, .times, .name, .sync]
  package static let all: CallKinds = [.changes, .open, .look, .read]
}

package struct Fault: Sendable {
  package var kinds: CallKinds
  package var error: Errno
  /// How many calls of these kinds pass first.
  package var after: Int
  /// How many fail then.
  package var count: Int
  /// How many bytes the last call that passes writes, if it writes bytes; 0: all.
  ///
  /// It counts as one that failed.
  package var part: Int

  package init(_ kinds: CallKinds, _ error: Errno, after: Int = 0, count: Int = 1, part: Int = 0) {
    (self.kinds, self.error, self.after, self.count, self.part) = (kinds, error, after, count, part)
  }

  /// The program is killed in the place of a call; for daemons.
  package static func killing(_ kinds: CallKinds, after: Int) -> Fault {
    Fault(kinds, Errno(rawValue: 0), after: after)
  }

  fileprivate var plan: lf_plan {
    lf_plan(
      kinds: kinds.rawValue, error: error.rawValue, before: Int64(after), count: Int64(count), hits: 0,
      part: Int64(part))
  }

  /// Lets calls of this thread fail during `body`; what came of it, and how many calls failed.
  package func during<Value>(_ body: () throws -> Value) -> (result: Result<Value, any Error>, hits: Int) {
    var plan = plan
    return withUnsafeMutablePointer(to: &plan) { plan in
      lf_arm(plan)
      let result = Result { try body() }
      lf_arm(nil)
      return (result, Int(plan.pointee.hits))
    }
  }
}

/// Tells `note` of each call of this thread that has changed or synced something, after it, with the descriptor that it
/// went by, or -1.
package func observing<Value>(
  _ note: @escaping (CallKinds, _ file: CInt) -> Void, during body: () throws -> Value
) rethrows -> Value {
  let observer = Observer(note)
  lf_observe(
    { context, kind, file in
      guard let context else { return }
      Unmanaged<Observer>.fromOpaque(context).takeUnretainedValue().note(CallKinds(rawValue: kind), file)
    }, Unmanaged.passUnretained(observer).toOpaque())
  defer { lf_observe(nil, nil) }
  return try withExtendedLifetime(observer) { try body() }
}

private final class Observer {
  let note: (CallKinds, CInt) -> Void
  init(_ note: @escaping (CallKinds, CInt) -> Void) { self.note = note }
}

/// A call that is held up until it is let go, for what others see meanwhile.
package final class HeldCall: @unchecked Sendable {
  private let plan: UnsafeMutablePointer<lf_plan>

  /// `after`: how many calls of these kinds pass first.
  package init(_ kinds: CallKinds, after: Int = 0) {
    plan = .allocate(capacity: 1)
    plan.initialize(to: Fault(kinds, Errno(rawValue: -1), after: after).plan)
  }

  deinit { plan.deallocate() }

  /// Runs `body`, of which a call of this thread is held up.
  package func during<Value>(_ body: () throws -> Value) rethrows -> Value {
    lf_arm(plan)
    defer { lf_arm(nil) }
    return try body()
  }

  package var isHeld: Bool { lf_hits(plan) > 0 }

  package func letGo() { lf_let_go(plan) }
}

/// Lets calls of a daemon fail that is started with `environment`.
package final class DaemonFaults {
  private let path: String
  private let plan: UnsafeMutablePointer<lf_plan>

  /// `library`: the shared object of these faults.
  package init(_ path: String, library: String) throws(Errno) {
    guard let plan = lf_share(path) else { throw .current }
    (self.path, self.plan) = (path, plan)
    environment = ["LD_PRELOAD": library, "VARVE_FAULTS": path]
  }

  package let environment: [String: String]

  package func begin(_ fault: Fault) {
    plan.pointee.kinds = 0
    var next = fault.plan
    next.kinds = 0
    plan.pointee = next
    plan.pointee.kinds = fault.kinds.rawValue
  }

  /// No call fails any more; how many did.
  @discardableResult
  package func end() -> Int {
    plan.pointee.kinds = 0
    return Int(plan.pointee.hits)
  }

  /// How many calls `body` makes, of which none fails.
  package func count(_ kinds: CallKinds, during body: () throws -> Void) rethrows -> Int {
    let many = 1 << 40
    begin(Fault(kinds, .inputOutput, after: many))
    defer { end() }
    try body()
    return many - Int(plan.pointee.before)
  }

  deinit {
    munmap(plan, MemoryLayout<lf_plan>.size)
    unlink(path)
  }
}
