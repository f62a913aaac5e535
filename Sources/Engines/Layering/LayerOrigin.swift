// What the door `system.varve.layer` says: from which layers an item is shown.

/// Where an item of a volume comes from, in words and back.
package struct LayerOrigin: Hashable, Sendable {
  package enum Source: Hashable, Sendable {
    /// It was made in the upper.
    case upper
    case lower(Int)
    /// It was brought up from a lower.
    case copied
    /// A directory that these layers have, the topmost first; 0 is the upper.
    case merged([Int])
  }

  package var source: Source
  /// Nothing of the layers below shows in it.
  package var isOpaque: Bool
  /// Under which path the layers below are asked for it.
  package var redirect: [UInt8]?

  package init(_ source: Source, isOpaque: Bool = false, redirect: [UInt8]? = nil) {
    self.source = source
    self.isOpaque = isOpaque
    self.redirect = redirect
  }

  /// `upper`, `lower 2`, `copied` or `merged 0,2`; then `opaque`, and `redirect` with a path that may hold anything.
  package var text: [UInt8] {
    var words: String
    switch source {
    case .upper: words = "upper"
    case .lower(let layer): words = "lower \(layer)"
    case .copied: words = "copied"
    case .merged(let layers): words = "merged " + layers.map { "\($0)" }.joined(separator: ",")
    }
    if isOpaque { words += " opaque" }
    guard let redirect else { return Array(words.utf8) }
    return Array("\(words) redirect ".utf8) + redirect
  }

  /// Nil for anything that ``text`` does not say.
  package init?(_ text: [UInt8]) {
    let blank = UInt8(ascii: " ")
    var rest = text[...]
    func next() -> String? {
      guard let end = rest.firstIndex(of: blank) else {
        defer { rest = [] }
        return rest.isEmpty ? nil : String(decoding: rest, as: UTF8.self)
      }
      defer { rest = rest[(end + 1)...] }
      return String(decoding: rest[..<end], as: UTF8.self)
    }
    switch next() {
    case "upper": source = .upper
    case "copied": source = .copied
    case "lower":
      guard let layer = next().flatMap({ Int($0) }), layer > 0 else { return nil }
      source = .lower(layer)
    case "merged":
      let layers = next()?.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) } ?? []
      guard layers.count > 1, layers.allSatisfy({ $0 ?? -1 >= 0 }) else { return nil }
      source = .merged(layers.compactMap { $0 })
    default: return nil
    }
    isOpaque = false
    var word = next()
    if word == "opaque" {
      isOpaque = true
      word = next()
    }
    guard let word else { return }
    guard word == "redirect", !rest.isEmpty else { return nil }
    redirect = Array(rest)
  }
}
