import CLinux

// Stream sockets of this machine, where both sides know who the other is.

/// Who is at the other end of a connection, as of the moment it was made.
package struct SocketPeer: Hashable, Sendable {
  package let user: UInt32
  package let group: UInt32
  /// 0 for a process outside our process namespace.
  package let process: Int32
  /// The supplementary groups; nil when they cannot be found out.
  package let groups: [UInt32]?
  /// The effective capabilities of user 0, as a mask; nil for others, or when they cannot be found out.
  package let capabilities: UInt64?

  package init(user: UInt32, group: UInt32, process: Int32, groups: [UInt32]?, capabilities: UInt64?) {
    self.user = user
    self.group = group
    self.process = process
    self.groups = groups
    self.capabilities = capabilities
  }
}

/// A socket that waits for connections.
package struct ListeningSocket: ~Copyable, Sendable {
  private let descriptor: Descriptor

  /// Listens under `name` in `directory`, open to whom `mode` lets write; EEXIST if the name exists.
  ///
  /// The name is usable once this returns; it is the caller's to remove.
  package init(_ name: borrowing FileName, in directory: borrowing Descriptor, mode: UInt16) throws(Errno) {
    let number = directory.rawValue
    let opened = try retrying { unsafe lv_socket_listen(number, name.pointer, UInt32(mode)) }
    descriptor = Descriptor(adopting: opened.asCInt)
  }

  /// Waits for the next connection.
  ///
  /// ECONNABORTED when the other side gave up meanwhile, EMFILE and the like when there is no room.
  package borrowing func accept() throws(Errno) -> LocalStream {
    let number = descriptor.rawValue
    while true {
      try retrying { lv_socket_wait(number, 0, -1) }
      do throws(Errno) {
        return LocalStream(Descriptor(adopting: try retrying { lv_socket_accept(number) }.asCInt))
      } catch .again {
        continue
      }
    }
  }
}

/// One end of a connection.
package struct LocalStream: ~Copyable, Sendable {
  private let descriptor: Descriptor

  init(_ descriptor: consuming Descriptor) {
    self.descriptor = descriptor
  }

  /// The number of the descriptor, for tests.
  var number: CInt { descriptor.rawValue }

  /// Connects to the socket `name` in `directory`; ECONNREFUSED when nobody listens there any more.
  ///
  /// EAGAIN when the other side accepts nobody for some seconds.
  package init(to name: borrowing FileName, in directory: borrowing Descriptor) throws(Errno) {
    let number = directory.rawValue
    let opened = try retrying { unsafe lv_socket_connect(number, name.pointer, 5) }
    descriptor = Descriptor(adopting: opened.asCInt)
  }

  /// Who is at the other end.
  package var peer: SocketPeer {
    get throws(Errno) {
      var (user, group, process): (UInt32, UInt32, Int32) = (0, 0, 0)
      let number = descriptor.rawValue
      try retrying { unsafe lv_socket_peer(number, &user, &group, &process) }
      return SocketPeer(
        user: user, group: group, process: process, groups: groups,
        capabilities: user == 0 ? capabilities(of: process) : nil)
    }
  }

  /// What /proc says of the process that connected, as long as it is that process.
  ///
  /// Its number is free for others once it has ended, and a process that has the connection from it may ask more.
  private func capabilities(of process: Int32) -> UInt64? {
    do throws(Errno) {
      return try ofPeer { () throws(Errno) in
        ProcessCredentials.credentials(ofThread: process, withCapabilities: true)?.capabilities
      }
    } catch .noProtocolOption {
      // Before Linux 6.5 there is only the number.
      return ProcessCredentials.credentials(ofThread: process, withCapabilities: true)?.capabilities
    } catch {
      return nil
    }
  }

  /// What `look` finds out by the number of the process that connected; ESRCH when that has ended, ENOPROTOOPT before
  /// Linux 6.5.
  private func ofPeer<Value: ~Copyable>(_ look: () throws(Errno) -> Value) throws(Errno) -> Value {
    let number = descriptor.rawValue
    let process = Descriptor(adopting: try retrying { lv_socket_peer_process(number) }.asCInt)
    let found = try look()
    let processNumber = process.rawValue
    // Readable once it has ended.
    guard try retrying({ lv_socket_wait(processNumber, 0, 0) }) == 0 else { throw .noSuchProcess }
    return found
  }

  /// Holds on to what the process that connected has open as descriptor `number`, if `isWanted` of the mount it is on, by
  /// the mount's number in /proc/PID/mountinfo.
  ///
  /// The number comes in the line, and no descriptor with it: one that was received (SCM_RIGHTS) has to be closed, and
  /// closing a file of a FUSE daemon that was stopped never ends, not even when the process is killed. This one is
  /// O_PATH, so that no file system is asked anything when it is opened, and none when it is closed.
  ///
  /// EACCES where we may not look into that process, EPERM when it has become another user, ESTALE when it has put
  /// something else there meanwhile.
  package borrowing func held(
    _ number: Int32, by peer: SocketPeer, ifOn isWanted: (Int) throws(Errno) -> Void
  ) throws(Errno) -> Descriptor {
    try ofPeer { () throws(Errno) in
      let mount = try retrying { lv_mount_number(peer.process, number) }
      // A file system of the network would be asked whether the descriptor is stale.
      try isWanted(mount)
      let held = try Descriptor.open(path: "/proc/\(peer.process)/fd/\(number)", .path)
      let heldNumber = held.rawValue
      guard try retrying({ lv_mount_number(CurrentProcess.identifier, heldNumber) }) == mount else {
        throw .stale
      }
      // With a set-user-id program come descriptors that the connecting user may not have.
      let present = ProcessCredentials.credentials(ofThread: peer.process)
      guard let present, present.canHaveAsked(user: peer.user, group: peer.group) else { throw .notPermitted }
      return held
    }
  }

  private var groups: [UInt32]? {
    let number = descriptor.rawValue
    // Most people are in fewer than 64; the kernel allows 65,536.
    for room in [64, 65_536] {
      var groups = [UInt32](repeating: 0, count: room)
      let count = unsafe groups.withUnsafeMutableBufferPointer { space in
        guard let start = space.baseAddress else { return -1 }
        return unsafe lv_socket_peer_groups(number, start, space.count)
      }
      if count >= 0, count <= room { return Array(groups[..<count]) }
    }
    return nil
  }

  /// Whether the other side has neither ended nor sent more than what was received.
  package var isQuiet: Bool {
    let number = descriptor.rawValue
    return (try? retrying { lv_socket_wait(number, 0, 0) }) == 0
  }

  /// Receives up to the end of a line, which is left out.
  ///
  /// ETIMEDOUT at `deadline` (of the monotonic clock, in nanoseconds), ENODATA when the other side ends in the
  /// middle, EMSGSIZE for a line of more than `limit` bytes. What follows the line is left: it may be a secret, which
  /// belongs into other memory.
  package borrowing func receiveLine(limit: Int, deadline: UInt64) throws(Errno) -> [UInt8] {
    var line: [UInt8] = []
    while true {
      try wait(forWriting: false, deadline)
      guard let piece = try receive(upTo: 4_096, .endOfLine) else { continue }
      guard let last = piece.last else { throw .noData }
      let isWhole = last == UInt8(ascii: "\n")
      line += isWhole ? piece.dropLast() : piece[...]
      guard line.count <= limit else { throw .messageTooLong }
      if isWhole { return line }
    }
  }

  /// Fills memory of the caller's with what comes next, and takes no more; no copy is kept.
  ///
  /// ETIMEDOUT at `deadline`, ENODATA when the other side ends before that.
  package borrowing func receive(into bytes: inout MutableSpan<UInt8>, deadline: UInt64) throws(Errno) {
    let number = descriptor.rawValue
    var done = 0
    while done < bytes.count {
      try wait(forWriting: false, deadline)
      do throws(Errno) {
        let taken = try retrying {
          unsafe bytes.withUnsafeMutableBytes { space in
            guard let start = space.baseAddress else { return 0 }
            return unsafe lv_socket_receive(number, start + done, space.count - done)
          }
        }
        guard taken > 0 else { throw Errno.noData }
        done += taken
      } catch .again {
        continue
      } catch .connectionReset {
        throw .noData
      }
    }
  }

  /// Whether more has come than was received.
  package var hasMore: Bool {
    let number = descriptor.rawValue
    // What cannot be known does not count.
    return ((try? retrying { lv_socket_waiting(number) }) ?? 0) > 0
  }

  /// Receives a line as `receiveLine`, and waits until the other side has ended: then it is done with us, and counts
  /// us no longer among those it serves.
  ///
  /// A line that has come is answered, whatever becomes of the rest.
  package borrowing func receiveLastLine(limit: Int, deadline: UInt64) throws(Errno) -> [UInt8] {
    let line = try receiveLine(limit: limit, deadline: deadline)
    do throws(Errno) {
      let deadline = min(deadline, Clock.monotonicNanoseconds &+ LocalStream.farewell)
      var hasEnded = false
      while !hasEnded {
        try wait(forWriting: false, deadline)
        hasEnded = try receive(upTo: 4_096, .all)?.isEmpty ?? false
      }
    } catch {
      // Nobody is owed an end.
    }
    return line
  }

  /// How long the end of a connection is waited for behind the last line.
  private static let farewell: UInt64 = 1_000_000_000

  /// Where a piece ends at the latest.
  private enum PieceEnd {
    case endOfLine
    case all
  }

  /// What is there; empty when the other side has ended, nil when there was nothing after all.
  private borrowing func receive(upTo count: Int, _ end: PieceEnd) throws(Errno) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    let number = descriptor.rawValue
    let taken: Int
    do throws(Errno) {
      taken = try retrying {
        unsafe bytes.withUnsafeMutableBytes { space in
          guard let start = space.baseAddress else { return 0 }
          return switch end {
          case .endOfLine: unsafe lv_socket_receive_line(number, start, space.count)
          case .all: unsafe lv_socket_receive(number, start, space.count)
          }
        }
      }
    } catch .connectionReset {
      return []
    } catch .again {
      return nil
    }
    bytes.removeLast(bytes.count - taken)
    return bytes
  }

  /// Sends everything; ETIMEDOUT when the other side takes it too slowly, EPIPE when it is gone.
  package borrowing func send(_ bytes: [UInt8], deadline: UInt64) throws(Errno) {
    try send(bytes.span, deadline: deadline)
  }

  /// The same for what lies in memory of the caller's, of which no copy is made.
  package borrowing func send(_ bytes: Span<UInt8>, deadline: UInt64) throws(Errno) {
    var done = 0
    let number = descriptor.rawValue
    while done < bytes.count {
      try wait(forWriting: true, deadline)
      let rest = bytes.extracting(droppingFirst: done)
      do throws(Errno) {
        done += try retrying {
          unsafe rest.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return 0 }
            return unsafe lv_socket_send(number, start, buffer.count)
          }
        }
      } catch .again {
        continue
      }
    }
  }

  private borrowing func wait(forWriting: Bool, _ deadline: UInt64) throws(Errno) {
    let now = Clock.monotonicNanoseconds
    guard now < deadline else { throw .timedOut }
    let left = CInt(clamping: (deadline - now) / 1_000_000 + 1)
    let number = descriptor.rawValue
    guard try retrying({ lv_socket_wait(number, forWriting ? 1 : 0, left) }) > 0 else { throw .timedOut }
  }
}

/// One datagram to a socket of this machine; a path that begins with @ is an abstract name.
package func sendDatagram(_ bytes: [UInt8], to path: [UInt8]) throws(Errno) {
  try retrying {
    unsafe path.withUnsafeBytes { place in
      unsafe bytes.withUnsafeBytes { content in
        guard let place = unsafe place.assumingMemoryBound(to: CChar.self).baseAddress,
          let content = content.baseAddress
        else { return -Int(Errno.invalid.rawValue) }
        return unsafe lv_datagram(place, path.count, content, bytes.count)
      }
    }
  }
}
