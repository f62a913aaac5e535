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
  var upper: String
  var isForeground = false

  /// Words of mount(8) that say nothing to a daemon.
  private static let silent: Set<String> = [
    "defaults", "auto", "noauto", "user", "nouser", "users", "owner", "group", "nofail",
    "_netdev", "comment", "atime", "relatime", "norelatime", "strictatime", "nostrictatime", "lazytime",
    "nolazytime", "diratime", "nodiratime", "silent", "loud", "iversion", "noiversion", "mand", "nomand",
    "acl", "workdir",
  ]

  /// Options of the mount contract that this version cannot honour.
  ///
  /// Ignoring one could expose data or lose it, so each is an error.
  private static let planned: Set<String> = [
    "lower", "lowerdir", "view", "lang", "keyfile", "interop", "audit",
  ]

  init(_ options: [MountOption], source: String) throws(ArgumentFailure) {
    upper = source
    kernel = MountOptions(source: source)
    kernel.ignoresSetID = true
    kernel.ignoresDevices = true
    kernel.allowsOthers = CurrentProcess.isRoot
    volume.threads = max(2, CurrentProcess.processors)
    volume.words = options.map { String(decoding: $0.written, as: UTF8.self) }
    var name: String?
    for option in options {
      let value = option.value.map { String(decoding: MountOption.unescaped($0), as: UTF8.self) }
      if option.name == "upperdir" {
        upper = try MountWords.needed(value, option)
        name = name ?? source
      } else if option.name == "fsname" {
        name = try MountWords.needed(value, option)
      } else {
        try apply(option, value)
      }
    }
    // Everybody sees himself as the owner there, and the kernel keeps what the last one saw: a set-user-id program
    // would run as whoever looked at it last.
    if volume.rules.ignoresOwnership { kernel.ignoresSetID = true }
    kernel.source = name ?? upper
    kernel.isReadOnly = volume.rules.isReadOnly
    kernel.forbidsExecution = volume.rules.forbidsExecution
  }

  private mutating func apply(_ option: MountOption, _ value: String?) throws(ArgumentFailure) {
    switch option.name {
    case "ro": volume.rules.isReadOnly = true
    case "rw": volume.rules.isReadOnly = false
    case "suid": kernel.ignoresSetID = false
    case "nosuid": kernel.ignoresSetID = true
    case "dev": kernel.ignoresDevices = false
    case "nodev": kernel.ignoresDevices = true
    case "exec": volume.rules.forbidsExecution = false
    case "noexec": volume.rules.forbidsExecution = true
    case "noatime": kernel.keepsAccessTimes = true
    case "async": (kernel.isSynchronous, kernel.isSynchronousForNames) = (false, false)
    case "sync": kernel.isSynchronous = true
    case "dirsync": kernel.isSynchronousForNames = true
    case "allow_other": kernel.allowsOthers = true
    case "noallow_other": kernel.allowsOthers = false
    case "foreground": isForeground = true
    case "debug": volume.debug = true
    case "twins": volume.showsTwins = true
    case "nomagic": volume.showsReservedDirectory = false
    case "clone_fd": kernel.clonesDevice = true
    default: try applyRule(option, value)
    }
  }

  private mutating func applyRule(_ option: MountOption, _ value: String?) throws(ArgumentFailure) {
    switch option.name {
    case "noacl": volume.rules.usesLists = false
    case "noowners": volume.rules.ignoresOwnership = true
    case "suiddir": volume.rules.handsOverOwnership = true
    case "securelevel":
      guard let level = Int(try MountWords.needed(value, option)), (-1...3).contains(level) else {
        throw ArgumentFailure("'securelevel' is a number from -1 to 3")
      }
      volume.rules.secureLevel = level
    case "admin_group": volume.rules.adminGroup = try MountWords.group(try MountWords.needed(value, option))
    case "chattr": volume.chattr = try MountWords.choice(value, option, "system or user", ChattrDomain.init)
    case "groups": volume.groups = try MountWords.choice(value, option, "process or nss", GroupSource.init)
    case "cache":
      volume.cache = try MountWords.choice(value, option, "shared, exclusive or none", CacheUse.init)
    case "threads":
      guard let count = Int(try MountWords.needed(value, option)), (1...64).contains(count) else {
        throw ArgumentFailure("'threads' is a number from 1 to 64")
      }
      volume.threads = count
      kernel.ringThreads = max(1, count / CurrentProcess.processors)
    case "transport":
      kernel.transport = try MountWords.choice(value, option, "auto, dev or uring", TransportWish.init)
    case "passthrough":
      guard value == "auto" || value == "off" else {
        throw ArgumentFailure("'passthrough' is auto or off")
      }
      if value == "off" { volume.disabledFeatures.insert("passthrough") }
    default: try applyOther(option)
    }
  }

  private mutating func applyOther(_ option: MountOption) throws(ArgumentFailure) {
    if option.name.hasPrefix("no_") {
      volume.disabledFeatures.insert(String(option.name.dropFirst(3)))
    } else if MountWords.planned.contains(option.name) {
      throw ArgumentFailure("this version cannot mount with '\(option.name)'")
    } else if !MountWords.silent.contains(option.name), !option.name.hasPrefix("x-"),
      !option.name.hasPrefix("X-")
    {
      throw ArgumentFailure(MountOptionTable.complaint(option.name))
    }
  }

  private static func needed(_ value: String?, _ option: MountOption) throws(ArgumentFailure) -> String {
    guard let value, !value.isEmpty else { throw ArgumentFailure("'\(option.name)' needs a value") }
    return value
  }

  private static func choice<Choice>(
    _ value: String?, _ option: MountOption, _ words: String, _ make: (String) -> Choice?
  ) throws(ArgumentFailure) -> Choice {
    guard let value, let choice = make(value) else {
      throw ArgumentFailure("'\(option.name)' is \(words)")
    }
    return choice
  }

  private static func group(_ name: String) throws(ArgumentFailure) -> UInt32 {
    if let number = UInt32(name) { return number }
    guard let group = UserDatabase.group(named: name) else {
      throw ArgumentFailure("'admin_group': there is no group '\(name)'")
    }
    return group
  }
}
