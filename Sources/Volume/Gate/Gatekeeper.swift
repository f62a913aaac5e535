// The one place where a verdict becomes an error number, where callers are read up on, and where refusals are noted.

import AccessControl
import Decisions
import LinuxFiles
import Synchronization

/// Asks the engines, with as little knowledge of the caller as the answer needs.
struct Gatekeeper: Sendable {
  private let live: LiveOptions
  let credentials: CredentialReader
  let denials: Denials

  init(live: LiveOptions, credentials: CredentialReader, denials: Denials) {
    self.live = live
    self.credentials = credentials
    self.denials = denials
  }

  var rules: VolumeRules { live.current.rules }

  /// Decides, or throws the number of the refusal.
  ///
  /// `scene` is what the decision is about; it is looked at after a refusal only, which is noted.
  ///
  /// - Returns: the caller as the decision saw it.
  @discardableResult
  func require(
    _ caller: Caller, about scene: @autoclosure () -> Scene, _ decide: (Judge) -> Verdict
  ) throws(Errno) -> Subject {
    let (subject, verdict) = judged(caller, decide)
    guard !verdict.isAllowed else { return subject }
    denials.note(verdict, of: caller, Judge(rules: rules, subject: subject), about: scene())
    throw Errno(verdict)
  }

  /// Whether it would be allowed.
  ///
  /// Nobody is refused anything by this, so nothing is noted.
  func allows(_ caller: Caller, _ decide: (Judge) -> Verdict) -> Bool {
    judged(caller, decide).verdict.isAllowed
  }

  /// The verdict, and the caller as it was reached about him.
  ///
  /// The first attempt does without the caller's supplementary groups and root's capabilities, answering every question
  /// about them to the caller's disadvantage. Only a refusal that rests on such an answer makes it worth reading them.
  private func judged(
    _ caller: Caller, _ decide: (Judge) -> Verdict
  ) -> (subject: Subject, verdict: Verdict) {
    let subject = Subject(unreadUser: caller.user, group: caller.group)
    let verdict = decide(Judge(rules: rules, subject: subject))
    guard !verdict.isAllowed, verdict.hingesOnUnread else { return (subject, verdict) }
    let informed = credentials.subject(of: caller)
    return (informed, decide(Judge(rules: rules, subject: informed)))
  }

  /// The caller with groups and capabilities, for the rules that are not decisions: which set-id bits stay.
  func informed(_ subject: Subject, _ caller: Caller) -> Subject {
    subject.groups == .unread ? credentials.subject(of: caller) : subject
  }

  /// Whether the caller is root with one of these capabilities.
  func isRoot(_ caller: Caller, withAnyOf capabilities: CapabilitySet) -> Bool {
    caller.user == 0 && credentials.subject(of: caller).isRoot(withAnyOf: capabilities)
  }
}

extension Errno {
  /// EPERM and EACCES are told apart exactly as macOS does; the engine has made that choice.
  init(_ verdict: Verdict) {
    self =
      switch verdict.refusal {
      case .readOnly: .readOnly
      case .notPermitted: .notPermitted
      case .accessDenied: .accessDenied
      case .damaged: .inputOutput
      case .unsupported: .unsupported
      // An allowed verdict has no number; asking for one is a mistake that must not open anything.
      case nil: .inputOutput
      }
  }
}
