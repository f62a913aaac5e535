// Bugs that were found, one test and one line of story each.

import AccessControl
import DirectoryModes
import FlagRules
import Testing

@testable import Decisions

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
    let verdict = judge(stranger).decide(.access(.write), on: pipe)
    #expect(verdict == .refused(.accessDenied, .modeBits(.other, asked: .write)))
  }

  /// A chmod of a pipe on a read-only volume passed for a write into it.
  @Test func attributesOfPipesMeetReadOnlyVolume() {
    let pipe = World.item(.special, 0o600)
    let owner = Subject(user: World.alice, group: World.staff, groups: .listed([]))
    let onReadOnly = judge(owner) { $0.isReadOnly = true }
    #expect(onReadOnly.decide(.setMode(Mode(0o644)), on: pipe).refusal == .readOnly)
    #expect(onReadOnly.decide(.access(.write), on: pipe).isAllowed)
    #expect(onReadOnly.check(pipe, .append).isAllowed)
  }

  /// A damaged list refused for good before the groups were read, also to administrators and owners by group.
  @Test func damagedListWaitsForTheGroups() {
    var item = World.file(0o644)
    item.record = .damagedList
    let verdict = judge(strangerUnread) { $0.adminGroup = World.admins }.decide(.readAttributes, on: item)
    #expect(verdict == .refused(.damaged, .damagedList, hingesOnUnread: true))
    let removal = judge(strangerUnread) { $0.adminGroup = World.admins }.decide(
      .remove(directory: false), on: item, in: World.directory())
    #expect(removal.hingesOnUnread)
    item.ownerGroup = World.team
    #expect(judge(strangerUnread).decide(.setMode(Mode(0o600)), on: item).hingesOnUnread)
    #expect(!judge(stranger).decide(.setMode(Mode(0o600)), on: item).hingesOnUnread)
  }

  /// An entry may let others execute a file without any x bit, but not root, and so no administrator: with the
  /// groups unread the "yes" came too early.
  @Test func whoMayBeAdministratorIsHeldToTheExecuteBit() {
    let file = World.file(0o644, [], [AccessEntry(.allow, .everyone, .execute)])
    let unread = judge(strangerUnread) { $0.adminGroup = World.admins }.decide(.access(.execute), on: file)
    #expect(unread == .refused(.accessDenied, .noExecuteBit, hingesOnUnread: true))
    #expect(judge(stranger) { $0.adminGroup = World.admins }.decide(.access(.execute), on: file).isAllowed)
  }

  /// A flag nobody stores was dropped before anybody asked who names it.
  @Test func unstoredSystemFlagsTakeRoot() {
    let file = World.file()
    let owner = Subject(user: World.alice, group: World.staff, groups: .listed([]))
    let wanted: FileFlags = [FileFlags(rawValue: 0x0100_0000), .hidden]
    let verdict = judge(owner).decide(.setFlags(wanted), on: file)
    #expect(verdict == .refused(.notPermitted, .needsRoot(FileFlags(rawValue: 0x0100_0000))))
    let root = Subject(user: 0, group: 0, groups: .listed([]))
    #expect(judge(root).decide(.setFlags(wanted), on: file).isAllowed)
    #expect(FlagChange(from: [], to: wanted).after == .hidden)
  }

  /// Flags that cannot be read may be flags of the system domain, which administrators do not rule.
  @Test func administratorsAreNotRootOfDamagedRecords() {
    var item = World.file(0o644)
    item.record = .damaged
    let admin = Subject(user: World.bob, group: World.admins, groups: .listed([]))
    #expect(
      judge(admin) { $0.adminGroup = World.admins }.decide(.readAttributes, on: item).refusal == .damaged)
  }

  /// Groups were read for refusals that no group could turn: the system domain is root's alone.
  @Test func systemDomainDoesNotHingeOnAdministrators() {
    let locked = World.file(0o600, .archived)
    let unread = judge(strangerUnread) { $0.adminGroup = World.admins }
    #expect(!unread.decide(.setFlags([]), on: locked).hingesOnUnread)
    #expect(!unread.decide(.setMode(Mode(0o644)), on: locked).hingesOnUnread)
    #expect(unread.decide(.setMode(Mode(0o644)), on: World.file(0o600)).hingesOnUnread)
  }

  /// A rename over nothing said "nothing asked", a moved directory said "ownership" to people who own nothing.
  @Test func renamesNameTheRuleThatAllowed() {
    let home = World.directory(0o755, owner: World.bob)
    let file = World.file()
    let moved = judge(stranger).decide(
      .rename(Rename(changesParent: false)), Scene(file, in: home, to: home))
    #expect(moved == .allowed(.modeBits(.owner, asked: .addFile), on: .newParent))
    let folder = World.directory(0o700, [], [AccessEntry(.allow, .everyone, .addSubdirectory)])
    #expect(
      judge(stranger).check(folder, [.delete, .addSubdirectory], removingFrom: home)
        == .allowed(.modeBits(.owner, asked: .deleteChild), on: .parent))
  }

  /// With `noowners` a directory's stored owner is nobody's owner, so it hands nothing over.
  @Test func ignoredOwnersHandNothingOver() {
    let context = CreationContext(
      parentUser: World.alice, parentGroup: World.staff, parentMode: Mode(0o4777), handsOverOwnership: true)
    let item = NewItem(
      requested: Mode(0o755), isDirectory: false, by: stranger, in: context, keepsCallerGroup: true)
    #expect(item.user == World.bob)
    #expect(item.group == World.elsewhere)
    #expect(item.mode == Mode(0o755))
  }

  /// Looking at an item whose whole record is unreadable blamed its list.
  @Test func damagedRecordsAreCalledSo() {
    var item = World.file()
    item.record = .damaged
    #expect(judge(stranger).decide(.readAttributes, on: item) == .refused(.damaged, .damagedRecord))
  }
}
