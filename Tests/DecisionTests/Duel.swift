// Engine against reference: the same question to both, for every set of groups the caller may be in.

import AccessControl
import Decisions
import Testing

/// Somebody who asks, with every set of supplementary groups worth trying.
struct Caller {
  let user: UInt32
  let group: UInt32
  let sets: [[UInt32]]

  init(_ user: UInt32, _ group: UInt32, possibly gids: [UInt32] = []) {
    self.user = user
    self.group = group
    sets = gids.reduce([[]]) { sets, gid in sets + sets.map { $0 + [gid] } }
  }

  func subject(_ groups: Subject.Groups) -> Subject {
    Subject(user: user, group: group, groups: groups)
  }
}

/// Counts the questions and shows the first few that were answered differently.
struct Duel {
  private(set) var asked = 0
  private(set) var differences = 0

  /// Puts `request` to both sides, groups known, unread and unreadable.
  ///
  /// Unread groups are the promise the daemon lives on: what is allowed without them must be allowed with any
  /// of them, and what is refused without hinging on them must be refused, for the same reason, with any.
  mutating func put(_ request: Request, by callers: [Caller], on rules: VolumeRules = VolumeRules()) {
    let things = request.items.map(Thing.init)
    for caller in callers {
      let unread = request.put(to: Judge(rules: rules, subject: caller.subject(.unread)))
      for groups in caller.sets {
        let subject = caller.subject(.listed(groups))
        let verdict = request.put(to: Judge(rules: rules, subject: subject))
        let outcome = Outcome(verdict)
        let truth = Reference(subject, rules).answer(request, things)
        asked += 1
        if outcome != truth { differ("\(verdict) instead of \(truth)", request, subject, rules) }
        if verdict.hingesOnGroups { differ("hinges on groups that are known", request, subject, rules) }
        if unread.isAllowed ? truth != .ok : !unread.hingesOnGroups && unread != verdict {
          differ("with groups unread it was settled as \(unread), not \(verdict)", request, subject, rules)
        }
      }
      let unknown = caller.subject(.unreadable)
      let late = request.put(to: Judge(rules: rules, subject: unknown))
      let truth = Reference(unknown, rules).answer(request, things)
      asked += 1
      if Outcome(late) != truth { differ("\(late) instead of \(truth)", request, unknown, rules) }
      if late.refusal != unread.refusal || late.reason != unread.reason {
        differ("unreadable \(late), unread \(unread)", request, unknown, rules)
      }
    }
  }

  private mutating func differ(
    _ what: String, _ request: Request, _ subject: Subject, _ rules: VolumeRules
  ) {
    differences += 1
    guard differences <= 5 else { return }
    Issue.record("\(what)\n  \(request)\n  by \(subject)\n  on \(rules)")
  }
}
