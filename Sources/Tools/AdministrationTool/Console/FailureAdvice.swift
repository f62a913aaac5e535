// What to do about a failure: an error number alone sends people searching.

import FlagRules
import LinuxFiles
import LinuxPrograms
import TextForms

extension Refusal {
  /// The sentence about a change that was refused.
  ///
  /// `path` is the item as it would be typed, `right` the right the change needs, as `chmod +a` has it.
  static func change(
    _ error: Errno, _ path: [UInt8], _ held: borrowing Descriptor, needs right: String
  ) -> Refusal {
    switch error {
    case .notPermitted, .accessDenied:
      if let locked = locked(path, held) { return Refusal("\(locked) (\(error.name))") }
      return missing(right, error)
    case .inputOutput: return damaged(held)
    case .readOnly:
      return Refusal(
        "the volume, or this mount of it, is read-only (EROFS); 'varve remount -o rw' at its mount point may change that"
      )
    case .unsupported: return notKept(held)
    default: return Refusal(error)
    }
  }

  /// The sentence about a right that is missing.
  static func missing(_ right: String, _ error: Errno) -> Refusal {
    // Root has every right: another rule refused.
    if CurrentProcess.isRoot { return Refusal("\(error)\(Errno.adviceOnDenial)") }
    return Refusal(
      "\(error): this needs the right \(right), which the owner and root have; 'varve acl get' shows who else"
    )
  }

  /// The sentence about something that is not kept where `place` is.
  private static func notKept(_ held: borrowing Descriptor) -> Refusal {
    guard held.isOnVolume() else { return Refusal(.unsupported) }
    switch try? held.knownStatus().kind {
    case .regular, .directory:
      return Refusal(
        "the volume is mounted with noacl and takes no access lists (ENOTSUP); 'varve remount -o acl' at its "
          + "mount point changes that", isAboutVolume: true)
    default:
      return Refusal(
        "this volume keeps flags and lists of files and directories only (ENOTSUP)")
    }
  }

  /// The sentence about a list that could not be read.
  static func reading(_ error: Errno, _ held: borrowing Descriptor) -> Refusal {
    switch error {
    case .inputOutput: damaged(held)
    case .accessDenied: Refusal("\(error): this needs the right readsecurity and a way to the item")
    default: Refusal(error)
    }
  }

  /// The sentence about an item of which something stored is damaged; `place` is the item.
  private static func damaged(_ held: borrowing Descriptor) -> Refusal {
    // Flags live in the record, lists beside it: if flags can be read, it is the list.
    do throws(Errno) {
      _ = try held.fileFlags()
      return Refusal("its access list is damaged (EIO); as root, 'varve acl strip' removes it")
    } catch {
      return Refusal(
        "the record of its flags and owner is damaged (EIO); restore it from a backup, or unmount and let "
          + "'varve check --repair' of the upper directory lock it")
    }
  }

  /// Says why flags did not change: those of the system are root's, whatever else is right.
  static func flags(
    _ error: Errno, _ item: VisitedItem, _ wanted: FileFlags.Instruction
  ) -> Refusal {
    guard error == .notPermitted else {
      return .change(error, item.path, item.held.descriptor, needs: "writesecurity")
    }
    guard let before = try? item.held.descriptor.fileFlags() else { return Refusal(error) }
    let changed = before.symmetricDifference(wanted.applied(to: before))
    let system = changed.intersection(.systemDomain)
    let pinned = before.intersection([.systemImmutable, .systemAppendOnly])
    if CurrentProcess.isRoot, !pinned.isEmpty || !system.isEmpty {
      return Refusal(
        "\(pinned.union(system).text) cannot be changed while the volume is mounted with securelevel above 0, "
          + "or by root of a container (EPERM)")
    }
    if !system.isEmpty { return Refusal("only root may set or clear \(system.text) (EPERM)") }
    if !pinned.isEmpty {
      return Refusal("is locked by \(pinned.text), which only root may clear (EPERM)")
    }
    return missing("writesecurity", error)
  }

  /// Says which flags stand in the way, if any do.
  static func locked(_ path: [UInt8], _ held: borrowing Descriptor) -> String? {
    guard let flags = try? held.fileFlags() else { return nil }
    let locks = flags.intersection(FileFlags.immutable.union(.appendOnly))
    guard !locks.isEmpty else { return nil }
    let words = locks.text
    let clearing = locks.keywords.map { "no\($0)" }.joined(separator: ",")
    let isRoots = !locks.isDisjoint(with: [.systemImmutable, .systemAppendOnly])
    return "is locked by \(words); clear it first\(isRoots ? ", as root" : ""): "
      + "varve chflags \(clearing) \(shellWord(path))"
  }
}

extension VisitedItem {
  /// Whether a flag forbids to change it.
  var isLocked: Bool {
    // Not known is not locked: then a failure had another reason.
    guard let flags = try? held.descriptor.fileFlags() else { return false }
    return flags.isImmutable || flags.isAppendOnly
  }
}

/// A path as it can be copied into a shell.
func shellWord(_ path: [UInt8]) -> String {
  // A name that begins with a dash would be taken for an option.
  let path = path.first == UInt8(ascii: "-") ? Array("./".utf8) + path : path
  let escaped = PathText.escaped(path)
  guard escaped.utf8.elementsEqual(path) else {
    // Bash and zsh read octal numbers in this kind of quotes; other shells have no way to write such a name.
    return "$'" + escaped.replacing("'", with: "\\'") + "'"
  }
  let isPlain = path.allSatisfy { byte in
    switch Unicode.Scalar(byte) {
    case "a"..."z", "A"..."Z", "0"..."9", "_", ".", "/", "+", "-", "@", "%", ",", ":", "=": true
    default: byte >= 0x80
    }
  }
  return isPlain && !path.isEmpty ? escaped : "'\(escaped.replacing("'", with: #"'\''"#))'"
}

extension Errno {
  /// What to put behind the error of a path nobody could get at; empty where nothing helps.
  func advice(about path: [UInt8]) -> String {
    switch self {
    case .noSuchFile: whatIsMissing(path)
    case .accessDenied:
      closedMount(path).map { "; \(MountState.closed($0))" }
        ?? Errno.adviceOnDenial
    case .notConnected where isOnVolume(path):
      "; \(MountState.gone(mount(of: path)))"
    case .notConnected: "; the file system there has lost its server"
    case .notDirectory: whatIsNoDirectory(path)
    default: ""
    }
  }

  /// What helps where it is not known whose refusal it is.
  static let adviceOnDenial = "; on a volume 'varve why --last' tells which rule"

  /// Whether a path leads to a volume, which says so only when its daemon is gone; unknown counts as one.
  private func isOnVolume(_ path: [UInt8]) -> Bool {
    guard let table = try? volumeTable(), let mount = try? TypedPath(path, table).mount else { return true }
    return mount.isOurs
  }

  /// The mount of another user that a path leads to, if it is closed to all others.
  private func closedMount(_ path: [UInt8]) -> MountedVolume? {
    // What cannot be found out is no reason.
    guard let mount = mount(of: path), mount.isClosed(to: CurrentProcess.user) else { return nil }
    return mount
  }

  private func mount(of path: [UInt8]) -> MountedVolume? {
    guard let table = try? volumeTable(), let mount = try? TypedPath(path, table).mount, mount.isOurs else {
      return nil
    }
    return mount
  }

  /// Says which part of a path is not there, if it is not the whole.
  private func whatIsMissing(_ path: [UInt8]) -> String {
    if let words = VolumePath.complaint(aboutViewIn: path) { return "; \(words)" }
    for above in waysAbove(path) {
      do throws(Errno) { _ = try Descriptor.item(atPath: above, .followed) } catch {
        guard error == .noSuchFile else { return "" }
        let isLink = (try? Descriptor.item(atPath: above, .held).readLink()) != nil
        return isLink ? "; \(shellWord(above)) is a link to nowhere" : "; there is no \(shellWord(above))"
      }
    }
    // It is there, and what it leads to is not.
    guard let target = try? Descriptor.item(atPath: withoutSlashes(path), .held).readLink() else { return "" }
    return "; it is a link to \(shellWord(target))"
  }

  /// Says which part of a path is not a directory, if it is not the whole.
  private func whatIsNoDirectory(_ path: [UInt8]) -> String {
    for above in waysAbove(path) {
      // Where it cannot be seen, the error alone has to do.
      guard let kind = try? Descriptor.item(atPath: above, .followed).status().kind else { return "" }
      if kind != .directory { return "; \(shellWord(above)) is not a directory" }
    }
    return ""
  }
}

/// What a path leads through, from the top, without itself.
func waysAbove(_ path: [UInt8]) -> [[UInt8]] {
  let path = withoutSlashes(path)
  return path.indices.dropFirst().filter { path[$0] == slash && path[$0 - 1] != slash }.map {
    Array(path[..<$0])
  }
}

/// A slash at the end names what stands in front of it.
private func withoutSlashes(_ path: [UInt8]) -> [UInt8] {
  Array(path[..<((path.lastIndex { $0 != slash } ?? -1) + 1)])
}
