// The one place where a verdict becomes an error number, and where groups are read.

import AccessControl
import Decisions
import LinuxFiles
import Synchronization

/// Asks the engines, with as little knowledge of the caller as the answer needs.
struct Gatekeeper: Sendable {
  private let live: LiveOptions
  let groups: GroupReader

  init(live: LiveOptions, groups: GroupReader) {
    self.live = live
    self.groups = groups
  }

  var rules: VolumeRules { live.current.rules }

  /// Decides, or throws the number of the refusal.
  ///
  /// The first attempt does without the caller's supplementary groups, answering every question about them to
  /// the caller's disadvantage. Only a refusal that rests on such an answer makes it worth reading them.
  ///
  /// - Returns: the caller as the decision saw it.
  @discardableResult
  func require(_ caller: Caller, _ decide: (Judge) -> Verdict) throws(Errno) -> Subject {
    let subject = Subject(user: caller.user, group: caller.group, groups: .unread)
    let verdict = decide(Judge(rules: rules, subject: subject))
    if verdict.isAllowed { return subject }
    guard verdict.hingesOnGroups else { throw Errno(verdict) }
    let informed = groups.subject(of: caller)
    let second = decide(Judge(rules: rules, subject: informed))
    guard second.isAllowed else { throw Errno(second) }
    return informed
  }

  /// Whether it would be allowed.
  func allows(_ caller: Caller, _ decide: (Judge) -> Verdict) -> Bool {
    do throws(Errno) {
      try require(caller, decide)
      return true
    } catch {
      return false
    }
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
      // An allowed verdict has no number; asking for one is a mistake that must not open anything.
      case nil: .inputOutput
      }
  }
}
