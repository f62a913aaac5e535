// `varve mount`: checks, starts the daemon, and waits until it serves.
//
// For people, fstab and systemd, who get the exit statuses of mount(8), and an error before the command returns, not in a log.

import Arguments
import LinuxFiles
import LinuxPrograms
import TextForms

/// The exit statuses of mount(8).
private enum MountStatus: Int32 {
  case done = 0
  case usage = 1
  case system = 2
  case failed = 32
}

extension Refusal {
  /// About the mount point or the source, which is named: `mount -a` is about many.
  fileprivate init(_ status: MountStatus, _ path: Word, _ sentence: String) {
    self = .mounting(path, sentence, status: status.rawValue)
  }
}

func mount(_ invocation: Invocation) throws(UsageError) -> Int32 {
  // The mount helper is what people called.
  let name = environment("VARVE_CALLED_AS").map { String(decoding: $0, as: UTF8.self) }
  let console = Console(name ?? "varve mount", outputLoss: .isSurvivedByMount)
  do throws(Refusal) {
    let options = invocation.values(.mountOptions).flatMap { MountOption.list($0) }
    if options.contains(where: { $0.name == "remount" }) {
      // The path means another mount here, or none.
      guard !invocation.has(.namespace) else {
        throw Refusal(
          .usage, invocation.operands[invocation.operands.count - 1],
          "'remount' and '-N' do not go together; remount in that namespace")
      }
      return try changeOptions(options, invocation, console)
    }
    if let view = try ViewMount(invocation) {
      try view.make(checkingOnly: invocation.has(.checkOnly))
      if invocation.has(.verbose), !invocation.has(.checkOnly) {
        console.printPath(view.path + Array(" mounted on ".utf8) + view.mountPoint, "")
        _ = console.finish()
      }
      return MountStatus.done.rawValue
    }
    let plan = try MountPlan(invocation)
    if invocation.has(.checkOnly) {
      try plan.startDaemon(checkingOnly: true)
      return MountStatus.done.rawValue
    }
    if plan.isForeground {
      try plan.becomeDaemon()
    } else {
      try plan.startDaemon()
    }
    if invocation.has(.verbose) {
      console.printPath(plan.source + Array(" mounted on ".utf8) + plan.mountPoint, "")
      _ = console.finish()
    }
    return MountStatus.done.rawValue
  } catch {
    console.complain(error.sentence)
    return error.status
  }
}

/// `mount -o remount`: the source is only there because mount(8) always names one.
private func changeOptions(
  _ options: [MountOption], _ invocation: Invocation, _ console: Console
) throws(Refusal) -> Int32 {
  let options = environment("VARVE_CALLED_AS") == nil ? options : options + unsaid(in: options)
  let point = invocation.operands[invocation.operands.count - 1]
  // What is no mount of ours is told below.
  if let mount = try? ownMount(point), mount.view != nil {
    try ViewMount.change(options, of: mount, checkingOnly: invocation.has(.checkOnly))
    return console.finish()
  }
  do throws(Refusal) {
    let change = try OptionChange(of: point, options, isSloppy: invocation.has(.sloppy))
    let words = try change.make(checkingOnly: invocation.has(.checkOnly))
    if invocation.has(.verbose) {
      console.printPath(change.mount.mountPoint, " remounted (\(console.forOutput(words)))")
    }
    return console.finish()
  } catch {
    throw Refusal(
      "\(point.isEmpty ? "''" : PathText.escaped(point)): \(error.sentence)", status: error.status)
  }
}

/// What mount(8) means by leaving words out: it names all flags that are to be set, and drops `exec` and the like.
///
/// `nosuid` and `nodev` stay: they are on by default here.
private func unsaid(in options: [MountOption]) -> [MountOption] {
  let said = Set(options.map { MountOptionTable.family(of: $0.name) })
  return ["exec", "diratime", "relatime"].filter { !said.contains(MountOptionTable.family(of: $0)) }
    .map { MountOption(Array($0.utf8)) }
}

/// What is to be mounted where.
private struct MountPlan {
  let source: Word
  let mountPoint: Word
  let options: [MountOption]
  /// Those of this mount alone, without what the settings say of every volume.
  private let saidOptions: [MountOption]
  let isForeground: Bool
  private let daemon: Word
  private let keyfile: MountKeyfile?
  /// Another mount namespace; then only the daemon, who goes there, can look at anything.
  private let namespace: Word?

  init(_ invocation: Invocation) throws(Refusal) {
    namespace = invocation.values(.namespace).last
    let point = invocation.operands[invocation.operands.count - 1]
    guard namespace?.isEmpty != true else {
      throw Refusal(
        .usage, point, "'-N' needs the path of a mount namespace, or the number of a process that is in it")
    }
    if namespace != nil {
      mountPoint = point
    } else {
      mountPoint = try MountPlan.mountPoint(point, checkingOnly: invocation.has(.checkOnly))
    }
    let settings = try MountPlan.settings(for: mountPoint)
    for option in settings.options(for: mountPoint) {
      if let complaint = MountOptionTable.complaint(about: option.name, hasValue: option.value != nil) {
        throw Refusal(.usage, mountPoint, "\(SettingsFile.path): \(complaint)")
      }
    }
    saidOptions = invocation.values(.mountOptions).flatMap { MountOption.list($0) }
    var options = settings.options(for: mountPoint) + saidOptions
    if invocation.has(.sloppy) { options.removeAll { !MountOptionTable.isKnown($0.name) } }
    do throws(Refusal) {
      // Before anybody types a passphrase; other words are refused by the daemon.
      if options.contains(where: MountKeyfile.isTold) { try MountPlan.requireKnown(options) }
      keyfile = try MountKeyfile(takenFrom: &options)
    } catch {
      throw Refusal(.usage, mountPoint, error.sentence)
    }
    isForeground = invocation.has(.foreground) || options.contains { $0.name == "foreground" }
    if isForeground, !options.contains(where: { $0.name == "foreground" }) {
      options.append(MountOption(Array("foreground".utf8)))
    }
    self.options = options
    let named = try MountPlan.source(invocation, settings.section(mountPoint))
    // With `upperdir=` the source is a mere word.
    let isPath = namespace == nil && !options.contains { $0.name == "upperdir" }
    source = isPath ? try MountPlace.source.directory(named) : named
    if keyfile != nil, isPath { try MountPlan.requireOrder(source, mountPoint, invocation) }
    try MountPlan.requireDevice(for: mountPoint)
    guard let daemon = daemonProgram() else {
      throw Refusal(
        .system, mountPoint, "varved: not found beside this program, in /usr/sbin or in PATH")
    }
    self.daemon = daemon
  }

  private static func requireKnown(_ options: [MountOption]) throws(Refusal) {
    for option in options {
      if let complaint = MountOptionTable.complaint(about: option.name, hasValue: option.value != nil) {
        throw Refusal(complaint)
      }
    }
  }

  /// Refuses a volume with a keybag as the mount point of a directory without one, which no keyfile opens.
  private static func requireOrder(
    _ source: Word, _ mountPoint: Word, _ invocation: Invocation
  ) throws(Refusal) {
    let keybag = Array(".varve/keybag".utf8)
    guard isItem(joined(mountPoint, keybag)), !isItem(joined(source, keybag)), invocation.operands.count == 2
    else { return }
    throw Refusal(
      .usage, mountPoint,
      "has a keybag, and the source has none; \(invocation.meant([invocation.operands[1], invocation.operands[0]]))"
    )
  }

  /// What was named, or what the settings name for the mount point.
  private static func source(
    _ invocation: Invocation, _ section: SettingsFile.Section?
  ) throws(Refusal) -> Word {
    guard invocation.operands.count < 2 else { return invocation.operands[0] }
    if let source = section?.source { return source }
    throw Refusal(
      .usage, invocation.operands[0],
      "SOURCE is missing, and \(SettingsFile.path) names none for this mount point")
  }

  private static func settings(for mountPoint: Word) throws(Refusal) -> SettingsFile {
    do throws(SettingsTrouble) {
      return try administratorSettings()
    } catch {
      throw Refusal(error.isText ? .usage : .failed, mountPoint, error.sentence)
    }
  }

  /// Refuses where the device cannot be opened; libfuse would say no more than that.
  private static func requireDevice(for mountPoint: Word) throws(Refusal) {
    _ = try attempt(Descriptor.open(path: "/dev/fuse", .readWrite)) { error in
      let advice =
        switch error {
        case .accessDenied: "as root, 'chmod 0666 /dev/fuse' lets users mount"
        case .notPermitted: "this container was started without the right to use the device"
        default: "the module fuse is not there ('modprobe fuse' loads it), or not in this container"
        }
      return Refusal(.failed, mountPoint, "/dev/fuse: \(error); \(advice)")
    }
  }

  /// The mount point; what daemons that died left there is taken away first.
  private static func mountPoint(_ path: Word, checkingOnly: Bool) throws(Refusal) -> Word {
    // Several: who mounts again and again after a crash has a pile of them.
    for _ in 0..<16 where QuestionApart.isDeadMount(path) {
      do throws(Refusal) {
        let mount = try ownMount(path)
        if checkingOnly {
          try requireRight(toTakeAway: mount)
          return path
        }
        removeControlSocket(of: mount)
        try takeAway(mount, isLazy: true)
      } catch {
        throw Refusal(
          .failed, path, "a mount without a daemon is in the way: \(error.sentence)")
      }
    }
    return try MountPlace.mountPoint.directory(path)
  }

  private func words(checkingOnly: Bool, keyDescriptor: CInt? = nil) -> [Word] {
    let checkWords = checkingOnly ? [Array("--check".utf8)] : []
    let keyWords = keyDescriptor.map { [Array("--key-fd".utf8), Array("\($0)".utf8)] } ?? []
    let optionWords = options.isEmpty ? [] : [Array("-o".utf8), MountOption.text(options)]
    let namespaceWords = namespace.map { [Array("--namespace".utf8), $0] } ?? []
    return checkWords + keyWords + namespaceWords + optionWords + [Array("--".utf8), source, mountPoint]
  }

  /// Becomes the daemon, for supervisors and for looking at it.
  func becomeDaemon() throws(Refusal) {
    let pipe = try keyPipe()
    // The number is all that the next program gets.
    defer { withExtendedLifetime(pipe) {} }
    do throws(Errno) {
      if let pipe { try ThisProgram.keepForNext(pipe.descriptor) }
      let words = words(checkingOnly: false, keyDescriptor: pipe?.descriptor.rawValue)
      try ThisProgram.become(daemon, words: [Array("varved".utf8)] + words)
    } catch {
      throw Refusal(.system, mountPoint, "\(PathText.escaped(daemon)): \(error)")
    }
  }

  /// Where the daemon finds the secret of the keyfile, if there is one.
  private func keyPipe() throws(Refusal) -> SharedDescriptor? {
    do throws(Refusal) {
      return try keyfile.map { (keyfile) throws(Refusal) in SharedDescriptor(try keyfile.pipe(for: upper)) }
    } catch {
      throw Refusal(.failed, mountPoint, error.sentence)
    }
  }

  /// With `upperdir=` the source is a mere word.
  private var upper: Word {
    let named = options.last { $0.name == "upperdir" }?.value
    return named.map { MountOption.unescaped($0) } ?? source
  }

  /// Refuses what `keyPipe` would refuse before anybody types a passphrase.
  private func checkKeyfile() throws(Refusal) {
    do throws(Refusal) {
      try keyfile?.check(for: upper)
    } catch {
      throw Refusal(.failed, mountPoint, error.sentence)
    }
  }

  /// Starts the daemon and returns when it serves, or has found nothing that would keep it from serving.
  func startDaemon(checkingOnly: Bool = false) throws(Refusal) {
    if checkingOnly { try checkKeyfile() }
    switch DaemonAnswer(try runDaemon(checkingOnly: checkingOnly)) {
    case .ready: return
    case .refused(let status, let message):
      // In another namespace the table here says nothing.
      let inTheWay =
        namespace == nil
        ? MountInTheWay(message, source: source, options: saidOptions) : nil
      throw Refusal(message + (inTheWay?.words ?? ""), status: Int32(status))
    case .silent: throw Refusal(.failed, mountPoint, "the daemon ended before the volume was ready")
    }
  }

  /// The lines without `<5>` and the like, which are for logs.
  private static func withoutPriorities(_ text: [UInt8]) -> [UInt8] {
    let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
      let isMarked = line.first == UInt8(ascii: "<") && line.dropFirst(2).first == UInt8(ascii: ">")
      return isMarked ? Array(line.dropFirst(3)) : Array(line)
    }
    return Array(lines.joined(separator: [0x0A]))
  }

  /// Shows what the daemon has said on its standard error since `start`; up to where.
  ///
  /// Nobody else will ever see it; a lost warning is no reason to fail.
  private static func showComplaints(in log: borrowing Descriptor, from start: Int) -> Int {
    guard let said = try? log.read(upTo: 65_536), said.count > start else { return start }
    try? StandardStream.error.write(withoutPriorities(Array(said[start...])))
    return said.count
  }

  /// What the daemon says on its pipe; what it complains about meanwhile is shown.
  private func runDaemon(checkingOnly: Bool) throws(Refusal) -> [UInt8] {
    let keyPipe = checkingOnly ? nil : try keyPipe()
    defer { withExtendedLifetime(keyPipe) {} }
    let words = words(checkingOnly: checkingOnly, keyDescriptor: keyPipe.map { _ in 4 })
    do throws(Errno) {
      let pipe = try Pipe()
      // A file and no pipe: the daemon may write to it for years without anybody reading.
      let log = SharedDescriptor(try Descriptor.memoryFile("varved standard error"))
      _ = try ChildProcess(
        daemon, words: [Array("varved".utf8), Array("--ready-fd".utf8), Array("3".utf8)] + words,
        ChildProcess.Streams(
          error: log.descriptor.rawValue, extra: pipe.writing.rawValue,
          second: keyPipe?.descriptor.rawValue))
      let reading = pipe.intoReadingEnd()
      // Up to the end of the line: a daemon that keeps the pipe open must not keep us.
      // It may wait long, and says for what.
      let isOver = Bell()
      let watcher = try PlainThread(name: "complaints") {
        var shown = 0
        while !isOver.wait(milliseconds: 200) {
          shown = MountPlan.showComplaints(in: log.descriptor, from: shown)
        }
        _ = MountPlan.showComplaints(in: log.descriptor, from: shown)
      }
      let answer: Result<[UInt8], Errno>
      do throws(Errno) { answer = .success(try reading.readLine(limit: 65_536)) } catch {
        answer = .failure(error)
      }
      isOver.ring()
      watcher.join()
      return try answer.get()
    } catch {
      throw Refusal(.system, mountPoint, "\(PathText.escaped(daemon)): \(error)")
    }
  }
}

/// The daemon: beside this program, where it is installed, or in PATH.
func daemonProgram() -> Word? {
  // Without /proc the places after these remain.
  let own = try? realPath(Array("/proc/self/exe".utf8))
  var folders: [Word] = []
  if let own, let end = own.lastIndex(of: UInt8(ascii: "/")) {
    let folder = Array(own[..<end])
    folders = [folder, folder + Array("/../sbin".utf8)]
  }
  folders.append(Array("/usr/sbin".utf8))
  return program("varved", in: folders)
}
