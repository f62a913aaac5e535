// What conforms to what.

/// The conformance of types: the tree that the rows of the table hang on, and questions about it.
package enum TypeTree {
  /// Abstract types, each with its parents.
  private static let abstract: [(identifier: String, parents: String)] = [
    ("public.item", ""),
    ("public.data", "public.item"),
    ("public.directory", "public.item"),
    ("public.folder", "public.directory"),
    ("public.volume", "public.directory"),
    ("com.apple.package", "public.directory"),
    ("com.apple.bundle", "public.directory"),
    ("public.symlink", "public.item"),
    ("public.content", ""),
    ("public.text", "public.content"),
    ("public.plain-text", "public.text"),
    ("public.source-code", "public.plain-text"),
    ("public.script", "public.source-code"),
    ("public.delimited-values-text", "public.text"),
    ("public.image", "public.content"),
    ("public.camera-raw-image", "public.image"),
    ("public.heif-standard", "public.image"),
    ("public.audiovisual-content", "public.content"),
    ("public.audio", "public.audiovisual-content"),
    ("public.movie", "public.audiovisual-content"),
    ("public.composite-content", "public.content"),
    ("public.presentation", "public.content"),
    ("public.spreadsheet", "public.content"),
    ("public.3d-content", "public.content"),
    ("public.archive", ""),
    ("public.disk-image", "public.archive"),
    ("com.apple.disk-image", "public.disk-image"),
    ("public.executable", ""),
    // Not executable: a bundle is a directory, and a file that only has its extension starts nothing.
    ("com.apple.application", ""),
    ("com.apple.application-file", "com.apple.application,public.executable"),
    ("public.font", ""),
    ("public.database", ""),
    ("public.contact", ""),
    ("public.calendar-event", ""),
    ("public.email-message", ""),
    ("com.apple.internet-location", ""),
  ]

  /// Types that an item can have, rather than groups of types.
  private static let concrete = Set(TypeRow.all.map(\.identifier)).union(["com.apple.application-file"])

  private static let parents: [String: [String]] = {
    var result: [String: [String]] = [:]
    for row in TypeRow.all { result[row.identifier] = row.parents.split(separator: ",").map(String.init) }
    for type in abstract { result[type.identifier] = type.parents.split(separator: ",").map(String.init) }
    return result
  }()

  /// Everything a type conforms to, the nearest first, without itself.
  package static func ancestors(of identifier: String) -> [String] {
    var result = above(identifier)
    // What is in a file is data, whatever else it is.
    if concrete.contains(identifier), !result.contains("public.item") {
      result += ["public.data", "public.item"]
    }
    return result
  }

  package static func does(_ identifier: String, conformTo other: String) -> Bool {
    identifier == other || ancestors(of: identifier).contains(other)
  }

  /// What a directory of this type is called, where it is more than a folder.
  package static func word(forDirectory identifier: String) -> String? {
    let words = [
      ("com.apple.application", "application"), ("com.apple.package", "package"),
      ("com.apple.bundle", "bundle"),
    ]
    return words.first { does(identifier, conformTo: $0.0) }?.1
  }

  private static func above(_ identifier: String) -> [String] {
    var result: [String] = []
    var index = 0
    var current = identifier
    while true {
      for parent in parents[current] ?? [] where !result.contains(parent) { result.append(parent) }
      guard index < result.count else { return result }
      current = result[index]
      index += 1
    }
  }
}
