// The directory a volume is mounted on.

import CFUSE
import Glibc
import LinuxFiles

/// A checked, absolute mount point.
struct MountPoint: Sendable {
  let path: [UInt8]
  /// Where the path leads there; nil in our own mount namespace.
  private let namespace: MountNamespace?

  /// A directory that was opened in another mount namespace.
  init(_ foreign: ForeignDirectory) {
    path = foreign.path
    namespace = foreign.namespace
  }

  /// Resolves `path` and checks that something can be mounted there.
  init(_ path: [UInt8]) throws(MountFailure) {
    let status: FileStatus
    namespace = nil
    do throws(Errno) {
      self.path = try MountPoint.resolve(path)
      status = try Descriptor.open(path: self.path, .path).status()
    } catch .notConnected {
      throw MountFailure(path, "the daemon of an earlier mount there is gone; unmount it first")
    } catch {
      throw MountFailure(path, "cannot be mounted on: \(error)")
    }
    // libfuse would mount on a file as well; the root of a volume is a directory.
    guard status.kind == .directory else {
      throw MountFailure(path, "cannot be mounted on: it is not a directory")
    }
  }

  /// Refuses what fusermount3, which mounts for users, would refuse in words of its own.
  func requireHelp(_ options: MountOptions) throws(MountFailure) {
    let user = CurrentProcess.user
    guard UserDatabase.userName(user) != nil else {
      throw MountFailure(
        path, "user \(user) has no account, and fusermount3 mounts only for users who have one")
    }
    if options.allowsOthers, !FUSESettings.letsUsersAllowOthers {
      throw MountFailure(
        path,
        "a user cannot let others in ('allow_other') before root adds user_allow_other to \(FUSESettings.path)"
      )
    }
    do throws(Errno) {
      let directory = try Descriptor.open(path: path, .path)
      let status = try directory.status()
      if status.mode & 0o1000 != 0, status.user != user { throw .notPermitted }
      try directory.requireChangeable()
    } catch {
      throw MountFailure(
        path,
        "cannot be mounted on: \(error); users mount where they may write, and on a sticky directory if it is theirs"
      )
    }
  }

  private static func resolve(_ path: [UInt8]) throws(Errno) -> [UInt8] {
    try unsafe withTerminatedText(path) { path throws(Errno) in
      guard let resolved = unsafe realpath(path, nil) else { throw .current }
      defer { unsafe free(resolved) }
      return unsafe Array(UnsafeRawBufferPointer(start: resolved, count: strlen(resolved)))
    }
  }

  /// Unmounts; `lazily` takes the name away at once and lets open files go on until they are closed.
  ///
  /// EBUSY without `lazily` while files are open. Users go through fusermount3.
  func unmount(lazily: Bool) throws(Errno) {
    if let namespace {
      let path = path
      _ = try namespace.visit { () throws(Errno) -> Int in
        try MountPoint.unmount(path, lazily: lazily)
      }
      return
    }
    do throws(Errno) {
      try MountPoint.unmount(path, lazily: lazily)
    } catch .notPermitted {
      try unmountAsUser(lazily: lazily)
    }
  }

  @discardableResult
  private static func unmount(_ path: [UInt8], lazily: Bool) throws(Errno) -> Int {
    try unsafe withTerminatedText(path) { path throws(Errno) in
      try retrying { unsafe lv_fuse_unmount(path, lazily ? 1 : 0) }
    }
  }

  private func unmountAsUser(lazily: Bool) throws(Errno) {
    var words = ["fusermount3", "-u", "-q"]
    if lazily { words.append("-z") }
    words.append("--")
    var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
    unsafe arguments.append(try unsafe withTerminatedText(path) { unsafe strdup($0) })
    unsafe arguments.append(nil)
    defer { unsafe arguments.forEach { unsafe free($0) } }

    var child = pid_t()
    let failure = unsafe posix_spawnp(&child, "fusermount3", nil, nil, &arguments, environ)
    guard failure == 0 else { throw Errno(rawValue: failure) }
    var status: CInt = 0
    while unsafe waitpid(child, &status, 0) < 0 {
      guard Errno.current == .interrupted else { throw .current }
    }
    guard status == 0 else { throw .busy }
  }
}
