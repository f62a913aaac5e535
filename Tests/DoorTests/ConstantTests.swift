// The numbers of the protocol against the system's own header.

import CFUSE
import Testing

@testable import FUSEDoor

@Suite("Protocol numbers") struct ConstantTests {
  @Test("Opcodes are those of <linux/fuse.h>") func opcodes() {
    let known: [(Opcode, fuse_opcode)] = [
      (.lookup, FUSE_LOOKUP), (.forget, FUSE_FORGET), (.getattr, FUSE_GETATTR), (.setattr, FUSE_SETATTR),
      (.readlink, FUSE_READLINK), (.symlink, FUSE_SYMLINK), (.mknod, FUSE_MKNOD), (.mkdir, FUSE_MKDIR),
      (.unlink, FUSE_UNLINK), (.rmdir, FUSE_RMDIR), (.rename, FUSE_RENAME), (.link, FUSE_LINK),
      (.open, FUSE_OPEN), (.read, FUSE_READ), (.write, FUSE_WRITE), (.statfs, FUSE_STATFS),
      (.release, FUSE_RELEASE), (.fsync, FUSE_FSYNC), (.setxattr, FUSE_SETXATTR),
      (.getxattr, FUSE_GETXATTR), (.listxattr, FUSE_LISTXATTR), (.removexattr, FUSE_REMOVEXATTR),
      (.flush, FUSE_FLUSH), (.initialize, FUSE_INIT), (.opendir, FUSE_OPENDIR), (.readdir, FUSE_READDIR),
      (.releasedir, FUSE_RELEASEDIR), (.fsyncdir, FUSE_FSYNCDIR), (.getlk, FUSE_GETLK),
      (.setlk, FUSE_SETLK), (.setlkw, FUSE_SETLKW), (.access, FUSE_ACCESS), (.create, FUSE_CREATE),
      (.interrupt, FUSE_INTERRUPT), (.bmap, FUSE_BMAP), (.destroy, FUSE_DESTROY), (.ioctl, FUSE_IOCTL),
      (.poll, FUSE_POLL), (.notifyReply, FUSE_NOTIFY_REPLY), (.batchForget, FUSE_BATCH_FORGET),
      (.fallocate, FUSE_FALLOCATE), (.readdirplus, FUSE_READDIRPLUS), (.rename2, FUSE_RENAME2),
      (.lseek, FUSE_LSEEK), (.copyFileRange, FUSE_COPY_FILE_RANGE), (.setupMapping, FUSE_SETUPMAPPING),
      (.removeMapping, FUSE_REMOVEMAPPING), (.syncfs, FUSE_SYNCFS), (.tmpfile, FUSE_TMPFILE),
    ]
    for (ours, theirs) in known { #expect(ours.rawValue == theirs.rawValue, "\(ours)") }
    // Younger than the header.
    #expect(Opcode.statx.rawValue == UInt32(LV_FUSE_STATX))
    #expect(Opcode.copyFileRange64.rawValue == UInt32(LV_FUSE_COPY_FILE_RANGE_64))
    #expect(known.count + 2 == Opcode.allCases.count)
    #expect(Opcode.allCases.allSatisfy { $0.rawValue < UInt32(Opcode.tableSize) })
  }

  @Test("Structures have the kernel's sizes") func sizes() {
    #expect(MemoryLayout<fuse_in_header>.size == 40)
    #expect(MemoryLayout<fuse_out_header>.size == 16)
    #expect(MemoryLayout<fuse_attr>.size == 88)
    #expect(MemoryLayout<fuse_entry_out>.size == 128)
    #expect(MemoryLayout<fuse_attr_out>.size == 104)
    #expect(MemoryLayout<fuse_open_out>.size == 16)
    #expect(MemoryLayout<fuse_setattr_in>.size == 88)
    #expect(MemoryLayout<fuse_dirent>.size == 24)
    #expect(MemoryLayout<fuse_statfs_out>.size == 80)
    #expect(MemoryLayout<fuse_init_out>.size == 64)
    #expect(MemoryLayout<lv_fuse_statx_out>.size == 288)
    #expect(MemoryLayout<lv_fsxattr>.size == 28)
  }

  @Test("Only forgetting, interrupting and notice replies go unanswered") func unanswered() {
    let silent = Opcode.allCases.filter { !$0.expectsReply }
    #expect(Set(silent) == [.forget, .batchForget, .interrupt, .notifyReply])
  }
}
