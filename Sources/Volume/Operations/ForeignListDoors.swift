// The doors for tools that know other lists: `system.nfs4_acl` for NFSv4 tools and Samba, the same in numbers for
// tools made for TrueNAS, and `system.posix_acl_access` for programs that copy modes as POSIX lists.

import AccessControl
import Decisions
import DirectoryModes
import LinuxFiles
import Synchronization

extension Volume {
  /// Always an answer: NFSv4 tools give up where there is none, and Samba lets everybody in.
  func nfsList(of item: Item, as view: NFSv4View, for caller: Caller) throws(Errno) -> [UInt8] {
    let kind: ObjectKind = item.isDirectory ? .directory : .file
    return switch view {
    case .names:
      try withNames(for: caller) { names in
        NFSv4List.encode(item.list, mode: item.mode.bits, for: kind, names: names)
      }
    case .numbers: NFSv4List.encodeNumbers(item.list, mode: item.mode.bits, for: kind)
    }
  }

  /// Programs that edit what they have read say REPLACE; those that write a list of their own, as Samba and backups
  /// do, say neither that nor CREATE.
  func changeNFSList(
    of node: Node, _ bytes: [UInt8], as view: NFSv4View, _ setting: AttributeSetting, for caller: Caller
  ) throws(Errno) {
    let writing: NFSv4Writing = setting == .replace ? .edit : .anew
    let mayAsk = { (entries: [AccessEntry]) throws(Errno) in
      // The entries for the mode come along, of which a list of ours has none: six at most.
      let count = entries.count
      try self.requireListChange(of: node, entries: max(0, count - 6)...count, for: caller)
    }
    let entries = try withNames(for: caller, mayAsk: mayAsk) { (names) throws(Errno) -> [AccessEntry] in
      do throws(NFSv4Failure) {
        return switch view {
        case .names: try NFSv4List.decode(bytes, names: names)
        case .numbers: try NFSv4List.decodeNumbers(bytes)
        }
      } catch {
        throw .invalid
      }
    }
    let kind: ObjectKind = node.isDirectory ? .directory : .file
    let handedDown = handedDown(to: node, kind, for: caller)
    try changeListAndMode(of: node, for: caller) { item throws(Errno) in
      do throws(NFSv4Failure) {
        // Who edits a list names people; a program that works one out may name them as owners.
        let owners = InheritanceSource.Owners(user: item.user, group: item.group)
        let source = InheritanceSource(owners: writing == .anew ? owners : nil, handedDown: handedDown)
        let change = try NFSv4List.change(
          to: entries, from: item.list, mode: item.mode.bits, for: kind, as: view,
          writing: writing, inheritingFrom: source)
        return ListAndMode(list: change.list.map(ListUpdate.store) ?? .remove, permissions: change.mode)
      } catch {
        throw .invalid
      }
    }
  }

  /// What the directory above hands down to an object now; nothing where that cannot be found out.
  ///
  /// It decides about no access, only whether an entry counts as inherited. Who may not read the directory's list does
  /// not learn of its entries by such a mark.
  private func handedDown(to node: Node, _ kind: ObjectKind, for caller: Caller) -> [AccessEntry] {
    guard node.id != root.id, let parent = node.lastName.withLock({ $0.parent }) else { return [] }
    let entries = try? locks.holding(.shared(parent.stripe)) { () throws(Errno) -> [AccessEntry] in
      let item = try directoryFacts(parent).item
      guard item.record == .sound, gate.allows(caller, .readList, on: item) else { return [] }
      return InheritanceSource.handedDown(from: item.list, to: kind)
    }
    return entries ?? []
  }

  /// A list that says no more than a mode is a chmod; whatever more it says is refused rather than lost.
  func changePosixList(of node: Node, _ bytes: [UInt8], for caller: Caller) throws(Errno) {
    let permissions: UInt16?
    do throws(MinimalPosixList.Obstacle) {
      permissions = try MinimalPosixList.decode(bytes)
    } catch {
      throw error == .extended ? .unsupported : .invalid
    }
    try changeListAndMode(of: node, for: caller) { _ in ListAndMode(list: .keep, permissions: permissions) }
  }

  /// Entries that a directory hands on exist in lists of this volume only.
  func refusePosixDefault(_ bytes: [UInt8]) throws(Errno) {
    guard bytes.isEmpty || bytes == MinimalPosixList.empty else { throw .unsupported }
  }
}
