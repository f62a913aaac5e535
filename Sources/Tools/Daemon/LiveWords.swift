// The words of `-o` that can change while a volume is mounted, and what becomes of the others in a remount.

import Arguments
import Decisions
import FUSEDoor
import LayeredVolume
import LinuxFiles
import TextForms

extension LiveSettings {
  /// Takes over what a word says.
  mutating func take(_ word: MountEffect.Live, _ option: MountOption) throws(ArgumentFailure) {
    switch word {
    case .readOnly(let isOn): rules.isReadOnly = isOn
    case .programs(let areAllowed): rules.forbidsExecution = !areAllowed
    case .lists(let count): rules.usesLists = count
    case .owners(let count): rules.ignoresOwnership = !count
    case .ownerFromDirectory(let isOn): rules.handsOverOwnership = isOn
    case .debug(let isOn): debug = isOn
    case .secureLevel: rules.secureLevel = try option.number(in: -1...3)
    case .adminGroup:
      // Without a name: nobody any more.
      let name = option.text ?? ""
      rules.adminGroup = name.isEmpty && option.value != nil ? nil : try option.group(try option.neededText())
    case .chattr: chattr = try option.choice(ChattrDomain.init)
    case .groups: groups = try option.choice(GroupSource.init)
    case .cache: cache = try option.choice(CacheUse.init)
    }
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

  func number(in range: ClosedRange<Int>) throws(ArgumentFailure) -> Int {
    guard let number = Int(try neededText()), range.contains(number) else {
      throw ArgumentFailure("'\(name)' is a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  fileprivate func choice<Choice>(_ make: (String) -> Choice?) throws(ArgumentFailure) -> Choice {
    guard let text, let choice = make(text) else {
      throw ArgumentFailure(MountOptionTable.complaint(aboutChoiceOf: name))
    }
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
  var family: String { MountOptionTable.family(of: name) }
}

/// What a remount asks for.
struct RemountWords {
  private(set) var settings: LiveSettings
  /// The words in force afterwards.
  private(set) var words: [[UInt8]]

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
      switch MountOptionTable.effect(of: option.name) {
      case .live(let word):
        try settings.take(word, option)
        keep(option)
      // The kernel's business alone, changed by the remounting program, not here.
      case .flag: keep(option)
      case .remount, .ignored: break
      case .fixed(let word): try requireInForce(option, RemountWords.isSo(word, option, kernel))
      case nil:
        guard MountOptionTable.fromTable.contains(option.name) || words.contains(option.written) else {
          throw ArgumentFailure(MountOptionTable.complaint(option.shownName))
        }
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

  /// Refuses a word that asks for something else than it is and cannot change.
  private func requireInForce(_ option: MountOption, _ isSo: Bool) throws(ArgumentFailure) {
    guard !isSo, !words.contains(option.written) else { return }
    throw ArgumentFailure(
      "cannot change '\(option.name)' while mounted; unmount and mount again", status: 32)
  }

  /// Whether a word says what is the case without having been said.
  private static func isSo(_ word: MountEffect.Fixed, _ option: MountOption, _ kernel: MountOptions) -> Bool {
    switch word {
    case .others(let areLetIn): kernel.allowsOthers == areLetIn
    case .asynchronous: !kernel.isSynchronous && !kernel.isSynchronousForNames
    case .synchronous: kernel.isSynchronous
    case .synchronousNames: kernel.isSynchronousForNames
    case .sourceName: option.bytes == kernel.source
    // The user who mounts is told; fstab says it again with each remount.
    case .keyfile, .passphraseFile: true
    case .upperDirectory, .lowerDirectories, .twins, .audit, .passthrough, .threads, .clonedDevice,
      .noReservedDirectory, .languages, .view, .foreground, .withoutFeature:
      false
    }
  }

  private mutating func keep(_ option: MountOption) {
    words.removeAll { MountOption($0).family == option.family }
    words.append(option.written)
  }
}
