// Why stored bytes cannot be believed. Nothing is guessed and nothing is repaired on the fly.

/// What is wrong with a stored record or list.
package enum Damage: Error, Hashable, Sendable {
  /// Shorter than what it says it holds.
  case tooShort
  /// Bytes after the last piece the record names.
  case trailingBytes
  case foreignMagic(UInt8)
  /// Written by a later version.
  case unknownVersion(UInt8)
  case checksum(stored: UInt32, computed: UInt32)
  /// Presence bits whose meaning is not known: they may change what every other byte means.
  case unknownPresence(UInt16)
  /// A field holds a value that its rules exclude.
  case badField(Field)
  case tooManyEntries(Int)

  /// A field with rules.
  package enum Field: Hashable, Sendable {
    case protectionClass
    /// Bytes that are zero in this version are not.
    case reserved
    /// "Relative to the upper layer" without a count of links.
    case linkBase
    /// Nanoseconds of a full second or more.
    case nanoseconds
    case identityClass(entry: Int)
    case kind(entry: Int)
    case inheritance(entry: Int)
    /// A special identity that carries a number.
    case strayNumber(entry: Int)
  }
}
