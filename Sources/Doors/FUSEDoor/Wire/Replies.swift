// What the volume answers, in the kernel's structures.

import CFUSE
import LayeredVolume
import LinuxFiles

extension ReplyBuffer {
  /// Answers a name with its node.
  mutating func append(_ entry: Entry) throws(Errno) {
    try append(fuse_entry_out(entry))
  }

  /// Answers that there is nothing under a name, and for how long that may be believed.
  mutating func appendMissing(_ validity: Validity) throws(Errno) {
    var out = fuse_entry_out()
    out.entry_valid = validity.seconds
    try append(out)
  }

  mutating func append(_ answer: AttributeAnswer) throws(Errno) {
    try append(
      fuse_attr_out(
        attr_valid: answer.validity.seconds, attr_valid_nsec: answer.validity.nanoseconds, dummy: 0,
        attr: fuse_attr(answer.attributes)))
  }

  mutating func appendExtended(_ answer: AttributeAnswer) throws(Errno) {
    var out = lv_fuse_statx_out()
    out.attr_valid = answer.validity.seconds
    out.attr_valid_nsec = answer.validity.nanoseconds
    out.stat = lv_fuse_statx(answer.attributes)
    try append(out)
  }

  mutating func appendOpenFile(_ answer: OpenAnswer) throws(Errno) {
    // What <linux/fuse.h> 7.38 calls padding is the number of the backing file since 7.40.
    try append(
      fuse_open_out(
        fh: answer.handle, open_flags: answer.route.kernelFlags,
        padding: UInt32(bitPattern: answer.route.backingID ?? 0)))
  }

  /// Answers OPENDIR.
  ///
  /// Only where `use` says so may the kernel keep the names (CACHE_DIR), and show those it kept (KEEP_CACHE): keeping
  /// them costs programs that want more than names.
  mutating func appendOpenDirectory(_ handle: HandleID, _ use: ListingUse) throws(Errno) {
    try append(fuse_open_out(fh: handle, open_flags: use.kernelFlags, padding: 0))
  }

  /// Answers how much was written; the kernel's field has 32 bits.
  mutating func appendWritten(_ count: Int) throws(Errno) {
    try append(fuse_write_out(size: UInt32(clamping: count), padding: 0))
  }

  /// Answers how much room an attribute needs.
  mutating func appendNeeded(_ count: Int) throws(Errno) {
    try append(fuse_getxattr_out(size: UInt32(clamping: count), padding: 0))
  }

  mutating func append(_ status: FileSystemStatus) throws(Errno) {
    var out = fuse_statfs_out()
    out.st.blocks = status.blocks
    out.st.bfree = status.freeBlocks
    out.st.bavail = status.availableBlocks
    out.st.files = status.files
    out.st.ffree = status.freeFiles
    out.st.bsize = UInt32(clamping: status.blockSize)
    out.st.frsize = UInt32(clamping: status.fragmentSize)
    out.st.namelen = UInt32(clamping: status.nameMax)
    try append(out)
  }

  /// Answers an ioctl with `data`, which is what the caller's buffer receives.
  mutating func appendControl<T: BitwiseCopyable>(_ data: T) throws(Errno) {
    try appendControl()
    try append(data)
  }

  /// Answers an ioctl that returns nothing.
  mutating func appendControl() throws(Errno) {
    try append(fuse_ioctl_out())
  }
}

// MARK: Structures

extension Validity {
  /// For the kernel's timeouts.
  ///
  /// 68 years stand for ever: far below what overflows its clock ticks.
  var seconds: UInt64 {
    switch self {
    case .none, .nanoseconds: 0
    case .seconds(let seconds): UInt64(seconds)
    case .unlimited: UInt64(Int32.max)
    }
  }

  /// What is more than whole seconds.
  var nanoseconds: UInt32 {
    if case .nanoseconds(let count) = self { min(count, 999_999_999) } else { 0 }
  }
}

extension ListingUse {
  var kernelFlags: UInt32 {
    switch self {
    case .asked: 0
    case .keptFromNow: UInt32(FOPEN_CACHE_DIR)
    case .kept: UInt32(FOPEN_CACHE_DIR | FOPEN_KEEP_CACHE)
    }
  }
}

extension Route {
  var kernelFlags: UInt32 {
    // FLUSH, once per close, would have nothing to do: data goes to the backing file in WRITE, and
    // there are no locks here to give up. NOFLUSH spares the round trip (55 -> 45 us for open, read,
    // close); kernels before 5.16 ignore the bit and get an answer to FLUSH.
    let common = UInt32(FOPEN_NOFLUSH)
    switch self {
    case .cached(keepsPages: true): return common | UInt32(FOPEN_KEEP_CACHE)
    case .cached(keepsPages: false): return common
    case .direct: return common | UInt32(FOPEN_DIRECT_IO)
    // Pages that were kept from an open by another route go: the backing file has its own.
    case .backing: return common | LV_FOPEN_PASSTHROUGH
    case .mapped: return common | LV_FOPEN_PASSTHROUGH | UInt32(FOPEN_DIRECT_IO)
    }
  }
}

extension Attributes {
  /// Permissions and kind in one word.
  var modeWord: UInt32 { kind.modeBits | UInt32(mode & 0o7777) }
}

extension fuse_attr {
  init(_ attributes: Attributes) {
    self.init()
    ino = attributes.inode
    size = attributes.size
    blocks = attributes.blocks
    // Times before 1970 travel as their bit pattern.
    atime = UInt64(bitPattern: attributes.access.seconds)
    mtime = UInt64(bitPattern: attributes.modification.seconds)
    ctime = UInt64(bitPattern: attributes.change.seconds)
    atimensec = attributes.access.nanoseconds
    mtimensec = attributes.modification.nanoseconds
    ctimensec = attributes.change.nanoseconds
    mode = attributes.modeWord
    nlink = attributes.linkCount
    uid = attributes.user
    gid = attributes.group
    rdev = encodeDevice(major: attributes.specialDevice.major, minor: attributes.specialDevice.minor)
    blksize = attributes.blockSize
  }
}

extension lv_fuse_statx {
  init(_ attributes: Attributes) {
    self.init()
    mask = LV_STATX_BASIC_STATS
    blksize = attributes.blockSize
    nlink = attributes.linkCount
    uid = attributes.user
    gid = attributes.group
    mode = UInt16(truncatingIfNeeded: attributes.modeWord)
    ino = attributes.inode
    size = attributes.size
    blocks = attributes.blocks
    atime = lv_fuse_sx_time(attributes.access)
    mtime = lv_fuse_sx_time(attributes.modification)
    ctime = lv_fuse_sx_time(attributes.change)
    if let birth = attributes.birth {
      mask |= LV_STATX_BTIME
      btime = lv_fuse_sx_time(birth)
    }
    rdev_major = attributes.specialDevice.major
    rdev_minor = attributes.specialDevice.minor
  }
}

extension lv_fuse_sx_time {
  init(_ time: Timestamp) {
    self.init(seconds: time.seconds, nanoseconds: time.nanoseconds, reserved: 0)
  }
}

extension fuse_entry_out {
  init(_ entry: Entry) {
    // Generation 0: a node number is not used again while the kernel knows it.
    self.init(
      nodeid: entry.node, generation: 0, entry_valid: entry.nameValidity.seconds,
      attr_valid: entry.attributeValidity.seconds, entry_valid_nsec: entry.nameValidity.nanoseconds,
      attr_valid_nsec: entry.attributeValidity.nanoseconds,
      attr: fuse_attr(entry.attributes))
  }
}
