// What the administration tool and a volume say to each other when a directory's list is handed down to many
// files in it: one question for many names, instead of three questions for each.

/// What has become of one name.
package enum HandedDown: UInt8, Sendable {
  /// The list is what it should be.
  case unchanged = 0
  case changed = 1
  /// The file asks to be left alone.
  case blocked = 2
  /// Nothing was done, for a reason that only a question about this name alone tells.
  case aside = 3
}

/// The names of one question, each with a NUL behind it.
///
/// They are set as an attribute of their directory, which the kernel refuses where nothing can be written. The same
/// attribute, read afterwards, is the answer: one ``HandedDown`` a name, in their order.
package struct HandingDown {
  /// What the attribute's name begins with; whoever asks goes on with a word that nobody else uses.
  package static let attribute: StaticString = "system.varve.handdown."
  /// So few that nobody waits long: while an attribute is set, the kernel keeps all others from looking up or making
  /// names in the directory.
  package static let most = 128
  private static let room = most * 256

  package private(set) var bytes: [UInt8] = []
  package private(set) var count = 0

  package init() {}

  /// Adds a name; false if there is no room for it.
  package mutating func add(_ name: [UInt8]) -> Bool {
    guard count < HandingDown.most, name.count < 256 else { return false }
    bytes += name
    bytes.append(0)
    count += 1
    return true
  }

  /// The names in bytes that somebody sent; nil if they are no such question.
  package static func names(in bytes: Span<UInt8>) -> [[UInt8]]? {
    guard (1...room).contains(bytes.count), bytes[bytes.count - 1] == 0 else { return nil }
    var names: [[UInt8]] = []
    var name: [UInt8] = []
    for position in bytes.indices {
      guard bytes[position] == 0 else {
        name.append(bytes[position])
        continue
      }
      guard names.count < most else { return nil }
      names.append(name)
      name = []
    }
    return names
  }

  /// What an answer says of `count` names; nil if it is none.
  package static func outcomes(_ answer: [UInt8], of count: Int) -> [HandedDown]? {
    guard answer.count == count else { return nil }
    var outcomes: [HandedDown] = []
    for byte in answer {
      guard let outcome = HandedDown(rawValue: byte) else { return nil }
      outcomes.append(outcome)
    }
    return outcomes
  }
}
