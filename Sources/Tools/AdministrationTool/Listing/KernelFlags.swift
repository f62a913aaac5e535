// The words of mount(8) that the kernel obeys, as flags.

import LinuxPrograms
import TextForms
import Verbs

extension MountFlags {
  /// The flags that the table of mounts shows for a mount.
  init(shown mount: MountedVolume) {
    self = []
    for word in mount.options.split(separator: ",") { take(String(word)) }
    if isDisjoint(with: .accessTimes) { insert(.strictAccessTimes) }
  }

  /// The flags of the file system as a whole that stay as they are when others change.
  static func ofSystem(_ mount: MountedVolume) -> MountFlags {
    var flags = MountFlags()
    for word in mount.systemOptions.split(separator: ",") { flags.take(String(word)) }
    return flags.intersection([.synchronous, .namesSynchronous])
  }

  /// Whether the kernel lets nobody write to the file system as a whole.
  static func isReadOnly(system mount: MountedVolume) -> Bool {
    mount.systemOptions.split(separator: ",").contains("ro")
  }

  /// Takes over what a word says to the kernel, if it says anything.
  mutating func take(_ word: String) {
    switch MountOptionTable.effect(of: word) {
    case .live(.readOnly(let isOn)): set(.readOnly, isOn)
    case .live(.programs(let areAllowed)): set(.noPrograms, !areAllowed)
    case .fixed(.synchronous): insert(.synchronous)
    case .fixed(.synchronousNames): insert(.namesSynchronous)
    case .flag(let flag): take(flag)
    case .live, .fixed, .ignored, .remount, .planned, nil: break
    }
  }

  private mutating func take(_ flag: MountEffect.Flag) {
    switch flag {
    case .setID(let isOn): set(.noSetID, !isOn)
    case .devices(let areAllowed): set(.noDevices, !areAllowed)
    case .links(let areFollowed): set(.noLinks, !areFollowed)
    case .directoryAccessTimes(let areKept): set(.noDirectoryAccessTimes, !areKept)
    case .accessTimes(let times):
      subtract(.accessTimes)
      switch times {
      case .never: insert(.noAccessTimes)
      case .usual, .relative: insert(.relativeAccessTimes)
      case .strict: insert(.strictAccessTimes)
      }
    }
  }

  private mutating func set(_ flags: MountFlags, _ isOn: Bool) {
    if isOn { insert(flags) } else { subtract(flags) }
  }

  /// What forbids something; the rest is a matter of taste.
  static let forbidding: MountFlags = [.readOnly, .noSetID, .noDevices, .noPrograms, .noLinks]

  /// The words of mount(8) for what differs from `other`.
  func words(changedFrom other: MountFlags) -> String {
    let names: [(MountFlags, String)] = [
      (.readOnly, "ro"), (.noSetID, "nosuid"), (.noDevices, "nodev"), (.noPrograms, "noexec"),
      (.noLinks, "nosymfollow"), (.noAccessTimes, "noatime"), (.relativeAccessTimes, "relatime"),
      (.strictAccessTimes, "strictatime"), (.noDirectoryAccessTimes, "nodiratime"),
    ]
    let changed = symmetricDifference(other)
    return names.filter { changed.contains($0.0) }.map(\.1).joined(separator: ",")
  }
}
