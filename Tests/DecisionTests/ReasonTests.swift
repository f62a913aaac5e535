import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import Testing

/// Every rule can say in words what it rests on, and without words that its reader may not hear.
@Suite("Reasons in words") struct ReasonTests {
  static let names = NameBook(users: ["ann": 1001], groups: ["staff": 2001])

  static let item = Item(
    kind: .file, user: 1001, group: 2001, mode: Mode(0o1750), flags: [.userImmutable, .hidden],
    list: AccessList([
      AccessEntry(.allow, .user(1001), .read), AccessEntry(.deny, .group(2001), [.delete, .write]),
    ]))

  static let rows: [(Reason, told: String, isHidden: Bool)] = [
    (.nothingAsked, "no right is needed", false),
    (.superuser, "root: only flags could stop this", true),
    (.administrator(2001), "by admin_group, as a member of group:staff: only flags could stop this", true),
    (.ownership, "by ownership", true),
    (.freeToAll, "every user may, and no entry denies it", true),
    (.entry(index: 1), "by entry 1 of its list: group:staff deny write,delete", true),
    (.entry(index: 7), "by entry 7 of its list", true),
    (.modeBits(.owner, asked: .read), "by its mode (owner rwx)", true),
    (.modeBits(.group, asked: .read), "by its mode (group r-x)", true),
    (.modeBits(.other, asked: .read), "by its mode (other ---)", true),
    (.readOnlyVolume, "the volume is mounted read-only", false),
    (.unconfirmedLock, "the lock for writing is not confirmed; 'varve status' says why", false),
    (.executionForbidden, "the volume is mounted noexec", false),
    (.flag(.userImmutable), "by its flag uchg", true),
    (.noExecuteBit, "its mode has no execute bit", true),
    (.sticky, "its mode is sticky; only the owner of the item or of the directory may", true),
    (
      .noEntryGrants(.writeSecurity),
      "only the owner, root, or users whom an entry of its list allows writesecurity may", true
    ),
    (.noEntryGrants(.takeOwnership), "only root and users whom an entry of its list allows chown may", true),
    (.damagedRecord, "its record is damaged", false),
    (.damagedList, "its access list is damaged", false),
    (.notOwner, "only the owner may: user:ann", true),
    (.giveAway, "only root can give an item to another user", true),
    (
      .notMemberOfGroup(2001),
      "not a member of group:staff; only root and members can give an item to a group", true
    ),
    (.needsRoot(.systemImmutable), "only root changes schg", true),
    (.deviceNeedsRoot, "only root makes devices", false),
    (.secureLevel(.systemImmutable), "the secure level keeps its flag schg", true),
    (.linkToDirectory, "a directory has one name only", false),
    (.foreignContent, "its content is stored in a form that this version cannot read or write", false),
    (.replacedContent, "its content is being replaced", false),
    (.encryptedContent, "its content is encrypted, and what is encrypted is not compressed", false),
    (.noKeybag, "the volume has no keyslot yet; `varve key slot add` makes the first", false),
    (
      .locked(.completeUnlessOpen), "class complete-unless-open is locked; `varve unlock` opens it", false
    ),
    (
      .protectingDirectory,
      "what is moved or linked into an encrypted directory keeps its form; copy it there to have it encrypted",
      false
    ),
    (
      .protectedLink,
      "the file belongs to another user and may not be both read and written (fs.protected_hardlinks)", true
    ),
    (
      .sharedOwner, "set-id bits are not for an item whose owner is a group, or is every caller", true
    ),
    (.obstacle(.taken), "already exists", false),
  ]

  @Test("A refusal of user 0 says which capabilities are missing") func capabilities() {
    func words(_ decide: (Judge) -> Verdict, _ held: CapabilitySet?) -> String {
      let subject = Subject(user: 0, group: 0, groups: .listed([]), capabilities: held)
      let verdict = decide(Judge(rules: VolumeRules(), subject: subject))
      return ToldReason(verdict, about: ReasonTests.item, names: ReasonTests.names).words
    }
    let item = World.file(0o600)
    func open(_ judge: Judge) -> Verdict { judge.decide(.open(OpenRequest(reads: true)), on: item) }
    let mode = "by its mode (other ---); user 0 is not root here"
    #expect(words(open, []) == "\(mode) without CAP_DAC_OVERRIDE")
    #expect(words(open, .fowner) == "\(mode) without CAP_DAC_OVERRIDE")
    #expect(words(open, nil) == "\(mode): its capabilities cannot be read")
    #expect(words(open, .dacReadSearch) == "root: only flags could stop this")
    func remove(_ judge: Judge) -> Verdict {
      judge.decide(.remove(directory: false), on: item, in: World.directory(0o1755))
    }
    #expect(words(remove, []) == "\(mode) without CAP_DAC_OVERRIDE, CAP_FOWNER")
    let owned = OwnerChange(user: 1, group: nil)
    #expect(
      words({ $0.decide(.setOwner(owned), on: item) }, .dacOverride)
        == "only root can give an item to another user; user 0 is not root here without CAP_CHOWN")
  }

  @Test("A reason that rests on mode, owner, flags or list is one word to users who may not read them")
  func words() {
    for (reason, told, isHidden) in ReasonTests.rows {
      let verdict = Verdict.refused(.accessDenied, reason)
      let open = ToldReason(verdict, about: ReasonTests.item, names: ReasonTests.names)
      #expect(open.words == told && open.code == reason.code)
      let secret = ToldReason(verdict, about: nil, names: ReasonTests.names)
      #expect(secret.words == (isHidden ? "by its rules, which you may not read" : told))
      #expect(secret.code == (isHidden ? "unreadable" : reason.code))
      #expect(secret.entry == nil && secret.entryText == nil)
    }
    let codes = ReasonTests.rows.map(\.0.code)
    // Entry, mode and missing entries stand there more than once.
    #expect(Set(codes).count == codes.count - 4)
  }

  @Test("A reason that rests on a group says by way of which other group the caller is in it") func nested() {
    let names = NameBook(users: ["ann": 1001], groups: ["staff": 2001, "team": 2002])
    let nesting = GroupNesting(members: [2001: [2002], 2003: [2001]])
    func words(_ reason: Reason, among groups: [UInt32]) -> String {
      ToldReason(.refused(.accessDenied, reason), about: ReasonTests.item, names: names) { group in
        nesting.way(into: group, among: nesting.expanded(groups))
      }.words
    }
    let way = "; a member of it by way of group:team"
    #expect(words(.entry(index: 1), among: [7, 2002]).hasSuffix(way))
    #expect(words(.modeBits(.group, asked: .read), among: [2002]) == "by its mode (group r-x)\(way)")
    #expect(words(.administrator(2001), among: [2002]).hasSuffix(way))
    #expect(
      words(.entry(index: 1), among: [2001, 2002]) == "by entry 1 of its list: group:staff deny write,delete")
    #expect(words(.entry(index: 0), among: [2002]) == "by entry 0 of its list: user:ann allow read")
    #expect(nesting.way(into: 2003, among: nesting.expanded([2002])) == 2001)
    #expect(nesting.way(into: 2003, among: [2002]) == nil)
  }

  @Test("The parts of an entry's reason, and whose it is") func parts() {
    let verdict = Verdict.refused(.accessDenied, .entry(index: 0), on: .parent)
    let told = ToldReason(
      verdict, about: ReasonTests.item, whose: "its directory's", names: ReasonTests.names)
    #expect(told.words == "by entry 0 of its directory's list: user:ann allow read")
    #expect(told.entry == 0)
    #expect(told.entryText == "user:ann allow read")
    #expect(told.code == "entry")
  }

  @Test("Every deed is judged on every kind of object, or is about names") func everyDeed() {
    let subject = Subject(user: 1001, group: 2001, groups: .listed([2001]))
    for kind in [ItemKind.file, .directory, .symbolicLink, .special] {
      let item = Item(kind: kind, user: 1001, group: 2001, mode: Mode(0o700))
      for deed in Deed.allCases {
        let operation = deed.operation(on: item, by: subject)
        #expect((operation == nil) == (deed.target == .twoNames), "\(deed) \(kind)")
      }
    }
  }
}
