// `varve umount`: takes a mount away, and returns when its daemon is done with the volume.

import Arguments
import LinuxFiles
import LinuxPrograms
import TextForms
import Verbs

func unmount(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console("varve umount")
  let path = invocation.operands[0]
  do throws(Refusal) {
    let point = try ownMountPoint(path)
    // Asked before, because afterwards nobody answers. A dead mount has no daemon to wait for.
    let daemon = runningDaemon(of: point)
    try takeAway(point, isLazy: invocation.has(.lazy))
    if !invocation.has(.lazy), let daemon { try waitForEnd(of: daemon) }
    if invocation.has(.verbose) { console.printPath(point, " unmounted") }
  } catch {
    console.complain(path, error.sentence)
  }
  return console.finish()
}

/// The mount point a path names: absolute, and of our type.
func ownMountPoint(_ path: Word) throws(Refusal) -> Word {
  let table: [MountedVolume]
  let absolute: Word
  do throws(Errno) {
    table = try mountTable()
    absolute = try canonical(path)
  } catch {
    throw Refusal(error)
  }
  guard let mount = table.last(where: { $0.mountPoint == absolute }) else {
    throw Refusal("not a mount point")
  }
  guard mount.isOurs else { throw Refusal("a mount of type \(mount.type), not of Varve") }
  return absolute
}

/// The path without links; of a dead mount, whose root answers nobody, the path of the directory it is in.
private func canonical(_ path: Word) throws(Errno) -> Word {
  do throws(Errno) {
    return try realPath(path)
  } catch .notConnected {
    let slash = UInt8(ascii: "/")
    var trimmed = path
    while trimmed.count > 1, trimmed.last == slash { trimmed.removeLast() }
    guard let end = trimmed.lastIndex(of: slash) else {
      return joined(try realPath([UInt8(ascii: ".")]), trimmed)
    }
    return joined(try realPath(Array(trimmed[...end])), Array(trimmed[(end + 1)...]))
  }
}

/// The directory of a running daemon in /proc: unlike a number, it never comes to mean another process.
private func runningDaemon(of mountPoint: Word) -> SharedDescriptor? {
  // A daemon that cannot be asked or found is not waited for.
  guard let id = try? volumeStatus(mountPoint)?["pid"]?.integer else { return nil }
  do throws(Errno) {
    return SharedDescriptor(try Descriptor.place(Array("/proc/\(id)".utf8), .held))
  } catch {
    return nil
  }
}

func takeAway(_ point: Word, isLazy: Bool) throws(Refusal) {
  if ThisProgram.isRoot {
    do throws(Errno) {
      try unmount(point, isLazy: isLazy)
    } catch .busy {
      throw Refusal("busy: some program works in it or has a file open; 'fuser -vm' names it (EBUSY)")
    } catch {
      throw Refusal("\(error)")
    }
    return
  }
  guard let helper = unmountProgram() else {
    throw Refusal("fusermount3 is missing; it comes with the package fuse3")
  }
  let words = [Array("fusermount3".utf8), Array((isLazy ? "-uz" : "-u").utf8), Array("--".utf8), point]
  let status: Int
  do throws(Errno) {
    status = try ChildProcess(helper, words: words, .init(error: StandardStream.error.rawValue)).wait()
  } catch {
    throw Refusal("fusermount3: \(error)")
  }
  guard status == 0 else { throw Refusal("fusermount3 ended with status \(status)") }
}

/// The daemon lets go of the volume's lock when it ends.
private func waitForEnd(of daemon: SharedDescriptor) throws(Refusal) {
  // Half a minute: it may have to write out what programs left behind.
  for attempt in 0..<3_050 {
    guard isRunning(daemon) else { return }
    // Most daemons are gone after a few short ones.
    pause(milliseconds: attempt < 50 ? 1 : 10)
  }
  throw Refusal("unmounted, but the daemon is still at work; the volume cannot be mounted again yet")
}

/// Whether a process is there and has not ended.
///
/// One that has ended may wait for a parent that does not look.
private func isRunning(_ process: SharedDescriptor) -> Bool {
  guard let state = try? process.descriptor.contents(of: Array("stat".utf8)) else { return false }
  // "1234 (name) S ...": the name may hold anything, so the last parenthesis counts.
  guard let end = state.lastIndex(of: UInt8(ascii: ")")), end + 2 < state.count else { return false }
  if state[end + 2] != UInt8(ascii: "Z") && state[end + 2] != UInt8(ascii: "X") { return true }
  // Its first thread may have ended before the others, and the lock goes with the last: the eighteenth field.
  let fields = state[(end + 2)...].split(separator: UInt8(ascii: " "))
  return fields.count > 17 && (Int(String(decoding: fields[17], as: UTF8.self)) ?? 1) > 1
}
