// The words of `-o`, turned into what the volume and the kernel obey: what a mount begins with.

import Arguments
import Decisions
import DisplayNames
import FUSEDoor
import LayerRules
import LayeredVolume
import LinuxFiles
import TextForms

/// The options of one mount.
struct MountWords {
  var volume = VolumeOptions()
  var kernel: MountOptions
  var upper: [UInt8]
  /// The topmost first.
  var lowers: [[UInt8]] = []
  var isForeground = false
  var audit: AuditLog.Target?
  /// What tables of mounts show as the source; the upper directory, where nothing is said.
  private var shownSource: [UInt8]?

  init(_ options: [MountOption], source: [UInt8]) throws(ArgumentFailure) {
    upper = source
    kernel = MountOptions(source: source)
    kernel.ignoresSetID = true
    kernel.ignoresDevices = true
    kernel.allowsOthers = CurrentProcess.isRoot
    volume.warnings += NamesDirectory.read(into: &volume.names)
    volume.threads = max(2, CurrentProcess.processors)
    // Of words that contradict each other the last one is in force.
    let families = options.map(\.family)
    volume.words = options.indices.filter { !families[($0 + 1)...].contains(families[$0]) }
      .map { options[$0].written }
    for (index, option) in options.enumerated() {
      try option.requireValueWanted()
      switch MountOptionTable.effect(of: option.name) {
      case .live(let word): try volume.live.take(word, option)
      case .flag(let word): try take(word)
      case .fixed(let word): try take(word, option)
      case .ignored: break
      case .remount, nil:
        let before = options[..<index].last { $0.name == "lang" }?.text
        let comma = before.flatMap { list in
          MountOptionTable.complaint(aboutLoneValue: option.name)
            ?? LanguageList.complaint(aboutComma: option.name, after: list)
        }
        throw ArgumentFailure(comma ?? MountOptionTable.complaint(option.shownName))
      }
    }
    let rules = volume.live.rules
    // Every user is shown as the owner there, and the kernel caches the last answer: a set-user-id program
    // would run as the user who looked at it last.
    if rules.ignoresOwnership { kernel.ignoresSetID = true }
    kernel.source = shownSource ?? upper
    kernel.isReadOnly = rules.isReadOnly
    kernel.forbidsExecution = rules.forbidsExecution
  }

  private mutating func take(_ word: MountEffect.Flag) throws(ArgumentFailure) {
    switch word {
    case .setID(let isOn): kernel.ignoresSetID = !isOn
    case .devices(let isOn): kernel.ignoresDevices = !isOn
    case .accessTimes(.never): kernel.keepsAccessTimes = true
    case .accessTimes(.usual): kernel.keepsAccessTimes = false
    case .links(false):
      throw ArgumentFailure("'nosymfollow' has to wait until it is mounted: mount -o remount,nosymfollow")
    // What the kernel does by itself, or mount(8) asks for afterwards.
    case .accessTimes(.relative), .accessTimes(.strict), .directoryAccessTimes, .links(true): break
    }
  }

  private mutating func take(_ word: MountEffect.Fixed, _ option: MountOption) throws(ArgumentFailure) {
    switch word {
    case .asynchronous: (kernel.isSynchronous, kernel.isSynchronousForNames) = (false, false)
    case .synchronous: kernel.isSynchronous = true
    case .synchronousNames: kernel.isSynchronousForNames = true
    case .others(let areLetIn): kernel.allowsOthers = areLetIn
    case .upperDirectory:
      shownSource = shownSource ?? upper
      upper = try option.neededBytes()
    case .lowerDirectories:
      guard let text = option.value else {
        throw ArgumentFailure("'\(option.name)' is A:B, or nothing behind '='")
      }
      do throws(LowerOption.Problem) {
        lowers = try LowerOption(text).paths
      } catch {
        throw ArgumentFailure("'\(option.name)': \(error)")
      }
      volume.saysLowers = true
    case .sourceName: shownSource = try option.neededBytes()
    case .twins: volume.showsTwins = true
    case .noReservedDirectory: volume.showsReservedDirectory = false
    case .clonedDevice: kernel.clonesDevice = true
    case .foreground: isForeground = true
    case .keyfile:
      throw ArgumentFailure("'keyfile' is for 'varve mount', which hands the secret over with '--key-fd'")
    case .passphraseFile: throw ArgumentFailure("'passphrase_file' is for 'varve mount'")
    case .view:
      throw ArgumentFailure(
        "'\(option.name)' is for a view of a volume that is mounted, which 'varve mount -o view=display' shows"
      )
    case .languages:
      let text = try option.neededText()
      guard let list = LanguageList(option: text) else {
        throw ArgumentFailure("'lang' is \(LanguageList.words(insteadOf: text))")
      }
      volume.names.languages = list
    case .withoutFeature(let feature): volume.disabledFeatures.insert(feature)
    case .threads: volume.threads = try option.number(in: 1...64)
    case .audit:
      let target = try option.neededBytes()
      let isJournal = target.elementsEqual("journal".utf8)
      guard isJournal || target.first == UInt8(ascii: "/") else {
        throw ArgumentFailure("'audit' is journal, or a file by its absolute path")
      }
      audit = isJournal ? .journal : .file(target)
    case .passthrough:
      guard option.text == "auto" || option.text == "off" else {
        throw ArgumentFailure(MountOptionTable.complaint(aboutChoiceOf: option.name))
      }
      if option.text == "off" { volume.disabledFeatures.insert("passthrough") }
    }
  }
}
