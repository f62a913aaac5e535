import CLinux
import Glibc

// How full a file system is, and which one it is.

/// The answer of `statfs`.
package struct FileSystemStatus: Sendable, Equatable {
  /// The size of a good transfer.
  package var blockSize: UInt64
  /// The unit of the three block counts.
  package var fragmentSize: UInt64
  package var blocks: UInt64
  package var freeBlocks: UInt64
  /// What is left to users without privilege.
  package var availableBlocks: UInt64
  package var files: UInt64
  package var freeFiles: UInt64
  /// The longest name, in bytes.
  package var nameMax: UInt64
  package var isReadOnly: Bool
  /// The 32-bit number that tells the kind of file system.
  package var magic: UInt32
  /// What it calls itself; on some file systems the number of its device.
  package var identifier: UInt64 = 0

  package static let tmpfsMagic: UInt32 = 0x0102_1994
  package static let ext4Magic: UInt32 = 0xEF53
  package static let btrfsMagic: UInt32 = 0x9123_683E
  package static let xfsMagic: UInt32 = 0x5846_5342
  package static let nfsMagic: UInt32 = 0x6969
  package static let fuseMagic: UInt32 = 0x6573_5546
  package static let overlayMagic: UInt32 = 0x794C_7630
  package static let f2fsMagic: UInt32 = 0xF2F5_2010
  package static let bcachefsMagic: UInt32 = 0xCA45_1A4E
  package static let zfsMagic: UInt32 = 0x2FC1_2FC1

  /// The name of a file system in which the kernel shows itself, and which keeps no files; nil for every other one.
  package var kernelsOwn: String? {
    // linux/magic.h
    switch magic {
    case 0x9FA0: "proc"
    case 0x6265_6572: "sysfs"
    case 0x6367_7270: "cgroup2"
    case 0x27_E0EB: "cgroup"
    case 0x6462_6720: "debugfs"
    case 0x7472_6163: "tracefs"
    case 0x7363_6673: "securityfs"
    case 0xF97C_FF8C: "selinuxfs"
    case 0x4341_5D53: "smackfs"
    case 0x6265_6570: "configfs"
    case 0x4249_4E4D: "binfmt_misc"
    case 0xCAFE_4A11: "bpf"
    case 0xDE5E_81E4: "efivarfs"
    case 0x6165_676C: "pstore"
    case 0x6573_5543: "fusectl"
    case 0x1980_0202: "mqueue"
    case 0x9584_58F6: "hugetlbfs"
    case 0x1CD1: "devpts"
    case 0x6E73_6673: "nsfs"
    case 0x765_5821: "resctrl"
    case 0x6759_6969: "rpc_pipefs"
    default: nil
    }
  }

  /// What mount(8) calls a file system of this kind; a number where that is not known here.
  package var kindName: String {
    switch magic {
    case FileSystemStatus.ext4Magic: "ext4"
    case FileSystemStatus.xfsMagic: "xfs"
    case FileSystemStatus.btrfsMagic: "btrfs"
    case FileSystemStatus.tmpfsMagic: "tmpfs"
    case FileSystemStatus.f2fsMagic: "f2fs"
    case FileSystemStatus.bcachefsMagic: "bcachefs"
    case FileSystemStatus.zfsMagic: "zfs"
    case FileSystemStatus.nfsMagic: "nfs"
    case FileSystemStatus.fuseMagic: "fuse"
    case FileSystemStatus.overlayMagic: "overlay"
    case 0x7371_7368: "squashfs"
    case 0xE0F5_E1E2: "erofs"
    case 0x9660: "iso9660"
    case 0x4D44: "vfat"
    case 0x2011_BAB0: "exfat"
    case 0xFE53_4D42, 0xFF53_4D42: "cifs"
    case 0x102_1997: "9p"
    case 0x8584_58F6: "ramfs"
    default: kernelsOwn ?? "0x\(String(magic, radix: 16))"
    }
  }

  /// Whether the kernel of this machine decides about everything there: rights by capabilities, times by its clock.
  package var isLocal: Bool {
    switch magic {
    case FileSystemStatus.tmpfsMagic, FileSystemStatus.ext4Magic, FileSystemStatus.btrfsMagic,
      FileSystemStatus.xfsMagic, FileSystemStatus.f2fsMagic, FileSystemStatus.bcachefsMagic,
      FileSystemStatus.zfsMagic:
      true
    default: false
    }
  }

  /// Whether it shows what lies on other file systems, or may: overlayfs, and those of programs.
  package var isStacked: Bool { [FileSystemStatus.overlayMagic, FileSystemStatus.fuseMagic].contains(magic) }
}

extension FileSystemStatus {
  /// Whether no other machine and no program has a hand in it: its locks are kept by this kernel.
  ///
  /// Those of the network and of programs have no device of their own; on a few, several machines share one. Unknown
  /// counts as not.
  package func isOfThisMachine(on device: DeviceNumber) -> Bool {
    // gfs2, ocfs2: linux/magic.h.
    let shared: Set<UInt32> = [FileSystemStatus.fuseMagic, 0x0116_1970, 0x7461_636F]
    if isLocal || magic == FileSystemStatus.overlayMagic { return true }
    return device.major != 0 && !shared.contains(magic)
  }
}

extension Descriptor {
  /// The file system this descriptor's object lives on; also for an `O_PATH` descriptor.
  package borrowing func fileSystemStatus() throws(Errno) -> FileSystemStatus {
    var found = lv_file_system()
    try retrying { unsafe lv_file_system(rawValue, &found) }
    return FileSystemStatus(
      blockSize: found.block_size, fragmentSize: found.fragment_size, blocks: found.blocks,
      freeBlocks: found.free_blocks, availableBlocks: found.available_blocks, files: found.files,
      freeFiles: found.free_files, nameMax: found.name_max, isReadOnly: found.is_read_only != 0,
      magic: UInt32(truncatingIfNeeded: found.magic), identifier: found.identifier)
  }

  /// The 128 bits by which the file system calls itself, upper half first; ENOTTY or ENODATA where there are none.
  package borrowing func fileSystemUUID() throws(Errno) -> (high: UInt64, low: UInt64) {
    var bytes = InlineArray<16, UInt8>(repeating: 0)
    var span = bytes.mutableSpan
    let number = rawValue
    try retrying {
      unsafe span.withUnsafeMutableBufferPointer { room in
        guard let start = room.baseAddress else { return Int(-EINVAL) }
        return unsafe lv_file_system_uuid(number, start)
      }
    }
    func half(_ range: Range<Int>) -> UInt64 {
      var value: UInt64 = 0
      for index in range { value = value << 8 | UInt64(bytes[index]) }
      return value
    }
    return (half(0..<8), half(8..<16))
  }

  /// The same directory as the root of a mount of its own, for root alone.
  ///
  /// Nothing can be written through it, no access time moves, and what is mounted inside is not there.
  package borrowing func sealedClone() throws(Errno) -> Descriptor {
    Descriptor(adopting: try retrying { lv_clone_sealed(rawValue) }.asCInt, .path)
  }
}
