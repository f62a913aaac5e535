// Accounts of the user database, for texts people read and for groups by uid.
//
// The database may be a server that is slow or gone. No worker waits for it (`NameService`), and what is here waits no
// longer than a moment. An answer that did not come is no answer: a number is printed, a name is not accepted, a
// membership is not believed.

import AccessControl
import LinuxFiles
import Synchronization

extension NameBook {
  /// Names as the system knows them, for one question at the control socket.
  ///
  /// All its questions together wait no longer than one may: a list can name a hundred accounts.
  static func forOneRequest() -> NameBook {
    let patience = RequestPatience()
    return NameBook(
      user: { name in patience.ask { UserDatabase.user(named: name) } ?? nil },
      group: { name in patience.ask { UserDatabase.group(named: name) } ?? nil },
      userName: { Accounts.userNames.value($0, patience) },
      groupName: { Accounts.groupNames.value($0, patience) })
  }
}

/// What the user database said lately.
enum Accounts {
  static let userNames = Remembered { UserDatabase.userName($0) }
  static let groupNames = Remembered { UserDatabase.groupName($0) }
  static let groups = Remembered { UserDatabase.groups(ofUser: $0) }
}

/// How long one request waits for the user database: two seconds from its first question on.
final class RequestPatience: Sendable {
  private static let most: UInt64 = 2_000_000_000
  private let deadline: Mutex<UInt64?> = Mutex(nil)

  /// Asks; `nil` if the answer did not come in time or there is no time left to ask.
  func ask<Value: Sendable>(_ question: @escaping @Sendable () -> Value?) -> Value?? {
    guard let left = millisecondsLeft else { return nil }
    return Patience.wait(milliseconds: left, for: question)
  }

  var millisecondsLeft: Int? {
    let now = Clock.monotonicNanoseconds
    let deadline = deadline.withLock { deadline in
      let first = deadline ?? now &+ RequestPatience.most
      deadline = first
      return first
    }
    return deadline > now ? Int((deadline - now) / 1_000_000) : nil
  }
}

/// Answers by number, each believed for a minute; so is the absence of one, or a dead server would cost every
/// request its patience.
final class Remembered<Value: Sendable>: Sendable {
  private struct Known {
    let value: Value?
    let askedAt: UInt64
  }

  private static var lifetime: UInt64 { 60_000_000_000 }
  private static var longestRequest: UInt64 { 15_000_000_000 }
  private static var most: Int { 4_096 }

  private let ask: @Sendable (UInt32) -> Value?
  private let known: Mutex<[UInt32: Known]> = Mutex([:])

  init(_ ask: @escaping @Sendable (UInt32) -> Value?) {
    self.ask = ask
  }

  /// What is remembered; nil if it has to be asked for.
  func known(_ number: UInt32) -> Value?? {
    guard let known = known.withLock({ $0[number] }),
      Clock.monotonicNanoseconds &- known.askedAt < Remembered.lifetime
    else { return nil }
    return .some(known.value)
  }

  /// The same for those who cannot ask because they hold a lock: it was known when their request began, and may have
  /// grown too old since, but not by more than a request can take.
  func lastKnown(_ number: UInt32) -> Value? {
    guard let known = known.withLock({ $0[number] }),
      Clock.monotonicNanoseconds &- known.askedAt < Remembered.lifetime &+ Remembered.longestRequest
    else { return nil }
    return known.value
  }

  func learn(_ value: Value?, of number: UInt32) { learn(value, of: number, at: Clock.monotonicNanoseconds) }

  private func learn(_ value: Value?, of number: UInt32, at now: UInt64) {
    known.withLock { known in
      if known.count >= Remembered.most { known.removeAll() }
      known[number] = Known(value: value, askedAt: now)
    }
  }

  func value(_ number: UInt32, _ patience: RequestPatience) -> Value? {
    let now = Clock.monotonicNanoseconds
    if let known = known(number) { return known }
    // A question that was never asked has no answer to remember.
    guard patience.millisecondsLeft != nil else { return nil }
    let ask = ask
    // Not under the lock: a slow server must not hold up what is known.
    let value = patience.ask { ask(number) } ?? nil
    learn(value, of: number, at: now)
    return value
  }
}
