// What was refused lately, and why: a ring in memory, filled by refusals and read by users who ask about their own.
//
// Two hands write an entry. The gate knows the caller and the verdict; the door knows what was asked and which error
// went out. Between them only the entry's number travels, in a word of the thread that serves the request: nothing is
// paid for what is allowed. An entry the door never comes back to was no refusal after all, and is not shown.

package import Decisions
package import LinuxFiles
import Synchronization

/// One refusal, as things were when it happened.
package struct Denial: Sendable {
  package let time: Timestamp
  package let caller: Caller
  package let verdict: Verdict
  /// The object the verdict speaks about.
  package let item: Item
  /// Whether the caller could have read the rules of that object.
  package let mayReadRules: Bool
  package internal(set) var request = DeniedRequest()
}

/// What the door knows of a refusal.
package struct DeniedRequest: Sendable {
  /// The word of `varve why` for it, or the system call.
  package var deed = ""
  /// Where in the volume the object of the request was last seen.
  package var nodePath: [UInt8] = []
  /// The name below it that the caller gave.
  package var name: [UInt8]?
  package var newNodePath: [UInt8]?
  package var newName: [UInt8]?
  package var error = Errno.accessDenied

  package init() {}

  /// What the request was about.
  var path: [UInt8] { name.map { nodePath.path(to: $0) } ?? nodePath }
}

/// The ring of one volume.
package final class Denials: Sendable {
  /// What a person looks back on.
  ///
  /// An entry keeps two paths of at most `DeepPath.longest` bytes, two names and a list of at most 2 KiB: 6 MiB for
  /// the whole ring.
  static let capacity = 512

  /// Halves that wait for the other: more than there are threads that serve requests.
  ///
  /// A half that is never completed stays until its slot is needed, and pushes no refusal out.
  static let halves = 256

  private struct State {
    var waiting: [(number: UInt64, denial: Denial)] = []
    var ring: [Denial] = []
    /// Where in the ring the oldest is, once it is full.
    var oldest = 0
    /// 0 is no number: it stands for "nothing was refused".
    var next: UInt64 = 1
  }

  private let state = Mutex(State())

  /// Writes the first half of an entry and leaves its number with the thread.
  ///
  /// `place`: where that is which the door has no path of.
  func note(
    _ verdict: Verdict, of caller: Caller, _ judge: Judge, about scene: Scene, at place: [UInt8] = []
  ) {
    let item = scene[verdict.role]
    var denial = Denial(
      time: Clock.realtime, caller: caller, verdict: verdict, item: item,
      mayReadRules: judge.decide(.readAttributes, on: item).isAllowed)
    denial.request.nodePath = place
    let number = state.withLock { state in
      let number = state.next
      state.next += 1
      if state.waiting.count < Denials.halves {
        state.waiting.append((number, denial))
      } else {
        state.waiting[Denials.slot(number)] = (number, denial)
      }
      return number
    }
    ThreadNote.leave(number)
  }

  /// Numbers begin at 1 and every one takes a slot, so they wrap around.
  private static func slot(_ number: UInt64) -> Int { Int((number - 1) % UInt64(halves)) }

  /// Writes the second half; `nil` when others have pushed the first one out meanwhile.
  func complete(_ number: UInt64, _ request: DeniedRequest) -> Denial? {
    state.withLock { state in
      let slot = Denials.slot(number)
      guard state.waiting.indices.contains(slot), state.waiting[slot].number == number else { return nil }
      var denial = state.waiting[slot].denial
      let former = denial.request.nodePath
      denial.request = request
      if !former.isEmpty { denial.request.nodePath = former }
      if state.ring.count < Denials.capacity {
        state.ring.append(denial)
      } else {
        state.ring[state.oldest] = denial
        state.oldest = (state.oldest + 1) % Denials.capacity
      }
      return denial
    }
  }

  /// The latest refusals, the last one first; `user`: those of one user only.
  func latest(_ count: Int, of user: UInt32?) -> [Denial] {
    let all = state.withLock { Array($0.ring[$0.oldest...] + $0.ring[..<$0.oldest]) }
    return Array(all.reversed().lazy.filter { user == nil || $0.caller.user == user }.prefix(max(0, count)))
  }
}

extension Volume {
  /// Completes the refusal that was noted under `number` with what the door knows.
  ///
  /// Called after the volume's locks are released. `node` and `newNode`: the objects the request named.
  package func refused(_ number: UInt64, _ request: DeniedRequest, at node: NodeID, to newNode: NodeID?) {
    var request = request
    request.nodePath = lastKnownPath(of: node)
    request.newNodePath = newNode.map { lastKnownPath(of: $0) }
    guard let denial = denials.complete(number, request) else { return }
    audit?.add(.denial(denial))
  }
}
