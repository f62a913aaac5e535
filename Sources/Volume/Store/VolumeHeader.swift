// The file `.varve/volume`: what kind of volume this is and what a reader must understand.

import LinuxFiles

/// Text of the form `key = value`, with a first line that names the format.
///
/// Unknown keys are kept.
struct VolumeHeader: Sendable, Equatable {
  static let longest = 65_536
  private static let firstLine = "varve-volume 1"

  var uuid: String
  var created: String
  var namespace: MetadataStore.Namespace
  /// Features a reader must understand to mount at all, to mount for writing, or may ignore.
  var incompatible: UInt64 = 0
  var readOnlyCompatible: UInt64 = 0
  var compatible: UInt64 = 0
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

  private init(uuid: String, created: String, namespace: MetadataStore.Namespace) {
    self.uuid = uuid
    self.created = created
    self.namespace = namespace
  }

  static func fresh() -> VolumeHeader {
    VolumeHeader(
      uuid: RandomIdentifier.make(), created: String(Clock.realtime.seconds),
      namespace: CurrentProcess.isRoot ? .trusted : .user)
  }

  var text: [UInt8] {
    let lines =
      [
        VolumeHeader.firstLine, "uuid = \(uuid)", "created = \(created)", "xattr = \(namespace.rawValue)",
        "incompat = \(String(incompatible, radix: 16))",
        "ro_compat = \(String(readOnlyCompatible, radix: 16))",
        "compat = \(String(compatible, radix: 16))",
      ] + unknown
    return Array((lines.joined(separator: "\n") + "\n").utf8)
  }

  init(parsing bytes: [UInt8]) throws(VolumeFailure) {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw VolumeFailure("the volume file is not text; this is not a volume of varve")
    }
    var lines = text.split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
    guard lines.first == VolumeHeader.firstLine else {
      throw VolumeFailure(
        "the volume file begins with '\(lines.first ?? "")', this version reads '\(VolumeHeader.firstLine)'")
    }
    lines.removeFirst()
    self.init(uuid: "", created: "", namespace: .trusted)
    var hasNamespace = false
    for line in lines {
      let parts = line.split(separator: "=", maxSplits: 1).map(VolumeHeader.trimmed)
      guard parts.count == 2 else { throw VolumeFailure("the volume file has a line '\(line)'") }
      switch parts[0] {
      case "uuid": uuid = parts[1]
      case "created": created = parts[1]
      case "xattr":
        guard let space = MetadataStore.Namespace(rawValue: parts[1]) else {
          throw VolumeFailure("the volume keeps its records in an unknown place '\(parts[1])'")
        }
        namespace = space
        hasNamespace = true
      case "incompat": incompatible = try VolumeHeader.mask(parts[1])
      case "ro_compat": readOnlyCompatible = try VolumeHeader.mask(parts[1])
      case "compat": compatible = try VolumeHeader.mask(parts[1])
      default: unknown.append(line)
      }
    }
    guard hasNamespace, !uuid.isEmpty else { throw VolumeFailure("the volume file is incomplete") }
  }

  private static func mask(_ text: String) throws(VolumeFailure) -> UInt64 {
    guard let mask = UInt64(text, radix: 16) else {
      throw VolumeFailure("the volume file has a feature mask '\(text)'")
    }
    return mask
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
    guard readOnlyCompatible & ~VolumeHeader.protectedContentBit == 0 || readOnly else {
      throw VolumeFailure("the volume uses features this version can only read; mount it with -o ro")
    }
    guard namespace == .user || CurrentProcess.isRoot else {
      throw VolumeFailure("the records of this volume belong to root; only root can mount it")
    }
  }
}
