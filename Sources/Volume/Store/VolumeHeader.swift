// The file `.varve/volume`: what kind of volume this is and what a reader must understand.

import LayerRules
import LinuxFiles
import RecordFormat

/// Text of the form `key = value`, with a first line that names the format and a second one with a checksum.
///
/// Unknown keys are kept.
struct VolumeHeader: Sendable, Equatable {
  static let longest = 65_536
  private static let firstLine = "varve-volume 1"
  /// Its checksum counts on the second line alone: earlier versions write lines they do not know behind the others.
  private static let sumKey = "crc"

  var uuid: String
  var created: String
  var namespace: MetadataStore.Namespace
  /// Features a reader must understand to mount at all, to mount for writing, or may ignore.
  var incompatible: UInt64 = 0
  var readOnlyCompatible: UInt64 = 0
  var compatible: UInt64 = 0
  /// The file systems that held lowers.
  var fileSystems = FileSystemTable()
  /// The lowers of the last mount for writing, as `lower=` names them.
  var lowers: String?
  /// The directories that these paths led to, where they can be told from others of their paths.
  var lowerRoots: [InodeMark]?
  /// The upper directory then.
  var root: InodeMark?
  private var unknown: [String] = []

  private static let recordsExistBit: UInt64 = 1

  /// Compatible feature 0: objects may carry records.
  ///
  /// While it is clear, nobody looks for them.
  var recordsExist: Bool {
    get { compatible & VolumeHeader.recordsExistBit != 0 }
    set {
      if newValue {
        compatible |= VolumeHeader.recordsExistBit
      } else {
        compatible &= ~VolumeHeader.recordsExistBit
      }
    }
  }

  /// The same header, saying that records exist.
  var withRecords: VolumeHeader {
    var copy = self
    copy.recordsExist = true
    return copy
  }

  /// Feature 1 of those that forbid writing: there is a keybag, and files that only versions with one may write beside.
  private static let protectedContentBit: UInt64 = 2

  /// The same header, saying that there is protected content.
  var withProtectedContent: VolumeHeader {
    var copy = self
    copy.readOnlyCompatible |= VolumeHeader.protectedContentBit
    return copy
  }

  /// Feature 0 of those: it was mounted for writing over lowers, so names may be removed that lowers have.
  private static let layeredBit: UInt64 = 1

  var isLayered: Bool { readOnlyCompatible & VolumeHeader.layeredBit != 0 }

  /// The same header, for a mount over these layers.
  func layered(
    _ fileSystems: FileSystemTable, lowers: String, _ lowerRoots: [InodeMark], root: InodeMark
  ) -> VolumeHeader {
    var copy = self
    copy.readOnlyCompatible |= VolumeHeader.layeredBit
    copy.fileSystems = fileSystems
    copy.lowers = lowers
    copy.lowerRoots = lowerRoots
    // Another one is that of a tree that was restored: it stays until a repair has renewed what that takes.
    if copy.root == nil { copy.root = root }
    // It has to be readable again.
    if copy.text.count > VolumeHeader.longest { (copy.lowers, copy.lowerRoots) = (nil, nil) }
    return copy
  }

  var storedLayers: StoredLayers {
    StoredLayers(isLayered: isLayered, lowers: lowers, lowerRoots: lowerRoots, root: root)
  }

  private init(uuid: String, created: String, namespace: MetadataStore.Namespace) {
    self.uuid = uuid
    self.created = created
    self.namespace = namespace
  }

  static func fresh(
    recordsIn namespace: MetadataStore.Namespace = CurrentProcess.isRoot ? .trusted : .user
  ) -> VolumeHeader {
    VolumeHeader(
      uuid: RandomIdentifier.make(), created: String(Clock.realtime.seconds), namespace: namespace)
  }

  var text: [UInt8] {
    let lines =
      [
        "uuid = \(uuid)", "created = \(created)", "xattr = \(namespace.rawValue)",
        "incompat = \(String(incompatible, radix: 16))",
        "ro_compat = \(String(readOnlyCompatible, radix: 16))",
        "compat = \(String(compatible, radix: 16))",
      ] + (lowers.map { ["lower = \($0)"] } ?? [])
      + (lowerRoots.map { ["lower-roots = \(InodeMark.text(ofAll: $0))"] } ?? [])
      + (root.map { ["root = \($0.text)"] } ?? [])
      + fileSystems.entries.map { "\($0.key) = \($0.value)" } + unknown
    let body = Array((lines.joined(separator: "\n") + "\n").utf8)
    return VolumeHeader.sumStart + Array("\(CRC32C.digits(of: body.span))\n".utf8) + body
  }

  private static let sumStart = Array("\(firstLine)\n\(sumKey) = ".utf8)

  /// Whether a stored file has a checksum; those of earlier versions have none.
  static func hasChecksum(_ bytes: [UInt8]) -> Bool { bytes.starts(with: sumStart) }

  private static func isRight(_ bytes: [UInt8]) -> Bool {
    guard hasChecksum(bytes) else { return true }
    let rest = bytes[sumStart.count...]
    guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return false }
    return rest[..<end].elementsEqual(CRC32C.digits(of: bytes.span.extracting((end + 1)...)).utf8)
  }

  init(parsing bytes: [UInt8]) throws(VolumeFailure) {
    guard bytes.count <= VolumeHeader.longest else {
      throw VolumeFailure("the volume file is longer than any that varve writes")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw VolumeFailure("the volume file is not text; this is not a volume of varve")
    }
    var lines = text.split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
    guard lines.first == VolumeHeader.firstLine else {
      throw VolumeFailure(
        "the volume file begins with '\(VolumeHeader.shown(lines.first ?? ""))', this version reads '\(VolumeHeader.firstLine)'"
      )
    }
    guard VolumeHeader.isRight(bytes) else {
      throw VolumeFailure(
        "the volume file is damaged: its checksum does not fit", remedy: VolumeHeader.remedy)
    }
    lines.removeFirst()
    self.init(uuid: "", created: "", namespace: .trusted)
    var hasNamespace = false
    for line in lines { if try take(line) == "xattr" { hasNamespace = true } }
    guard hasNamespace, !uuid.isEmpty else {
      throw VolumeFailure("the volume file is incomplete", remedy: VolumeHeader.remedy)
    }
    guard isLayered || !namesLayers else {
      throw VolumeFailure(
        "the volume file names layers, and says that there are none", remedy: VolumeHeader.remedy)
    }
  }

  /// What can still be read of a damaged file: without its layers what was removed would be there again.
  static func salvaged(from bytes: [UInt8], recordsIn namespace: MetadataStore.Namespace) -> VolumeHeader {
    if let whole = corrected(bytes) { return whole }
    var header = fresh(recordsIn: namespace)
    for line in String(decoding: bytes.prefix(longest), as: UTF8.self).split(separator: "\n") {
      var next = header
      if (try? next.take(String(line))) != nil, !next.uuid.isEmpty { header = next }
    }
    header.namespace = namespace
    if header.namesLayers { header.readOnlyCompatible |= layeredBit }
    return header
  }

  /// A file of which one bit is flipped, with that bit as it was: a salvaged one may lack a line.
  private static func corrected(_ bytes: [UInt8]) -> VolumeHeader? {
    // Each bit takes a checksum of the whole: a third of a second for so many bytes.
    guard bytes.count <= 4096, hasChecksum(bytes) else { return nil }
    var bytes = bytes
    for bit in sumStart.count * 8..<bytes.count * 8 {
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      if isRight(bytes), let header = try? VolumeHeader(parsing: bytes) { return header }
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
    }
    return nil
  }

  private var namesLayers: Bool {
    lowers != nil || lowerRoots != nil || root != nil || !fileSystems.entries.isEmpty
  }

  private static let remedy = "'varve check --repair' mends it"

  /// Reads a line other than the first; answers its key.
  @discardableResult private mutating func take(_ line: String) throws(VolumeFailure) -> String {
    let parts = line.split(separator: "=", maxSplits: 1).map(VolumeHeader.trimmed)
    let unreadable = VolumeFailure(
      "the volume file has a line '\(VolumeHeader.shown(line))'", remedy: VolumeHeader.remedy)
    guard parts.count == 2 else { throw unreadable }
    switch parts[0] {
    case "uuid": uuid = parts[1]
    case "created": created = parts[1]
    case "xattr":
      guard let space = MetadataStore.Namespace(rawValue: parts[1]) else {
        throw VolumeFailure(
          "the volume keeps its records in an unknown place '\(VolumeHeader.shown(parts[1]))'",
          remedy: VolumeHeader.remedy)
      }
      namespace = space
    case "incompat": incompatible = try VolumeHeader.mask(parts[1])
    case "ro_compat": readOnlyCompatible = try VolumeHeader.mask(parts[1])
    case "compat": compatible = try VolumeHeader.mask(parts[1])
    case "lower":
      guard let paths = StoredPath.paths(of: parts[1]),
        paths.allSatisfy({ $0.first == UInt8(ascii: "/") })
      else { throw unreadable }
      lowers = parts[1]
    case "lower-roots":
      guard let marks = InodeMark.marks(of: parts[1]) else { throw unreadable }
      lowerRoots = marks
    case "root":
      guard let mark = InodeMark(parts[1]) else { throw unreadable }
      root = mark
    case let key where key.hasPrefix(FileSystemEntry.keyPrefix):
      guard let entry = FileSystemEntry(key: key, value: parts[1]) else { throw unreadable }
      fileSystems = FileSystemTable(fileSystems.entries + [entry])
    case VolumeHeader.sumKey: break
    default: unknown.append(line)
    }
    return parts[0]
  }

  private static func mask(_ text: String) throws(VolumeFailure) -> UInt64 {
    guard let mask = UInt64(text, radix: 16) else {
      throw VolumeFailure(
        "the volume file has a feature mask '\(VolumeHeader.shown(text))'", remedy: VolumeHeader.remedy)
    }
    return mask
  }

  /// What somebody may have written there, so that it can be put on a terminal.
  private static func shown(_ text: String) -> String {
    let most = 40
    var shown = String.UnicodeScalarView()
    for scalar in text.unicodeScalars.prefix(most) {
      shown.append(scalar.properties.generalCategory == .control ? "?" : scalar)
    }
    return String(shown) + (text.unicodeScalars.count > most ? "…" : "")
  }

  private static func trimmed(_ text: Substring) -> String {
    var text = text
    while text.first == " " { text.removeFirst() }
    while text.last == " " { text.removeLast() }
    return String(text)
  }

  func checkFeatures(readOnly: Bool) throws(VolumeFailure) {
    guard incompatible == 0 else {
      throw VolumeFailure("the volume uses features this version does not know; it needs a newer varve")
    }
    let known = VolumeHeader.protectedContentBit | VolumeHeader.layeredBit
    guard readOnlyCompatible & ~known == 0 || readOnly else {
      throw VolumeFailure("the volume uses features this version can only read; mount it with -o ro")
    }
    guard namespace == .user || CurrentProcess.isRoot else {
      throw VolumeFailure("the records of this volume belong to root; only root can mount it")
    }
  }

  /// Refuses to write to a layered volume without its lowers, unless that is said.
  ///
  /// What was removed from them would be there again.
  func checkLayers(areSaid: Bool, readOnly: Bool) throws(VolumeFailure) {
    guard isLayered, !areSaid, !readOnly else { return }
    let last = lowers.map { "; the last time it was mounted with 'lower=\($0)'" } ?? ""
    throw VolumeFailure(
      "the volume has layers below it; name them with 'lower=', or write 'lower=' with nothing behind it to "
        + "mount without them\(last)")
  }
}
