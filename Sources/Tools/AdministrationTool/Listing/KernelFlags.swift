// The words of mount(8) that the kernel obeys, as flags.

import LinuxPrograms
import TextForms

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

  /// Takes over what a word says; false if it says nothing to the kernel.
  @discardableResult
  mutating func take(_ word: String) -> Bool {
    switch word {
    case "ro": insert(.readOnly)
    case "rw": remove(.readOnly)
    case "nosuid": insert(.noSetID)
    case "suid": remove(.noSetID)
    case "nodev": insert(.noDevices)
    case "dev": remove(.noDevices)
    case "noexec": insert(.noPrograms)
    case "exec": remove(.noPrograms)
    case "nosymfollow": insert(.noLinks)
    case "symfollow": remove(.noLinks)
    case "sync": insert(.synchronous)
    case "dirsync": insert(.namesSynchronous)
    case "nodiratime": insert(.noDirectoryAccessTimes)
    case "diratime": remove(.noDirectoryAccessTimes)
    case "noatime": choose(.noAccessTimes)
    case "relatime", "atime", "nostrictatime": choose(.relativeAccessTimes)
    case "strictatime", "norelatime": choose(.strictAccessTimes)
    default: return false
    }
    return true
  }

  private mutating func choose(_ times: MountFlags) {
    subtract(.accessTimes)
    insert(times)
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
