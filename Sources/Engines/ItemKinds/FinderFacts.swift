// `com.apple.FinderInfo` as far as kinds and names depend on it.

/// Type code, creator code and flags out of 32 bytes, all big-endian.
package struct FinderFacts: Equatable, Sendable {
  package struct Flags: OptionSet, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let extensionHidden = Flags(rawValue: 0x0010)
    package static let customIcon = Flags(rawValue: 0x0400)
    package static let bundle = Flags(rawValue: 0x2000)
    package static let invisible = Flags(rawValue: 0x4000)
    package static let alias = Flags(rawValue: 0x8000)
  }

  /// Four characters, or nil where they say nothing; directories have none.
  package var type: UInt32?
  package var creator: UInt32?
  package var flags: Flags = []

  package init() {}

  /// In bytes.
  package static let size = 32

  /// Reads the bytes; nil if there are more or fewer.
  package init?(_ bytes: [UInt8], isDirectory: Bool) {
    guard bytes.count == FinderFacts.size else { return nil }
    flags = Flags(rawValue: UInt16(bytes[8]) << 8 | UInt16(bytes[9]))
    guard !isDirectory else { return }
    type = FinderFacts.code(bytes[0..<4])
    creator = FinderFacts.code(bytes[4..<8])
  }

  /// Zeros and `????` stand for no code.
  private static func code(_ bytes: ArraySlice<UInt8>) -> UInt32? {
    let code = bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    return code == 0 || code == 0x3F3F_3F3F ? nil : code
  }

  /// The identifier that a type code means.
  static func identifier(of type: UInt32) -> String? {
    identifiers.first { $0.code.utf8.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } == type }?.identifier
  }

  private static let identifiers: [(code: String, identifier: String)] = [
    ("TEXT", "public.plain-text"),
    ("PDF ", "com.adobe.pdf"),
    ("JPEG", "public.jpeg"),
    ("GIFf", "com.compuserve.gif"),
    ("PNGf", "public.png"),
    ("TIFF", "public.tiff"),
    ("MooV", "com.apple.quicktime-movie"),
    ("MPG3", "public.mp3"),
    ("AIFF", "public.aiff-audio"),
    ("WAVE", "com.microsoft.waveform-audio"),
    ("ZIP ", "public.zip-archive"),
    ("APPL", "com.apple.application-file"),
    ("alis", "com.apple.alias-file"),
    ("slnk", "public.symlink"),
    ("hlnk", "public.symlink"),
  ]
}
