// `varve umount`: takes a mount away, and returns when its daemon is done with the volume.

import AccessControl
import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

func unmount(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console("varve umount", outputLoss: .isSurvived)
  let path = invocation.operands[0]
  do throws(Refusal) {
    let mount = try mountToTakeAway(path)
    let point = mount.mountPoint
    let state = MountState(mount)
    let isLazy = invocation.has(.lazy)
    // It would be busy with our own question, which nobody takes back.
    guard state != .silent || isLazy else { throw Refusal(MountState.silence) }
    // Asked before, because afterwards nobody answers. A dead mount has no daemon to wait for.
    // Where the volume is mounted elsewhere too, its daemon goes on.
    let table = try volumeTable()
    let views = mount.showsAll ? mount.views(in: table) : []
    let isLast = table.count { $0.device == mount.device } == 1 + views.count
    let daemon = state == .serving && isLast ? try runningDaemon(of: mount, isLazy: isLazy) : nil
    let isOpen = isLazy && daemon != nil && EncryptionState(try? volumeStatus(mount))?.isOpen == true
    if state == .dead, isLast { removeControlSocket(of: mount) }
    if isLast, !views.isEmpty {
      try takeAway(views, of: mount, isLazy: isLazy || state == .dead)
      if invocation.has(.verbose) { for view in views { console.printPath(view.mountPoint, " unmounted") } }
    }
    try takeAway(mount, isLazy: isLazy || state == .dead)
    if !isLazy, let daemon { try waitForEnd(of: daemon, of: mount, console) }
    if isOpen, let daemon, isStillRunning(daemon) {
      console.note(
        path,
        "programs still use it, and its encrypted files stay open to them; "
          + "'varve lock --all \(shellWord(mount.source))' closes them")
    }
    if invocation.has(.verbose) { console.printPath(point, " unmounted") }
  } catch {
    console.complain(path, error.sentence)
  }
  return console.finish()
}

/// The mount a path names; where there is none any more, views that umount(8) has left are named.
private func mountToTakeAway(_ path: Word) throws(Refusal) -> MountedVolume {
  do throws(Refusal) { return try ownMount(path) } catch {
    let table = try volumeTable()
    let left = table.filter { $0.view != nil && $0.whole(in: table) == nil }
    let isMountPoint = (try? TypedPath(path, table)).map { $0.rest.isEmpty && $0.isMountPoint } ?? false
    guard !isMountPoint, !left.isEmpty else { throw error }
    throw Refusal("not a mount point; \(MountState.leftViews(left))")
  }
}

/// The mount a path names, which is of our type; the topmost one.
///
/// `program`: the one that does for other file systems what is to be done here.
func ownMount(_ path: Word, elsewhere program: String = "umount(8)") throws(Refusal) -> MountedVolume {
  let typed = try TypedPath(path, try volumeTable())
  // A step to a directory of the volume and back is not taken: only the volume knows where it leads.
  guard typed.rest.isEmpty, typed.isMountPoint else {
    throw Refusal("not a mount point; 'varve status' lists the volumes")
  }
  guard typed.mount.isOurs else {
    throw Refusal("a mount of type \(typed.mount.type), not of Varve; \(program) is for it")
  }
  return typed.mount
}

/// A running daemon: its number, and its directory in /proc, which never comes to mean another process.
private struct RunningDaemon {
  let process: Int
  let directory: SharedDescriptor
}

/// None where the daemon cannot be asked or found; it is not waited for then.
private func runningDaemon(of mount: MountedVolume, isLazy: Bool) throws(Refusal) -> RunningDaemon? {
  let status: JSON?
  do throws(Errno) { status = try volumeStatus(mount) } catch {
    // The question is still under way, and keeps the mount busy.
    guard error != .timedOut || isLazy else { throw Refusal(MountState.silence) }
    return nil
  }
  guard let process = status?["pid"]?.integer else { return nil }
  let directory = try? SharedDescriptor(Descriptor.item(atPath: Array("/proc/\(process)".utf8), .held))
  return directory.map { RunningDaemon(process: process, directory: $0) }
}

/// Removes what a daemon that died has left of its control socket.
///
/// As long as the dead mount is there, its device number is nobody else's, so this comes before anybody can have it;
/// a name in a user's own directory goes with the next mount there.
func removeControlSocket(of mount: MountedVolume) {
  guard CurrentProcess.isRoot else { return }
  // Most likely there is none.
  try? removeSockets(named: "\(mount.device).", in: Array("/run/varve".utf8))
}

private func removeSockets(named beginning: String, in path: Word) throws(Errno) {
  for name in try Descriptor.item(atPath: path, .held).listing().names()
  where name.starts(with: beginning.utf8) {
    try removeFile(joined(path, name))
  }
}

/// Takes the views of a volume away, which would keep its daemon at work; none of them if one is in use.
private func takeAway(_ views: [MountedVolume], of mount: MountedVolume, isLazy: Bool) throws(Refusal) {
  let users = holders(ofDevice: mount.device, except: Int(CurrentProcess.identifier)).filter {
    $0.hold == .uses
  }
  if !isLazy, let user = users.first {
    let view = views.first { $0.contains(user.path) }
    let sentence =
      view.map {
        "process \(user.process) (\(user.name)) works in the view at \(PathText.escaped($0.mountPoint)) or has a file open"
      } ?? user.sentence
    throw Refusal("busy: \(sentence) (EBUSY); views of it are mounted, and nothing was unmounted")
  }
  for (done, view) in views.enumerated() {
    do throws(Refusal) { try takeAway(view, isLazy: isLazy) } catch {
      let others = done == 1 ? "; 1 other view was unmounted" : "; \(done) other views were unmounted"
      throw Refusal(
        "the view at \(PathText.escaped(view.mountPoint)) has to be unmounted first: \(error.sentence)"
          + (done > 0 ? others : ""))
    }
  }
}

/// Takes a mount away, as root by itself, else through fusermount3.
func takeAway(_ mount: MountedVolume, isLazy: Bool) throws(Refusal) {
  let point = mount.mountPoint
  if CurrentProcess.isRoot {
    do throws(Errno) {
      try unmount(point, isLazy: isLazy)
    } catch .busy {
      throw Refusal(whyBusy(mount))
    } catch {
      throw Refusal("\(error)")
    }
    return
  }
  try requireRight(toTakeAway: mount)
  guard let helper = fusermount() else {
    throw Refusal("fusermount3 is missing; it comes with the package fuse3")
  }
  let words = [Array("fusermount3".utf8), Array((isLazy ? "-uz" : "-u").utf8), Array("--".utf8), point]
  let (status, said): (Int, [UInt8])
  do throws(Errno) {
    let pipe = try Pipe()
    let child = try ChildProcess(helper, words: words, .init(error: pipe.writing.rawValue))
    let reading = pipe.intoReadingEnd()
    said = try reading.readToEnd()
    status = try child.wait()
  } catch {
    throw Refusal("fusermount3: \(error)")
  }
  guard status != 0 else { return }
  // It has one language.
  let text = String(decoding: said, as: UTF8.self)
  guard !text.contains("Device or resource busy") else { throw Refusal(whyBusy(mount)) }
  let line = text.split(separator: "\n").last.map { String($0) }
  throw Refusal(line ?? "fusermount3 ended with status \(status)")
}

/// Refuses to take away what another user mounted, as fusermount3 would.
func requireRight(toTakeAway mount: MountedVolume) throws(Refusal) {
  guard !CurrentProcess.isRoot, let owner = mount.owner, owner != CurrentProcess.user else { return }
  let name = NameBook.machine.userName(owner) ?? "user \(owner)"
  throw Refusal(
    "it was mounted by \(name); only \(owner == 0 ? "root takes" : "\(name) and root take") it away")
}

/// Waits until the daemon has ended, and with that has released the lock of the volume.
///
/// It does not end while a process uses the mount: then those processes are named, and the wait continues.
private func waitForEnd(
  of daemon: RunningDaemon, of mount: MountedVolume, _ console: Console
) throws(Refusal) {
  // Half a minute: it may have to write out what programs left behind.
  for attempt in 0..<3_050 {
    guard isRunning(daemon.directory) else { return }
    if attempt == 250 { sayWhoHolds(mount, except: daemon, console) }
    // Most daemons are gone after a few short ones.
    Clock.pause(milliseconds: attempt < 50 ? 1 : 10)
  }
  throw Refusal(
    "unmounted, but its daemon, process \(daemon.process), is still at work; the volume cannot be mounted again yet"
  )
}

/// Whether a daemon goes on after its mount was taken away; one that nobody needs ends at once.
private func isStillRunning(_ daemon: RunningDaemon) -> Bool {
  for _ in 0..<100 {
    guard isRunning(daemon.directory) else { return false }
    Clock.pause(milliseconds: 10)
  }
  return true
}

private func sayWhoHolds(_ mount: MountedVolume, except daemon: RunningDaemon, _ console: Console) {
  let holders = holders(ofDevice: mount.device, except: daemon.process)
  if holders.isEmpty {
    console.note(mount.mountPoint, "unmounted; waiting for its daemon, process \(daemon.process), to finish")
  }
  for holder in holders.prefix(10) {
    console.note(mount.mountPoint, "unmounted here, and waiting: \(holder.sentence)")
  }
  if holders.count > 10 { console.note("and \(holders.count - 10) more") }
}

/// Whether a process is there and has not ended.
///
/// One that has ended may wait for a parent that does not look.
private func isRunning(_ process: SharedDescriptor) -> Bool {
  guard let state = try? process.descriptor.reading(Array("stat".utf8)).readToEnd() else { return false }
  // "1234 (name) S ...": the name may hold anything, so the last parenthesis counts.
  guard let end = state.lastIndex(of: UInt8(ascii: ")")), end + 2 < state.count else { return false }
  if state[end + 2] != UInt8(ascii: "Z") && state[end + 2] != UInt8(ascii: "X") { return true }
  // Its first thread may have ended before the others, and the lock goes with the last: the eighteenth field.
  let fields = state[(end + 2)...].split(separator: UInt8(ascii: " "))
  return fields.count > 17 && (Int(String(decoding: fields[17], as: UTF8.self)) ?? 1) > 1
}
