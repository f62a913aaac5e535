// The rules by which a view makes its names, and what they take: tables, ICU, and a digest.
//
// Made when a view is first used: a volume whose views nobody uses pays neither memory nor time for them.

import Ciphers
import DisplayNames
import ItemKinds
import PropertyLists
import Synchronization
import UnicodeText

/// The rules of one view.
final class ViewRules: Sendable {
  let name: ViewName
  let names: NameRules
  /// The order of its first language, once names were sorted.
  private let collator: Mutex<SharedCollator?> = Mutex(nil)

  fileprivate init(_ name: ViewName, _ names: NameRules) {
    self.name = name
    self.names = names
  }

  /// A collator for one use; nil where there is no ICU, and then names are in the order of their bytes.
  ///
  /// The first call reads from the disk: under no lock of the volume.
  func clonedCollator() -> Collator? {
    let shared = collator.withLock { collator in
      collator = collator ?? SharedCollator(language: names.languages.languages.first?.description ?? "")
      return collator
    }
    return shared?.collator.clone()
  }

  /// Whether these are standard directories in some language.
  func isStandard(_ name: [UInt8]) -> Bool {
    if names.standard.has(name) { return true }
    guard name.contains(where: { $0 >= 0x80 }) else { return false }
    var normal: [UInt8] = []
    Normalisation.appendNFC(of: name.span, to: &normal)
    return names.standard.has(normal)
  }
}

private final class SharedCollator: Sendable {
  let collator: Collator

  init?(language tag: String) {
    guard let collator = Collator(language: tag) else { return nil }
    self.collator = collator
  }
}

/// Makes the rules of views, and keeps those that are in use.
final class ViewRulesTable: Sendable {
  /// Whether names can be made at all.
  var areReady: Bool { ViewRulesTable.hasLibrary }

  private static let hasLibrary = {
    if !UnicodeLibrary.isPresent {
      Log.error("there are no views: the version of ICU that this daemon was made with is missing")
    }
    return UnicodeLibrary.isPresent
  }()

  private struct Tables {
    let standard: StandardNames
    var rules: [ViewName: ViewRules] = [:]
  }

  /// Each may hold the order of a language in memory.
  private static let most = 64
  private let settings: NameSettings
  private let kindTables: Mutex<KindTables?> = Mutex(nil)
  private let tables: Mutex<Tables?> = Mutex(nil)

  init(_ settings: NameSettings) { self.settings = settings }

  /// The built-in tables with the administrator's additions; they need no ICU, so any lock may be held.
  var kinds: KindTables {
    kindTables.withLock { kinds in
      let made = kinds ?? ViewRulesTable.kinds(settings)
      kinds = made
      return made
    }
  }

  /// Under no lock of the volume: the first call may load ICU.
  func rules(of view: ViewName) -> ViewRules {
    let kinds = self.kinds
    return tables.withLock { tables in
      var made = tables ?? ViewRulesTable.tables(settings, kinds)
      defer { tables = made }
      if let rules = made.rules[view] { return rules }
      if made.rules.count >= ViewRulesTable.most { made.rules.removeAll() }
      let names = NameRules(
        languages: view.languages ?? settings.languages, extensions: view.extensions, kinds: kinds,
        standard: made.standard, tools: ViewRulesTable.tools)
      let rules = ViewRules(view, names)
      made.rules[view] = rules
      return rules
    }
  }

  private static let tools = NameTools(
    normalise: { text, result in Normalisation.appendNFC(of: text, to: &result) },
    // Without libcrypto a name that needs a tag is shown as it is.
    digest: { bytes in try? SHA256.hash(bytes) })

  /// What of the file cannot be used was told at the mount.
  private static func kinds(_ settings: NameSettings) -> KindTables {
    var packages = PackageExtensions()
    if let file = settings.packages { _ = try? packages.apply(file) }
    return KindTables(packages: packages)
  }

  private static func tables(_ settings: NameSettings, _ kinds: KindTables) -> Tables {
    var rules = NameRules(languages: LanguageList(), kinds: kinds, tools: tools)
    for file in settings.strings {
      guard let table = try? PropertyList.strings(in: file.bytes) else { continue }
      rules.addStandardNames(table, tag: file.tag)
    }
    return Tables(standard: rules.standard)
  }
}
