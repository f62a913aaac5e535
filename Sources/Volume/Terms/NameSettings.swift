// What the administrator says about names: the languages of a volume, and additions to the built-in tables.

package import DisplayNames

/// What names are made of beside the tables that are built in.
package struct NameSettings: Sendable {
  /// A file of settings as it was read at mount.
  package struct Strings: Sendable {
    package let tag: String
    package let bytes: [UInt8]

    package init(tag: String, bytes: [UInt8]) {
      self.tag = tag
      self.bytes = bytes
    }
  }

  /// What the view `default` means.
  package var languages = LanguageList()
  /// Extensions of packages, added and taken away.
  package var packages: [UInt8]?
  /// Entries of standard directories, by language.
  package var strings: [Strings] = []

  package init() {}
}
