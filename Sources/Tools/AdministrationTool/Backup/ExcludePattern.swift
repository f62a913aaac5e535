// A path as a pattern that matches nothing else, as rsync and GNU tar read them.
//
// One list can serve both: rsync never sees a path that begins with `./`, and tar, where it packs `.`, none that begins with
// a slash.

import LinuxPrograms

/// Patterns of one path.
enum ExcludePattern {
  private static let backslash = UInt8(ascii: "\\")
  private static let newline: UInt8 = 0x0A
  private static let anyCharacter = UInt8(ascii: "?")

  /// From the root of the transfer.
  static func rsync(_ path: [UInt8], endsWithNull: Bool) -> [UInt8] {
    // A line break would end the pattern; any character stands for it.
    let hasBreak = !endsWithNull && path.contains(newline)
    // Without a wildcard rsync takes each backslash for itself.
    guard hasBreak || path.contains(where: isWildcard) else { return [slash] + path }
    return [slash]
      + path.flatMap { byte in
        byte == newline && hasBreak ? [anyCharacter] : quoted(byte)
      }
  }

  /// As `tar -X FILE -C DIR .` matches it.
  static func tar(_ path: [UInt8]) -> [UInt8] {
    var pattern = Array("./".utf8)
    for (index, byte) in path.enumerated() {
      switch byte {
      case newline: pattern.append(anyCharacter)
      // It cuts blanks off the end of a line.
      case let byte where isBlank(byte) && index == path.count - 1:
        pattern += [UInt8(ascii: "["), byte, UInt8(ascii: "]")]
      default: pattern += quoted(byte)
      }
    }
    return pattern
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }

  private static func isWildcard(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "*") || byte == anyCharacter || byte == UInt8(ascii: "[")
  }

  private static func quoted(_ byte: UInt8) -> [UInt8] {
    isWildcard(byte) || byte == backslash ? [backslash, byte] : [byte]
  }
}
