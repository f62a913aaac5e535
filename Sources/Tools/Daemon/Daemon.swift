// varved: opens the volume, mounts it, says that it is ready, serves until it is unmounted.
//
// For mount(8), systemd and `varve mount`, which wait for it: a mount is one process, and each step that fails ends it with one
// line that says why (`DaemonFaultTests`).

import Arguments
import Ciphers
import FUSEDoor
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import Synchronization
import TextForms

@main
enum Daemon {
  static func main() {
    let arguments: DaemonArguments
    do throws(ArgumentFailure) {
      arguments = try DaemonArguments(Array(ThisProgram.words.dropFirst()))
    } catch {
      StandardError.write("varved: \(error.message)\n\(DaemonArguments.usage)")
      ThisProgram.exit(1)
    }
    if arguments.wantsHelp { return answer(DaemonArguments.usage) }
    if arguments.wantsVersion { return answer("varved \(ThisProgram.versionText(Version.text))\n") }
    let waiting = Waiting(arguments.readyDescriptor)
    do {
      try run(arguments, waiting)
    } catch let failure as ArgumentFailure {
      waiting.refuse(1, failure.path ?? arguments.mountPoint, failure.message)
    } catch let failure as MountFailure {
      waiting.refuse(32, failure.path, failure.sentence)
    } catch {
      waiting.refuse(32, arguments.source, "cannot be mounted: \(error)")
    }
  }

  private static func answer(_ text: String) {
    // The asker may have gone.
    try? StandardStream.output.write(Array(text.utf8))
  }

  private static func run(_ arguments: DaemonArguments, _ waiting: Waiting) throws {
    // The program that started us has put it there already.
    var secret = try arguments.keyDescriptor.map { number throws(MountFailure) in
      try StartingKey.read(number, for: arguments.mountPoint)
    }
    let words = try MountWords(arguments.options, source: arguments.source)
    let namespace = try arguments.namespace.map { path in
      try requireAbsolute(words.upper, arguments.mountPoint)
      return try openNamespace(path)
    }
    let groups = try NestedGroups.load()
    // The callers' own masks are in the modes they send.
    ResourceLimits.setCreationMask(0)
    if CurrentProcess.isRoot {
      try ThreadIdentity.keepCapabilities()
      // What users write through the mount must not exceed their quotas, nor use the blocks that are kept for root.
      try ThreadIdentity.giveUpResourceOverride()
    }
    // Before any thread exists: threads inherit what is blocked, and only one waits for signals.
    StopSignals.block()
    let directories = try MountDirectories(
      upper: words.upper, lowers: words.lowers, mountPoint: arguments.mountPoint, in: namespace)
    let root = try directories.root()
    let nesting = directories.nestedMountCheck(root)
    try directories.requireMountPoint(words.kernel, deadIsGone: arguments.checksOnly)
    directories.waitForLeaving(nesting)
    if arguments.checksOnly {
      try check(arguments, words, directories, root, nesting)
      return waiting.ready(logsToSystem: false)
    }
    let (volume, session, audit) = try mount(
      arguments, words, groups, directories, root, nesting, &secret)
    let isReady = Atomic(false)
    let takeBackUnlessReady: @Sendable () -> Void = {
      guard !isReady.load(ordering: .relaxed) else { return }
      volume.takeBack()
      audit?.takeBack()
    }
    defer { takeBackUnlessReady() }
    let mountPath = PathText.escaped(session.mountPath)
    let control = ControlSocket()
    let manager = words.isForeground ? ServiceManager() : nil
    _ = try PlainThread(name: "signals") {
      var isAskedAgain = false
      while true {
        StopSignals.wait()
        manager?.tell("STOPPING=1", "STATUS=Unmounting \(mountPath)")
        // Processes that still use the mount, perhaps where they cannot be seen from here, held the first one up.
        if isAskedAgain {
          takeBackUnlessReady()
          // The lock file does not say that this mount has ended: requests are at work.
          control.remove()
          audit?.finish()
          ThisProgram.exit(0)
        }
        isAskedAgain = true
        // Nothing is lost either way: what was acknowledged is in the backing files.
        do throws(Errno) { try session.requestUnmount() } catch { try? session.requestUnmount(lazily: true) }
      }
    }
    defer { control.remove() }
    try session.serve {
      isReady.store(true, ordering: .relaxed)
      if let device = MountDevice(of: session.mountPath, in: namespace) {
        control.open(
          .of(
            volume, nesting, kernel: words.kernel, source: words.upper, mountPoint: session.mountPath),
          volume: volume, upper: namespace == nil ? words.upper : nil, device: device)
        if CurrentProcess.isRoot { device.raiseReadahead() }
      } else {
        Log.notice("no control socket: '\(mountPath)' is not in the table of mounts")
      }
      if namespace == nil { MountWatch.start(volume, session.mountPath) }
      waiting.ready(logsToSystem: !words.isForeground)
      // Not earlier: now they reach the log that administrators read.
      for warning in volume.warnings { Log.warning(warning) }
      manager?.tell("READY=1", "STATUS=Serving \(PathText.escaped(words.upper)) on \(mountPath)")
    }
    manager?.tell("STOPPING=1")
    control.remove()
    volume.endSessions()
    volume.giveUpLock()
    audit?.finish()
    // At once: taking a table of a million nodes apart would be work for nothing.
    ThisProgram.exit(0)
  }
}

/// Opens the volume and mounts it; nothing of the two places stays open but what the volume needs.
private func mount(
  _ arguments: DaemonArguments, _ words: MountWords, _ groups: NestedGroups,
  _ directories: MountDirectories,
  _ root: UpperRoot, _ nesting: NestedMountCheck, _ secret: inout HandedSecret?
) throws -> (Volume, Session, AuditLog?) {
  var opened: Volume?
  var audit: AuditLog?
  do {
    if !words.volume.live.isReadOnly { try nesting.refuseNested() }
    // Before a log is made for a mount that does not come about.
    try directories.checkVolume(root, words.volume)
    if !words.volume.live.isReadOnly { try nesting.refuseSame() }
    let lowers = try directories.lowerRoots(below: root)
    audit = try words.audit.map { target in
      try explained(target, of: arguments.mountPoint) { () throws(Errno) in try AuditLog(target) }
    }
    var options = words.volume
    options.warnings += groups.warnings
    let volume = try directories.volume(
      root, over: lowers, options, groupNesting: groups.members, audit: audit)
    opened = volume
    try StartingKey.unlock(volume, &secret, for: arguments.mountPoint)
    let session = try directories.session(volume, words.kernel)
    // Another mount may have come about meanwhile.
    if !words.volume.live.isReadOnly { try nesting.refuseNested() }
    audit?.tell(mountPoint: session.mountPath)
    return (volume, session, audit)
  } catch {
    opened?.takeBack()
    audit?.takeBack()
    throw error
  }
}

/// Refuses what `mount` would refuse, in the same order and words, and leaves nothing behind.
private func check(
  _ arguments: DaemonArguments, _ words: MountWords, _ directories: MountDirectories, _ root: UpperRoot,
  _ nesting: NestedMountCheck
) throws {
  if !words.volume.live.isReadOnly { try nesting.refuseNested() }
  try directories.checkVolume(root, words.volume)
  if !words.volume.live.isReadOnly { try nesting.refuseSame() }
  let lowers = try directories.lowerRoots(below: root)
  try directories.checkLayers(root, over: lowers, words.volume)
  if let target = words.audit {
    try explained(target, of: arguments.mountPoint) { () throws(Errno) in try AuditLog.check(target) }
  }
}

/// Our working directory is none of the other namespace's.
private func requireAbsolute(_ upper: Word, _ mountPoint: Word) throws(ArgumentFailure) {
  for (path, role) in [(upper, "the source"), (mountPoint, "the mount point")]
  where path.first != UInt8(ascii: "/") {
    throw ArgumentFailure("\(role) in another mount namespace needs an absolute path", about: path)
  }
}

/// The namespace of a path, or of a process by its number, as mount(8) has it.
private func openNamespace(_ path: Word) throws(ArgumentFailure) -> MountNamespace {
  let isNumber = !path.isEmpty && path.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  let path = isNumber ? Array("/proc/".utf8) + path + Array("/ns/mnt".utf8) : path
  let failure = { (error: Errno) in
    ArgumentFailure("cannot enter the mount namespace \(PathText.escaped(path)): \(error)")
  }
  let namespace = try attempt(MountNamespace(path), failure)
  try attempt(namespace.visit {}, failure)
  return namespace
}

/// What is made of the audit log, or the reason why there can be none: a mount that should be watched is not made
/// without.
private func explained<Value>(
  _ target: AuditLog.Target, of mountPoint: Word, _ work: () throws(Errno) -> Value
) throws(MountFailure) -> Value {
  do throws(Errno) {
    return try work()
  } catch {
    guard case .file(let path) = target else {
      throw MountFailure(
        mountPoint, "no audit log: the system's log is not there to be written to: /dev/log: \(error)")
    }
    if let kind = AuditLog.otherKind(at: path) {
      throw MountFailure(
        mountPoint,
        "the audit log \(PathText.escaped(path)) is \(kind.words) (\(error.name)); \(kind.remedyForLog)")
    }
    let advice =
      switch error {
      case .noSuchFile: "; the directory for it is missing"
      case .notPermitted:
        "; a log that is there has to be the mounter's own, with mode 0600 and no second name"
      default: ""
      }
    throw MountFailure(
      mountPoint, "the audit log \(PathText.escaped(path)) cannot be opened: \(error)\(advice)")
  }
}

extension FileKind {
  /// What to name as the audit log in place of this.
  fileprivate var remedyForLog: String {
    switch self {
    case .symbolicLink: "links are not followed here, name the file that it leads to"
    case .directory: "name a file in it"
    case .fifo, .socket, .characterDevice, .blockDevice, .regular:
      "the log is written to a regular file, or with audit=journal to the system's log"
    }
  }
}

/// The program that started the daemon and waits for the word that the mount is ready.
private struct Waiting {
  private let descriptor: SharedDescriptor?

  init(_ number: Int32?) {
    descriptor = number.map { SharedDescriptor(Descriptor(adopting: $0)) }
  }

  func ready(logsToSystem: Bool) {
    // Not earlier: an automounter waits for the mount, and lets only its own process group walk to the mount point.
    if logsToSystem { CurrentProcess.leaveSession() }
    say("ok\n")
    if logsToSystem { Log.goToSystem() }
  }

  func refuse(_ status: Int32, _ path: Word, _ sentence: String) -> Never {
    // The answer is one line, and libfuse quotes paths as they are.
    let sentence = String(sentence.map { $0.isNewline ? " " : $0 })
    let message = "\(path.isEmpty ? "''" : PathText.escaped(path)): \(sentence)"
    if descriptor == nil { StandardError.write("varved: \(message)\n") }
    say("error \(status) \(message)\n")
    ThisProgram.exit(status)
  }

  /// Nobody may wait any more; that is no reason to stop serving.
  private func say(_ line: String) {
    guard let descriptor else { return }
    try? descriptor.descriptor.writeToStream(Array(line.utf8))
  }
}
