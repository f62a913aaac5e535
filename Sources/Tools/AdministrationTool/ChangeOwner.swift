// `varve chown`: chown(2) as chown(1) has it, and groups that own items in place of a user.

import AccessControl
import Arguments
import LinuxFiles
import LinuxPrograms
import Verbs

func changeOwner(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console("varve chown")
  let names = NameBook.machine(Accounts())
  let wanted = try OwnerRequest(invocation.operands[0], names)
  guard invocation.operands.count > 1 else { throw UsageError("PATH is missing", verb: "chown") }
  console.isSilent = invocation.has(.force)
  let change = ChangeOfOwner(
    wanted: wanted, names: names, detail: invocation.count(.listChanges), console: console)
  // Contents first: whoever gives a tree away needs his rights in a directory until its contents are done.
  let walk = ItemWalk(invocation, .contentsFirst, console)
  for path in invocation.operands.dropFirst() {
    walk.go(path) { item in
      do throws(Refusal) {
        try change.apply(to: item)
      } catch {
        console.complain(item.path, error.sentence)
      }
    }
  }
  return console.finish()
}

/// What `[OWNER][:GROUP]` or `:group=GROUP` asks for.
struct OwnerRequest {
  enum Owner: Equatable {
    case user(UInt32)
    case group(UInt32)
  }

  let owner: Owner?
  let group: UInt32?

  init(_ word: Word, _ names: NameBook) throws(UsageError) {
    guard let text = String(validating: word, as: UTF8.self) else {
      throw UsageError("the owner is not text in UTF-8", verb: "chown", .value)
    }
    if text.hasPrefix(":group=") {
      let name = text.dropFirst(7)
      owner = .group(try OwnerRequest.number(name, "group", names.group))
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
    let user = parts[0].isEmpty ? nil : try OwnerRequest.number(parts[0], "user", names.user)
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
        "an item is owned by a user or by a group; ':\(parts[1])' stands alone", verb: "chown", .value)
    }
    group = try OwnerRequest.number(parts[1], "group", names.group)
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
  let names: NameBook
  let detail: Int
  let console: Console

  func apply(to item: VisitedItem) throws(Refusal) {
    let before = detail > 0 ? try owner(of: item) : nil
    do throws(Errno) {
      switch wanted.owner {
      case .group(let group):
        try item.place.descriptor.setAttribute(
          AttributeName("system.varve.owner"), to: Array("group:\(group)".utf8).span)
      case .user(let user): try item.place.descriptor.changeOwner(user: user, group: wanted.group)
      case nil: try item.place.descriptor.changeOwner(user: nil, group: wanted.group)
      }
    } catch {
      throw refusal(error, item)
    }
    guard let before else { return }
    let after = (owner: wanted.owner ?? before.owner, group: wanted.group ?? before.group)
    guard after != before else { return }
    console.printPath(item.path, detail > 1 ? ": \(text(before)) -> \(text(after))" : "")
  }

  /// Who owns an item: stat shows `nobody` where it is a group.
  private func owner(of item: VisitedItem) throws(Refusal) -> (owner: OwnerRequest.Owner, group: UInt32) {
    let plain = (owner: OwnerRequest.Owner.user(item.status.user), group: item.status.group)
    do throws(Errno) {
      guard let value = try item.place.descriptor.attribute(AttributeName("system.varve.owner")) else {
        return plain
      }
      guard let text = String(validating: value, as: UTF8.self),
        case .group(let group)? = try? AccessListText.readIdentity(text, names: names)
      else { return plain }
      return (.group(group), item.status.group)
    } catch .unsupported {
      return plain
    } catch {
      throw Refusal.change(error, item.path, item.place.descriptor, needs: "readattr")
    }
  }

  private func text(_ owner: (owner: OwnerRequest.Owner, group: UInt32)) -> String {
    switch owner.owner {
    case .user(let user): "\(user):\(owner.group)"
    case .group(let group): "group=\(group):\(owner.group)"
    }
  }

  private func refusal(_ error: Errno, _ item: VisitedItem) -> Refusal {
    guard error == .notPermitted || error == .accessDenied else {
      return Refusal.change(error, item.path, item.place.descriptor, needs: "chown")
    }
    if let locked = Refusal.locked(item.path, item.place.descriptor) {
      return Refusal("\(locked) (\(error.shortName))")
    }
    switch wanted.owner {
    case .user?:
      return Refusal(
        "\(error): only root gives items to others; to take one over needs the right chown")
    case .group?:
      return Refusal(
        "\(error): whoever is not root needs the right chown, and to be a member of the group")
    case nil:
      return Refusal(
        "\(error): the group is changed by the owner, and by who has the right writesecurity, to a group of "
          + "their own; or by root")
    }
  }
}
