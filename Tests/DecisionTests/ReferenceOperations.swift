// What each operation asks, and what its errors become: docs/SEMANTICS.md told a second time.

import AccessControl
import Decisions
import FlagRules

extension Reference {
  /// A chmod, chown, chflags, set ACL or explicit utimes says EPERM where the check says EACCES (SEMANTICS 1.14).
  private func asPolicy(_ outcome: Outcome) -> Outcome {
    outcome == .EACCES ? .EPERM : outcome
  }

  /// EROFS comes first for everything that modifies (SEMANTICS 1.1).
  private func readOnlyFirst(_ rest: () -> Outcome) -> Outcome {
    rules.isReadOnly ? .EROFS : rest()
  }

  /// SEMANTICS 1.8.
  func open(
    _ thing: Thing, reads: Bool = false, writes: Bool = false, appends: Bool = false, truncates: Bool = false
  ) -> Outcome {
    var asked: [Power] = []
    if reads { asked.append(.read) }
    if writes && appends && !truncates { asked.append(.append) }
    if (writes && !appends) || truncates { asked.append(.write) }
    return check(thing, asked)
  }

  /// SEMANTICS 1.9.
  func exec(_ thing: Thing) -> Outcome {
    if thing.kind != "file" { return .EACCES }
    if thing.mode & 0o111 == 0 { return .EACCES }
    return check(thing, [.execute])
  }

  /// SEMANTICS 1.10.
  func access(_ thing: Thing, _ letters: String) -> Outcome {
    var asked: [Power] = []
    if letters.contains("r") { asked.append(.read) }
    if letters.contains("w") { asked += thing.kind == "directory" ? [.write, .append] : [.write] }
    if letters.contains("x") { asked.append(.execute) }
    return asked.isEmpty ? .ok : check(thing, asked)
  }

  /// SEMANTICS 4.11.
  func make(_ isDirectory: Bool, _ parent: Thing) -> Outcome {
    let adding = add([isDirectory ? .append : .write], parent)
    // What is made inherits, and a damaged list cannot be handed down, not even by root.
    return adding == .ok && rules.usesLists && parent.record != "sound" ? .EIO : adding
  }

  /// Whatever is made has a name that is looked up.
  private func add(_ asked: [Power], _ parent: Thing) -> Outcome {
    let searching = check(parent, [.execute])
    return searching == .ok ? check(parent, asked) : searching
  }

  func makeDevice(_ parent: Thing) -> Outcome {
    isRoot("MKNOD") ? make(false, parent) : .EPERM
  }

  func remove(_ thing: Thing, _ parent: Thing) -> Outcome {
    check(thing, [.delete], parent: parent)
  }

  /// `isProtected`: proc(5) about `fs.protected_hardlinks`.
  func link(_ thing: Thing, _ parent: Thing, _ isProtected: Bool) -> Outcome {
    // The kernel asks for the new name and the mount first.
    if rules.isReadOnly { return .EROFS }
    if thing.kind == "directory" { return .EPERM }
    let target = check(thing, [.linkTarget])
    if target != .ok { return target }
    let isOrdinary =
      thing.kind == "file" && thing.mode & 0o4000 == 0 && thing.mode & 0o2010 != 0o2010
      && check(thing, [.read, .write]) == .ok
    if isProtected, !isOrdinary, owns(thing) != true, !isRoot("FOWNER") { return .EPERM }
    return add([.write], parent)
  }

  /// Whoever could use a FIFO, take it away or open it to themselves finds it.
  func find(_ thing: Thing, _ parent: Thing) -> Outcome {
    let mayFind =
      owns(thing) == true || isRoot("FOWNER") || isAdministrator(thing) || check(thing, [.read]) == .ok
      || check(thing, [.write]) == .ok || remove(thing, parent) == .ok
      || simple(thing, [.writesecurity]) == .ok
    return mayFind ? .ok : .EACCES
  }

  /// SEMANTICS 4.15 and 4.16.
  func rename(
    _ thing: Thing, _ parent: Thing, _ newParent: Thing, moves: Bool, over victim: Thing?
  ) -> Outcome {
    if let victim, (victim.kind == "directory") != (thing.kind == "directory") { return .impossible }
    let leaving = leave(thing, parent, moves)
    if leaving != .ok { return leaving }
    let arriving = add([thing.kind == "directory" ? .append : .write], newParent)
    if arriving != .ok { return arriving }
    return victim.map { remove($0, newParent) } ?? .ok
  }

  func swap(_ one: Thing, _ parent: Thing, _ other: Thing, _ otherParent: Thing, moves: Bool) -> Outcome {
    let kinds = [one, other].map { $0.kind == "directory" ? Power.append : .write }
    let arriving =
      moves ? [add([kinds[0]], otherParent), add([kinds[1]], parent)] : [add(kinds, parent)]
    for outcome in [leave(one, parent, moves), leave(other, otherParent, moves)] + arriving
    where outcome != .ok {
      return outcome
    }
    return .ok
  }

  private func leave(_ thing: Thing, _ parent: Thing, _ moves: Bool) -> Outcome {
    check(thing, thing.kind == "directory" && moves ? [.delete, .append] : [.delete], parent: parent)
  }

  /// SEMANTICS 1.11.
  func stat(_ thing: Thing) -> Outcome { check(thing, [.readattr, .readsecurity]) }

  func utimesNow(_ thing: Thing) -> Outcome { check(thing, [.writeattr, .checkImmutable]) }

  func utimesSet(_ thing: Thing) -> Outcome {
    readOnlyFirst {
      if thing.record == "damaged" { return .EIO }
      if owns(thing) != true && !isRoot("FOWNER") && !isAdministrator(thing) { return .EPERM }
      return asPolicy(utimesNow(thing))
    }
  }

  func chmod(_ thing: Thing, _ mode: Int) -> Outcome {
    if thing.kind == "link" { return .impossible }
    return setMode(thing, mode)
  }

  private func setMode(_ thing: Thing, _ mode: Int) -> Outcome {
    readOnlyFirst {
      let allowed = asPolicy(check(thing, [.writesecurity]))
      if allowed != .ok { return allowed }
      if mode & 0o4000 == 0 { return .ok }
      // Nobody runs as an owner that is everybody, or a group; and an administrator by group lends nobody's identity.
      if thing.ownerGroup != nil || thing.uid == 99 { return .EPERM }
      return owns(thing) != true && !isRoot("FOWNER") ? .EPERM : .ok
    }
  }

  /// chown(-1, -1), and what the kernel asks before a write.
  func strip(_ thing: Thing) -> Outcome {
    let asChange = setMode(thing, thing.mode & ~0o6000)
    return asChange == .ok || check(thing, [.write]) != .ok ? asChange : .ok
  }

  func chown(_ thing: Thing, _ newUID: UInt32?, _ newGID: UInt32?) -> Outcome {
    if newUID == nil && newGID == nil { return .ok }
    return readOnlyFirst {
      // SEMANTICS 1.15: without effect, but the flags stay in force.
      if rules.ignoresOwnership && uid != 0 { return check(thing, [.checkImmutable]) }
      // An owning group stands where the uid stood, so naming any uid is a change.
      let takes = newUID != nil && (newUID != thing.uid || thing.ownerGroup != nil)
      if !isRoot("CHOWN") && !isAdministrator(thing) {
        if takes && newUID != uid { return .EPERM }
        if let newGID, newGID != thing.gid, isMember(newGID) != true { return .EPERM }
      }
      return asPolicy(check(thing, takes ? [.chown] : [.writesecurity], spares: "CHOWN"))
    }
  }

  /// SEMANTICS 2.2, with the rules for administrators and for sunlnk.
  func chflags(_ thing: Thing, from old: UInt32, to new: UInt32) -> Outcome {
    readOnlyFirst {
      var changed = (old ^ new) & ~0xC000_0000
      // Setting or clearing `compressed` is dropped (SEMANTICS 2.8).
      changed &= ~0x20
      if changed == 0 {
        let verdict = unchanged(thing, [.writesecurity, .ignoringFlags])
        return verdict == .ok && thing.record == "damaged" ? .EIO : verdict
      }
      if thing.record == "damaged" { return .EIO }
      if changed & ~0xFFFF != 0 && !isRoot("LINUX_IMMUTABLE") { return .EPERM }
      if rules.secureLevel > 0 {
        if old & 0x6_0000 != 0 { return .EPERM }
        if old & 0x10_0000 != 0 && new & 0x10_0000 == 0 { return .EPERM }
      }
      return asPolicy(check(thing, [.writesecurity, .ignoringFlags]))
    }
  }

  func setACL(_ thing: Thing, isList: Bool, changes: Bool) -> Outcome {
    // SEMANTICS 1.16: without lists none can be stored, but those who may read it may store the one that is there.
    if isList, !rules.usesLists, !rules.isReadOnly {
      return !changes && thing.record == "sound" && stat(thing) == .ok ? .ok : .impossible
    }
    return readOnlyFirst {
      // In place of a damaged list every list is a change. The owner and root need not ask the list (SEMANTICS 1.6).
      changes || thing.record != "sound"
        ? asPolicy(check(thing, [.writesecurity])) : unchanged(thing, [.writesecurity])
    }
  }

  /// SEMANTICS 11.2: what is there already can be set by those who may see it; others learn nothing by trying.
  private func unchanged(_ thing: Thing, _ asked: [Power]) -> Outcome {
    stat(thing) == .ok ? .ok : asPolicy(check(thing, asked))
  }

  /// SEMANTICS 8.3: with an unreadable record nothing is known, so nothing but looking is decided.
  func isUnreadable(_ thing: Thing, _ parent: Thing?, _ asked: [Power]) -> Bool {
    if parent?.record == "damaged" { return true }
    guard thing.record == "damaged" else { return false }
    let looking: [Power] = [.readattr, .readsecurity, .synchronize]
    return !asked.allSatisfy { looking.contains($0) }
  }
}
