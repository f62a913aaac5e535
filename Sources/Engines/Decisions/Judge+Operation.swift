// The one entry: an operation is decided here, with all of its checks in their order. Operations, `varve why`, dry runs
// and denials ask nothing else.

package import AccessControl
package import DirectoryModes
import FlagRules

extension Judge {
  /// Decides about an operation.
  ///
  /// `tell` gets each judgement it is made of, in order, up to the first that refuses: that one is the verdict.
  package func decide(_ operation: Operation, _ scene: Scene, tell: (Step) -> Void = { _ in }) -> Verdict {
    switch operation {
    case .find: find(special: scene.item, in: scene[.parent]).told(.operation, tell)
    case .remove(let isDirectory):
      remove(scene.item, from: scene[.parent]).told(.removing, tell)
        .unless(scene.item.isDirectory != isDirectory, isDirectory ? .notDirectory : .isDirectory, tell)
    case .link(let protectsLinks): decideLink(scene, protectsLinks, tell)
    case .rename(let rename): decide(rename, scene, tell)
    default: decide(operation, on: scene.item, carriesRecord: scene.carriesRecord, tell: tell)
    }
  }

  /// The same where there is one object: without the others, which are slow to hand over (75 ns).
  package func decide(
    _ operation: Operation, on item: Item, carriesRecord: Bool = true, tell: (Step) -> Void = { _ in }
  ) -> Verdict {
    let verdict: Verdict
    switch operation {
    case .open(let request):
      verdict =
        item.kind == .file
        ? open(item, request) : .refused(by: item.isDirectory ? .isDirectory : .notOpenable)
    case .run: verdict = readAttributes(item).then { open(item, OpenRequest(executes: true)) }
    case .list: verdict = item.isDirectory ? list(item) : .refused(by: .notDirectory)
    case .search: verdict = item.isDirectory ? search(item) : .refused(by: .notDirectory)
    case .access(let mode): verdict = access(item, mode)
    case .readAttributes: verdict = readAttributes(item)
    case .readRecord: verdict = readAttributes(item).then { readableRecord(of: item) }
    case .readList: verdict = readList(item)
    case .readExtended: verdict = readExtended(item)
    case .writeExtended: verdict = writeExtended(item)
    case .truncate(let throughHandle): verdict = truncate(item, throughHandle: throughHandle)
    case .setMode(let mode):
      verdict = item.kind == .symbolicLink ? .refused(by: .linkMode) : changeMode(of: item, to: mode)
    case .keepMode: verdict = keepMode(of: item)
    case .stripSetID(let isOpenForWriting):
      verdict = isOpenForWriting ? .allowed(.nothingAsked) : stripSetID(of: item)
    case .stripNothing: verdict = stripNothing(of: item)
    case .setOwner(let change, let looksFirst):
      let looking: Verdict =
        looksFirst && !item.isDirectory && !rules.isReadOnly ? readAttributes(item) : .allowed(.nothingAsked)
      verdict = looking.then { changeOwner(of: item, change) }
    case .setOwnerGroup(let group):
      verdict = carriesRecord ? changeOwnerGroup(of: item, to: group) : .refused(by: .noRecord)
    case .touch: verdict = touch(item)
    case .setTimes: verdict = changeTimes(of: item)
    case .setFlags(let flags): return setFlags(of: item, to: flags, carriesRecord, tell)
    case .setList(let list): return setList(of: item, to: list, carriesRecord, tell)
    case .setOtherList: return setList(of: item, to: Judge.otherList(than: item.list), carriesRecord, tell)
    case .lookUp: verdict = search(item).on(.parent)
    case .handDown: verdict = search(item).then { handDown(from: item) }
    case .create(let kind):
      return create(kind, in: item).told(.adding(directory: kind.isDirectory), tell)
    case .takeNames: return useMount().on(.parent).told(.removing, tell)
    case .find, .remove, .link, .rename: return decide(operation, Scene(item), tell: tell)
    }
    return verdict.told(.operation, tell)
  }

  // MARK: Names

  private func decide(_ rename: Rename, _ scene: Scene, _ tell: (Step) -> Void) -> Verdict {
    if let obstacle = obstacle(to: rename, scene) { return obstacle.told(.operation, tell) }
    let source = RenameSide(item: scene.item, parent: scene[.parent])
    guard rename.exchanges, let victim = scene.victim else {
      return self.rename(
        source, into: scene[.newParent], changesParent: rename.changesParent, over: scene.victim, tell: tell)
    }
    return exchange(
      source, RenameSide(item: victim, parent: scene[.newParent]), changesParent: rename.changesParent,
      tell: tell)
  }

  private func obstacle(to rename: Rename, _ scene: Scene) -> Verdict? {
    if rename.leadsIntoItself { return .refused(by: .intoItself, on: .newParent) }
    guard let victim = scene.victim else {
      return rename.exchanges ? .refused(by: .missing, on: .newParent) : nil
    }
    if !rename.mayReplace { return .refused(by: .taken, on: .victim) }
    if rename.exchanges || victim.isDirectory == scene.item.isDirectory { return nil }
    return .refused(by: victim.isDirectory ? .replacesDirectory : .notDirectory, on: .victim)
  }

  /// The kernel asks of the new name and of the mount before anything is asked of the item.
  private func decideLink(
    _ scene: Scene, _ protectsLinks: () -> Bool, _ tell: (Step) -> Void
  ) -> Verdict {
    if scene.victim != nil {
      return Verdict.refused(by: .taken, on: .victim).told(.operation, tell)
    }
    let verdict = useMount().on(.newParent)
      .then { link(scene.item, into: scene[.newParent], protectsLinks: protectsLinks()) }
    return verdict.told(verdict.place == .newParent ? .adding(directory: false) : .operation, tell)
  }

  private func useMount() -> Verdict {
    rules.isReadOnly ? .refused(.readOnly, .readOnlyVolume) : .allowed(.nothingAsked)
  }

  private func create(_ kind: NewObject, in parent: Item) -> Verdict {
    let verdict = kind == .device ? createDevice(in: parent) : create(directory: kind.isDirectory, in: parent)
    // A link inherits nothing.
    guard verdict.isAllowed, kind != .symbolicLink else { return verdict }
    let inheriting = handDown(from: parent)
    return inheriting.isAllowed ? verdict : inheriting.on(.parent)
  }

  /// A list that cannot be read cannot be handed down.
  private func handDown(from directory: Item) -> Verdict {
    damageToList(of: directory).map { .refused(.damaged, $0) } ?? .allowed(.nothingAsked)
  }

  // MARK: One object

  private func readableRecord(of item: Item) -> Verdict {
    item.record == .damaged ? .refused(.damaged, .damagedRecord) : .allowed(.nothingAsked)
  }

  /// What an open handle may do was decided when it was opened; only what has become of the file since is asked again.
  private func truncate(_ item: Item, throughHandle: Bool) -> Verdict {
    guard item.kind == .file else { return .refused(by: item.isDirectory ? .isDirectory : .notFile) }
    guard throughHandle else { return truncate(item) }
    return useMount().then { touchContent(of: item) }
      .then { Judge.writeBytes(isAppendOnly: item.flags.isAppendOnly, onlyGrows: false) }
  }

  /// Bytes changed through a handle, decided from what was noted of the file.
  ///
  /// `onlyGrows`: nothing that is there already changes.
  package static func writeBytes(isAppendOnly: Bool, onlyGrows: Bool) -> Verdict {
    isAppendOnly && !onlyGrows ? .refused(.notPermitted, .flag(.userAppendOnly)) : .allowed(.nothingAsked)
  }

  /// Users who may not read the mode are not told whether there is something to strip.
  private func stripNothing(of item: Item) -> Verdict {
    guard !item.mode.hasSetUser, !item.mode.hasSetGroup else { return .refused(.notPermitted, .notOwner) }
    var verdict = readAttributes(item)
    if !verdict.isAllowed { verdict.refusal = .notPermitted }
    return verdict
  }

  private func setFlags(
    of item: Item, to flags: FileFlags, _ carriesRecord: Bool, _ tell: (Step) -> Void
  ) -> Verdict {
    let change = FlagChange(from: item.flags, to: flags)
    let verdict = changeFlags(of: item, change)
    guard change.isNothing else {
      return verdict.told(.operation, tell).unless(!carriesRecord, .noRecord, tell)
    }
    // Not even "no change" can be said of flags that nobody can read.
    let reading = readableRecord(of: item)
    return (reading.isAllowed ? verdict : verdict.then { reading }).told(.operation, tell)
  }

  private func setList(
    of item: Item, to list: AccessList?, _ carriesRecord: Bool, _ tell: (Step) -> Void
  ) -> Verdict {
    let isThere = item.record == .sound && item.list == list
    if list != nil, !rules.usesLists, !rules.isReadOnly {
      // What is there already may be stored by users who may read it; to others every list is refused alike.
      let reading = isThere ? readAttributes(item) : nil
      guard let reading, reading.isAllowed else {
        var refused = Verdict.refused(by: .noLists)
        refused.hingesOnUnread = reading?.hingesOnUnread ?? false
        return refused.told(.operation, tell)
      }
    }
    return changeList(of: item, to: list).told(.operation, tell)
      .unless(!isThere && !carriesRecord, .noRecord, tell)
  }
}

// MARK: - What comes of it

extension Judge {
  /// Whether a change of owner has an effect; where ownership is ignored only root's has.
  package var changesOwners: Bool { !rules.ignoresOwnership || subject.user == 0 }

  /// Whether the mount lets names go; see ``Operation/takeNames``.
  package var mayTakeNames: Bool { useMount().isAllowed }

  /// Owner, group and mode of an object made in a directory.
  package func newItem(_ requested: Mode, directory isDirectory: Bool, in parent: Item) -> NewItem {
    NewItem(
      requested: requested, isDirectory: isDirectory, by: subject, in: birthplace(parent),
      keepsCallerGroup: rules.ignoresOwnership)
  }

  /// Whether that needs what was not read of the caller yet.
  package func newItemHingesOnUnread(_ requested: Mode, in parent: Item) -> Bool {
    NewItem.hingesOnUnread(requested: requested, by: subject, in: birthplace(parent))
  }

  private func birthplace(_ parent: Item) -> Birthplace {
    Birthplace(
      parentUser: parent.user, parentGroup: parent.group, parentMode: parent.mode,
      handsOverOwnership: rules.handsOverOwnership)
  }

  /// The list it inherits; a list that is not evaluated is not handed down either.
  package func inheritedList(
    _ kind: NewObject, from parent: Item
  ) throws(TooManyEntries) -> AccessList? {
    guard kind != .symbolicLink, rules.usesLists else { return nil }
    return try AccessList.inherited(from: parent.list, forDirectory: kind.isDirectory)
  }
}
