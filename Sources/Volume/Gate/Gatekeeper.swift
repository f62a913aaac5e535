// The one place where a verdict becomes an error number, where groups are read, and where refusals are noted.

import AccessControl
import Decisions
import LinuxFiles
import Synchronization

/// Asks the engines, with as little knowledge of the caller as the answer needs.
struct Gatekeeper: Sendable {
  private let live: LiveOptions
  let groups: GroupReader
  let denials: Denials

  init(live: LiveOptions, groups: GroupReader, denials: Denials) {
    self.live = live
    self.groups = groups
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
  /// The first attempt does without the caller's supplementary groups, answering every question about them to
  /// the caller's disadvantage. Only a refusal that rests on such an answer makes it worth reading them.
  private func judged(
    _ caller: Caller, _ decide: (Judge) -> Verdict
  ) -> (subject: Subject, verdict: Verdict) {
    let subject = Subject(user: caller.user, group: caller.group, groups: .unread)
    let verdict = decide(Judge(rules: rules, subject: subject))
    guard !verdict.isAllowed, verdict.hingesOnGroups else { return (subject, verdict) }
    let informed = groups.subject(of: caller)
    return (informed, decide(Judge(rules: rules, subject: informed)))
  }

  /// The caller with groups, for the rules that are not decisions: which set-id bits stay.
  func informed(_ subject: Subject, _ caller: Caller) -> Subject {
    subject.groups == .unread ? groups.subject(of: caller) : subject
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
