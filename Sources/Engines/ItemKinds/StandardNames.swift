// Standard directories in all languages: what is built in, and what an administrator added.

package struct StandardNames: Sendable {
  private var entries: [String: [[UInt8]: [UInt8]]] = [:]
  private var names: Set<[UInt8]> = []

  package init() {
    for (tag, texts) in StandardNames.languages {
      for (key, text) in zip(StandardNames.keys, texts) where text != "—" {
        add(Array(text.utf8), for: Array(key.utf8), in: tag)
        // Linux calls it so.
        if key == "Movies" { add(Array(text.utf8), for: Array("Videos".utf8), in: tag) }
      }
    }
  }

  /// Adds or replaces an entry; both texts are normalised.
  package mutating func add(_ text: [UInt8], for name: [UInt8], in tag: String) {
    entries[tag, default: [:]][name] = text
    names.insert(name)
  }

  /// Whether a directory of this name can be a standard directory.
  package func has(_ name: [UInt8]) -> Bool { names.contains(name) }

  /// The entry of the first of these tags that has one.
  package func text(for name: [UInt8], tags: [String]) -> [UInt8]? {
    for tag in tags {
      if let text = entries[tag]?[name] { return text }
    }
    return nil
  }

  /// All entries that are built in, for tests: tag, name, text.
  package static var builtIn: [(tag: String, name: String, text: String)] {
    languages.flatMap { tag, texts in zip(keys, texts).map { (tag, $0, $1) } }
  }
}
