// From a request to one call of the volume and back. No rule of the product stands here.
//
// For all requests after INIT. The codec is our own because the parser of libfuse 3.14 drops the set-id bits of four requests
// and knows neither STATX nor TMPFILE (docs/design/serving.md).

import LayeredVolume
import LinuxFiles

/// The translator between the kernel's requests and a volume.
///
/// Knows nothing of how requests arrive.
final class Door: Sendable {
  let volume: Volume
  let counters = Counters()
  /// Whether STATX is answered; else the kernel falls back to GETATTR, without the time of birth.
  private let answersExtendedStatus: Bool

  init(_ volume: Volume) {
    self.volume = volume
    answersExtendedStatus = !volume.mounted.disabledFeatures.contains("statx")
  }

  /// Answers one request, or says what it has to wait for; the body of the answer is left in `buffer`.
  func attempt(_ request: borrowing Request, _ buffer: inout ReplyBuffer, isFirst: Bool) -> Reply {
    buffer.clear()
    guard let opcode = Opcode(rawValue: request.opcodeNumber) else {
      return Reply(to: request.unique, .failure(.notImplemented))
    }
    if isFirst {
      counters.count(opcode)
      if opcode.isAskedByItsThread { volume.threadAsks(request.caller) }
    }
    guard volume.options.debug else {
      return noted(opcode, request, answer(opcode, request, &buffer))
    }
    let start = Clock.monotonicNanoseconds
    let reply = noted(opcode, request, answer(opcode, request, &buffer))
    DebugLine.write(
      opcode, request, reply.answer, bodySize: buffer.count,
      nanoseconds: Clock.monotonicNanoseconds &- start)
    return reply
  }

  private func answer(_ opcode: Opcode, _ request: borrowing Request, _ buffer: inout ReplyBuffer) -> Reply {
    guard opcode.expectsReply else {
      takeNotice(opcode, request)
      return Reply(to: request.unique, .none)
    }
    guard !request.isDamaged else { return Reply(to: request.unique, .failure(.inputOutput)) }
    guard serves(opcode) else { return Reply(to: request.unique, .failure(.notImplemented)) }
    // Before any lock is taken, so that no decision has to wait for the user database.
    guard volume.knowsGroups(of: request.caller.user) || request.isNeverQueued else {
      return Reply(to: request.unique, .delayed(.names))
    }
    do throws(Errno) {
      return Reply(to: request.unique, .success, undo: try perform(opcode, request, &buffer))
    } catch .notImplemented {
      // ENOSYS makes the kernel never ask again, for ACCESS and OPEN even with "allowed" from then on.
      // One file that cannot do something must not mean that.
      return Reply(to: request.unique, .failure(opcode == .ioctl ? .notTerminal : .unsupported))
    } catch {
      return Reply(to: request.unique, error.delay.map(Reply.Answer.delayed) ?? .failure(error))
    }
  }

  /// Whether an operation is offered at all; if not, the kernel does without it for good.
  private func serves(_ opcode: Opcode) -> Bool {
    switch opcode {
    // Locks are the kernel's own business, blocks and DAX mappings do not exist here, and every file is
    // always ready. SYNCFS comes to virtual machines' shared folders only.
    case .getlk, .setlk, .setlkw, .bmap, .poll, .setupMapping, .removeMapping, .syncfs: false
    case .statx: answersExtendedStatus
    default: true
    }
  }

  /// The kernel has the answer to a request.
  func delivered(_ request: borrowing Request) {
    if request.opcodeNumber == Opcode.lookup.rawValue {
      volume.lookupDelivered(request.unique, to: request.caller)
    }
  }

  /// Takes back what an answer that was not delivered had handed out.
  func takeBack(_ undo: Undo, _ buffer: borrowing ReplyBuffer) {
    switch undo {
    case .nothing: break
    case .forget(let node): volume.forget(node, references: 1)
    case .release(let handle): volume.release(handle)
    case .forgetAndRelease(let node, let handle):
      volume.release(handle)
      volume.forget(node, references: 1)
    case .forgetListed: buffer.listedNodes { volume.forget($0, references: 1) }
    }
  }
}

// MARK: One operation

extension Door {
  private func perform(
    _ opcode: Opcode, _ request: borrowing Request, _ buffer: inout ReplyBuffer
  ) throws(Errno) -> Undo {
    switch opcode {
    case .lookup: return try lookup(request, &buffer)
    case .mknod: return try makeNode(request, &buffer)
    case .mkdir: return try makeDirectory(request, &buffer)
    case .symlink: return try makeSymbolicLink(request, &buffer)
    case .link: return try link(request, &buffer)
    case .create: return try create(request, &buffer)
    case .tmpfile: return try createUnnamed(request, &buffer)
    case .open: return try open(request, &buffer)
    case .opendir: return try openDirectory(request, &buffer)
    case .readdir: try readDirectory(request, &buffer)
    case .readdirplus: return try readDirectoryWithEntries(request, &buffer)

    case .getattr: try attributes(request, &buffer)
    case .statx: try extendedStatus(request, &buffer)
    case .setattr: try changeAttributes(request, &buffer)
    case .access: try access(request)
    case .readlink: try readLink(request, &buffer)
    case .unlink: try remove(request)
    case .rmdir: try removeDirectory(request)
    case .rename: try rename(request)
    case .rename2: try renameWithFlags(request)

    case .read: try read(request, &buffer)
    case .write: try write(request, &buffer)
    case .flush: try flush(request)
    case .fsync: try synchronize(request)
    case .fsyncdir: try synchronizeDirectory(request)
    case .release, .releasedir: try release(request)
    case .fallocate: try allocate(request)
    case .lseek: try seek(request, &buffer)
    case .copyFileRange: try copyRange(request, &buffer)
    case .copyFileRange64: try copyLongRange(request, &buffer)

    case .getxattr: try extendedAttribute(request, &buffer)
    case .setxattr: try setExtendedAttribute(request)
    case .listxattr: try listExtendedAttributes(request, &buffer)
    case .removexattr: try removeExtendedAttribute(request)

    case .statfs: try fileSystemStatus(&buffer)
    case .ioctl: try control(request, &buffer)
    case .destroy: break

    // INIT is answered before the first worker starts. The rest never gets here.
    case .initialize, .forget, .batchForget, .interrupt, .notifyReply, .getlk, .setlk, .setlkw, .bmap, .poll,
      .setupMapping, .removeMapping, .syncfs:
      throw .inputOutput
    }
    return .nothing
  }

  private func fileSystemStatus(_ buffer: inout ReplyBuffer) throws(Errno) {
    try buffer.append(volume.fileSystemStatus())
  }
}
