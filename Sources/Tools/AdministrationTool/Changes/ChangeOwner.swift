// `varve chown`: chown(2) as chown(1) has it, and groups that own items in place of a user.

import AccessControl
import AccessForms
import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms

func changeOwner(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  guard let owner = invocation.operands.first else { throw UsageError("OWNER is missing", verb: "chown") }
  let wanted = try ownerRequest(owner, invocation)
  let paths = try PathOperands(invocation, from: 1)
  let run = try ItemRun(invocation, console, paths)
  let change = ChangeOfOwner(wanted: wanted, run: run)
  // Contents first: a user who gives a tree away needs the owner's rights in a directory until its contents are done.
  let walk = ItemWalk(invocation, .contentsFirst, console)
  run.go(walk) { item throws(Refusal) in try change.apply(to: item) }
  return run.finish()
}

private func ownerRequest(_ word: Word, _ invocation: Invocation) throws(UsageError) -> OwnerRequest {
  do throws(UsageError) { return try OwnerRequest(word) } catch {
    throw invocation.pathTooEarly { (try? OwnerRequest($0)) != nil } ?? error
  }
}

/// What `[OWNER][:GROUP]` or `:group=GROUP` asks for.
struct OwnerRequest {
  /// What stat shows of an item that a group owns.
  static let nobody: UInt32 = 65_534

  let owner: ItemFacts.Owner?
  let group: UInt32?

  init(_ word: Word) throws(UsageError) {
    guard let text = String(validating: word, as: UTF8.self) else {
      throw UsageError("the owner is not text in UTF-8", verb: "chown", .value)
    }
    if text.hasPrefix(":group=") {
      let name = text.dropFirst(7)
      owner = .group(try OwnerRequest.number(name, "group", NameBook.machine.group))
      group = nil
      return
    }
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    // As for chown(1): nothing is changed.
    if text == ":" {
      (owner, group) = (nil, nil)
      return
    }
    guard !text.isEmpty else {
      throw UsageError("neither an owner nor a group is named", verb: "chown", .value)
    }
    let user = parts[0].isEmpty ? nil : try OwnerRequest.number(parts[0], "user", NameBook.machine.user)
    owner = user.map { .user($0) }
    guard parts.count > 1 else {
      group = nil
      return
    }
    // "ann:" is Ann and the group she logs in with.
    if let user, parts[1].isEmpty {
      guard let groups = UserDatabase.groups(ofUser: user), let first = groups.first else {
        throw UsageError("user \(parts[0]) has no account, and so no group; name one", verb: "chown", .value)
      }
      group = first
      return
    }
    guard !parts[1].hasPrefix("group=") else {
      throw UsageError(
        "an item is owned by a user or by a group; ':\(parts[1])' must be alone", verb: "chown", .value)
    }
    group = try OwnerRequest.number(parts[1], "group", NameBook.machine.group)
  }

  /// The number of an account; digits are always a number, never a name.
  private static func number(
    _ name: Substring, _ kind: String, _ find: (String) -> UInt32?
  ) throws(UsageError) -> UInt32 {
    guard !name.isEmpty else { throw UsageError("the name of a \(kind) is missing", verb: "chown", .value) }
    if name.allSatisfy({ $0.isASCII && $0.isWholeNumber }) {
      // The highest number means "leave it" to the system.
      guard let number = UInt32(name), number != .max else {
        throw UsageError("'\(name)' is not the number of a \(kind)", verb: "chown", .value)
      }
      return number
    }
    guard let number = find(String(name)) else {
      throw UsageError("there is no \(kind) '\(name)'; a number will do", verb: "chown", .value)
    }
    return number
  }
}

/// Gives items to their new owner.
private struct ChangeOfOwner {
  let wanted: OwnerRequest
  let run: ItemRun

  func apply(to item: VisitedItem) throws(Refusal) {
    // The system would take set-id bits away even so; chown(1) of the BSDs leaves it at that, too.
    guard try !isStandingAlready(item) else { return }
    // Asked only where it matters: the owner may be a group, which the volume has to be asked about.
    let isTold = run.ledger.detail > 0 || run.ledger.undo != nil || run.ledger.tellsCounts
    let before = isTold ? try ownership(of: item) : ItemFacts()
    var after = before
    after.owner = wanted.owner ?? before.owner
    after.group = wanted.group ?? before.group
    var kept = before
    // Set-id bits of a file go with its owner.
    if item.status.kind != .symbolicLink { kept.mode = UInt32(item.status.mode) }
    let clears = item.status.recordKind == .file && item.status.mode & 0o6000 != 0
    let isKept = after != before || clears
    let changes = AskedChange.changes(of: wanted.owner, group: wanted.group)
    let ledger = run.ledger
    try run.change(item, facts: isKept ? kept : ItemFacts(), changes: changes) { [wanted] error in
      wanted.refusal(error, item)
    } tell: { [before, after] prospect in
      // A volume that ignores ownership takes the change and does nothing.
      let after = isTold && !ledger.isDryRun ? standing(item) ?? after : after
      guard !prospect.keepsOwner, !isTold || after != before else { return nil }
      return ledger.told(
        item, "\(text(before, inWords: ledger.isDryRun)) -> \(text(after, inWords: ledger.isDryRun))",
        before: .object(before.members),
        after: .object(after.members))
    } _: { () throws(Errno) in
      try item.held.descriptor.changeOwner(wanted.owner, group: wanted.group)
    }
  }

  /// Whether the item has the owner and the group it is to have.
  private func isStandingAlready(_ item: VisitedItem) throws(Refusal) -> Bool {
    if let group = wanted.group, group != item.status.group { return false }
    guard let owner = wanted.owner else { return true }
    let isShownAsNobody = item.status.user == OwnerRequest.nobody
    if case .user(let user) = owner, user != item.status.user || !isShownAsNobody {
      return user == item.status.user
    }
    guard isShownAsNobody else { return false }
    return try ownership(of: item).owner == owner
  }
}

/// Who owns the item now; nil if that cannot be seen any more.
private func standing(_ item: VisitedItem) -> ItemFacts? {
  guard let status = try? item.held.descriptor.knownStatus() else { return nil }
  return try? ownership(
    of: VisitedItem(location: item.location, status: status, held: item.held, depth: item.depth))
}

/// Who owns an item: stat shows `nobody` where it is a group.
private func ownership(of item: VisitedItem) throws(Refusal) -> ItemFacts {
  let owner = try attempt(item.held.descriptor.owner(item.status)) { error in
    Refusal.change(error, item.path, item.held.descriptor, needs: "readattr")
  }
  return ItemFacts(owner: owner, group: item.status.group)
}

/// Owner and group: in numbers, as `chown -vv` of macOS prints them, or by name.
private func text(_ facts: ItemFacts, inWords: Bool) -> String {
  let names = NameBook.machine
  guard inWords else { return "\(facts.owner?.text ?? ""):\(facts.group.map { "\($0)" } ?? "")" }
  let owner =
    switch facts.owner {
    case .user(let user): names.userName(user) ?? "\(user)"
    case .group(let group): "group=\(names.groupName(group) ?? "\(group)")"
    case nil: ""
    }
  return "\(owner):\(facts.group.map { names.groupName($0) ?? "\($0)" } ?? "")"
}

extension OwnerRequest {
  private func changesGroup(of item: VisitedItem) -> Bool { group != nil && group != item.status.group }

  /// What the system's answer means: the rule, in the words of `varve why` where there is but one.
  fileprivate func refusal(_ error: Errno, _ item: VisitedItem) -> Refusal {
    guard error == .notPermitted || error == .accessDenied else {
      return Refusal.change(error, item.path, item.held.descriptor, needs: "chown")
    }
    if let locked = Refusal.locked(item.path, item.held.descriptor) {
      return Refusal("\(locked) (\(error.name))")
    }
    // Root has every right, and is in every group: another rule refused.
    if CurrentProcess.isRoot { return Refusal("\(error)\(Errno.adviceOnDenial)") }
    switch owner {
    case .user(let user)? where user != item.status.user:
      guard user == CurrentProcess.user else {
        return Refusal("\(error): only root can give an item to another user")
      }
      let both = changesGroup(of: item) ? ", and must be a member of the group" : ""
      return Refusal("\(error): without root you need the right chown to take it over\(both)")
    case .group?:
      return Refusal(
        "\(error): without root you need the right chown, and must be a member of the group")
    case .user?, nil:
      // The owner has the right, so it is the group. Which groups others are in, also by way of groups, the volume knows.
      if item.status.user == CurrentProcess.user, let group, changesGroup(of: item) {
        let name = NameBook.machine.groupName(group) ?? "\(group)"
        return Refusal(
          "\(error): not a member of group:\(name); only root and members can give an item to a group")
      }
      return Refusal(
        "\(error): only root, the owner, or a user with writesecurity can change the group; the last two "
          + "only to a group they are in")
    }
  }
}
