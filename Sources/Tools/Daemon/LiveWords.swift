// The words of `-o` that can change while a volume is mounted, and what becomes of the others in a remount.

import Decisions
import FUSEDoor
import LayeredVolume
import LinuxFiles
import TextForms
import Verbs

extension LiveSettings {
  /// Takes over what a word says; false if it is none of those that can change.
  mutating func take(_ option: MountOption) throws(ArgumentFailure) -> Bool {
    switch option.name {
    case "ro": rules.isReadOnly = true
    case "rw": rules.isReadOnly = false
    case "exec": rules.forbidsExecution = false
    case "noexec": rules.forbidsExecution = true
    case "acl": rules.usesLists = true
    case "noacl": rules.usesLists = false
    case "noowners": rules.ignoresOwnership = true
    case "owners": rules.ignoresOwnership = false
    case "suiddir": rules.handsOverOwnership = true
    case "nosuiddir": rules.handsOverOwnership = false
    case "debug": debug = true
    case "nodebug": debug = false
    default: return try takeValue(option)
    }
    return true
  }

  private mutating func takeValue(_ option: MountOption) throws(ArgumentFailure) -> Bool {
    switch option.name {
    case "securelevel":
      guard let level = Int(try option.neededText()), (-1...3).contains(level) else {
        throw ArgumentFailure("'securelevel' is a number from -1 to 3")
      }
      rules.secureLevel = level
    case "admin_group":
      // Without a name: nobody any more.
      let name = option.text ?? ""
      rules.adminGroup = name.isEmpty && option.value != nil ? nil : try option.group(try option.neededText())
    case "chattr": chattr = try option.choice("system or user", ChattrDomain.init)
    case "groups": groups = try option.choice("process or nss", GroupSource.init)
    case "cache": cache = try option.choice("shared, exclusive or none", CacheUse.init)
    default: return false
    }
    return true
  }
}

extension MountOption {
  /// The value without the backslashes that protect something.
  var text: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

  /// The same, for what need not be text.
  var bytes: [UInt8]? { value.map { MountOption.unescaped($0) } }

  func requireValueWanted() throws(ArgumentFailure) {
    guard value != nil, let complaint = MountOptionTable.complaint(aboutValueOf: name) else { return }
    throw ArgumentFailure(complaint)
  }

  func neededText() throws(ArgumentFailure) -> String {
    guard let text, !text.isEmpty else { throw ArgumentFailure("'\(name)' needs a value") }
    return text
  }

  func neededBytes() throws(ArgumentFailure) -> [UInt8] {
    guard let bytes, !bytes.isEmpty else { throw ArgumentFailure("'\(name)' needs a value") }
    return bytes
  }

  fileprivate func choice<Choice>(
    _ words: String, _ make: (String) -> Choice?
  ) throws(ArgumentFailure) -> Choice {
    guard let text, let choice = make(text) else { throw ArgumentFailure("'\(name)' is \(words)") }
    return choice
  }

  fileprivate func group(_ name: String) throws(ArgumentFailure) -> UInt32 {
    if let number = UInt32(name) { return number }
    guard let group = UserDatabase.group(named: name) else {
      throw ArgumentFailure("'admin_group': there is no group '\(name)'")
    }
    return group
  }

  /// The words of which the last one counts have this in common.
  var family: String {
    switch name {
    case "ro", "rw": "rw"
    case _ where name.hasSuffix("atime"): name.hasSuffix("diratime") ? "diratime" : "atime"
    case _ where name.hasPrefix("no") && value == nil: String(name.dropFirst(2))
    default: name
    }
  }
}

/// What a remount asks for.
struct RemountWords {
  private(set) var settings: LiveSettings
  /// The words in force afterwards.
  private(set) var words: [[UInt8]]

  /// Words that are the kernel's business alone, changed by whoever remounts, not here.
  private static let kernels: Set<String> = [
    "nosuid", "suid", "nodev", "dev", "atime", "noatime", "diratime", "nodiratime", "relatime", "norelatime",
    "strictatime", "nostrictatime", "symfollow", "nosymfollow",
  ]

  /// Reads the words against what is in force; a word that asks for something else than it is and cannot change
  /// is refused by name.
  init(
    _ options: [MountOption], over present: LiveSettings, words: [[UInt8]], kernel: MountOptions,
    ignoredOwnership: Bool
  ) throws(ArgumentFailure) {
    settings = present
    self.words = words
    for option in options {
      try option.requireValueWanted()
      if try settings.take(option) {
        keep(option)
      } else if RemountWords.kernels.contains(option.name) {
        keep(option)
      } else if !RemountWords.isSilent(option), !words.contains(option.written), !isSo(option, kernel) {
        guard MountOptionTable.isKnown(option.name) else {
          throw ArgumentFailure(MountOptionTable.complaint(option.shownName))
        }
        throw ArgumentFailure(
          "cannot change '\(option.name)' while mounted; unmount and mount again", status: 32)
      }
    }
    guard settings.rules.secureLevel >= present.rules.secureLevel else {
      throw ArgumentFailure(
        "cannot lower 'securelevel' while mounted: it is \(present.rules.secureLevel) and may only rise",
        status: 32)
    }
    // The kernel remembers owners as the last one saw them, and would run programs in their names.
    let hasStrangeOwners = ignoredOwnership || settings.rules.ignoresOwnership
    if hasStrangeOwners, options.last(where: { $0.family == "suid" })?.name == "suid" {
      throw ArgumentFailure(
        "cannot change 'suid' while mounted: the volume is or was mounted with 'noowners'", status: 32)
    }
  }

  private static func isSilent(_ option: MountOption) -> Bool {
    option.name == "remount" || MountOptionTable.fromTable.contains(option.name)
      || MountWords.silent.contains(option.name)
      || option.name.hasPrefix("x-") || option.name.hasPrefix("X-")
  }

  /// Whether a word says what is the case without having been said.
  private func isSo(_ option: MountOption, _ kernel: MountOptions) -> Bool {
    switch option.name {
    case "allow_other": kernel.allowsOthers
    case "noallow_other": !kernel.allowsOthers
    case "async": !kernel.isSynchronous && !kernel.isSynchronousForNames
    case "sync": kernel.isSynchronous
    case "dirsync": kernel.isSynchronousForNames
    case "fsname": option.bytes == kernel.source
    default: false
    }
  }

  private mutating func keep(_ option: MountOption) {
    words.removeAll { MountOption($0).family == option.family }
    words.append(option.written)
  }
}
