// What the kernel offers in INIT, what this door takes, and how that is written into the reply.

import CFUSE
import LinuxFiles

/// A feature of the connection that may be offered, wanted, and switched off by `no_FEATURE`.
enum Feature: String, CaseIterable {
  /// The reply's second word of flags is read.
  case initExtension = "init_ext"
  case asyncRead = "async_read"
  case atomicTruncate = "atomic_o_trunc"
  case bigWrites = "big_writes"
  case ioctlOnDirectories = "ioctl_dir"
  /// The kernel drops the pages of a file when its times move.
  case invalidateOnChange = "auto_inval_data"
  /// In its place, for volumes with encrypted files: it keeps them until it is told. Who writes and reads a file in turns
  /// would have every page read anew, and be asked for the times before each.
  case explicitInvalidation = "explicit_inval_data"
  case readDirectoryPlus = "readdirplus"
  /// Entries come with the first part of a listing, and with more of it once they are asked for.
  case readDirectoryPlusAuto = "readdirplus_auto"
  case parallelDirectoryOperations = "parallel_dirops"
  case maxPages = "max_pages"
  case killPrivilegesV2 = "killpriv_v2"
  /// Files are read and written by the kernel itself; comes with `max_stack_depth`.
  case passthrough

  // Left out on purpose:
  // - ASYNC_DIO: sends the parts of one long write at once, and appended parts would land in any order.
  // - DIRECT_IO_ALLOW_MMAP: an append-only file could be mapped, and written through the mapping.
  // - WRITEBACK_CACHE: excludes passthrough and takes size and times away from the volume.
  // - POSIX_LOCKS, FLOCK_LOCKS: the kernel keeps locks by itself, which is right for one machine.
  // - POSIX_ACL: brings the kernel's own permission checks.
  // - DONT_MASK: modes arrive with the caller's umask applied.
  // - CACHE_SYMLINKS: whether a link may be read depends on who asks.
  // - NO_OPEN_SUPPORT, NO_OPENDIR_SUPPORT are offers only; they come true by answering ENOSYS to OPEN
  //   and OPENDIR, which never happens here, because both decide about rights.
  // - SPLICE_*: replies are made in memory.

  /// Why one is not on that could be: the other is.
  static let replaced: [Feature: String] = [
    .invalidateOnChange: "off: explicit_inval_data is on",
    .explicitInvalidation: "off: for volumes with a keybag and passthrough, mounted for writing",
  ]

  /// The bit in the two words of flags taken together.
  var bit: UInt64 {
    switch self {
    case .initExtension: UInt64(FUSE_INIT_EXT)
    case .asyncRead: UInt64(FUSE_ASYNC_READ)
    case .atomicTruncate: UInt64(FUSE_ATOMIC_O_TRUNC)
    case .bigWrites: UInt64(FUSE_BIG_WRITES)
    case .ioctlOnDirectories: UInt64(FUSE_HAS_IOCTL_DIR)
    case .invalidateOnChange: UInt64(FUSE_AUTO_INVAL_DATA)
    case .explicitInvalidation: UInt64(FUSE_EXPLICIT_INVAL_DATA)
    case .readDirectoryPlus: UInt64(FUSE_DO_READDIRPLUS)
    case .readDirectoryPlusAuto: UInt64(FUSE_READDIRPLUS_AUTO)
    case .parallelDirectoryOperations: UInt64(FUSE_PARALLEL_DIROPS)
    case .maxPages: UInt64(FUSE_MAX_PAGES)
    case .killPrivilegesV2: UInt64(FUSE_HANDLE_KILLPRIV_V2)
    case .passthrough: LV_FUSE_PASSTHROUGH
    }
  }
}

/// What the kernel said in INIT.
struct Offer: Equatable {
  /// Below this the request structures are shorter than those read here: Linux 3.15.
  static let oldestMinor: UInt32 = 23

  var major: UInt32
  var minor: UInt32
  var flags: UInt64

  init(major: UInt32, minor: UInt32, flags: UInt64) {
    self.major = major
    self.minor = minor
    self.flags = flags
  }

  init(_ request: fuse_init_in) {
    // Older kernels leave the second word undefined and do not set INIT_EXT.
    let isExtended = UInt64(request.flags) & Feature.initExtension.bit != 0
    self.init(
      major: request.major, minor: request.minor,
      flags: UInt64(request.flags) | (isExtended ? UInt64(request.flags2) << 32 : 0))
  }

  func includes(_ feature: Feature) -> Bool { flags & feature.bit != 0 }
}

/// What both sides will do.
struct Agreement: Equatable {
  /// What one WRITE may carry and one READ ask for.
  static let largestTransfer = 1 << 20
  /// The same for kernels that cannot be told: 32 pages.
  static let smallTransfer = 1 << 17

  let offer: Offer
  let flags: UInt64
  let disabled: Set<String>
  let maxWrite: Int
  let maxPages: Int
  /// How many stacked file systems this one becomes the top of, for passthrough; 0 without it.
  let stackDepth: UInt32
  /// Requests of readahead and the like that may be under way; the kernel's own 12 starve readahead.
  let maxBackground: UInt16 = 64
  /// From here on the kernel's writers are slowed down.
  let congestionThreshold: UInt16 = 48

  /// Takes of the offer what is wanted.
  ///
  /// `stackDepth`: what passthrough needs over this backing, 1 over an ordinary file system; 0 if it cannot be had.
  /// `encrypts`: whether there can be encrypted files.
  init(to offer: Offer, disabled: Set<String>, pageSize: Int, stackDepth: UInt32, encrypts: Bool = false) {
    self.offer = offer
    self.disabled = disabled
    var wanted = Set(Feature.allCases.filter { offer.includes($0) && !disabled.contains($0.rawValue) })
    if stackDepth == 0 { wanted.remove(.passthrough) }
    // Plain files are the kernel's own then; one that it takes no backing file for is read anew at each open.
    if encrypts, wanted.isSuperset(of: [.passthrough, .explicitInvalidation]) {
      wanted.remove(.invalidateOnChange)
    } else {
      wanted.remove(.explicitInvalidation)
    }
    let flags = wanted.reduce(0) { $0 | $1.bit }
    self.flags = flags
    self.stackDepth = flags & Feature.passthrough.bit != 0 ? stackDepth : 0
    let isLarge = flags & Feature.maxPages.bit != 0
    maxWrite = isLarge ? Agreement.largestTransfer : Agreement.smallTransfer
    maxPages = isLarge ? max(1, maxWrite / max(1, pageSize)) : 0
  }

  func includes(_ feature: Feature) -> Bool { flags & feature.bit != 0 }

  /// Puts the agreement in the place of what libfuse would have agreed to.
  ///
  /// libfuse 3.14 does not know half of the features, and two that it wants it forgets to ask for. What
  /// it says of versions, readahead and time granularity stays.
  func write(into reply: inout fuse_init_out) {
    reply.flags = UInt32(truncatingIfNeeded: flags)
    reply.flags2 = includes(.initExtension) ? UInt32(truncatingIfNeeded: flags >> 32) : 0
    reply.max_background = maxBackground
    reply.congestion_threshold = congestionThreshold
    reply.max_write = UInt32(maxWrite)
    reply.max_pages = UInt16(clamping: maxPages)
    // What <linux/fuse.h> 7.38 calls unused is `max_stack_depth` since 7.40.
    reply.unused.0 = stackDepth
  }

  /// For `status`: what is on, and why something is not.
  func describe(canExpireNames: Bool, backingRefusal: Errno?) -> [(name: String, value: String)] {
    var facts = [("protocol", "\(offer.major).\(offer.minor)"), ("max_write", "\(maxWrite)")]
    for feature in Feature.allCases {
      facts.append((feature.rawValue, describe(feature, backingRefusal)))
    }
    facts.append(("epoch", describe("epoch", isOn: canExpireNames)))
    facts.append(("statx", describe("statx", isOn: !disabled.contains("statx"))))
    return facts.map { (name: $0.0, value: $0.1) }
  }

  private func describe(_ feature: Feature, _ backingRefusal: Errno?) -> String {
    if feature == .passthrough, includes(feature), let backingRefusal {
      return "off: the kernel refused a backing file: \(backingRefusal)"
    }
    if feature == .passthrough, !includes(feature), offer.includes(feature), !disabled.contains("passthrough")
    {
      return "off: only root can hand files to the kernel, and only of a file system of this machine"
    }
    if let other = Feature.replaced[feature], !includes(feature), offer.includes(feature),
      !disabled.contains(feature.rawValue)
    {
      return other
    }
    return describe(feature.rawValue, isOn: includes(feature))
  }

  private func describe(_ name: String, isOn: Bool) -> String {
    if isOn { return "on" }
    return disabled.contains(name) ? "off: switched off" : "off: the kernel does not offer it"
  }
}
