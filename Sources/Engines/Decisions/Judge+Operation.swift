// The one entry: an operation is decided here, with all of its checks in their order. Operations, `varve why`, dry runs
// and denials ask nothing else.

import AccessControl
import DirectoryModes
import FlagRules

extension Judge {
  /// Decides about an operation.
  ///
  /// `tell` gets each judgement it is made of, in order, up to the first that refuses: that one is the verdict.
  package func decide(_ operation: Operation, _ scene: Scene, tell: Tell? = nil) -> Verdict {
    decide(
      operation, on: scene.item, in: scene[.parent], to: scene[.newParent], over: scene.victim,
      carriesRecord: scene.carriesRecord, tell: tell)
  }

  /// The same where there is one object, or one and its parent: a scene is slow to hand over.
  package func decide(_ operation: Operation, on item: Item) -> Verdict {
    decide(operation, on: item, in: item, to: item, over: nil)
  }

  package func decide(_ operation: Operation, on item: Item, in parent: Item) -> Verdict {
    decide(operation, on: item, in: parent, to: parent, over: nil)
  }

  private func decide(
    _ operation: Operation, on item: Item, in parent: Item, to newParent: Item, over victim: Item?,
    carriesRecord: Bool = true, tell: Tell? = nil
  ) -> Verdict {
    let verdict: Verdict
    switch operation {
    case .open where item.kind != .file:
      verdict = .refused(by: item.isDirectory ? .isDirectory : .notOpenable)
    case .open(let request): verdict = open(item, request)
    case .run: verdict = check(item, .looking).then { open(item, OpenRequest(executes: true)) }
    case .list: verdict = item.isDirectory ? check(item, .list) : .refused(by: .notDirectory)
    case .search: verdict = item.isDirectory ? check(item, .search) : .refused(by: .notDirectory)
    case .access(let mode): verdict = check(item, mode.rights(onDirectory: item.isDirectory))
    case .readAttributes: verdict = check(item, .looking)
    case .readRecord: verdict = check(item, .looking).unless(item.damageToRecord)
    case .readList: verdict = check(item, .looking).unless(item.damageToList)
    case .readExtended: verdict = check(item, .readExtended)
    case .writeExtended: verdict = check(item, .writeExtended)
    case .truncate(let throughHandle): verdict = truncate(item, throughHandle: throughHandle)
    case .setMode(let mode):
      verdict = item.kind == .symbolicLink ? .refused(by: .linkMode) : setMode(of: item, to: mode)
    case .keepMode: verdict = unchanged(item, check(item, .writeSecurity).reportedAsNotPermitted)
    case .stripSetID(isOpenForWriting: true): verdict = .allowed(.nothingAsked)
    // Users who may set the mode may strip, and those who may write just now, which strips as well.
    case .stripSetID: verdict = setMode(of: item, to: item.mode.afterChangeOfOwner).or { check(item, .write) }
    case .stripNothing: verdict = stripNothing(of: item)
    case .setOwner(let change, let looksFirst):
      let looks = looksFirst && !item.isDirectory && !rules.isReadOnly
      verdict = looks ? check(item, .looking).then { setOwner(of: item, change) } : setOwner(of: item, change)
    case .setOwnerGroup(let group):
      verdict = carriesRecord ? setOwnerGroup(of: item, to: group) : .refused(by: .noRecord)
    case .touch: verdict = check(item, [.writeAttributes, .checkImmutable])
    case .setTimes: verdict = setTimes(of: item)
    case .setFlags(let flags): return setFlags(of: item, to: flags, carriesRecord, tell)
    case .setList(let list):
      let isThere = item.record == .sound && item.list == list
      return setList(of: item, isNone: list == nil, isThere: isThere, carriesRecord, tell)
    case .setOtherList: return setList(of: item, isNone: false, isThere: false, carriesRecord, tell)
    case .setClass(let protection): verdict = setClass(of: item, to: protection)
    case .setCompressed(let compresses): verdict = setCompressed(of: item, compresses)
    case .lookUp: verdict = check(item, .search).on(.parent)
    case .handDown: verdict = check(item, .search).unless(damageToUsedList(of: item))
    case .create(let kind):
      return create(kind, in: item).told(.adding(directory: kind.isDirectory), tell)
    case .takeNames: return writableMount.on(.parent).told(.removing, tell)
    case .changeView: verdict = .refused(.readOnly, .shownNames)
    case .find: verdict = find(item, in: parent)
    case .remove(let isDirectory):
      return check(item, .delete, removingFrom: parent).told(.removing, tell)
        .unless(item.isDirectory != isDirectory, isDirectory ? .notDirectory : .isDirectory, tell)
    case .link(let protectsLinks): return link(item, to: newParent, over: victim, protectsLinks, tell)
    case .rename(let rename):
      return self.rename(rename, item, from: parent, to: newParent, over: victim, tell)
    }
    return verdict.told(.operation, tell)
  }

  private func open(_ item: Item, _ request: OpenRequest) -> Verdict {
    // The kernel asks for the x bit too; a caller who comes another way meets the same rule here.
    if request.executes, item.kind != .file || !item.mode.hasAnyExecute {
      return .refused(.accessDenied, .noExecuteBit)
    }
    let verdict = check(item, request.rights)
    return request.wantsBytes ? verdict.and { key(to: item, writes: request.writes) } : verdict
  }

  /// The bytes stay what they are, and are all written anew: so it takes the right to write, and no flag in the way.
  private func setCompressed(of item: Item, _ compresses: Bool) -> Verdict {
    guard item.kind == .file else { return .refused(by: .notFile) }
    let verdict = check(item, .write)
    guard verdict.isAllowed, compresses, item.content.protection != nil else { return verdict }
    return .refused(.unsupported, .encryptedContent)
  }

  /// What an open handle may do was decided when it was opened; only what has become of the file since is asked again.
  private func truncate(_ item: Item, throughHandle: Bool) -> Verdict {
    guard item.kind == .file else { return .refused(by: item.isDirectory ? .isDirectory : .notFile) }
    guard throughHandle else { return check(item, .write).and { key(to: item, writes: false) } }
    let stored = writableMount.unless(item.damageToRecord)
    guard stored.isAllowed else { return stored }
    if let reason = item.unreadableContent { return .refused(.unsupported, reason) }
    // Nor is a key: some files that are open stay so when their class is locked.
    return Judge.writeBytes(isAppendOnly: item.flags.isAppendOnly, onlyGrows: false, lacksLock: false)
  }

  /// Bytes changed through a handle, decided from what was noted of the file.
  ///
  /// `onlyGrows`: nothing that is there already changes. `lacksLock`: the lock for writing is not confirmed; for another
  /// reason no volume becomes read-only while files are open for writing.
  package static func writeBytes(isAppendOnly: Bool, onlyGrows: Bool, lacksLock: Bool) -> Verdict {
    if lacksLock { return .refused(.readOnly, .unconfirmedLock) }
    return isAppendOnly && !onlyGrows
      ? .refused(.notPermitted, .flag(.userAppendOnly)) : .allowed(.nothingAsked)
  }

  /// What the mount says to every change.
  package var writableMount: Verdict {
    rules.isReadOnly ? .refused(.readOnly, rules.readOnlyReason) : .allowed(.nothingAsked)
  }
}
