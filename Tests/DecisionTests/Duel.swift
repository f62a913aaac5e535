// Engine against reference: the same question to both, for every set of groups the caller may be in.

import AccessControl
import Decisions
import Testing

/// Somebody who asks, with every set of supplementary groups worth trying, and if it is user 0, of capabilities.
struct Caller {
  let user: UInt32
  let group: UInt32
  let sets: [[UInt32]]
  /// Each capability alone, none, all, and those of common containers and services.
  let capabilities: [CapabilitySet]

  private static let ofRoot: [CapabilitySet] = [
    .all, [], .chown, .dacOverride, .dacReadSearch, .fowner, .fsetid, .linuxImmutable, .mknod, .sysAdmin,
    [.dacOverride, .fowner], [.chown, .dacOverride, .fowner, .fsetid, .mknod], [.dacReadSearch, .fowner],
  ]

  init(_ user: UInt32, _ group: UInt32, possibly gids: [UInt32] = []) {
    self.user = user
    self.group = group
    sets = gids.reduce([[]]) { sets, gid in sets + sets.map { $0 + [gid] } }
    capabilities = user == 0 ? Caller.ofRoot : [[]]
  }

  /// With groups and capabilities known, each with each.
  var known: [Subject] {
    sets.flatMap { groups in
      capabilities.map {
        Subject(user: user, group: group, groups: .listed(groups), capabilities: $0)
      }
    }
  }

  var unread: Subject { Subject(unreadUser: user, group: group) }

  var unreadable: Subject { Subject(user: user, group: group, groups: .unreadable, capabilities: nil) }
}

/// Counts the questions and shows the first few that were answered differently.
struct Duel {
  private(set) var asked = 0
  private(set) var differences = 0

  /// Puts `request` to both sides, groups and capabilities known, unread and unreadable.
  ///
  /// The unread ones are the promise the daemon lives on: what is allowed without them must be allowed with any
  /// of them, and what is refused without hinging on them must be refused, for the same reason, with any.
  mutating func put(_ request: Request, by callers: [Caller], on rules: VolumeRules = VolumeRules()) {
    let things = request.items.map(Thing.init)
    for caller in callers {
      let unread = request.put(to: Judge(rules: rules, subject: caller.unread))
      for subject in caller.known {
        let verdict = request.put(to: Judge(rules: rules, subject: subject))
        let outcome = Outcome(verdict)
        let truth = Reference(subject, rules).answer(request, things)
        asked += 1
        if outcome != truth { differ("\(verdict) instead of \(truth)", request, subject, rules) }
        if verdict.hingesOnUnread { differ("hinges on what is known", request, subject, rules) }
        if unread.isAllowed ? truth != .ok : !unread.hingesOnUnread && unread != verdict {
          differ("with nothing read it was settled as \(unread), not \(verdict)", request, subject, rules)
        }
        if verdict.rootLimit != nil, verdict.isAllowed || subject.user != 0 {
          differ("tells what root lacks: \(verdict)", request, subject, rules)
        }
      }
      let unknown = caller.unreadable
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
