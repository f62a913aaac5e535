// `system.nfs4_acl`: bytes as seen on the wire, names, modes, and everything that is refused.

import AccessControl
import Randomness
import Testing

/// Bytes of an NFSv4 list, built by hand.
enum Wire {
  static func words(_ numbers: UInt32...) -> [UInt8] {
    numbers.flatMap { number in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) } }
  }

  static func entry(_ type: UInt32, _ flags: UInt32, _ mask: UInt32, _ who: String) -> [UInt8] {
    words(type, flags, mask, UInt32(who.utf8.count)) + Array(who.utf8)
      + [UInt8](repeating: 0, count: (4 - who.utf8.count % 4) % 4)
  }

  static func list(_ entries: [UInt8]...) -> [UInt8] { words(UInt32(entries.count)) + entries.flatMap { $0 } }
}

extension NFSv4List {
  /// What setting these bytes comes to on an object without a list.
  static func change(
    _ bytes: [UInt8], for kind: ObjectKind, from present: AccessList? = nil,
    mode: UInt16 = 0o007
  ) throws -> NFSv4Change {
    let entries = try decode(bytes, names: .testing)
    return try change(to: entries, from: present, mode: mode, for: kind, as: .names)
  }

  static func changeNumbers(
    _ bytes: [UInt8], for kind: ObjectKind, from present: AccessList? = nil, mode: UInt16 = 0o007
  ) throws -> NFSv4Change {
    try change(to: try decodeNumbers(bytes), from: present, mode: mode, for: kind, as: .numbers)
  }
}

@Suite("NFSv4 lists") struct NFSv4Tests {
  static let kinds: [ObjectKind] = [.file, .directory]

  /// `A::OWNER@:rwatTnNcCoy`, as nfs4_setfacl sends it.
  static let seen: [UInt8] = [
    0, 0, 0, 1,  // one entry
    0, 0, 0, 0,  // allow
    0, 0, 0, 0,  // no flags
    0x00, 0x1E, 0x01, 0x9F,  // r w a n N t T c C o y
    0, 0, 0, 6, 0x4F, 0x57, 0x4E, 0x45, 0x52, 0x40, 0, 0,  // "OWNER@", padded
  ]

  @Test("The bytes of nfs4_setfacl are read") func readsSeenBytes() throws {
    let change = try NFSv4List.change(Self.seen, for: .file)
    let rights: Rights = [
      .read, .write, .append, .readExtended, .writeExtended, .readAttributes, .writeAttributes,
      .readSecurity, .writeSecurity, .takeOwnership, .synchronize,
    ]
    #expect(change == NFSv4Change(list: AccessList([AccessEntry(.allow, .owner, rights)]), mode: 0o600))
    #expect(Wire.list(Wire.entry(0, 0, 0x1E019F, "OWNER@")) == Self.seen)
  }

  @Test("A file without a list shows its mode, 0640") func plainFile() {
    let expected = Wire.list(
      Wire.entry(0, 0, 0x16_019F, "OWNER@"),  // rwatTnNcCy
      Wire.entry(0, 0x40, 0x12_0089, "GROUP@"),  // rtncy
      Wire.entry(0, 0, 0x12_0080, "EVERYONE@"))  // tcy
    #expect(NFSv4List.encode(nil, mode: 0o640, for: .file, names: .testing) == expected)
  }

  @Test("A class that holds less than a later one is denied the difference: 0416") func denials() {
    let expected = Wire.list(
      Wire.entry(1, 0, 0x00_0036, "OWNER@"),  // waNx: what group or others hold
      Wire.entry(0, 0, 0x16_0189, "OWNER@"),  // rtTncCy
      Wire.entry(1, 0x40, 0x00_011F, "GROUP@"),  // rwaTnN: what others hold
      Wire.entry(0, 0x40, 0x12_00A0, "GROUP@"),  // xtcy
      Wire.entry(0, 0, 0x12_019F, "EVERYONE@"))  // rwatTnNcy
    #expect(NFSv4List.encode(nil, mode: 0o416, for: .file, names: .testing) == expected)
  }

  @Test("Every mode comes back, on files and directories, with and without entries in front") func modes()
    throws
  {
    let lists: [AccessList?] = [
      nil, Shorthand.list("!a b:fd"),
      // Entries that look like the pattern of another mode are not taken for it.
      try NFSv4List.change(
        NFSv4List.encode(nil, mode: 0o416, for: .file, names: .numeric), for: .directory
      ).list,
      AccessList([
        AccessEntry(.deny, .owner, .write), AccessEntry(.allow, .owner, .read),
        AccessEntry(.deny, .owningGroup, [.read, .readExtended]),
      ]),
    ]
    for kind in Self.kinds {
      for list in lists {
        for mode in UInt16(0)...0o777 {
          let bytes = NFSv4List.encode(list, mode: mode | 0o4000, for: kind, names: .testing)
          let change = try NFSv4List.change(bytes, for: kind)
          if change != NFSv4Change(list: list, mode: mode) {
            Issue.record("mode \(mode), \(kind): \(change)")
          }
        }
      }
    }
  }

  /// The first entry about a right decides, as NFSv4 evaluates.
  func permits(_ entries: [AccessEntry], _ right: Rights, as identities: Set<Identity>) -> Bool {
    entries.first { identities.contains($0.identity) && !$0.rights.isDisjoint(with: right) }?.kind == .allow
  }

  @Test("Read as NFSv4 reads, the entries say what the mode says") func projectionIsTrue() throws {
    for mode in UInt16(0)...0o777 {
      let bytes = NFSv4List.encode(nil, mode: mode, for: .file, names: .testing)
      let entries = try NFSv4List.decode(bytes, names: .testing)
      let standings: [(Set<Identity>, UInt16)] = [
        ([.owner, .everyone], mode >> 6), ([.owner, .owningGroup, .everyone], mode >> 6),
        ([.owningGroup, .everyone], mode >> 3), ([.everyone], mode),
      ]
      for (identities, bits) in standings {
        let expected: [(Rights, Bool)] = [
          (.read, bits & 4 != 0), (.readExtended, bits & 4 != 0), (.write, bits & 2 != 0),
          (.append, bits & 2 != 0), (.writeExtended, bits & 2 != 0), (.execute, bits & 1 != 0),
          (.writeAttributes, bits & 2 != 0 || identities.contains(.owner)),
          (.writeSecurity, identities.contains(.owner)), (.readAttributes, true), (.readSecurity, true),
          (.takeOwnership, false), (.delete, false),
        ]
        for (right, isPermitted) in expected
        where permits(entries, right, as: identities) != isPermitted {
          Issue.record("mode \(String(mode, radix: 8)), \(identities), right \(right.rawValue)")
        }
      }
    }
  }

  @Test("Of a tail that is not exactly a mode what is not the mode's is stored") func foreignTail() throws {
    let bytes = Wire.list(
      Wire.entry(0, 0, 0x1E_019F, "OWNER@"), Wire.entry(0, 0x40, 0x12_0089, "GROUP@"),
      Wire.entry(0, 0, 0x12_0080, "EVERYONE@"))
    let change = try NFSv4List.change(bytes, for: .file)
    #expect(change.mode == 0o640)
    #expect(change.list?.entries.map(\.identity) == [.owner])
  }

  @Test("Special identities with and without the group flag, and without synchronize, are the same")
  func samba() throws {
    let bytes = Wire.list(
      Wire.entry(1, 0, 0x10, "1000"), Wire.entry(0, 0, 0x06_019F, "OWNER@"),
      Wire.entry(0, 0, 0x12_0089, "GROUP@"), Wire.entry(0, 0x40, 0x02_0080, "EVERYONE@"))
    #expect(
      try NFSv4List.change(bytes, for: .file)
        == NFSv4Change(list: AccessList([AccessEntry(.deny, .user(1000), .writeExtended)]), mode: 0o640))
  }

  @Test("No entries at all grant nobody anything, however they are written") func empty() throws {
    let nothing = NFSv4Change(list: nil, mode: 0)
    #expect(try NFSv4List.change([0, 0, 0, 0], for: .file) == nothing)
    #expect(try NFSv4List.change([0, 0, 0, 0, 0, 0, 0, 0], for: .file) == nothing)
    let list = AccessList([AccessEntry(.allow, .user(1), .read)])
    for writing in [NFSv4Writing.anew, .edit] {
      #expect(
        try NFSv4List.change(
          to: [], from: list, mode: 0o1755, for: .directory, as: .names, writing: writing) == nothing)
    }
  }

  @Test(
    "The layout of NFSv4.1 is read where the bytes cannot be 4.0", arguments: 0...7 as ClosedRange<UInt32>)
  func layout41(flags: UInt32) throws {
    let entries = Wire.list(Wire.entry(0, 0, 1, "1000"), Wire.entry(1, 0x40, 2, "12"))
    let plain = try NFSv4List.change(entries, for: .file)
    #expect(try NFSv4List.change(Wire.words(flags) + entries, for: .file) == plain)
    #expect(throws: NFSv4Failure.malformed) {
      try NFSv4List.change(Wire.words(flags + 8) + entries, for: .file)
    }
  }

  struct Name: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let identity: Identity
    let who: String
  }

  static let names = [
    Name(testDescription: "a local name", identity: .user(1), who: "ann"),
    Name(testDescription: "a group", identity: .group(1), who: "staff"),
    Name(testDescription: "a real group 12", identity: .group(12), who: "man"),
    Name(testDescription: "an id without an account", identity: .group(99), who: "99"),
    Name(testDescription: "a name of digits", identity: .user(5), who: "5"),
    Name(testDescription: "a name with an at sign", identity: .user(8), who: "8"),
    Name(testDescription: "a name with blanks", identity: .user(3), who: "3"),
    Name(testDescription: "everyone", identity: .everyone, who: "EVERYONE@"),
    Name(testDescription: "the owner", identity: .owner, who: "OWNER@"),
    Name(testDescription: "the owning group", identity: .owningGroup, who: "GROUP@"),
    Name(testDescription: "nobody", identity: .nobody, who: "NOBODY@"),
  ]

  @Test(arguments: names) func writesNames(_ row: Name) throws {
    let list = AccessList([AccessEntry(.deny, row.identity, .read)])
    let isGroup =
      switch row.identity {
      case .group, .owningGroup: true
      default: false
      }
    let bytes = NFSv4List.encode(list, mode: 0, for: .file, names: .testing)
    let expected = Wire.entry(1, isGroup ? 0x40 : 0, 1, row.who)
    #expect(Array(bytes.dropFirst(4).prefix(expected.count)) == expected)
    #expect(try NFSv4List.change(bytes, for: .file).list == list)
  }

  struct Refusal: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    let failure: NFSv4Failure

    init(_ sentence: String, _ bytes: [UInt8], _ failure: NFSv4Failure) {
      testDescription = sentence
      self.bytes = bytes
      self.failure = failure
    }
  }

  static let refusals = [
    Refusal("nothing", [], .malformed),
    Refusal("a count without entries", Wire.words(1), .malformed),
    Refusal("a count beyond all memory", Wire.words(.max), .malformed),
    Refusal("a byte too many", seen + [0], .malformed),
    Refusal("padding that is not zero", Array(seen.dropLast()) + [1], .malformed),
    Refusal("a name longer than the rest", Wire.words(1, 0, 0, 1, .max), .malformed),
    Refusal("a type of tomorrow", Wire.list(Wire.entry(4, 0, 1, "1")), .unknownType(4)),
    Refusal("a flag of tomorrow", Wire.list(Wire.entry(0, 0x100, 1, "1")), .unknownFlags(0x100)),
    Refusal("retention", Wire.list(Wire.entry(0, 0, 0x201, "1")), .unknownRights(0x200)),
    Refusal("retention on hold", Wire.list(Wire.entry(0, 0, 0x400, "1")), .unknownRights(0x400)),
    Refusal("a user nobody knows", Wire.list(Wire.entry(0, 0, 1, "zed")), .unknownName("zed")),
    Refusal("a group that is only a user", Wire.list(Wire.entry(0, 0x40, 1, "ann")), .unknownName("ann")),
    Refusal("a number of 33 bits", Wire.list(Wire.entry(0, 0, 1, "4294967296")), .unknownName("4294967296")),
    Refusal("no name", Wire.list(Wire.entry(0, 0, 1, "")), .unknownName("")),
    Refusal("another domain", Wire.list(Wire.entry(0, 0, 1, "ann@y.org")), .foreignDomain("ann@y.org")),
    Refusal(
      "a name that is not text", Wire.words(1, 0, 0, 1, 1) + [0xFF, 0, 0, 0], .unknownName("")),
    Refusal(
      "129 entries", Wire.words(129) + (0..<129).flatMap { _ in Wire.entry(0, 0, 1, "1") }, .tooManyEntries),
    Refusal(
      "4000 entries", Wire.words(4000) + (0..<4000).flatMap { _ in Wire.entry(0, 0, 1, "1") },
      .tooManyEntries),
  ]

  @Test(arguments: refusals) func refuses(_ row: Refusal) {
    #expect(throws: row.failure) { try NFSv4List.change(row.bytes, for: .file) }
  }

  @Test("The domain localdomain is dropped") func domains() throws {
    for who in ["ann@localdomain", "ann", "1", "1@localdomain"] {
      let change = try NFSv4List.change(Wire.list(Wire.entry(0, 0, 1, who)), for: .file)
      #expect(change.list?.entries.first?.identity == .user(1))
    }
  }

  @Test("A full list shows its mode too and comes back") func fullList() throws {
    let list = AccessList(Array(repeating: Shorthand.entry("a"), count: 128))
    for mode: UInt16 in [0o755, 0o416] {
      let bytes = NFSv4List.encode(list, mode: mode, for: .directory, names: .testing)
      #expect(
        try NFSv4List.change(bytes, for: .directory) == NFSv4Change(list: list, mode: mode))
    }
  }

  @Test("Generic rights are written out") func generic() throws {
    let list = AccessList([AccessEntry(.allow, .everyone, [.genericAll])])
    let bytes = NFSv4List.encode(list, mode: 0, for: .file, names: .testing)
    #expect(
      try NFSv4List.change(bytes, for: .file).list?.entries.first?.rights
        == Rights(rawValue: 0x1FFE))
  }

  @Test("Random lists survive both views", arguments: [71, 72] as [UInt64]) func roundTrips(
    seed: UInt64
  ) throws {
    var generator = Dice(seed: seed)
    for round in 0..<300 {
      let entries: [AccessEntry] = (0..<Int.random(in: 0...8, using: &generator)).map { _ in
        .random(
          rights: .specific, inheritance: .all, kinds: [.allow, .deny, .audit, .alarm], using: &generator)
      }
      let list = entries.isEmpty ? nil : AccessList(entries)
      let mode = UInt16.random(in: 0...0o777, using: &generator)
      let kind = Self.kinds.randomElement(using: &generator) ?? .file
      for book in [NameBook.numeric, .testing] {
        let bytes = NFSv4List.encode(list, mode: mode, for: kind, names: book)
        #expect(
          try NFSv4List.change(bytes, for: kind) == NFSv4Change(list: list, mode: mode),
          "seed \(seed), round \(round)")
      }
      let numbered = entries.filter { $0.identity != .nobody }
      #expect(
        try NFSv4List.changeNumbers(NFSv4List.encodeNumbers(list, mode: mode, for: kind), for: kind)
          == NFSv4Change(list: numbered.isEmpty ? nil : AccessList(numbered), mode: mode),
        "seed \(seed), round \(round)")
    }
  }

  @Test("The view in numbers") func numbers() throws {
    let list = AccessList([
      AccessEntry(.deny, .group(12), .delete, .fileInherit), AccessEntry(.allow, .user(7), .read),
    ])
    let bytes = NFSv4List.encodeNumbers(list, mode: 0o600, for: .file)
    #expect(
      bytes
        == Wire.words(
          0, 5,  // list flags, count
          1, 0x41, 0, 0x1_0000, 12,  // deny the group 12 delete, to files
          0, 0, 0, 1, 7,  // allow the user 7 read
          0, 0, 1, 0x16_019F, 1,  // owner
          0, 0x40, 1, 0x12_0080, 2,  // group
          0, 0, 1, 0x12_0080, 3))  // everyone
    for (bad, failure): ([UInt8], NFSv4Failure) in [
      (Wire.words(0), .malformed), (Wire.words(0, 1), .malformed), (bytes + [0], .malformed),
      (Wire.words(8, 0), .unknownFlags(8)), (Wire.words(0, 1, 0, 0, 1, 1, 4), .unknownName("4")),
      (Wire.words(0, 1, 0, 0, 2, 1, 1), .unknownName("1")),
      (Wire.words(0, 1, 9, 0, 0, 1, 1), .unknownType(9)),
    ] {
      #expect(throws: failure) { try NFSv4List.changeNumbers(bad, for: .file) }
    }
    #expect(
      try NFSv4List.changeNumbers(Wire.words(0x30007, 0), for: .file) == NFSv4Change(list: nil, mode: 0))
  }

  @Test("No bytes stop the reader") func fuzz() {
    let list = AccessList([
      AccessEntry(.deny, .user(1), .delete, .fileInherit), AccessEntry(.allow, .owner, .read),
    ])
    let views = [
      NFSv4List.encode(list, mode: 0o416, for: .file, names: .testing),
      Wire.words(3) + NFSv4List.encode(list, mode: 0, for: .file, names: .testing),
      NFSv4List.encodeNumbers(list, mode: 0o640, for: .file),
    ]
    for sound in views {
      for length in 0..<sound.count {
        _ = try? NFSv4List.change(Array(sound[..<length]), for: .file)
        _ = try? NFSv4List.changeNumbers(Array(sound[..<length]), for: .file)
      }
      for index in sound.indices {
        for byte: UInt8 in [0, 1, 2, 4, 5, 8, 0x10, 0x20, 0x40, 0x7F, 0x80, 0xC3, 0xFE, 0xFF] {
          var changed = sound
          changed[index] = byte
          _ = try? NFSv4List.change(changed, for: .file)
          _ = try? NFSv4List.changeNumbers(changed, for: .file)
        }
      }
    }
  }
}
