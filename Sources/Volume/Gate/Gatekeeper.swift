// The one place where a verdict becomes an error number, where callers are read up on, and where refusals are noted.

import AccessControl
import Decisions
import LinuxFiles
import Synchronization

/// Asks the engines, with as little knowledge of the caller as the answer needs.
struct Gatekeeper: Sendable {
  private let live: LiveOptions
  private let keyring: Keyring
  let credentials: CredentialReader
  let denials: Denials

  init(live: LiveOptions, keyring: Keyring, credentials: CredentialReader, denials: Denials) {
    self.live = live
    self.keyring = keyring
    self.credentials = credentials
    self.denials = denials
  }

  var rules: VolumeRules {
    var rules = live.current.rules
    rules.keys = keyring.keysAtHand
    return rules
  }

  /// Decides, or throws the number of the refusal; what a rule refuses is noted.
  ///
  /// - Returns: the judge, with the caller as the decision saw it.
  @discardableResult
  func require(_ caller: Caller, _ operation: Operation, on item: Item) throws(Errno) -> Judge {
    try require(caller, about: Scene(item)) { $0.decide(operation, on: item) }
  }

  func require(
    _ caller: Caller, _ operation: Operation, on item: Item, in parent: Item
  ) throws(Errno) {
    _ = try require(caller, about: Scene(item, in: parent)) { $0.decide(operation, on: item, in: parent) }
  }

  func require(_ caller: Caller, _ operation: Operation, _ scene: Scene) throws(Errno) {
    _ = try require(caller, about: scene) { $0.decide(operation, scene) }
  }

  private func require(
    _ caller: Caller, about scene: @autoclosure () -> Scene, _ decide: (Judge) -> Verdict
  ) throws(Errno) -> Judge {
    let (judge, verdict) = judged(caller, decide)
    guard !verdict.isAllowed else { return judge }
    if verdict.obstacle == nil { denials.note(verdict, of: caller, judge, about: scene()) }
    throw Errno(verdict)
  }

  /// Notes a refusal that no rule decided, but that has the number of a missing right.
  func noteRefusal(by obstacle: Obstacle, of caller: Caller, at place: [UInt8], on item: Item) {
    let judge = Judge(rules: rules, subject: credentials.subject(of: caller))
    denials.note(obstacle.verdict, of: caller, judge, about: Scene(item), at: place)
  }

  /// Whether it would be allowed.
  ///
  /// Nobody is refused anything by this, so nothing is noted.
  func allows(_ caller: Caller, _ operation: Operation, on item: Item) -> Bool {
    judged(caller) { $0.decide(operation, on: item) }.verdict.isAllowed
  }

  /// The verdict, and the caller as it was reached about them.
  ///
  /// The first attempt does without the caller's supplementary groups and root's capabilities, answering every question
  /// about them to the caller's disadvantage. Only a refusal that rests on such an answer makes it worth reading them.
  private func judged(
    _ caller: Caller, _ decide: (Judge) -> Verdict
  ) -> (judge: Judge, verdict: Verdict) {
    let judge = Judge(rules: rules, subject: Subject(unreadUser: caller.user, group: caller.group))
    let verdict = decide(judge)
    guard !verdict.isAllowed, verdict.hingesOnUnread else { return (judge, verdict) }
    let informed = Judge(rules: rules, subject: credentials.subject(of: caller))
    return (informed, decide(informed))
  }

  /// The caller with groups and capabilities, for the rules that are not decisions: which set-id bits stay.
  func informed(_ judge: Judge, _ caller: Caller) -> Judge {
    guard judge.subject.groups == .unread else { return judge }
    return Judge(rules: judge.rules, subject: credentials.subject(of: caller))
  }

  /// Whether the caller is root with one of these capabilities.
  func isRoot(_ caller: Caller, withAnyOf capabilities: CapabilitySet) -> Bool {
    caller.user == 0 && credentials.subject(of: caller).isRoot(withAnyOf: capabilities)
  }
}

extension Verdict {
  /// Throws the number of a refusal in which nobody's rights were asked; nothing is noted.
  func required() throws(Errno) {
    if !isAllowed { throw Errno(self) }
  }
}

extension Errno {
  init(_ obstacle: Obstacle) {
    self =
      switch obstacle {
      case .missing: .noSuchFile
      case .taken: .exists
      case .notDirectory: .notDirectory
      case .isDirectory, .replacesDirectory: .isDirectory
      case .intoItself, .nameless, .notFile: .invalid
      case .root: .busy
      case .notOpenable: .noDevice
      case .linkMode, .noLists, .noRecord: .unsupported
      case .reserved: .notPermitted
      case .readOnlyText, .unlistedNames: .accessDenied
      }
  }

  /// EPERM and EACCES are told apart exactly as macOS does; the engine has made that choice.
  init(_ verdict: Verdict) {
    self =
      switch verdict.refusal {
      case .readOnly: .readOnly
      case .notPermitted: .notPermitted
      case .accessDenied: .accessDenied
      case .damaged: .inputOutput
      case .unsupported: .unsupported
      case .noKey: .noKey
      case .crossesProtection: .crossDevice
      case .impossible: verdict.obstacle.map { Errno($0) } ?? .inputOutput
      // An allowed verdict has no number; asking for one is a mistake that must not open anything.
      case nil: .inputOutput
      }
  }
}
