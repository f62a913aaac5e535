// What follows from the name of an item, for programs to read as attributes of it. Nothing of it is stored.

import DisplayNames
import LinuxFiles

/// An attribute `user.varve.WORD` or `system.varve.WORD` that is worked out when it is read.
///
/// Linux keeps the first from links and special files, so the second answers on everything.
enum NameFact {
  /// The item's own name as people see it, in these languages or in those of the volume.
  case displayName(ViewName)
  case realName
  /// The uniform type identifier.
  case type
  case mime
  case icon
  /// Why a view leaves the item out, a letter for each reason.
  case hidden
  case package

  init?(_ name: borrowing AttributeName) {
    let prefix = name.hasPrefix("user.varve.") ? 11 : name.hasPrefix("system.varve.") ? 13 : 0
    guard prefix > 0, let word = String(validating: name.copy(droppingFirst: prefix), as: UTF8.self) else {
      return nil
    }
    switch word {
    case "displayname": self = .displayName(ViewName())
    case "realname": self = .realName
    case "uti": self = .type
    case "mime": self = .mime
    case "icon": self = .icon
    case "hidden": self = .hidden
    case "package": self = .package
    default:
      let start = "displayname."
      guard word.hasPrefix(start),
        let languages = LanguageList(String(word.dropFirst(start.count)), separator: "+")
      else { return nil }
      self = .displayName(ViewName(languages: languages))
    }
  }

  /// Whether it is about a name; the root of a volume has none.
  var needsName: Bool {
    switch self {
    case .displayName, .realName, .hidden: true
    case .type, .mime, .icon, .package: false
    }
  }
}
