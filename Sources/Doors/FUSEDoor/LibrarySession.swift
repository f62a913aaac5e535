// libfuse's part: mounting, INIT, unmounting. Nothing else of libfuse is used.

import CFUSE
import Glibc
import LinuxFiles
import Synchronization

/// A session of libfuse, mounted.
///
/// Destroyed exactly once. libfuse 3.14 parses no request but INIT: its parser drops what newer kernels say (the
/// kill-privilege bits, STATX, TMPFILE).
@safe struct LibrarySession: ~Copyable, @unchecked Sendable {
  // Sendable: the one owner uses it from one thread at a time, and libfuse has no thread of its own.
  private let session: OpaquePointer
  /// Kept alive for the hooks, which find it through libfuse.
  private let handshake: Handshake

  /// Where it was mounted in another namespace, which libfuse knows nothing of.
  private var elsewhere: MountPoint?

  /// Mounts; the sentence of the failure is libfuse's last complaint.
  static func mount(
    on mountPoint: MountPoint, _ foreign: ForeignDirectory?, _ options: MountOptions, handshake: Handshake
  ) throws(MountFailure) -> LibrarySession {
    LibraryLog.take()
    var arguments = unsafe fuse_args()
    defer { unsafe fuse_opt_free_args(&arguments) }
    let words = options.words(isPrivileged: geteuid() == 0)
    for word in [Array("varved".utf8), Array("-o".utf8), words] {
      guard unsafe addArgument(word, to: &arguments) else {
        throw MountFailure(mountPoint.path, "cannot be mounted on: out of memory")
      }
    }
    // No operations: libfuse is asked to process INIT only.
    var operations = fuse_lowlevel_ops()
    let userdata = unsafe Unmanaged.passUnretained(handshake).toOpaque()
    let made = unsafe fuse_session_new(
      &arguments, &operations, MemoryLayout<fuse_lowlevel_ops>.size, userdata)
    guard let made = unsafe made else { throw failure(mountPoint) }
    var library = unsafe LibrarySession(session: made, handshake: handshake)
    if let foreign {
      try library.mount(on: foreign, options)
    } else {
      // fusermount3, which mounts for users, complains to standard error by itself.
      let (isConnected, said) = StandardError.caught { unsafe connect(made, to: mountPoint.path) }
      guard isConnected else { throw failure(mountPoint, said) }
      StandardError.write(said)
    }
    // After mounting: before, libfuse would take it for a connection that is mounted elsewhere.
    var hooks = unsafe fuse_custom_io(
      writev: writeHook, read: readHook, splice_receive: nil, splice_send: nil)
    guard unsafe fuse_session_custom_io(made, &hooks, fuse_session_fd(made)) == 0 else {
      throw failure(mountPoint)
    }
    return library
  }

  @unsafe private init(session: OpaquePointer, handshake: Handshake) {
    unsafe self.session = session
    self.handshake = handshake
  }

  /// Mounts in another mount namespace, by our own device and without libfuse: that would run programs and read
  /// tables which belong to another process there.
  private mutating func mount(on foreign: ForeignDirectory, _ options: MountOptions) throws(MountFailure) {
    let mountPoint = MountPoint(foreign)
    do throws(Errno) {
      let opened = try retrying { lv_fuse_open_device() }
      let device = Descriptor(adopting: CInt(truncatingIfNeeded: opened))
      let (source, type) = (options.source, "fuse.\(options.subtype)")
      let (flags, words) = (options.flags, options.words(device: device.rawValue))
      _ = try foreign.namespace.visit(in: foreign.directory) { () throws(Errno) -> Int in
        try unsafe withTerminatedText(source) { source throws(Errno) in
          try retrying { unsafe lv_fuse_mount_here(source, type, flags, words) }
        }
      }
      elsewhere = mountPoint
      // Such a path is libfuse's word for a connection that is mounted already.
      guard unsafe fuse_session_mount(session, "/dev/fd/\(device.rawValue)") == 0 else {
        throw .inputOutput
      }
      _ = device.release()
    } catch {
      throw MountFailure(foreign.path, "cannot be mounted on: \(error)")
    }
  }

  /// The device, open until this is destroyed.
  var device: CInt { unsafe fuse_session_fd(session) }

  /// Receives and answers INIT; false when the volume was unmounted before.
  borrowing func shakeHands() -> Bool {
    var buffer = unsafe fuse_buf()
    defer { unsafe free(buffer.mem) }
    while handshake.agreement == nil {
      guard unsafe fuse_session_receive_buf(session, &buffer) > 0 else { return false }
      unsafe fuse_session_process_buf(session, &buffer)
      // Refused by libfuse, or the reply could not be written.
      if unsafe fuse_session_exited(session) != 0 { break }
    }
    return handshake.agreement != nil
  }

  private static func failure(_ mountPoint: MountPoint, _ said: String = "") -> MountFailure {
    let logged = LibraryLog.take()
    let reason =
      said.split(whereSeparator: \.isNewline).last.map { String($0) } ?? logged ?? "fusermount3 refused"
    return MountFailure(mountPoint.path, "cannot be mounted on: \(reason)")
  }

  /// Closes the device, and unmounts if the kernel has not done so already.
  consuming func close() {}

  deinit {
    let isLeft = elsewhere != nil && lv_fuse_is_over(device) == 0
    unsafe fuse_session_unmount(session)
    unsafe fuse_session_destroy(session)
    // After the device is closed, so that it waits for nobody. Whatever happened is told already.
    if isLeft { try? elsewhere?.unmount(lazily: true) }
  }
}

// MARK: Bytes for libfuse

@unsafe private func addArgument(_ word: [UInt8], to arguments: inout fuse_args) -> Bool {
  let added = try? unsafe withTerminatedText(word) { unsafe fuse_opt_add_arg(&arguments, $0) }
  return added == 0
}

/// Whether the session could be mounted; if not, libfuse has said why.
@unsafe private func connect(_ session: OpaquePointer, to path: [UInt8]) -> Bool {
  let mounted = try? unsafe withTerminatedText(path) { unsafe fuse_session_mount(session, $0) }
  return mounted == 0
}

// MARK: The hooks of libfuse

/// Reads a request for libfuse and shows it to the handshake.
private func readHook(
  _ device: CInt, _ memory: UnsafeMutableRawPointer?, _ count: Int, _ userdata: UnsafeMutableRawPointer?
) -> Int {
  guard let memory = unsafe memory, let userdata = unsafe userdata else { return fail(EINVAL) }
  let result = unsafe lv_fuse_read(device, memory, count)
  guard result >= 0 else { return fail(-result) }
  let handshake = unsafe Unmanaged<Handshake>.fromOpaque(userdata).takeUnretainedValue()
  unsafe handshake.sawRequest(UnsafeRawBufferPointer(start: memory, count: result))
  return result
}

/// Writes a reply of libfuse, the one to INIT with what the handshake makes of it.
private func writeHook(
  _ device: CInt, _ pieces: UnsafeMutablePointer<iovec>?, _ count: CInt,
  _ userdata: UnsafeMutableRawPointer?
) -> Int {
  guard let pieces = unsafe pieces, let userdata = unsafe userdata else { return fail(EINVAL) }
  let handshake = unsafe Unmanaged<Handshake>.fromOpaque(userdata).takeUnretainedValue()
  let all = unsafe UnsafeMutableBufferPointer(start: pieces, count: Int(count))
  let answered = unsafe handshake.changeReply(all)
  let result = unsafe lv_fuse_writev(device, pieces, count)
  guard result >= 0 else { return fail(-result) }
  if let answered { handshake.conclude(answered) }
  return result
}

/// Sets `errno`, which libfuse looks at, and answers -1.
private func fail<Number: BinaryInteger>(_ number: Number) -> Int {
  lv_fuse_set_error(CInt(truncatingIfNeeded: number))
  return -1
}
