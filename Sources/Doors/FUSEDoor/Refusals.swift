// What was asked when a request was refused: the second half of an entry in the volume's list of denials.

import AccessControl
import CFUSE
import LayeredVolume
import LinuxFiles

extension Door {
  /// Completes what the gate noted while this request was answered, if it noted something.
  ///
  /// The note is taken whatever the answer is: a request may succeed another way after a refusal inside.
  func noted(_ opcode: Opcode, _ request: borrowing Request, _ reply: consuming Reply) -> Reply {
    let number = ThreadNote.take()
    if number != 0, case .failure(let error) = reply.answer {
      note(number, opcode, request, error)
    }
    return reply
  }

  private func note(_ number: UInt64, _ opcode: Opcode, _ request: borrowing Request, _ error: Errno) {
    var denied = DeniedRequest()
    denied.error = error
    denied.deed = deed(opcode, request)
    var newNode: NodeID?
    // What cannot be read of the request is left out: the refusal itself stands.
    do throws(Errno) {
      switch opcode {
      case .rename, .rename2:
        newNode =
          opcode == .rename
          ? try request.read(fuse_rename_in.self).newdir : try request.read(fuse_rename2_in.self).newdir
        try request.withNames { (name, newName) throws(Errno) in
          denied.name = name.copy()
          denied.newName = newName.copy()
        }
      case .link:
        newNode = request.node
        denied.newName = try request.withName { (name) throws(Errno) in name.copy() }
      case _ where opcode.namesChild:
        denied.name = try request.withName { (name) throws(Errno) in name.copy() }
      default: break
      }
    } catch {
      newNode = nil
    }
    let node =
      opcode == .link ? (try? request.read(fuse_link_in.self).oldnodeid) ?? request.node : request.node
    volume.refused(number, denied, at: node, to: newNode)
  }

  /// The word for what was asked, as `varve why` takes it where it knows one.
  private func deed(_ opcode: Opcode, _ request: borrowing Request) -> String {
    switch opcode {
    case .lookup: "search"
    case .getattr, .statx: "readattr"
    case .setattr: changeWord(request)
    case .symlink, .mknod, .create, .tmpfile: "create"
    case .mkdir: "mkdir"
    case .unlink, .rmdir: "delete"
    case .rename, .rename2: "rename"
    case .link: "link"
    case .open: openWord(request)
    case .opendir: "list"
    case .getxattr:
      attributeWord(
        request, "readxattr", list: "readacl", flags: "readattr", owner: "readattr", posix: "readacl")
    case .listxattr: "readxattr"
    case .setxattr, .removexattr:
      attributeWord(
        request, "writexattr", list: "writeacl", flags: "chflags", owner: "chown", posix: "chmod")
    case .ioctl: controlWord(request)
    default: "\(opcode)"
    }
  }

  private func changeWord(_ request: borrowing Request) -> String {
    guard let valid = try? request.read(fuse_setattr_in.self).valid else { return "setattr" }
    func names(_ bits: CInt) -> Bool { valid & UInt32(bitPattern: bits) != 0 }
    if names(FATTR_UID) || names(FATTR_GID) { return "chown" }
    if names(FATTR_MODE) { return "chmod" }
    return names(FATTR_SIZE) ? "write" : "writeattr"
  }

  private func openWord(_ request: borrowing Request) -> String {
    guard let input = try? request.read(fuse_open_in.self) else { return "open" }
    let mode = OpenMode(flags: input.flags, openFlags: input.open_flags)
    if mode.contains(.execute) { return "execute" }
    var words: [String] = mode.contains(.read) ? ["read"] : []
    if mode.contains(.write) || mode.contains(.truncate) {
      words.append(mode.contains(.append) && !mode.contains(.truncate) ? "append" : "write")
    }
    return words.joined(separator: ",")
  }

  private func attributeWord(
    _ request: borrowing Request, _ plain: String, list: String, flags: String, owner: String,
    posix: String
  ) -> String {
    let word = try? request.withAttributeName { (name) throws(Errno) -> String in
      if name.equals("system.varve.acl") { return list }
      if name.equals("system.varve.flags") { return flags }
      if name.equals("system.varve.posix") { return posix }
      return name.equals("system.varve.owner") ? owner : plain
    }
    return word ?? plain
  }

  private func controlWord(_ request: borrowing Request) -> String {
    guard let command = try? request.read(fuse_ioctl_in.self).cmd else { return "ioctl" }
    return [LV_FS_IOC_SETFLAGS, LV_FS_IOC_FSSETXATTR].contains(command) ? "chflags" : "readattr"
  }
}

extension Opcode {
  /// Whether a name that follows is one in the directory the request is about.
  fileprivate var namesChild: Bool {
    switch self {
    case .lookup, .symlink, .mknod, .mkdir, .unlink, .rmdir, .create: true
    default: false
    }
  }
}
