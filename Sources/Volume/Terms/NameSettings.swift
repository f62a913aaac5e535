// What the administrator says about names: the languages of a volume, and additions to the built-in tables.

package import DisplayNames
import ItemKinds
import PropertyLists

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

  /// A sentence for each file or line that does not count, and for each file that no view would look into; `directory`
  /// is where they are.
  package func warnings(about directory: String) -> [String] {
    var warnings: [String] = []
    if let packages {
      var known = PackageExtensions()
      do throws(PackageExtensions.TooLong) {
        warnings = try known.apply(packages).map {
          "\(directory)/packages, line \($0) is left out: it is not +EXTENSION or -EXTENSION"
        }
      } catch {
        warnings = ["\(directory)/packages is left out: it has more than 1,024 lines, or 64 KiB"]
      }
    }
    for file in strings {
      let name = "\(directory)/\(file.tag).strings"
      if (try? PropertyList.strings(in: file.bytes)) == nil {
        warnings.append("\(name) is left out: it is not a strings file")
      } else if Language.tried(forRegion: file.tag).isEmpty {
        warnings.append("\(name) is left out: it is not named after a language, such as fr or pt-BR")
      }
    }
    return warnings
  }
}
