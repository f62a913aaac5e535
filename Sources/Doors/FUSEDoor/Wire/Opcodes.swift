// The kernel's requests by number, and what each one brings before its names and data.

import CFUSE

/// A request of the kernel that this door knows.
///
/// Protocol numbers: never renumber. Those that are known only to be refused stand here too, so that
/// they have a name in `debug` and in the counters.
enum Opcode: UInt32, CaseIterable {
  case lookup = 1
  case forget = 2
  case getattr = 3
  case setattr = 4
  case readlink = 5
  case symlink = 6
  case mknod = 8
  case mkdir = 9
  case unlink = 10
  case rmdir = 11
  case rename = 12
  case link = 13
  case open = 14
  case read = 15
  case write = 16
  case statfs = 17
  case release = 18
  case fsync = 20
  case setxattr = 21
  case getxattr = 22
  case listxattr = 23
  case removexattr = 24
  case flush = 25
  case initialize = 26
  case opendir = 27
  case readdir = 28
  case releasedir = 29
  case fsyncdir = 30
  case getlk = 31
  case setlk = 32
  case setlkw = 33
  case access = 34
  case create = 35
  case interrupt = 36
  case bmap = 37
  case destroy = 38
  case ioctl = 39
  case poll = 40
  case notifyReply = 41
  case batchForget = 42
  case fallocate = 43
  case readdirplus = 44
  case rename2 = 45
  case lseek = 46
  case copyFileRange = 47
  case setupMapping = 48
  case removeMapping = 49
  case syncfs = 50
  case tmpfile = 51
  case statx = 52
  case copyFileRange64 = 53

  /// One more than the highest number, for tables by opcode.
  static let tableSize = 54
}

extension Opcode {
  /// The bytes of the operation's own structure, which come before names and data.
  var bodySize: Int {
    switch self {
    case .lookup, .readlink, .symlink, .unlink, .rmdir, .statfs, .removexattr, .destroy: 0
    case .forget: MemoryLayout<fuse_forget_in>.size
    case .batchForget: MemoryLayout<fuse_batch_forget_in>.size
    case .getattr: MemoryLayout<fuse_getattr_in>.size
    case .statx: MemoryLayout<lv_fuse_statx_in>.size
    case .setattr: MemoryLayout<fuse_setattr_in>.size
    case .access: MemoryLayout<fuse_access_in>.size
    case .mknod: MemoryLayout<fuse_mknod_in>.size
    case .mkdir: MemoryLayout<fuse_mkdir_in>.size
    case .rename: MemoryLayout<fuse_rename_in>.size
    case .rename2: MemoryLayout<fuse_rename2_in>.size
    case .link: MemoryLayout<fuse_link_in>.size
    case .create, .tmpfile: MemoryLayout<fuse_create_in>.size
    case .open, .opendir: MemoryLayout<fuse_open_in>.size
    case .read, .readdir, .readdirplus: MemoryLayout<fuse_read_in>.size
    case .write: MemoryLayout<fuse_write_in>.size
    case .release, .releasedir: MemoryLayout<fuse_release_in>.size
    case .flush: MemoryLayout<fuse_flush_in>.size
    case .fsync, .fsyncdir: MemoryLayout<fuse_fsync_in>.size
    case .fallocate: MemoryLayout<fuse_fallocate_in>.size
    case .lseek: MemoryLayout<fuse_lseek_in>.size
    case .copyFileRange, .copyFileRange64: MemoryLayout<fuse_copy_file_range_in>.size
    case .setxattr: MemoryLayout<lv_fuse_setxattr_in>.size
    case .getxattr, .listxattr: MemoryLayout<fuse_getxattr_in>.size
    case .ioctl: MemoryLayout<fuse_ioctl_in>.size
    case .interrupt: MemoryLayout<fuse_interrupt_in>.size
    // Not looked into.
    case .initialize, .getlk, .setlk, .setlkw, .bmap, .poll, .notifyReply, .setupMapping, .removeMapping,
      .syncfs:
      0
    }
  }

  /// Whether the kernel waits for an answer; it takes an answer to one of the others for a mistake.
  var expectsReply: Bool {
    switch self {
    case .forget, .batchForget, .interrupt, .notifyReply: false
    default: true
    }
  }

  /// Whether the thread a request names has sent it itself and waits for the answer.
  ///
  /// The kernel reads ahead, writes and releases in a thread's name while that does something else.
  var isAskedByItsThread: Bool {
    switch self {
    case .read, .write, .release, .releasedir, .forget, .batchForget, .interrupt, .notifyReply, .initialize,
      .destroy:
      false
    default: true
    }
  }

  /// Whether a name follows the structure, for `debug`.
  var carriesName: Bool {
    switch self {
    case .lookup, .symlink, .mknod, .mkdir, .unlink, .rmdir, .rename, .rename2, .link, .create, .setxattr,
      .getxattr, .removexattr:
      true
    default: false
    }
  }
}
