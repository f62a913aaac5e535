// The words of `-o`, turned into what the volume and the kernel obey.

import Decisions
import FUSEDoor
import LayeredVolume
import LinuxFiles
import TextForms
import Verbs

/// The options of one mount.
struct MountWords {
  var volume = VolumeOptions()
  var kernel: MountOptions
  var upper: [UInt8]
  var isForeground = false
  var audit: AuditLog.Target?

  /// Words of mount(8) that say nothing to a daemon.
  static let silent: Set<String> = [
    "defaults", "auto", "noauto", "user", "nouser", "users", "owner", "group", "nofail",
    "_netdev", "comment", "relatime", "norelatime", "strictatime", "nostrictatime", "lazytime",
    "nolazytime", "diratime", "nodiratime", "silent", "loud", "iversion", "noiversion", "mand", "nomand",
    "workdir",
  ]

  init(_ options: [MountOption], source: [UInt8]) throws(ArgumentFailure) {
    upper = source
    kernel = MountOptions(source: source)
    kernel.ignoresSetID = true
    kernel.ignoresDevices = true
    kernel.allowsOthers = CurrentProcess.isRoot
    volume.threads = max(2, CurrentProcess.processors)
    // Of words that contradict each other the last one is in force.
    let families = options.map(\.family)
    volume.words = options.indices.filter { !families[($0 + 1)...].contains(families[$0]) }
      .map { options[$0].written }
    var live = LiveSettings()
    var name: [UInt8]?
    for option in options {
      try option.requireValueWanted()
      if option.name == "upperdir" {
        upper = try option.neededBytes()
        name = name ?? source
      } else if option.name == "fsname" {
        name = try option.neededBytes()
      } else if try !live.take(option) {
        try apply(option)
      }
    }
    (volume.rules, volume.cache, volume.groups) = (live.rules, live.cache, live.groups)
    (volume.chattr, volume.debug) = (live.chattr, live.debug)
    // Everybody sees himself as the owner there, and the kernel keeps what the last one saw: a set-user-id program
    // would run as whoever looked at it last.
    if volume.rules.ignoresOwnership { kernel.ignoresSetID = true }
    kernel.source = name ?? upper
    kernel.isReadOnly = volume.rules.isReadOnly
    kernel.forbidsExecution = volume.rules.forbidsExecution
  }

  private mutating func apply(_ option: MountOption) throws(ArgumentFailure) {
    switch option.name {
    case "suid": kernel.ignoresSetID = false
    case "nosuid": kernel.ignoresSetID = true
    case "dev": kernel.ignoresDevices = false
    case "nodev": kernel.ignoresDevices = true
    case "noatime": kernel.keepsAccessTimes = true
    case "atime": kernel.keepsAccessTimes = false
    case "async": (kernel.isSynchronous, kernel.isSynchronousForNames) = (false, false)
    case "sync": kernel.isSynchronous = true
    case "dirsync": kernel.isSynchronousForNames = true
    case "symfollow": break
    case "nosymfollow":
      throw ArgumentFailure("'nosymfollow' has to wait until it is mounted: mount -o remount,nosymfollow")
    case "allow_other": kernel.allowsOthers = true
    case "noallow_other": kernel.allowsOthers = false
    case "foreground": isForeground = true
    case "twins": volume.showsTwins = true
    case "nomagic": volume.showsReservedDirectory = false
    case "clone_fd": kernel.clonesDevice = true
    case "threads":
      guard let count = Int(try option.neededText()), (1...64).contains(count) else {
        throw ArgumentFailure("'threads' is a number from 1 to 64")
      }
      volume.threads = count
    case "audit":
      let target = try option.neededBytes()
      let isJournal = target.elementsEqual("journal".utf8)
      guard isJournal || target.first == UInt8(ascii: "/") else {
        throw ArgumentFailure("'audit' is journal, or a file by its absolute path")
      }
      audit = isJournal ? .journal : .file(target)
    case "passthrough":
      guard option.text == "auto" || option.text == "off" else {
        throw ArgumentFailure("'passthrough' is auto or off")
      }
      if option.text == "off" { volume.disabledFeatures.insert("passthrough") }
    default: try applyOther(option)
    }
  }

  private mutating func applyOther(_ option: MountOption) throws(ArgumentFailure) {
    if let feature = MountOptionTable.switchedOff(by: option.name) {
      volume.disabledFeatures.insert(feature)
    } else if MountOptionTable.isPlanned(option.name) {
      throw ArgumentFailure("this version cannot mount with '\(option.name)'")
    } else if !MountWords.silent.contains(option.name), !option.name.hasPrefix("x-"),
      !option.name.hasPrefix("X-")
    {
      throw ArgumentFailure(MountOptionTable.complaint(option.shownName))
    }
  }
}
