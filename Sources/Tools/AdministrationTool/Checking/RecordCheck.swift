// What can be wrong with the stored bytes of one item, in words; and what they are replaced by.

import AccessControl
import FlagRules
import LayeredVolume
import RecordFormat
import TextForms

/// Something that is wrong with what a volume stores.
struct Defect: Equatable {
  enum Kind: Equatable {
    case own(OwnKind)
    /// Of the marks of layers.
    case layers(LayerFinding.Kind)

    var word: String {
      switch self {
      case .own(let kind): kind.rawValue
      case .layers(let kind): kind.rawValue
      }
    }
  }

  enum OwnKind: String {
    /// The volume file.
    case header
    /// An entry of the bookkeeping is something else than it has to be.
    case type
    /// An entry of the bookkeeping is another user's.
    case owner
    /// What a crash left behind.
    case leftover
    /// Content that was half replaced, and can be replaced.
    case interrupted
    /// The record of an item: its flags, its owner.
    case record
    /// The access list of an item.
    case list
    /// What a record promises about its list and the list does not keep.
    case contradiction
    /// A list that no record announces; nobody looks at it.
    case residue
    /// What is stored about the name of an item.
    case names
    /// The compressed content of a file.
    case content
    /// Written by a later version; not for this one to judge.
    case newer
    /// Records that do not count.
    case unheeded
    /// Records are looked for and there are none.
    case unused
    /// Another upper directory than before.
    case restored
  }

  let kind: Kind
  let text: String
  /// What repairing would do, as a question; nil where this version can do nothing.
  let remedy: String?

  init(_ kind: OwnKind, _ text: String) {
    self.init(.own(kind), text, remedy: Defect.remedy(kind))
  }

  init(_ kind: LayerFinding.Kind, _ text: String, remedy: String?) {
    self.init(.layers(kind), text, remedy: remedy)
  }

  private init(_ kind: Kind, _ text: String, remedy: String?) {
    self.kind = kind
    self.text = text
    self.remedy = remedy
  }

  /// The same of an item that this check only names.
  func unrepaired(_ reason: String) -> Defect { Defect(kind, "\(text); \(reason)", remedy: nil) }

  private static func remedy(_ kind: OwnKind) -> String? {
    switch kind {
    case .header: "write a new volume file"
    case .owner: "give it to the user whose volume it is"
    case .leftover: "remove what was never finished"
    case .interrupted: "finish replacing its content"
    case .record: "lock the item until root has looked at it"
    case .list: "deny everything to every user until the owner or root has set another list"
    case .contradiction: "let the list count"
    case .residue: "remove the list, which is not used"
    case .names: "forget whether its extension is to be shown"
    case .unheeded: "let the records count"
    case .unused: "no longer ask items for records"
    case .restored: "rewrite the origin marks of the copies"
    case .content, .newer, .type: nil
    }
  }
}

extension CompressedDamage {
  var defect: Defect {
    switch self {
    case .table(let damage):
      Defect(
        .content, "nothing of it can be read: the table of its compressed content is damaged (\(damage))")
    case .content(let first, let count):
      Defect(.content, "\(grouped(Int(clamping: count))) bytes of it cannot be read, the first at \(first)")
    }
  }
}

/// The stored bytes of one item.
struct StoredBytes {
  let core: [UInt8]?
  let list: [UInt8]?
  let names: [UInt8]?

  /// The record; nil if there is none, or a damaged one.
  var record: CoreRecord? { core.flatMap { try? CoreRecord(decoding: $0.span) } }

  /// What is wrong with them; nil if nothing is.
  var defect: Defect? {
    guard let core else {
      return list == nil
        ? nil : Defect(.residue, "has an access list that no record announces; it is ignored")
    }
    let record: CoreRecord
    do {
      record = try CoreRecord(decoding: core.span)
    } catch {
      return StoredBytes.defect(.record, "the record of flags and owner", error)
    }
    guard record.presence.contains(.accessList) else {
      return list == nil
        ? defectOfNames(record)
        : Defect(.residue, "has an access list that its record does not announce; it is ignored")
    }
    guard let list else { return Defect(.list, "the access list is missing") }
    do {
      let decoded = try AccessListBytes.decode(list.span)
      guard record.hasOpenList, decoded.deniesAnybody(.looking) else { return defectOfNames(record) }
      return Defect(
        .contradiction,
        "the record says that the list lets every user look, but it does not; stat(2) does not ask it")
    } catch {
      return StoredBytes.defect(.list, "the access list", error)
    }
  }

  /// What is not announced is ignored; what is damaged only makes views show the whole name.
  private func defectOfNames(_ record: CoreRecord) -> Defect? {
    guard record.hasNames else { return nil }
    guard let names else { return Defect(.names, "the names record is missing") }
    do {
      _ = try NamesRecord(decoding: names.span)
      return nil
    } catch {
      return StoredBytes.defect(.names, "the names record", error)
    }
  }

  /// The record, if it is sound, without a names record.
  var recordWithoutNames: [UInt8]? {
    guard var record else { return nil }
    record.hasNames = false
    return record.encoded()
  }

  private static func defect(_ kind: Defect.OwnKind, _ what: String, _ damage: Damage) -> Defect {
    if case .unknownVersion(let version) = damage, version > 0 {
      return Defect(.newer, "\(what) is of version \(version), which needs a newer varve")
    }
    // What it says is not known, and replacing it would lose that.
    if case .unknownPresence = damage {
      return Defect(.newer, "\(what) cannot be used: \(damage.sentence); it needs a newer varve")
    }
    return Defect(kind, "\(what) is damaged: \(damage.sentence)")
  }

  /// A list under which nobody but root gets at anything; the owner may still set another one.
  static let closedList = AccessList([AccessEntry(.deny, .everyone, Rights(rawValue: 0x3FFE))])

  /// A record that lets nobody change anything until `flag` is cleared, and announces that list.
  ///
  /// `content`: what the bytes of the file are to be replaced by still; without a mark that would be forgotten.
  static func lockedRecord(_ flag: FileFlags, replacing content: ReplacementTrailer?) -> [UInt8] {
    var record = CoreRecord()
    record.flags = flag
    record.announce(closedList)
    if let content { record = record.whileReplacing(by: content) }
    return record.encoded()
  }

  /// The record, if it is sound, announcing another list, and promising about it what is so.
  func record(announcing list: AccessList) -> [UInt8]? {
    guard var record else { return nil }
    record.announce(list)
    return record.encoded()
  }
}

extension Damage {
  /// The damage for a person.
  var sentence: String {
    switch self {
    case .tooShort: "it is cut off"
    case .trailingBytes: "there are bytes after its end"
    case .foreignMagic(let byte):
      "it begins with the byte \(hexadecimal(byte)), which is not the start of a record"
    case .unknownVersion(let version): "its version is \(version)"
    case .checksum(let stored, let computed):
      "its checksum is \(hexadecimal(stored)) and should be \(hexadecimal(computed))"
    case .unknownPresence(let bits): "it holds unknown parts (\(hexadecimal(bits)))"
    case .tooManyEntries(let count): "it claims \(count) entries"
    case .badField(let field):
      switch field {
      case .protectionClass: "its protection class is none"
      case .reserved: "bytes that are always zero are not"
      case .linkBase: "its link count has no base"
      case .nanoseconds: "its time of birth has more than a second of nanoseconds"
      case .identityClass(let entry): "entry \(entry) is about an unknown kind of identity"
      case .kind(let entry): "entry \(entry) neither allows nor denies nor watches"
      case .inheritance(let entry): "entry \(entry) is inherited in an unknown way"
      case .strayNumber(let entry): "entry \(entry) has a number where none belongs"
      }
    }
  }

  private func hexadecimal(_ number: some FixedWidthInteger & UnsignedInteger) -> String {
    "0x" + digits(number, radix: 16, width: number.bitWidth / 4)
  }
}
