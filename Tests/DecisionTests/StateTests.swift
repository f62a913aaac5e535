// What changes, not only whether: owner, mode, list and flags afterwards.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import Testing

@Suite("What changes") struct StateTests {
  private let root = Subject(user: 0, group: 0, groups: .listed([]))
  private let alice = Subject(user: 1001, group: 2001, groups: .listed([2002]))
  private let bob = Subject(user: 1002, group: 2009, groups: .listed([]))
  private let usual = VolumeRules()

  private func born(
    _ requested: UInt16, umask: UInt16 = 0, directory: Bool = false, by subject: Subject,
    in parent: (user: UInt32, group: UInt32, mode: UInt16), suiddir: Bool = false, noowners: Bool = false
  ) -> NewItem {
    NewItem(
      requested: Mode(requested & ~umask), isDirectory: directory, by: subject,
      in: CreationContext(
        parentUser: parent.user, parentGroup: parent.group, parentMode: Mode(parent.mode),
        handsOverOwnership: suiddir),
      keepsCallerGroup: noowners)
  }

  @Test func groupComesFromTheParent() {
    let item = born(0o666, umask: 0o022, by: bob, in: (0, 2003, 0o777))
    #expect((item.user, item.group, item.mode) == (1002, 2003, Mode(0o644)))
  }

  @Test func inheritingDoesNotSwitchTheUmaskOff() throws {
    let parent = AccessList([AccessEntry(.allow, .everyone, .read, .fileInherit)])
    #expect(born(0o666, umask: 0o077, by: bob, in: (0, 2003, 0o777)).mode == Mode(0o600))
    let list = try AccessList.inherited(from: parent, forDirectory: false)
    #expect(list == AccessList([AccessEntry(.allow, .everyone, .read, .inherited)]))
  }

  @Test func setgidIsNotCopied() {
    let item = born(0o777, umask: 0o022, directory: true, by: bob, in: (0, 2003, 0o2777))
    #expect((item.group, item.mode) == (2003, Mode(0o755)))
  }

  @Test func changingTheGroupStripsSetIDBits() {
    let file = Item(kind: .file, user: 1001, group: 2001, mode: Mode(0o6755))
    let judge = Judge(rules: usual, subject: alice)
    #expect(judge.decide(.setOwner(OwnerChange(user: nil, group: 2002)), on: file).isAllowed)
    #expect(file.mode.afterChangeOfOwner == Mode(0o755))
  }

  @Test func foreignWritesStripSetIDBits() {
    let file = Item(kind: .file, user: 1001, group: 2001, mode: Mode(0o6777))
    #expect(Judge(rules: usual, subject: bob).decide(.open(OpenRequest(writes: true)), on: file).isAllowed)
    #expect(file.mode.afterForeignWrite == Mode(0o777))
    // Without the group's x bit, setgid means something else.
    #expect(Mode(0o6767).afterForeignWrite == Mode(0o2767))
    // Root is left to the caller of the engines: for root nothing is stripped, and nothing is asked here.
    let system = Item(kind: .file, user: 0, group: 0, mode: Mode(0o4755))
    #expect(Judge(rules: usual, subject: root).decide(.open(OpenRequest(writes: true)), on: system).isAllowed)
  }

  @Test func evenRootAndEvenDirectoriesLoseSetIDBits() {
    let folder = Item(kind: .directory, user: 1001, group: 2001, mode: Mode(0o6755))
    let judge = Judge(rules: usual, subject: root)
    #expect(judge.decide(.setOwner(OwnerChange(user: 1002, group: nil)), on: folder).isAllowed)
    #expect(folder.mode.afterChangeOfOwner == Mode(0o755))
    #expect(Mode(0o7755).afterChangeOfOwner == Mode(0o1755))
  }

  @Test func setgidIsDroppedForStrangersToTheGroup() {
    // That a chmod leaves the list alone is in the types: a mode knows no list.
    #expect(Mode(0o2755).granted(to: alice, memberOfGroup: .notMember) == Mode(0o755))
    #expect(Mode(0o2755).granted(to: alice, memberOfGroup: .unknown) == Mode(0o755))
    #expect(Mode(0o2755).granted(to: alice, memberOfGroup: .member) == Mode(0o2755))
    #expect(Mode(0o2755).granted(to: root, memberOfGroup: .notMember) == Mode(0o2755))
    #expect(Mode(0o5755).granted(to: alice, memberOfGroup: .notMember) == Mode(0o5755))
  }

  @Test func restrictedIsHandedDown() {
    let parent: FileFlags = [.restricted, .dataVault, .userAppendOnly, .hidden]
    #expect(parent.intersection(.fromParent) == [.restricted, .dataVault])
  }

  /// What is moved inherits nothing; only creation asks for a list.
  @Test func movingAsksForNoListOfItsOwn() {
    let place = World.directory(
      0o777, [], [AccessEntry(.deny, .everyone, .genericAll, [.fileInherit, .onlyInherit])])
    let judge = Judge(rules: usual, subject: bob)
    let scene = Scene(World.file(), in: World.directory(0o777), to: place)
    #expect(judge.decide(.rename(Rename(changesParent: true)), scene).isAllowed)
  }

  @Test func rootClearsImmutableAndWrites() {
    var file = World.file(0o644, .userImmutable)
    let judge = Judge(rules: usual, subject: root)
    #expect(judge.decide(.open(OpenRequest(writes: true)), on: file).refusal == .notPermitted)
    let change = FlagChange(from: file.flags, to: [])
    #expect(judge.decide(.setFlags([]), on: file).isAllowed)
    file.flags = change.after
    #expect(judge.decide(.open(OpenRequest(writes: true)), on: file).isAllowed)
  }

  @Test func appendOnlyTakesDataAtItsEnd() {
    let file = World.file(0o644, .userAppendOnly)
    let judge = Judge(rules: usual, subject: alice)
    #expect(judge.decide(.open(OpenRequest(writes: true, appends: true)), on: file).isAllowed)
    #expect(judge.decide(.open(OpenRequest(reads: true, writes: true, appends: true)), on: file).isAllowed)
    for request in [
      OpenRequest(writes: true), OpenRequest(writes: true, appends: true, truncates: true),
      OpenRequest(reads: true, truncates: true),
    ] {
      #expect(judge.decide(.open(request), on: file) == .refused(.notPermitted, .flag(.userAppendOnly)))
    }
  }

  /// Old handles are not the engines' business; what they say is that a new one is refused.
  @Test func newHandlesMeetTheFlag() {
    for flag: FileFlags in [.userImmutable, .userAppendOnly] {
      let file = World.file(0o644, flag)
      let judge = Judge(rules: usual, subject: alice)
      #expect(judge.decide(.open(OpenRequest(reads: true, writes: true)), on: file).refusal == .notPermitted)
      #expect(judge.decide(.truncate(throughHandle: false), on: file).refusal == .notPermitted)
      #expect(judge.decide(.touch, on: file).refusal == .notPermitted)
    }
  }

  @Test func handedOverFilesCannotBeRun() {
    let item = born(0o6777, by: bob, in: (1001, 2001, 0o4777), suiddir: true)
    #expect((item.user, item.mode) == (1001, Mode(0o666)))
  }

  @Test func handedOverDirectoriesHandOn() {
    let item = born(0o755, directory: true, by: bob, in: (1001, 2001, 0o4777), suiddir: true)
    #expect((item.user, item.mode) == (1001, Mode(0o4755)))
  }

  @Test func rootHandsNothingOver() {
    #expect(born(0o644, by: bob, in: (0, 0, 0o4777), suiddir: true).user == 1002)
    #expect(born(0o644, by: bob, in: (1002, 0, 0o4777), suiddir: true).mode == Mode(0o644))
    #expect(born(0o644, by: bob, in: (1001, 0, 0o777), suiddir: true).user == 1002)
    #expect(born(0o4755, by: bob, in: (1001, 0, 0o4777)).mode == Mode(0o4755))
  }

  @Test func setgidAtCreationNeedsTheGroup() {
    #expect(born(0o2755, by: bob, in: (0, 2003, 0o777)).mode == Mode(0o755))
    #expect(born(0o2755, by: bob, in: (0, 2009, 0o777)).mode == Mode(0o2755))
    #expect(born(0o2755, by: alice, in: (0, 2002, 0o777)).mode == Mode(0o2755))
    #expect(born(0o2755, by: root, in: (0, 2003, 0o777)).mode == Mode(0o2755))
    #expect(born(0o2755, by: bob, in: (0, 2003, 0o777), noowners: true).mode == Mode(0o2755))
  }

  /// Groups unread is answered like "not a member" wherever `hingesOnUnread` says it does not matter.
  @Test func creationSaysWhenItNeedsTheGroups() {
    for (gid, requested) in product([UInt32(2001), 2002, 2009], [UInt16(0o2755), 0o755, 0o6777]) {
      for user: UInt32 in [0, 1001, 1002] {
        let unread = Subject(user: user, group: 2009, groups: .unread)
        let context = CreationContext(
          parentUser: 1001, parentGroup: gid, parentMode: Mode(0o4777), handsOverOwnership: true)
        guard !NewItem.hingesOnUnread(requested: Mode(requested), by: unread, in: context) else { continue }
        let early = NewItem(requested: Mode(requested), isDirectory: false, by: unread, in: context)
        for groups in Caller(user, 2009, possibly: [2001, 2002]).sets {
          let subject = Subject(user: user, group: 2009, groups: .listed(groups))
          #expect(NewItem(requested: Mode(requested), isDirectory: false, by: subject, in: context) == early)
        }
      }
    }
  }
}
