// What stands in a directory that makes its name: translations, the marker of a standard directory, the list of a bundle.

import Decisions
import DisplayNames
import ItemKinds
import LinuxFiles
import PropertyLists

/// How much may still be read for the names of one directory.
struct ReadingAllowance {
  /// Localised directories and bundles.
  var items = 1_024
  var bytes = 16 << 20
}

extension ViewRules {
  /// Whether a directory of this name has anything in it that its name may come from.
  func mayTranslate(_ name: [UInt8], hasBundleBit: Bool) -> Bool {
    guard name.first != UInt8(ascii: ".") else { return false }
    return KindTables.isLocalized(name.span) || isStandard(name)
      || names.kinds.isPackage(name.span, isRoot: false, hasBundleBit: hasBundleBit)
  }
}

/// Looks into one directory for what makes its name.
struct InsideDirectory {
  private static let localized = Array(".localized".utf8)
  private static let information = Array("Info.plist".utf8)
  private static let contents = Array("Contents".utf8)
  private static let resources = Array("Resources".utf8)

  let name: [UInt8]
  private let volume: Volume
  private let directory: DirectoryParts
  let eyes: OwnersEyes
  let rules: ViewRules
  /// Whether the owner may search the directory itself.
  let isOpen: Bool

  /// `item`: the directory's own.
  init(_ volume: Volume, _ name: [UInt8], _ directory: DirectoryParts, _ item: Item, _ rules: ViewRules) {
    self.volume = volume
    self.name = name
    self.directory = directory
    self.rules = rules
    eyes = OwnersEyes(volume, ownerOf: item)
    isOpen = eyes.maySearch(item)
  }

  func finding(hasBundleBit: Bool, _ allowance: inout ReadingAllowance) -> DirectoryFinding {
    if KindTables.isLocalized(name.span) {
      guard kind(of: InsideDirectory.localized, in: directory) == .directory else { return .nothing }
      return .localizations(localization(&allowance))
    }
    if hasMarker { return .marker }
    guard rules.names.kinds.isPackage(name.span, isRoot: false, hasBundleBit: hasBundleBit) else {
      return .nothing
    }
    return bundle(&allowance)
  }

  /// A regular file `.localized`, in a directory that has the name of a standard one.
  var hasMarker: Bool {
    rules.isStandard(name) && kind(of: InsideDirectory.localized, in: directory) == .regular
  }

  private func kind(of name: [UInt8], in directory: DirectoryParts) -> LinuxFiles.FileKind? {
    // What cannot be looked at is not there.
    (try? FileName.with(name) { (name) throws(Errno) in
      try volume.resolver.find(name, in: directory.all[...])?.status.kind
    }) ?? nil
  }

  private func localization(_ allowance: inout ReadingAllowance) -> DisplayValue? {
    guard isOpen, !rules.names.tried.isEmpty, allowance.items > 0 else { return nil }
    allowance.items -= 1
    guard let inside = eyes.directory(InsideDirectory.localized, in: directory) else { return nil }
    for tag in rules.names.tried {
      guard let table = strings(Array((tag + ".strings").utf8), in: inside, .strings, &allowance) else {
        continue
      }
      if let value = rules.names.localizedValue(in: table, forDirectory: name) { return value }
    }
    return nil
  }

  // MARK: Bundles

  private func bundle(_ allowance: inout ReadingAllowance) -> DirectoryFinding {
    guard isOpen, allowance.items > 0 else { return .nothing }
    allowance.items -= 1
    for (place, resources) in informationPlaces {
      guard let table = strings(InsideDirectory.information, in: place, .bundleInformation, &allowance)
      else { continue }
      guard rules.names.isNamed(name, by: table) else { return .nothing }
      return .bundle(translation(of: table, in: resources, &allowance))
    }
    return .nothing
  }

  /// Where `Info.plist` may be, the first place first, and where the translations are then.
  private var informationPlaces: [(DirectoryParts, resources: DirectoryParts?)] {
    var places: [(DirectoryParts, resources: DirectoryParts?)] = []
    if let contents = eyes.directory(InsideDirectory.contents, in: directory) {
      places.append((contents, eyes.directory(InsideDirectory.resources, in: contents)))
    }
    if kind(of: Array("Versions".utf8), in: directory) == .directory,
      let resources = eyes.directory(InsideDirectory.resources, in: directory)
    {
      places.append((resources, resources))
    }
    places.append((directory, directory))
    return places
  }

  private func translation(
    of information: StringTable, in resources: DirectoryParts?, _ allowance: inout ReadingAllowance
  ) -> DisplayValue? {
    guard let resources else { return nil }
    let file = Array("InfoPlist.strings".utf8)
    for tag in rules.names.tried(in: information) {
      guard let folder = eyes.directory(Array((tag + ".lproj").utf8), in: resources),
        let table = strings(file, in: folder, .strings, &allowance)
      else { continue }
      if let value = rules.names.bundleValue(in: table) { return value }
    }
    return nil
  }

  /// Whether there is an `Info.plist` where bundles have it, as a user finds it who may search these directories.
  func hasInformation(_ maySearch: (Item) -> Bool) -> Bool {
    let hasVersions = kind(of: Array("Versions".utf8), in: directory) == .directory
    let places = [
      descend(InsideDirectory.contents, maySearch),
      hasVersions ? descend(InsideDirectory.resources, maySearch) : nil,
      directory,
    ]
    return places.contains { place in
      place.map { kind(of: InsideDirectory.information, in: $0) == .regular } ?? false
    }
  }

  private func descend(_ name: [UInt8], _ maySearch: (Item) -> Bool) -> DirectoryParts? {
    guard let found = volume.held(name, in: directory), maySearch(found.facts.item) else { return nil }
    return found.parts
  }

  var hasIconFile: Bool { kind(of: Array("Icon\r".utf8), in: directory) == .regular }

  // MARK: Files

  private func strings(
    _ file: [UInt8], in directory: DirectoryParts, _ limits: PropertyListLimits,
    _ allowance: inout ReadingAllowance
  ) -> StringTable? {
    guard let bytes = eyes.bytes(of: file, in: directory, upTo: min(limits.size, allowance.bytes)) else {
      return nil
    }
    allowance.bytes -= bytes.count
    return try? PropertyList.strings(in: bytes, within: limits)
  }
}
