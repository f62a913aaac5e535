// What an item is beside its contents and its list: owner, group, mode and flags, read, compared and told.

import AccessControl
import AccessForms
import FlagRules
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

extension Descriptor {
  /// Who owns the item; stat shows `nobody` where it is a group.
  borrowing func owner(_ status: FileStatus) throws(Errno) -> ItemFacts.Owner {
    let user = ItemFacts.Owner.user(status.user)
    do throws(Errno) {
      guard let value = try attribute(AttributeName("system.varve.owner")),
        let text = String(validating: value, as: UTF8.self),
        case .group(let group)? = try? AccessListText.readIdentity(text, names: .machine)
      else { return user }
      return .group(group)
    } catch .unsupported {
      return user
    }
  }

  /// Gives the item to an owner, to a group, or both.
  ///
  /// Set-id bits of a file are gone afterwards.
  borrowing func changeOwner(_ owner: ItemFacts.Owner?, group: UInt32?) throws(Errno) {
    switch owner {
    case .group(let number):
      try setAttribute(AttributeName("system.varve.owner"), to: Array("group:\(number)".utf8).span)
      if let group { try changeOwner(user: nil, group: group) }
    case .user(let user): try changeOwner(user: user, group: group)
    case nil: try changeOwner(user: nil, group: group)
    }
  }
}

extension FileStatus {
  /// What kind of list the item can have.
  var objectKind: ObjectKind { ObjectKind(isDirectory: kind == .directory) }

  /// What kind of record the item has.
  var recordKind: DumpRecord.Kind {
    switch kind {
    case .directory: .directory
    case .symbolicLink: .link
    default: .file
    }
  }
}

extension ItemFacts.Owner {
  /// As `chown -vv` prints it in front of the group.
  var text: String {
    switch self {
    case .user(let user): "\(user)"
    case .group(let group): "group=\(group)"
    }
  }
}

/// How facts differ, in words: `mode 0600 -> 0644, flags uchg -> none`.
func differences(_ before: ItemFacts, _ after: ItemFacts) -> [String] {
  var words: [String] = []
  if before.owner != after.owner || before.group != after.group {
    words.append("owner \(ownership(before)) -> \(ownership(after))")
  }
  if let old = before.mode, let new = after.mode, old != new {
    words.append("mode \(digits(old, radix: 8, width: 4)) -> \(digits(new, radix: 8, width: 4))")
  }
  if let old = before.flags, let new = after.flags, old != new {
    words.append("flags \(flagWords(old)) -> \(flagWords(new))")
  }
  if let old = before.posix, let new = after.posix, old != new {
    words.append(new.isEmpty ? "no POSIX list any more" : "POSIX list \(new.text)")
  }
  return words
}

private func ownership(_ facts: ItemFacts) -> String {
  (facts.owner?.text ?? "") + (facts.group.map { ":\($0)" } ?? "")
}

/// Flags in words, for a plan.
func flagWords(_ word: UInt32?) -> String {
  let flags = FileFlags(rawValue: word ?? 0)
  return flags.isEmpty ? "none" : flags.text.isEmpty ? octal(flags) : flags.text
}

extension ItemFacts {
  /// Owner and group, as far as they are known.
  var owningMembers: [JSON.Member] {
    var members: [JSON.Member] = []
    switch owner {
    case .user(let user): members.append(JSON.Member("user", .number(user)))
    case .group(let group): members.append(JSON.Member("ownerGroup", .number(group)))
    case nil: break
    }
    if let group { members.append(JSON.Member("group", .number(group))) }
    return members
  }

  /// The facts for a script, in the words of `varve ls --json`.
  var members: [JSON.Member] {
    var members = owningMembers
    if let mode { members.append(JSON.Member("mode", .string("0" + String(mode, radix: 8)))) }
    if let flags {
      let words = FileFlags(rawValue: flags).keywords.map { JSON.string($0) }
      members.append(JSON.Member("flags", .array(words)))
    }
    if let posix {
      members.append(
        JSON.Member("posix", .array(posix.text.split(separator: ",").map { .string(String($0)) })))
    }
    return members
  }
}
