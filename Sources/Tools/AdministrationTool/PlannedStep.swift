// What a plan asks the daemon about: the calls of a change, with their values, and what they leave.

import AccessForms
import FlagRules
import JSONForm
import LinuxFiles
import LinuxPrograms

/// One call a change consists of.
enum PlannedStep: Sendable {
  case mode(UInt32)
  case owner(UInt32?, group: UInt32?)
  case ownerGroup(UInt32)
  case flags(FileFlags)
  /// The text of the list; empty: it is removed.
  case list([UInt8])
  /// No call: an earlier part of the plan leaves the item so.
  case assumed(PlannedState)
  /// No call: whether this, in the word of `varve why`, would be permitted by then.
  case then(String)

  /// The calls of `chown`.
  static func steps(of owner: ItemFacts.Owner?, group: UInt32?) -> [PlannedStep] {
    switch owner {
    case .group(let number):
      [.ownerGroup(number)] + (group.map { [.owner(nil, group: $0)] } ?? [])
    case .user(let user): [.owner(user, group: group)]
    case nil: group == nil ? [] : [.owner(nil, group: group)]
    }
  }

  var json: JSON {
    switch self {
    case .mode(let mode): .object(ItemFacts(mode: mode & 0o7777).numbers)
    case .owner(let user, let group):
      .object(ItemFacts(owner: user.map { .user($0) }, group: group).numbers)
    case .ownerGroup(let group): .object(ItemFacts(owner: .group(group)).numbers)
    case .flags(let flags): .object(ItemFacts(flags: flags.rawValue).numbers)
    case .list(let text): .object([listMember(text)])
    case .assumed(let state):
      .object([
        JSON.Member(
          "assumed", .object(state.facts.numbers + (state.list.map { [listMember($0)] } ?? [])))
      ])
    case .then(let deed): .object([JSON.Member("then", .string(deed))])
    }
  }
}

extension ItemFacts {
  fileprivate var numbers: [JSON.Member] {
    var members = owningMembers
    if let mode { members.append(JSON.Member("mode", .number(mode))) }
    if let flags { members.append(JSON.Member("flags", .number(flags))) }
    return members
  }
}

/// Root needs no rights, and of the longest lists a request has no room for two.
private func listMember(_ text: [UInt8]) -> JSON.Member {
  guard !text.isEmpty else { return JSON.Member("list", .bool(false)) }
  let isTold = !ThisProgram.isRoot && text.count <= 16_384
  return JSON.Member("list", isTold ? .string(String(decoding: text, as: UTF8.self)) : .bool(true))
}

/// What a plan leaves of an item by now; what is nil it leaves as it is.
struct PlannedState: Sendable {
  var facts = ItemFacts()
  /// The text of its list; empty: none.
  var list: [UInt8]?

  /// Takes over what a call leaves of an item that has this status.
  mutating func take(_ step: PlannedStep, _ status: FileStatus) {
    switch step {
    case .mode(let mode): facts.mode = mode & 0o7777
    case .owner(let user, let group):
      facts.owner = user.map { .user($0) } ?? facts.owner
      facts.group = group ?? facts.group
      dropSetID(status)
    case .ownerGroup(let group):
      facts.owner = .group(group)
      dropSetID(status)
    case .flags(let flags): facts.flags = flags.rawValue
    case .list(let text): list = text
    case .assumed(let state): self = state
    case .then: break
    }
  }

  private mutating func dropSetID(_ status: FileStatus) {
    facts.mode = (facts.mode ?? UInt32(status.mode)) & ~0o6000
  }

  /// What stat would say by then.
  func applied(to status: FileStatus) -> FileStatus {
    var status = status
    if let mode = facts.mode { status.mode = UInt16(truncatingIfNeeded: mode) }
    switch facts.owner {
    case .user(let user): status.user = user
    case .group: status.user = OwnerRequest.nobody
    case nil: break
    }
    if let group = facts.group { status.group = group }
    return status
  }
}
