// `varve remount`, and `mount -o remount`: other options for a volume that is mounted.
//
// The daemon decides about its own options, the kernel about those of the mount. Whatever forbids more comes first and
// whatever forbids less comes last, so that at no moment more is allowed than before or after.

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

func remount(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console("varve remount", outputLoss: .isSurvivedByMount)
  let options = invocation.values(.mountOptions).flatMap { MountOption.list($0) }
  do throws(Refusal) {
    // What is no mount of ours is told below.
    if let mount = try? ownMount(invocation.operands[0]), mount.view != nil {
      do throws(Refusal) {
        try ViewMount.change(options, of: mount, checkingOnly: invocation.has(.checkChange))
      } catch {
        // It names the mount point itself.
        console.complain(error.sentence)
        return error.status
      }
      return console.finish()
    }
    let change = try OptionChange(
      of: invocation.operands[0], options,
      isSloppy: invocation.has(.sloppy))
    let words = try change.make(checkingOnly: invocation.has(.checkChange))
    if invocation.has(.verbose) {
      console.printPath(
        change.mount.mountPoint, " (\(words.isEmpty ? "defaults" : console.forOutput(words)))")
    }
    return console.finish()
  } catch {
    console.complain(invocation.operands[0], error.sentence)
    return error.status
  }
}

/// A change of the options of one mount.
struct OptionChange {
  let mount: MountedVolume
  private let options: [MountOption]
  private let before: MountFlags
  private let after: MountFlags

  init(of path: Word, _ options: [MountOption], isSloppy: Bool) throws(Refusal) {
    do throws(Refusal) { mount = try ownMount(path, elsewhere: "mount(8)") } catch {
      throw Refusal(error.sentence, status: 32)
    }
    let known = options.filter {
      MountOptionTable.isKnown($0.name) || MountOptionTable.fromTable.contains($0.name)
    }
    if !isSloppy, let unknown = options.first(where: { !known.contains($0) }) {
      throw Refusal(MountOptionTable.complaint(unknown.shownName))
    }
    self.options = known
    var before = MountFlags(shown: mount)
    var after = before
    for option in known where option.value == nil { after.take(option.name) }
    // The file system as a whole and this mount of it are made read-only together, or writable.
    switch known.last(where: { $0.name == "ro" || $0.name == "rw" })?.name {
    case "ro" where !MountFlags.isReadOnly(system: mount): before.remove(.readOnly)
    case "rw" where MountFlags.isReadOnly(system: mount): before.insert(.readOnly)
    default: break
    }
    self.before = before
    self.after = after.subtracting([.synchronous, .namesSynchronous])
  }

  /// Makes the change, and answers the words in force.
  func make(checkingOnly: Bool) throws(Refusal) -> String {
    let answer = try askDaemon(checkingOnly: true)
    var wanted = after
    // Every user is shown as the owner there: no program may run in an owner's name.
    if answer["noowners"] == .bool(true) { wanted.insert(.noSetID) }
    try requireRight(to: wanted)
    guard !checkingOnly else { return words(answer) }
    guard CurrentProcess.isRoot else { return words(try askDaemon(checkingOnly: false)) }
    let strictest = before.union(wanted.intersection(.forbidding))
    try put(strictest, over: before)
    let result: JSON
    do throws(Refusal) {
      result = try askDaemon(checkingOnly: false)
    } catch {
      // The first failure is the one to tell.
      try? put(before, over: strictest)
      throw error
    }
    try put(wanted, over: strictest)
    return words(result)
  }

  private func askDaemon(checkingOnly: Bool) throws(Refusal) -> JSON {
    try ask(
      mount, "remount",
      JSON.nameMembers("options", MountOption.text(options)) + [JSON.Member("check", .bool(checkingOnly))])
  }

  /// Only root changes what the kernel keeps; what the daemon enforces as well its owner may change.
  private func requireRight(to wanted: MountFlags) throws(Refusal) {
    guard !CurrentProcess.isRoot else { return }
    let daemons: MountFlags = [.readOnly, .noPrograms]
    let loosened = before.subtracting(wanted)
    let changed = wanted.symmetricDifference(before).subtracting(daemons.subtracting(loosened))
    guard changed.isEmpty else {
      throw Refusal("only root may change '\(wanted.words(changedFrom: before))' of a mount")
    }
  }

  private func put(_ flags: MountFlags, over present: MountFlags) throws(Refusal) {
    let changed = flags.symmetricDifference(present)
    guard !changed.isEmpty else { return }
    let isWhole = changed.contains(.readOnly)
    do throws(Errno) {
      try LinuxPrograms.remount(
        mount.mountPoint, isWhole ? flags.union(.ofSystem(mount)) : flags, whole: isWhole)
    } catch .busy {
      throw Refusal("busy: files are open for writing; 'fuser -vm' names who (EBUSY)", status: 32)
    } catch {
      throw Refusal("the kernel does not change the flags of the mount: \(error)", status: 32)
    }
  }

  private func words(_ answer: JSON) -> String {
    let words = answer.nameListBytes("options") ?? []
    return String(decoding: Array(words.joined(separator: [UInt8(ascii: ",")])), as: UTF8.self)
  }
}

// MARK: - What the kernel keeps of a mount

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
    case .live, .fixed, .ignored, .remount, nil: break
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
