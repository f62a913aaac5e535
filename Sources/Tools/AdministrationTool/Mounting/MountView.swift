// `mount -o view=display`: a view of a volume that is mounted already, shown at a path of its own.
//
// It is a bind mount of `.varve/view/NAME`: one file system, one daemon, one set of pages and locks.

import Arguments
import DisplayNames
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// A view that is to be mounted.
struct ViewMount {
  let volume: MountedVolume
  let mountPoint: Word
  let name: ViewName
  private let options: [MountOption]
  /// The view that is mounted there already.
  private let former: MountedVolume?

  /// Nil if the options do not ask for a view.
  init?(_ invocation: Invocation) throws(Refusal) {
    var options = invocation.values(.mountOptions).flatMap { MountOption.list($0) }
    guard options.contains(where: { $0.name == "view" }) else { return nil }
    if invocation.has(.sloppy) { options.removeAll { !ViewMount.isUnderstood($0) } }
    if options.contains(where: { $0.name == "remount" }) { options.removeAll { ViewMount.isOfTable($0) } }
    let point = invocation.operands[invocation.operands.count - 1]
    guard invocation.operands.count == 2 else {
      throw Refusal.mounting(point, "a view needs SOURCE, the upper directory of a mounted volume", status: 1)
    }
    guard !invocation.has(.namespace) else {
      throw Refusal.mounting(point, "'view' and '-N' do not go together", status: 1)
    }
    name = try ViewMount.name(options, point)
    self.options = options
    former = ViewMount.mounted(at: point)
    if let former {
      // A dead one cannot be looked at.
      mountPoint = former.mountPoint
    } else {
      mountPoint = try MountPlace.mountPoint.directory(point)
    }
    volume = try ViewMount.volume(of: invocation.operands[0], point)
    try requireView()
  }

  /// Words about the mount, and those of the view; all others are about a volume.
  private static func isUnderstood(_ option: MountOption) -> Bool {
    switch MountOptionTable.effect(of: option.name) {
    case .flag, .ignored, .live(.readOnly), .live(.programs), .fixed(.view), .fixed(.languages): true
    default: false
    }
  }

  /// What mount(8) repeats from the table of mounts in a remount: the kernel shows it of a view as of its volume.
  private static func isOfTable(_ option: MountOption) -> Bool {
    option.name == "allow_other" || MountOptionTable.fromTable.contains(option.name)
  }

  /// What the options make of a view; `over`: of the usual one, or of one that is mounted.
  private static func name(
    _ options: [MountOption], _ point: Word, over present: ViewName = ViewName()
  ) throws(Refusal) -> ViewName {
    var name = present
    for option in options {
      guard isUnderstood(option) else {
        let complaint =
          complaint(aboutLone: option, after: name.languages)
          ?? MountOptionTable.complaint(about: option.name, hasValue: option.value != nil)
        throw Refusal.mounting(
          point, complaint ?? "'\(option.shownName)' is an option of a volume, not of a view of it", status: 1
        )
      }
      if let complaint = MountOptionTable.complaint(about: option.name, hasValue: option.value != nil) {
        throw Refusal.mounting(point, complaint, status: 1)
      }
      let text = option.value.map { String(decoding: MountOption.unescaped($0), as: UTF8.self) } ?? ""
      switch option.name {
      case "view":
        guard text == "display" || text == "all" else {
          throw Refusal.mounting(point, MountOptionTable.complaint(aboutChoiceOf: option.name), status: 1)
        }
        name.showsHidden = text == "all"
      case "ext":
        guard let policy = ExtensionPolicy(word: text) else {
          let words = MountOptionTable.complaint(aboutChoiceOf: option.name) + "; known is usual"
          throw Refusal.mounting(point, words, status: 1)
        }
        name.extensions = policy
      case "lang":
        if text == "default" {
          name.languages = nil
          continue
        }
        guard let list = LanguageList(option: text) else {
          let words = ViewMount.words(aboutViewNamed: text) ?? LanguageList.words(insteadOf: text)
          throw Refusal.mounting(point, "'lang' is \(words)", status: 1)
        }
        name.languages = list
      default: break
      }
    }
    return name
  }

  /// What a word without a value was meant to be that is no option: a value of an option, or a language.
  private static func complaint(aboutLone option: MountOption, after list: LanguageList?) -> String? {
    guard option.value == nil, !MountOptionTable.isKnown(option.name) else { return nil }
    if let complaint = MountOptionTable.complaint(aboutLoneValue: option.name) { return complaint }
    let languages = list?.languages.map(\.description).joined(separator: "+")
    return languages.flatMap { LanguageList.complaint(aboutComma: option.name, after: $0) }
  }

  /// For those who gave `lang=` the whole name of a view, which says more than languages.
  private static func words(aboutViewNamed text: String) -> String? {
    guard text.contains(","), let name = ViewName(Array(text.utf8)) else { return nil }
    let languages =
      name.languages.map { ",lang=" + $0.languages.map(\.description).joined(separator: "+") } ?? ""
    let policy = name.extensions == .known ? "" : ",ext=\(name.extensions.word)"
    return "of languages alone; write view=\(name.showsHidden ? "all" : "display")\(languages)\(policy)"
  }

  private static func mounted(at point: Word) -> MountedVolume? {
    // What cannot be found is told of when the directory is looked for.
    guard let typed = try? TypedPath(point, volumeTable()), typed.rest.isEmpty, typed.isMountPoint,
      typed.mount.view != nil
    else { return nil }
    return typed.mount
  }

  /// A mount that shows the whole of the volume of an upper directory.
  private static func volume(of source: Word, _ point: Word) throws(Refusal) -> MountedVolume {
    let table = try attempt(mountTable()) {
      Refusal.mounting(point, "/proc/self/mountinfo: \($0)", status: 2)
    }
    let path = try? realPath(source)
    // What another user has mounted may only look like the volume.
    let own = table.filter { mount in
      mount.isOurs && mount.showsAll && [0, CurrentProcess.user].contains(mount.owner)
    }
    if let found = own.last(where: { $0.source == source || $0.source == path }) { return found }
    // It may be shown under another name.
    if let path, let uuid = storedUUID(path),
      let found = own.last(where: { (try? volumeStatus($0))?["uuid"] == .string(uuid) })
    {
      return found
    }
    throw ViewSource(source, table, own).refusal(point)
  }

  /// What the file `volume` of an upper directory says, for those who may read it.
  private static func storedUUID(_ upper: Word) -> String? {
    let path = joined(upper, Array(".varve/volume".utf8))
    guard let text = try? Descriptor.reading(path).readToEnd() else { return nil }
    for line in String(decoding: text, as: UTF8.self).split(separator: "\n") where line.hasPrefix("uuid = ") {
      return String(line.dropFirst("uuid = ".count))
    }
    return nil
  }

  /// Where every program finds the view without a mount of its own.
  var path: Word { joined(volume.mountPoint, Array(".varve/view/\(name)".utf8)) }

  private func requireView() throws(Refusal) {
    do throws(Errno) {
      let path = path
      let found = try QuestionApart.ask(milliseconds: MountState.patience) { () throws(Errno) -> [UInt8] in
        _ = try Descriptor.item(atPath: path, .held)
        return []
      }
      guard let found else { throw .timedOut }
      _ = try found.get()
    } catch .noSuchFile {
      throw Refusal.mounting(mountPoint, "the volume shows no views: it is mounted with nomagic", status: 32)
    } catch .timedOut {
      throw Refusal.mounting(mountPoint, MountState.silence, status: 32)
    } catch .notConnected {
      throw Refusal.mounting(mountPoint, MountState.gone(volume), status: 32)
    } catch {
      throw Refusal.mounting(mountPoint, "the view cannot be reached: \(error)", status: 32)
    }
  }

  func make(checkingOnly: Bool) throws(Refusal) {
    guard CurrentProcess.isRoot else {
      throw Refusal.mounting(
        mountPoint, "only root mounts views; the same is at \(PathText.escaped(path))", status: 1)
    }
    // mount(8) does not know one again, and 'mount -a' asks for it each time.
    let isDead = former.map { MountState($0) == .dead } ?? false
    if let former, former.device == volume.device {
      guard !isDead else { throw Refusal.mounting(mountPoint, MountState.gone(volume), status: 32) }
      if former.view == Array("\(name)".utf8) {
        return try ViewMount.change(options, of: former, checkingOnly: checkingOnly)
      }
    }
    if !isDead { try requireFree(former) }
    guard !checkingOnly else { return }
    if let former, isDead { try takeAway(former, isLazy: true) }
    do throws(Errno) {
      try bind(path, at: mountPoint)
    } catch {
      throw Refusal.mounting(mountPoint, "the view cannot be mounted: \(error)", status: 32)
    }
    do throws(Refusal) {
      try ViewMount.change(options, of: try ownMount(mountPoint))
    } catch {
      // The first failure is the one to tell.
      try? unmount(mountPoint, isLazy: false)
      throw error
    }
  }

  /// Refuses a mount point that shows a volume or another view, which would be hidden.
  private func requireFree(_ former: MountedVolume?) throws(Refusal) {
    let point = shellWord(mountPoint)
    if let view = former?.view {
      throw Refusal.mounting(
        mountPoint,
        "the mount point shows the view \(PathText.escaped(view)) already; unmount that first: umount \(point)",
        status: 32)
    }
    // What cannot be found is told of when it is mounted on.
    guard let typed = try? TypedPath(mountPoint, volumeTable()), typed.rest.isEmpty, typed.isMountPoint,
      typed.mount.isOurs
    else { return }
    throw Refusal.mounting(
      mountPoint, "the mount point shows a Varve volume already; mount the view on another directory",
      status: 32)
  }

  // MARK: Flags

  /// Gives the mount of a view other flags; whatever else is said is an option of the volume.
  static func change(
    _ options: [MountOption], of mount: MountedVolume, checkingOnly: Bool = false
  ) throws(Refusal) {
    var flags = MountFlags(shown: mount)
    for option in options where option.name != "remount" {
      guard isUnderstood(option) || isOfTable(option) else {
        throw Refusal.mounting(
          mount.mountPoint, "'\(option.shownName)' is an option of a volume, not of a view of it", status: 1)
      }
      if option.value == nil { flags.take(option.name) }
    }
    try requireSame(options, mount)
    flags.subtract([.synchronous, .namesSynchronous])
    guard !checkingOnly, flags != MountFlags(shown: mount) else { return }
    do throws(Errno) {
      try LinuxPrograms.remount(mount.mountPoint, flags, whole: false)
    } catch {
      throw Refusal.mounting(
        mount.mountPoint, "the kernel does not change the flags of the mount: \(error)", status: 32)
    }
  }
}

extension ViewMount {
  /// Refuses words that ask for another view than the one that is mounted; mount(8) repeats those of fstab.
  private static func requireSame(_ options: [MountOption], _ mount: MountedVolume) throws(Refusal) {
    let ofView = options.filter { ["view", "lang", "ext"].contains($0.name) }
    guard !ofView.isEmpty, let view = mount.view, let present = ViewName(view) else { return }
    let wanted = try name(ofView, mount.mountPoint, over: present)
    guard wanted != present else { return }
    let point = shellWord(mount.mountPoint)
    throw Refusal.mounting(
      mount.mountPoint,
      "it shows the view \(present), and a remount cannot change that; unmount it (umount \(point)) and mount the "
        + "view \(wanted) anew", status: 32)
  }
}
