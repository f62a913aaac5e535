// Bugs that were found, one test and one line of story each.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import Testing

@Suite("What once went wrong") struct StoryTests {
  private let stranger = Subject(user: World.bob, group: World.elsewhere, groups: .listed([]))
  private let strangerUnread = Subject(user: World.bob, group: World.elsewhere, groups: .unread)

  private func judge(_ subject: Subject, _ change: (inout VolumeRules) -> Void = { _ in }) -> Judge {
    var rules = VolumeRules()
    change(&rules)
    return Judge(rules: rules, subject: subject)
  }

  /// Flags do not bind a write into a FIFO; dropping the right for them dropped it for the mode bits too, and
  /// anybody could write into anybody's pipe.
  @Test func writingIntoForeignPipeIsRefused() {
    let pipe = World.item(.special, 0o600, .userImmutable)
    let verdict = judge(stranger).open(pipe, OpenRequest(writes: true))
    #expect(verdict == .refused(.accessDenied, .modeBits(.other, asked: .write)))
    #expect(judge(stranger).access(pipe, .write).refusal == .accessDenied)
  }

  /// A chmod of a pipe on a read-only volume passed for a write into it.
  @Test func attributesOfPipesMeetReadOnlyVolume() {
    let pipe = World.item(.special, 0o600)
    let owner = Subject(user: World.alice, group: World.staff, groups: .listed([]))
    let onReadOnly = judge(owner) { $0.isReadOnly = true }
    #expect(onReadOnly.changeMode(of: pipe, to: Mode(0o644)).refusal == .readOnly)
    #expect(onReadOnly.open(pipe, OpenRequest(writes: true)).isAllowed)
    #expect(onReadOnly.open(pipe, OpenRequest(writes: true, appends: true)).isAllowed)
  }

  /// A damaged list refused for good before the groups were read, also to administrators and owners by group.
  @Test func damagedListWaitsForTheGroups() {
    var item = World.file(0o644)
    item.record = .damagedList
    let verdict = judge(strangerUnread) { $0.adminGroup = World.admins }.readAttributes(item)
    #expect(verdict == .refused(.damaged, .damagedList, hingesOnUnread: true))
    let removal = judge(strangerUnread) { $0.adminGroup = World.admins }.remove(item, from: World.directory())
    #expect(removal.hingesOnUnread)
    item.ownerGroup = World.team
    #expect(judge(strangerUnread).changeMode(of: item, to: Mode(0o600)).hingesOnUnread)
    #expect(!judge(stranger).changeMode(of: item, to: Mode(0o600)).hingesOnUnread)
  }

  /// An entry may let others execute a file without any x bit, but not root, and so no administrator: with the
  /// groups unread the "yes" came too early.
  @Test func whoMayBeAdministratorIsHeldToTheExecuteBit() {
    let file = World.file(0o644, [], [AccessEntry(.allow, .everyone, .execute)])
    let unread = judge(strangerUnread) { $0.adminGroup = World.admins }.access(file, .execute)
    #expect(unread == .refused(.accessDenied, .noExecuteBit, hingesOnUnread: true))
    #expect(judge(stranger) { $0.adminGroup = World.admins }.access(file, .execute).isAllowed)
  }

  /// A flag nobody stores was dropped before anybody asked who names it.
  @Test func unstoredSystemFlagsTakeRoot() {
    let file = World.file()
    let owner = Subject(user: World.alice, group: World.staff, groups: .listed([]))
    let change = FlagChange(from: [], to: [FileFlags(rawValue: 0x0100_0000), .hidden])
    let verdict = judge(owner).changeFlags(of: file, change)
    #expect(verdict == .refused(.notPermitted, .needsRoot(FileFlags(rawValue: 0x0100_0000))))
    #expect(judge(Subject(user: 0, group: 0, groups: .listed([]))).changeFlags(of: file, change).isAllowed)
    #expect(change.after == .hidden)
  }

  /// Flags that cannot be read may be flags of the system domain, which administrators do not rule.
  @Test func administratorsAreNotRootOfDamagedRecords() {
    var item = World.file(0o644)
    item.record = .damaged
    let admin = Subject(user: World.bob, group: World.admins, groups: .listed([]))
    #expect(judge(admin) { $0.adminGroup = World.admins }.readAttributes(item).refusal == .damaged)
  }

  /// Groups were read for refusals that no group could turn: the system domain is root's alone.
  @Test func systemDomainDoesNotHingeOnAdministrators() {
    let locked = World.file(0o600, .archived)
    let unread = judge(strangerUnread) { $0.adminGroup = World.admins }
    #expect(!unread.changeFlags(of: locked, FlagChange(from: .archived, to: [])).hingesOnUnread)
    #expect(!unread.changeMode(of: locked, to: Mode(0o644)).hingesOnUnread)
    #expect(unread.changeMode(of: World.file(0o600), to: Mode(0o644)).hingesOnUnread)
  }

  /// A rename over nothing said "nothing asked", a moved directory said "ownership" to people who own nothing.
  @Test func renamesNameTheRuleThatAllowed() {
    let home = World.directory(0o755, owner: World.bob)
    let file = World.file()
    let moved = judge(stranger).rename(
      RenameSide(item: file, parent: home), into: home, changesParent: false, over: nil)
    #expect(moved == .allowed(.modeBits(.owner, asked: .addFile), on: .newParent))
    let folder = World.directory(0o700, [], [AccessEntry(.allow, .everyone, .addSubdirectory)])
    #expect(
      judge(stranger).check(folder, [.delete, .addSubdirectory], removingFrom: home)
        == .allowed(.modeBits(.owner, asked: .deleteChild), on: .parent))
  }

  /// With `noowners` a directory's stored owner is nobody's owner, so it hands nothing over.
  @Test func ignoredOwnersHandNothingOver() {
    let place = Birthplace(
      parentUser: World.alice, parentGroup: World.staff, parentMode: Mode(0o4777), handsOverOwnership: true)
    let item = NewItem(
      requested: Mode(0o755), isDirectory: false, by: stranger, in: place, keepsCallerGroup: true)
    #expect(item.user == World.bob)
    #expect(item.group == World.elsewhere)
    #expect(item.mode == Mode(0o755))
  }

  /// Looking at an item whose whole record is unreadable blamed its list.
  @Test func damagedRecordsAreCalledSo() {
    var item = World.file()
    item.record = .damaged
    #expect(judge(stranger).readAttributes(item) == .refused(.damaged, .damagedRecord))
  }
}
