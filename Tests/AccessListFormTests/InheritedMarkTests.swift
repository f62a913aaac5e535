import AccessControl
import Randomness
import Testing

/// A program without a word for "inherited" writes the list of a file it has made; what was inherited stays so.
@Suite("Inherited marks") struct InheritedMarkTests {
  private static let team = AccessEntry(.allow, .group(20), [.read, .write, .deleteChild], .inherited)
  private static let ann = AccessEntry(.allow, .user(10), [.read], .inherited)
  private static let below = AccessEntry(
    .allow, .group(20), .read, [.inherited, .fileInherit, .directoryInherit])

  private static let owners = InheritanceSource.Owners(user: 10, group: 20)

  private func marked(
    _ entries: [AccessEntry], over present: [AccessEntry] = [], handedDown: [AccessEntry] = [],
    flags: AccessList.Flags = [], for kind: ObjectKind = .file, writing: NFSv4Writing = .anew
  ) throws -> [AccessEntry] {
    let source = InheritanceSource(owners: writing == .anew ? Self.owners : nil, handedDown: handedDown)
    let present = present.isEmpty && flags.isEmpty ? nil : AccessList(present, flags: flags)
    return try NFSv4List.change(
      to: entries, from: present, mode: 0, for: kind, as: .names, writing: writing, inheritingFrom: source
    ).list?.entries ?? []
  }

  private func unmarked(_ entry: AccessEntry) -> AccessEntry {
    var entry = entry
    entry.inheritance.remove(.inherited)
    return entry
  }

  @Test("What the item had inherited keeps its mark, in the words of Samba as well") func kept() throws {
    let written = [unmarked(Self.team), unmarked(Self.ann)]
    #expect(try marked(written, over: [Self.team, Self.ann]) == [Self.team, Self.ann])
    // `group@` for the file's own group, `owner@` for its user; a file has nothing to delete in it.
    let samba = [
      AccessEntry(.allow, .owningGroup, [.read, .write]), AccessEntry(.allow, .owner, [.read, .synchronize]),
    ]
    #expect(try marked(samba, over: [Self.team, Self.ann]) == [Self.team, Self.ann])
    #expect(try marked(samba, over: [Self.team, Self.ann], for: .directory).first == samba[0])
  }

  @Test("What the directory hands down gets the mark, unless the item turned inheritance off")
  func handedDown()
    throws
  {
    let written = [unmarked(Self.team)]
    #expect(try marked(written, handedDown: [Self.team]) == [Self.team])
    #expect(try marked(written, handedDown: [Self.ann]) == written)
    #expect(try marked(written, handedDown: [Self.team], flags: .noInherit) == written)
    #expect(try marked(written) == written)
  }

  @Test("Of two entries that say the same, one is inherited: the last") func twice() throws {
    let own = unmarked(Self.team)
    for writing in [NFSv4Writing.anew, .edit] {
      #expect(try marked([own, own], over: [own, Self.team], writing: writing) == [own, Self.team])
      #expect(try marked([own, Self.team], over: [own, Self.team], writing: writing) == [own, Self.team])
    }
  }

  @Test("An entry that is added and says what is inherited, or would be, is inherited, beside any others")
  func added() throws {
    let own = unmarked(Self.team)
    let denial = AccessEntry(.deny, .user(11), .write)
    for writing in [NFSv4Writing.anew, .edit] {
      func list(
        _ entries: [AccessEntry], over present: [AccessEntry] = [], handedDown: [AccessEntry] = [],
        flags: AccessList.Flags = []
      ) throws -> [AccessEntry] {
        try marked(entries, over: present, handedDown: handedDown, flags: flags, writing: writing)
      }
      // The directory hands it down by now; the item has not got it, or has got something else.
      #expect(try list([own], handedDown: [Self.team]) == [Self.team])
      #expect(try list([own, Self.ann], over: [Self.ann], handedDown: [Self.team]) == [Self.team, Self.ann])
      #expect(try list([own, denial], over: [denial], handedDown: [Self.team]) == [Self.team, denial])
      // The item has inherited it: both go when the directory takes it back.
      #expect(try list([own, Self.team], over: [Self.team]) == [Self.team, Self.team])
      #expect(try list([own, Self.team], handedDown: [Self.team]) == [Self.team, Self.team])
      #expect(try list([own, own, Self.team], over: [own, Self.team]) == [own, Self.team, Self.team])
      // What the directory does not hand down stays, and so does what the item had of its own.
      #expect(try list([own, Self.ann], over: [Self.ann]) == [own, Self.ann])
      #expect(try list([denial, own], over: [own], handedDown: [Self.team]) == [denial, own])
      #expect(try list([own], handedDown: [Self.team], flags: .noInherit) == [own])
    }
  }

  @Test("Of entries that say the same in other words each keeps its own") func words() throws {
    let group = AccessEntry(.allow, .group(20), .read, .inherited)
    let owners = AccessEntry(.allow, .owningGroup, .read, .inherited)
    for present in [[group, owners], [owners, group]] {
      #expect(try marked(present, over: present) == present)
      #expect(
        try marked([unmarked(Self.team)] + present, over: present, handedDown: [Self.team]).suffix(2)
          == present[...])
    }
  }

  @Test("Who edits a list means those named, not the owner and the group of the item") func names() throws {
    let owner = AccessEntry(.allow, .owner, .read, .inherited)
    let added = AccessEntry(.allow, .user(10), .read)
    #expect(try marked([added], handedDown: [owner]) == [owner])
    #expect(try marked([added], handedDown: [owner], writing: .edit) == [added])
    #expect(try marked([added], handedDown: [Self.ann], writing: .edit) == [Self.ann])
  }

  @Test("What was an entry of the item's own stays one, whatever the directory hands down by now")
  func ownEntries()
    throws
  {
    let own = AccessEntry(.deny, .user(11), .read)
    var inherited = own
    inherited.inheritance.insert(.inherited)
    #expect(
      try marked([own, unmarked(Self.team)], over: [own], handedDown: [inherited, Self.team])
        == [own, Self.team])
    // Who a denial is about stays as it was written.
    let denied = AccessEntry(.deny, .owner, .read, .inherited)
    #expect(
      try marked([AccessEntry(.deny, .user(10), .read)], over: [denied])
        == [AccessEntry(.deny, .user(10), .read, .inherited)])
  }

  @Test("An entry that says anything else is one of the item's own") func others() throws {
    for other in [
      AccessEntry(.deny, .group(20), Self.team.rights), AccessEntry(.allow, .group(21), Self.team.rights),
      AccessEntry(.allow, .group(20), .read), AccessEntry(.allow, .everyone, Self.team.rights),
    ] {
      #expect(try marked([other], over: [Self.team]) == [other])
    }
    // What is handed on means whoever owns what is made below, not the owner here.
    let own = AccessEntry(.allow, .owningGroup, .read, [.fileInherit, .directoryInherit])
    #expect(try marked([own], over: [Self.below], for: .directory) == [own])
    #expect(try marked([unmarked(Self.below)], over: [Self.below], for: .directory) == [Self.below])
  }

  @Test("A list that is read, edited and written back says of its entries what it said") func edited() throws
  {
    let own = unmarked(Self.team)
    #expect(try marked([own], over: [own], handedDown: [Self.team], writing: .edit) == [own])
    #expect(
      try marked([own, unmarked(Self.ann)], over: [own, Self.ann], handedDown: [Self.team], writing: .edit)
        == [own, Self.ann])
  }

  // MARK: Entries that say it together

  /// What a program does that makes one entry of those about the same identity, and two of one about whoever owns what is
  /// made below.
  private func computed(_ handedDown: [AccessEntry], for object: ObjectKind) -> [AccessEntry] {
    var split: [AccessEntry] = []
    for entry in handedDown.map(unmarked) {
      let isAboutOwners = entry.identity == .owner || entry.identity == .owningGroup
      let isHandedOn = !entry.inheritance.isDisjoint(with: [.fileInherit, .directoryInherit])
      guard object == .directory, isAboutOwners, isHandedOn, !entry.inheritance.contains(.onlyInherit) else {
        split.append(entry)
        continue
      }
      split.append(AccessEntry(entry.kind, entry.identity, entry.rights))
      split.append(
        AccessEntry(entry.kind, entry.identity, entry.rights, entry.inheritance.union(.onlyInherit)))
    }
    var merged: [AccessEntry] = []
    for entry in split {
      let alike = merged.firstIndex {
        $0.kind == entry.kind && $0.identity == entry.identity && $0.inheritance == entry.inheritance
      }
      if let alike { merged[alike].rights.formUnion(entry.rights) } else { merged.append(entry) }
    }
    // Denials first, as Windows wants them.
    return merged.filter { $0.kind == .deny } + merged.filter { $0.kind == .allow }
  }

  @Test("One entry in place of two, and two in place of one, are what was handed down") func together() throws
  {
    let both: AccessEntry.Inheritance = [.fileInherit, .directoryInherit]
    let above = AccessList([
      AccessEntry(.allow, .group(30), [.read, .execute], both),
      AccessEntry(.allow, .group(30), [.append, .read], both),
      AccessEntry(.allow, .owningGroup, [.read], both),
    ])
    for object in [ObjectKind.file, .directory] {
      let handedDown = InheritanceSource.handedDown(from: above, to: object)
      let written = computed(handedDown, for: object)
      #expect(written.count == (object == .file ? 2 : 3))
      for writing in [NFSv4Writing.anew, .edit] {
        #expect(
          try Set(marked(written, handedDown: handedDown, for: object, writing: writing)) == Set(handedDown))
        #expect(try Set(marked(written, over: handedDown, for: object, writing: writing)) == Set(handedDown))
      }
      let source = InheritanceSource(owners: Self.owners, handedDown: handedDown)
      #expect(source.copies(in: AccessList(written), for: object) == Array(written.indices))
      #expect(source.copies(in: AccessList(handedDown), for: object) == [])
    }
  }

  @Test("An entry that says less or more than what is handed down is somebody's wish") func wishes() throws {
    let handedDown = [
      AccessEntry(.allow, .group(30), [.read, .execute], .inherited),
      AccessEntry(.allow, .group(30), [.append], .inherited),
    ]
    for rights: Rights in [
      [.read, .append], [.read, .execute, .append, .write], [.execute, .append],
    ] {
      let own = AccessEntry(.allow, .group(30), rights)
      #expect(try marked([own], handedDown: handedDown) == [own])
    }
    // What denies stands between: the order stays, and so do the words.
    let denial = AccessEntry(.deny, .group(30), [.write])
    let parts = [
      AccessEntry(.allow, .group(30), [.read]), denial, AccessEntry(.allow, .group(30), [.execute, .append]),
    ]
    let result = try marked(parts, handedDown: handedDown)
    #expect(result.map(unmarked) == parts && result.map(\.inheritance) == [.inherited, [], .inherited])
  }

  @Test("Entries for files alone, handed on through a directory, are none of its own") func through() throws {
    let above = AccessList([AccessEntry(.allow, .group(30), [.read], .fileInherit)])
    let written = AccessEntry(.allow, .group(30), [.read], [.fileInherit, .onlyInherit])
    let handedDown = InheritanceSource.handedDown(from: above, to: .directory)
    #expect(try marked([written], handedDown: handedDown, for: .directory).map(\.isInherited) == [true])
    #expect(
      InheritanceSource.handedDown(
        from: AccessList([AccessEntry(.allow, .group(30), [.read], [.fileInherit, .limitInherit])]),
        to: .directory)
        == [])
  }

  @Test("Whatever a directory hands down is known again, and nothing is known that was not handed down")
  func randomLists() throws {
    var dice = Dice(for: "inherited marks")
    var worlds = (merged: 0, changed: 0)
    for _ in 0..<20_000 {
      let above = AccessList(
        (0..<1 + dice.below(4)).map { _ in
          AccessEntry(
            dice.once(in: 4) ? .deny : .allow,
            dice.pick([.user(10), .group(20), .group(30), .owner, .owningGroup]),
            dice.pick([[.read], [.write], [.read, .write], [.execute, .append], [.deleteChild, .read]]),
            dice.pick([[.fileInherit], [.directoryInherit], [.fileInherit, .directoryInherit]]))
        })
      let object: ObjectKind = dice.once(in: 2) ? .file : .directory
      let handedDown = InheritanceSource.handedDown(from: above, to: object)
      var written = computed(handedDown, for: object)
      guard !written.isEmpty else { continue }
      let known = try marked(written, handedDown: handedDown, for: object)
      let strangers = known.filter { !$0.isInherited }
      #expect(strangers.isEmpty, "\(above) -> \(written) -> \(known)")
      worlds.merged += written.count < handedDown.count ? 1 : 0
      // One right more, which nobody handed down.
      let index = dice.below(written.count)
      written[index].rights.insert(.takeOwnership)
      let changed = try marked(written, handedDown: handedDown, for: object)
      #expect(
        changed.filter { !$0.isInherited }.contains { $0.rights.contains(.takeOwnership) },
        "\(above) -> \(written) -> \(changed)")
      worlds.changed += 1
    }
    #expect(worlds.merged > 1000 && worlds.changed > 10_000, "\(worlds)")
  }
}
