// The order in which a view lists names.

import UnicodeText

/// Compares shown names: by the collator of the view's first language, and bytes that it holds for equal as such.
struct ShownOrder: ~Copyable {
  private let collator: Collator?

  init(_ rules: ViewRules) { collator = rules.clonedCollator() }

  func key(of name: ArraySlice<UInt8>) -> [UInt8] {
    var key: [UInt8] = []
    let copy = Array(name)
    // Without a collator all keys are equal, and bytes decide.
    collator?.appendKey(of: copy.span, to: &key)
    return key
  }

  /// Whether `name` comes behind `other`, whose key this is.
  func isBehind(_ name: ArraySlice<UInt8>, _ other: [UInt8], _ otherKey: [UInt8]) -> Bool {
    let key = key(of: name)
    if key != otherKey { return otherKey.lexicographicallyPrecedes(key) }
    return other.lexicographicallyPrecedes(name)
  }

  /// The positions of names in their order.
  static func positions(_ names: [ArraySlice<UInt8>], _ rules: ViewRules) -> [UInt32] {
    guard names.count >= SideBySide.fewestItems else {
      return sorted(names[...], rules)?.positions ?? positionsByBytes(names)
    }
    let middle = names.count / 2
    let (others, own) = SideBySide.run {
      sorted(names[middle...], rules)
    } and: {
      sorted(names[..<middle], rules)
    }
    guard let own, let others else { return positionsByBytes(names) }
    return own.positions(mergedWith: others)
  }

  private static func positionsByBytes(_ names: [ArraySlice<UInt8>]) -> [UInt32] {
    names.indices.sorted { names[$0].lexicographicallyPrecedes(names[$1]) }.map { UInt32($0) }
  }

  /// Nil without a collator.
  private static func sorted(_ names: ArraySlice<ArraySlice<UInt8>>, _ rules: ViewRules) -> SortedTexts? {
    guard let collator = rules.clonedCollator() else { return nil }
    var sorted = SortedNames(collator)
    sorted.reserve(names.count)
    for name in names { sorted.add(name.span) }
    return sorted.sorted()
  }
}
