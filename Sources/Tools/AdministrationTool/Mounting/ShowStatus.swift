// `varve status`: which volumes are mounted, and what is in force on one.

import AccessControl
import Arguments
import JSONForm
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import TextForms

func showStatus(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console("varve status")
  let colors = try Colors(invocation)
  do throws(Errno) {
    let table = try mountTable()
    if let path = invocation.operands.first {
      showVolume(path, table, invocation, console, colors)
    } else {
      listVolumes(table.filter(\.isOurs), isJSON: invocation.has(.json), console, colors)
    }
  } catch {
    console.complain("/proc/self/mountinfo: \(error)")
  }
  return console.finish()
}

/// What is mounted, as this process sees it.
func mountTable() throws(Errno) -> [MountedVolume] {
  MountedVolume.table(try ownMountTable())
}

/// What the daemon behind a mount tells about itself; nil if it tells nothing that can be understood.
///
/// ETIMEDOUT after two seconds: it may have been stopped since it was asked whether it serves. With `nomagic` there
/// is no file that says it, but there is the control socket.
func volumeStatus(_ volume: MountedVolume) throws(Errno) -> JSON? {
  let path = joined(joined(volume.mountPoint, OwnDirectory.bytes), Array("status".utf8))
  let heard = try QuestionApart.ask(milliseconds: MountState.patience) { () throws(Errno) -> [UInt8] in
    try Descriptor.reading(path).readToEnd()
  }
  do throws(Errno) {
    guard let heard else { throw .timedOut }
    return JSON(try heard.get())
  } catch .noSuchFile {
    do throws(Refusal) { return try ask(volume, "status")["status"] } catch { throw .noSuchFile }
  }
}

private func listVolumes(
  _ volumes: [MountedVolume], isJSON: Bool, _ console: Console, _ colors: Colors
) {
  let listed = volumes.map { ListedVolume($0) }
  // A daemon that serves no mount of the table, but has a socket.
  let elsewhere = VolumeServedElsewhere.all(except: Set(volumes.map(\.device)))
  if isJSON {
    let objects = listed.map { JSON.object($0.members) } + elsewhere.map { JSON.object($0.members) }
    console.printLines(JSON.array(objects).indentedText() + "\n")
    return
  }
  if volumes.isEmpty, elsewhere.isEmpty { console.print("no Varve volume is mounted\n") }
  for volume in listed {
    let said = volume.state.remark(of: volume.mount)
    let remark = said.isEmpty ? "" : colors.failure(said)
    let encryption = volume.encryption.map { " \($0.words)" } ?? ""
    console.print("\(mountLine(volume.mount)) (\(volume.options))\(encryption)\(remark)\n")
  }
  for volume in elsewhere {
    let line = mountLine(nil, of: volume.source, on: volume.mountPoint)
    let encryption = EncryptionState(volume.status).map { " \($0.words)" } ?? ""
    console.print("\(line)\(encryption)\(colors.failure("  \(volume.remark)"))\n")
  }
}

/// A mount of the table, and what its daemon adds.
private struct ListedVolume {
  let mount: MountedVolume
  let state: MountState
  let status: JSON?

  init(_ mount: MountedVolume) {
    self.mount = mount
    state = MountState(mount)
    // A daemon that cannot be asked adds nothing.
    status = state == .serving ? try? volumeStatus(mount) : nil
  }

  /// The options the kernel shows, made stricter by what the daemon enforces: a user's remount reaches only the daemon.
  var options: String {
    var words = mount.options.split(separator: ",").map { String($0) }
    guard let status else { return mount.options }
    if status["readOnly"] == .bool(true), words.first == "rw" { words[0] = "ro" }
    if status["noexec"] == .bool(true), !words.contains("noexec") { words.append("noexec") }
    return words.joined(separator: ",")
  }

  /// Nil without encrypted files, or where nobody tells.
  var encryption: EncryptionState? { EncryptionState(status) }

  var members: [JSON.Member] {
    var members = JSON.nameMembers("source", mount.source) + JSON.nameMembers("mountPoint", mount.mountPoint)
    members.add("options", options)
    members.add("state", "\(state)")
    if let classes = status?["classes"] { members.append(JSON.Member("classes", classes)) }
    return members + (mount.view.map { JSON.nameMembers("view", $0) } ?? [])
  }
}

extension VolumeServedElsewhere {
  fileprivate var members: [JSON.Member] {
    var members = JSON.nameMembers("source", source) + JSON.nameMembers("mountPoint", mountPoint)
    members.add("state", status == nil ? "goneAndSilent" : "gone")
    if let classes = status?["classes"] { members.append(JSON.Member("classes", classes)) }
    return members
  }
}

/// What is mounted where, as one line whatever the names are.
private func mountLine(_ volume: MountedVolume) -> String {
  mountLine(volume.view, of: volume.source, on: volume.mountPoint)
}

private func mountLine(_ view: Word?, of source: Word, on mountPoint: Word) -> String {
  let view = view.map { "view \(PathText.escaped($0)) of " } ?? ""
  return "\(view)\(PathText.escaped(source)) on \(PathText.escaped(mountPoint))"
}

extension MountState {
  /// What a list adds to a mount with which something is wrong.
  fileprivate func remark(of mount: MountedVolume) -> String {
    switch self {
    case .serving, .unknown: ""
    case .dead: "  dead: its daemon is gone; 'varve umount' removes the mount"
    case .silent: "  \(MountState.silence(of: mount))"
    }
  }
}

private func showVolume(
  _ path: Word, _ table: [MountedVolume], _ invocation: Invocation, _ console: Console, _ colors: Colors
) {
  do throws(Refusal) {
    let place = try VolumePath(path, table)
    let volume = place.mount
    let status = with(view: place.view, try heardStatus(volume))
    try requireItem(path)
    if invocation.has(.json) {
      console.printLines(status.indentedText() + "\n")
    } else {
      let shown = invocation.has(.counters) ? status : withoutCounters(status)
      console.print(colors.bold(mountLine(volume)) + "\n")
      // The server of the mount wrote it, and that may be any user.
      console.printLines(described(withOwnerNamed(shown), indent: "  "))
    }
  } catch {
    console.complain(path, error.sentence)
  }
}

/// The daemon tells of a volume, which is the same in all its views.
private func with(view: [UInt8]?, _ status: JSON) -> JSON {
  guard let view, case .object(let members) = status else { return status }
  return .object(JSON.nameMembers("view", view) + members)
}

/// What is in force, without what the daemon counts: that is for a person who looks for a fault, and for programs.
private func withoutCounters(_ status: JSON) -> JSON {
  guard case .object(let members) = status else { return status }
  let counters: Set = ["nodes", "handles", "residentBytes", "requests"]
  return .object(members.filter { !counters.contains($0.name) })
}

/// The group that owns the volume's root as `varve ls` names it.
private func withOwnerNamed(_ status: JSON) -> JSON {
  guard case .object(let members) = status else { return status }
  return .object(
    members.map { member in
      guard member.name == "ownerGroup", let group = member.value.integer.flatMap({ UInt32(exactly: $0) })
      else {
        return member
      }
      return JSON.Member("owner", .string(AccessListText.print(.group(group), names: .machine)))
    })
}

/// Refuses a path at which nothing is; what cannot be looked at, now or by this user, is taken as typed.
func requireItem(_ path: Word) throws(Refusal) {
  let told: Result<[UInt8], Errno>?
  do throws(Errno) {
    told = try QuestionApart.ask(milliseconds: MountState.patience) { () throws(Errno) -> [UInt8] in
      _ = try Descriptor.item(atPath: path, .held)
      return []
    }
  } catch {
    return
  }
  guard case .failure(let error)? = told, error == .noSuchFile || error == .notDirectory else { return }
  throw Refusal(error)
}

func heardStatus(_ volume: MountedVolume) throws(Refusal) -> JSON {
  do throws(Errno) {
    guard let status = try volumeStatus(volume) else { throw .badMessage }
    return status
  } catch .timedOut {
    throw Refusal(MountState.silence(of: volume))
  } catch .badMessage {
    throw Refusal("the daemon's answer is not JSON")
  } catch .notConnected {
    throw Refusal(MountState.gone(volume))
  } catch .noSuchFile {
    throw Refusal("its daemon cannot be asked: a volume mounted with nomagic hides its status")
  } catch .accessDenied where volume.isClosed(to: CurrentProcess.user) {
    throw Refusal("\(MountState.closed(volume)) (EACCES)")
  } catch {
    throw Refusal(error)
  }
}

/// The members of an object, one a line, with objects below indented.
private func described(_ value: JSON, indent: String) -> String {
  guard case .object(let members) = value else { return "\(indent)\(words(value))\n" }
  let width = members.map(\.name.count).max() ?? 0
  return members.map { member in
    if case .object(let inner) = member.value, !inner.isEmpty {
      return "\(indent)\(member.name):\n" + described(member.value, indent: indent + "  ")
    }
    if case .array(let values) = member.value, case .object? = values.first {
      return "\(indent)\(member.name):\n" + values.map { "\(indent)  \(line($0))\n" }.joined()
    }
    let fill = String(repeating: " ", count: width - member.name.count)
    return "\(indent)\(member.name):\(fill) \(words(member.value))\n"
  }.joined()
}

/// The members of an object in a list of them, which has a line.
private func line(_ value: JSON) -> String {
  guard case .object(let members) = value else { return words(value) }
  return members.map { "\($0.name) \(words($0.value))" }.joined(separator: ", ")
}

private func words(_ value: JSON) -> String {
  switch value {
  case .null: "unknown"
  case .bool(let value): value ? "yes" : "no"
  case .number(let digits): digits
  // A line is a line of ours.
  case .string(let text): String(text.map { $0.isNewline ? " " : $0 })
  case .array(let values): values.isEmpty ? "none" : values.map(words).joined(separator: ", ")
  case .object: value.text
  }
}
