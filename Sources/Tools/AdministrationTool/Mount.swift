// `varve mount`: checks, starts the daemon, and waits until it serves.

import Arguments
import LinuxFiles
import LinuxPrograms
import TextForms
import Verbs

/// The exit statuses of mount(8).
private enum MountStatus: Int32 {
  case done = 0
  case usage = 1
  case system = 2
  case failed = 32
}

private struct MountRefusal: Error {
  let status: Int32
  let sentence: String

  init(_ status: MountStatus, _ sentence: String) {
    self.status = status.rawValue
    self.sentence = sentence
  }

  init(status: UInt8, _ sentence: String) {
    self.status = Int32(status)
    self.sentence = sentence
  }
}

func mount(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console("varve mount")
  do throws(MountRefusal) {
    let options = invocation.values(.mountOptions).flatMap { MountOption.list($0) }
    if options.contains(where: { $0.name == "remount" }) {
      return try changeOptions(options, invocation, console)
    }
    let plan = try MountPlan(invocation)
    if invocation.has(.checkOnly) { return MountStatus.done.rawValue }
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
) throws(MountRefusal) -> Int32 {
  let point = invocation.operands[1]
  do throws(Refusal) {
    let change = try OptionChange(of: point, options, isSloppy: invocation.has(.sloppy))
    let words = try change.make(checkingOnly: invocation.has(.checkOnly))
    if invocation.has(.verbose) { console.printPath(change.mount.mountPoint, " remounted (\(words))") }
    return console.finish()
  } catch {
    throw MountRefusal(status: UInt8(clamping: error.status), "\(PathText.escaped(point)): \(error.sentence)")
  }
}

/// What is to be mounted where.
private struct MountPlan {
  let source: Word
  let mountPoint: Word
  let options: [MountOption]
  let isForeground: Bool
  private let daemon: Word

  init(_ invocation: Invocation) throws(MountRefusal) {
    var options = invocation.values(.mountOptions).flatMap { MountOption.list($0) }
    if invocation.has(.sloppy) { options.removeAll { !MountOptionTable.isKnown($0.name) } }
    if invocation.has(.checkOnly), let unknown = options.first(where: { !MountOptionTable.isKnown($0.name) })
    {
      throw MountRefusal(.usage, MountOptionTable.complaint(unknown.name))
    }
    isForeground = invocation.has(.foreground) || options.contains { $0.name == "foreground" }
    if isForeground, !options.contains(where: { $0.name == "foreground" }) {
      options.append(MountOption(Array("foreground".utf8)))
    }
    self.options = options
    mountPoint = try MountPlan.mountPoint(invocation.operands[1])
    // With `upperdir=` the source is a mere word.
    let isPath = !options.contains { $0.name == "upperdir" }
    source = isPath ? try MountPlan.directory(invocation.operands[0]) : invocation.operands[0]
    do throws(Errno) {
      _ = try Descriptor.place(Array("/dev/fuse".utf8), .followed)
    } catch {
      throw MountRefusal(
        .failed, "/dev/fuse: \(error); the module fuse is not there, or not in this container")
    }
    guard let daemon = daemonProgram() else {
      throw MountRefusal(.system, "varved: not found beside this program, in /usr/sbin or in PATH")
    }
    self.daemon = daemon
  }

  /// The absolute path of an existing directory: the daemon works in another directory.
  private static func directory(_ path: Word) throws(MountRefusal) -> Word {
    do throws(Errno) {
      guard try Descriptor.place(path, .followed).status().kind == .directory else { throw .notDirectory }
      return try realPath(path)
    } catch {
      throw MountRefusal(.failed, "\(String(decoding: path, as: UTF8.self)): \(error)")
    }
  }

  /// The mount point; what daemons that died left there is taken away first.
  private static func mountPoint(_ path: Word) throws(MountRefusal) -> Word {
    // Several: who mounts again and again after a crash has a pile of them.
    for _ in 0..<16 where isDead(path) {
      do throws(Refusal) {
        try takeAway(try ownMount(path).mountPoint, isLazy: true)
      } catch {
        let name = String(decoding: path, as: UTF8.self)
        throw MountRefusal(.failed, "\(name): a mount without a daemon is in the way: \(error.sentence)")
      }
    }
    return try directory(path)
  }

  private static func isDead(_ path: Word) -> Bool {
    do throws(Errno) {
      _ = try Descriptor.place(path, .followed).status()
      return false
    } catch {
      return error == .notConnected
    }
  }

  private var words: [Word] {
    let optionWords = options.isEmpty ? [] : [Array("-o".utf8), MountOption.text(options)]
    return optionWords + [source, mountPoint]
  }

  /// Becomes the daemon, for supervisors and for looking at it.
  func becomeDaemon() throws(MountRefusal) {
    do throws(Errno) {
      try ThisProgram.become(daemon, words: [Array("varved".utf8)] + words)
    } catch {
      throw MountRefusal(.system, "\(String(decoding: daemon, as: UTF8.self)): \(error)")
    }
  }

  /// Starts the daemon and returns when it serves.
  func startDaemon() throws(MountRefusal) {
    let (answer, complaints) = try runDaemon()
    // Nobody else will ever see them; a lost warning is no reason to fail.
    try? StandardStream.error.write(complaints)
    switch DaemonAnswer(answer) {
    case .ready: return
    case .refused(let status, let message): throw MountRefusal(status: status, message)
    case .silent: throw MountRefusal(.failed, "the daemon ended before the volume was ready")
    }
  }

  /// Everything the daemon says before it is ready: on its pipe, and on its standard error.
  private func runDaemon() throws(MountRefusal) -> (answer: [UInt8], complaints: [UInt8]) {
    do throws(Errno) {
      let pipe = try Pipe()
      // A file and no pipe: the daemon may write to it for years without anybody reading.
      let log = try Descriptor.memoryFile("varved standard error")
      _ = try ChildProcess(
        daemon, words: [Array("varved".utf8), Array("--ready-fd".utf8), Array("3".utf8)] + words,
        ChildProcess.Streams(error: log.rawValue, extra: pipe.writing.rawValue), inNewSession: true,
        keepingDescriptors: options.contains { $0.value?.starts(with: "fd:".utf8) ?? false })
      let reading = pipe.intoReadingEnd()
      // Up to the end of the line: a daemon that keeps the pipe open must not keep us.
      let answer = try reading.readLine(limit: 65_536)
      return (answer, try log.read(upTo: 65_536))
    } catch {
      throw MountRefusal(.system, "\(String(decoding: daemon, as: UTF8.self)): \(error)")
    }
  }
}
