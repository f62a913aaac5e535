// What is odd about a list: nothing here is refused by the volume, but the user may have meant something else.

package import AccessControl

/// One thing `acl check` has to say about an item.
package struct Finding: Equatable, Sendable {
  /// The kind of oddity, as a word scripts can rely on.
  package enum Kind: String, CaseIterable, Sendable {
    /// The entries are not in canonical order.
    case order
    /// An entry that neither allows nor denies.
    case undeciding
    /// An entry adds nothing to those before it.
    case redundant
    /// An entry can never count, because one before it says the opposite.
    case shadowed
    /// An entry about a number that no account has.
    case unknownAccount = "unknown-account"
    /// Inheritance that leads nowhere.
    case inheritance
    /// An entry that has no effect whatever it says.
    case ineffective
    /// The mode and the list say different things.
    case mode
    /// What is stored cannot be read.
    case damage
    /// An entry marked as inherited that the directory does not hand down, or the other way round.
    case stale
    /// An entry of the item's own that the directory hands down as well.
    case copied
  }

  package let kind: Kind
  /// The entry it is about; nil: the item as a whole.
  package let entry: Int?
  package let text: String

  package init(_ kind: Kind, entry: Int? = nil, _ text: String) {
    self.kind = kind
    self.entry = entry
    self.text = text
  }
}

/// Looks a list over, together with the mode of the item it is on.
package struct ListReview: Sendable {
  private let list: AccessList
  private let kind: ObjectKind
  private let mode: UInt16
  private let names: NameBook

  package init(_ list: AccessList, on kind: ObjectKind, mode: UInt16, names: NameBook) {
    self.list = list
    self.kind = kind
    self.mode = mode
    self.names = names
  }

  /// Everything there is to say, by entry.
  package var findings: [Finding] {
    var findings: [Finding] = []
    do throws(NoCanonicalPosition) {
      if try !list.isCanonical() {
        findings.append(
          Finding(.order, "the entries are not in canonical order; 'varve acl sort' fixes that"))
      }
    } catch {
      findings.append(
        Finding(.undeciding, entry: error.entry, "neither allows nor denies; is never used for a decision"))
    }
    for index in list.entries.indices {
      findings += [account(index), travelling(index), rights(index), standing(index)].compactMap { $0 }
    }
    return findings + comparedWithMode
  }

  // MARK: - One entry

  private func account(_ index: Int) -> Finding? {
    switch list.entries[index].identity {
    case .user(let uid) where names.userName(uid) == nil:
      Finding(.unknownAccount, entry: index, "no user has the number \(uid)")
    case .group(let gid) where names.groupName(gid) == nil:
      Finding(.unknownAccount, entry: index, "no group has the number \(gid)")
    default: nil
    }
  }

  private func travelling(_ index: Int) -> Finding? {
    let flags = list.entries[index].inheritance
    let targets: AccessEntry.Inheritance = [.fileInherit, .directoryInherit]
    if kind == .file, !flags.isDisjoint(with: .propagation) {
      return Finding(.inheritance, entry: index, "has inheritance words, but nothing is made in a file")
    }
    guard flags.isDisjoint(with: targets) else {
      // macOS hands `only_inherit` on to files one level down and no further.
      if flags.contains(.onlyInherit), !flags.contains(.directoryInherit) {
        return Finding(
          .inheritance, entry: index,
          "reaches files made here, but none in directories made here: directory_inherit is missing")
      }
      return nil
    }
    if flags.contains(.onlyInherit) {
      return Finding(
        .inheritance, entry: index, "is only for what is made here, but names neither files nor directories")
    }
    guard flags.contains(.limitInherit) else { return nil }
    return Finding(.inheritance, entry: index, "limits an inheritance that it does not have")
  }

  private func rights(_ index: Int) -> Finding? {
    let entry = list.entries[index]
    let rights = entry.rights.expanded
    if rights.isEmpty { return Finding(.ineffective, entry: index, "names no right") }
    if entry.identity == .nobody { return Finding(.ineffective, entry: index, "is about nobody") }
    if entry.kind == .deny, entry.identity == .owner, rights == .writeSecurity {
      return Finding(.ineffective, entry: index, "the owner can always change the list")
    }
    guard kind == .directory, entry.kind == .allow, !entry.inheritance.contains(.onlyInherit) else {
      return nil
    }
    let inside: Rights = [.list, .addFile, .addSubdirectory, .deleteChild]
    let isReachable = list.entries.contains { other in
      other.kind == .allow && covers(other.identity, entry.identity)
        && other.rights.expanded.contains(.search)
    }
    guard !rights.isDisjoint(with: inside), !isReachable, mode & 0o111 != 0o111 else { return nil }
    return Finding(
      .mode, entry: index,
      "lets in, but without 'search' nothing in the directory can be reached unless the mode grants it")
  }

  /// Whether entries before this one leave anything to it.
  private func standing(_ index: Int) -> Finding? {
    let entry = list.entries[index]
    guard entry.kind == .allow || entry.kind == .deny, !entry.rights.isEmpty else { return nil }
    let before = list.entries[..<index].enumerated().filter { _, other in
      (other.kind == .allow || other.kind == .deny) && covers(other.identity, entry.identity)
        && reaches(other.inheritance, entry.inheritance)
    }
    var open = (allowed: entry.rights.expanded, denied: entry.rights.expanded)
    var last = (allowing: 0, denying: 0)
    for (number, other) in before {
      let rights = other.rights.expanded
      if other.kind == .allow, !rights.isDisjoint(with: open.allowed) {
        open.allowed.subtract(rights)
        last.allowing = number
      } else if other.kind == .deny, !rights.isDisjoint(with: open.denied) {
        open.denied.subtract(rights)
        last.denying = number
      }
    }
    switch entry.kind {
    case .allow where open.denied.isEmpty:
      return Finding(.shadowed, entry: index, "never used: entry \(last.denying) already denies all of it")
    case .allow where open.allowed.isEmpty:
      return Finding(
        .redundant, entry: index, "adds nothing: entry \(last.allowing) already allows all of it")
    case .deny where open.denied.isEmpty:
      return Finding(.redundant, entry: index, "adds nothing: entry \(last.denying) already denies all of it")
    case .deny where open.allowed.isEmpty:
      return Finding(
        .shadowed, entry: index,
        "comes after entry \(last.allowing), which allows all of it: each right alone is granted, and only "
          + "requests for several at once are refused")
    default: return nil
    }
  }

  /// Whether everybody the second identity stands for is meant by the first.
  private func covers(_ first: Identity, _ second: Identity) -> Bool {
    first == second || first == .everyone
  }

  /// Whether an entry counts wherever another one does: here and below.
  private func reaches(_ first: AccessEntry.Inheritance, _ second: AccessEntry.Inheritance) -> Bool {
    if first.contains(.onlyInherit), !second.contains(.onlyInherit) { return false }
    let targets: AccessEntry.Inheritance = [.fileInherit, .directoryInherit]
    guard second.intersection(targets).isSubset(of: first) else { return false }
    return !first.contains(.limitInherit) || second.contains(.limitInherit)
      || second.isDisjoint(with: targets)
  }

  // MARK: - The item as a whole

  private var comparedWithMode: [Finding] {
    var findings: [Finding] = []
    let permits = list.entries.contains { $0.kind == .allow && !$0.inheritance.contains(.onlyInherit) }
    // Who may put something into a directory and not list it finds a drop box: that is wanted.
    let isDropBox = kind == .directory && mode & 0o004 == 0
    if permits, mode & 0o002 != 0, !isDropBox {
      findings.append(
        Finding(
          .mode, "the mode lets every user write, whatever the list says; 'varve chmod o-w' ends that"))
    }
    let writers = list.entries.contains { entry in
      entry.kind == .allow && entry.identity != .owner && !entry.inheritance.contains(.onlyInherit)
        && !entry.rights.expanded.isDisjoint(with: [.write, .append, .writeSecurity])
    }
    if kind == .file, mode & 0o6000 != 0, mode & 0o111 != 0, writers {
      findings.append(
        Finding(.mode, "a program that runs as its owner or group, and the list lets others change it"))
    }
    if kind == .file, mode & 0o111 == 0 {
      let runners = list.entries.firstIndex { $0.kind == .allow && $0.rights.contains(.execute) }
      if let runners, list.entries[runners].rights.expanded == .execute {
        findings.append(
          Finding(.mode, entry: runners, "allows to run it, but the mode has no x bit: it is not a program"))
      }
    }
    return findings
  }
}
