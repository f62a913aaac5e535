// Strings files and property lists: which of the three forms it is, and what they may be at most.
//
// Anybody writes these files, and they are read for everybody. So the readers are bounded: they take time in
// proportion to the size, none calls itself, and an error anywhere means that the file says nothing.
//
// For views: translations and bundles bring these files along, in all three forms, and a reader of the system's would have to
// be a library (SEMANTICS 19).

/// Why a file says nothing.
package enum ParseFailure: Error, Equatable, Sendable {
  case tooLarge
  case tooManyPairs
  case tooDeep
  /// Not UTF-8 or UTF-16 throughout, or not what the file says it is.
  case wrongEncoding
  case malformed
}

/// What is taken of a file.
package struct PropertyListLimits: Sendable {
  /// In bytes of the file.
  package let size: Int
  package let pairs: Int
  /// The keys that count, or none for all.
  let keys: [[UInt8]]

  /// A strings file, in any form.
  package static let strings = PropertyListLimits(size: 64 << 10, pairs: 1024, keys: [])

  /// `Info.plist` of a bundle; the four keys that have to do with its name.
  package static let bundleInformation = PropertyListLimits(
    // As many pairs as fit, because only these keys are kept, however often they stand there.
    size: 256 << 10, pairs: .max,
    keys: [
      Array("CFBundleDisplayName".utf8), Array("CFBundleName".utf8), Array("CFBundleExecutable".utf8),
      Array("CFBundleDevelopmentRegion".utf8),
    ])

  /// Lists and dictionaries inside each other, the outermost counted.
  static let depth = 64
}

/// The strings at the top level of a strings file or property list, whichever form it has.
package enum PropertyList {
  package static func strings(
    in bytes: [UInt8], within limits: PropertyListLimits = .strings
  ) throws(ParseFailure) -> StringTable {
    guard bytes.count <= limits.size else { throw .tooLarge }
    if bytes.starts(with: BinaryReader.magic) {
      return try BinaryReader.read(bytes, within: limits)
    }
    let text = try DecodedText(bytes)
    if text.firstVisible == UInt8(ascii: "<") {
      return try XMLReader.read(text, within: limits)
    }
    return try OldStyleReader.read(text, within: limits)
  }
}
