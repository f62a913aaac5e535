// What the volume tells the kernel unasked: that names or attributes it remembers are stale, and which
// backing files it may read and write by itself.

import CFUSE
import CLinux
import LayeredVolume
import LinuxFiles
import Synchronization

/// The way back to the kernel.
///
/// May be used from any thread and, but for `dropPages` of what somebody has open, from inside a request: neither notice needs a
/// lock that the kernel holds for a request under way. (A notice about a *name* would: it takes the lock of the directory, which the
/// kernel holds while it waits for the answer to an unlink. It is not offered for that reason.)
final class Notices: Sendable {
  /// A second descriptor of the session, so that a late notice cannot hit a number that other code
  /// else got in the meantime.
  private let device: Descriptor
  private let isOpen = Atomic(true)
  let canExpireNames: Bool
  private let passesThrough: Bool
  /// Why the kernel took no backing file, once it refused one; 0 before.
  private let backingRefusal = Atomic<CInt>(0)
  /// Whether the kernel takes a descriptor that only leads to a file; known when it was asked.
  private let refusesPaths = Atomic(false)

  init(session: CInt, agreement: Agreement) throws(Errno) {
    device = Descriptor(adopting: CInt(try retrying { lv_duplicate(session, 3) }))
    passesThrough = agreement.includes(.passthrough)
    let isKnown =
      agreement.offer.minor >= UInt32(LV_FUSE_EPOCH_MINOR) && !agreement.disabled.contains("epoch")
    // Tried once: a kernel that does not know the notice answers EINVAL.
    canExpireNames = isKnown && Notices.sendEpoch(to: device.rawValue) >= 0
  }

  /// From now on nothing is sent.
  func close() {
    isOpen.store(false, ordering: .releasing)
  }

  /// Makes every name the kernel remembers stale; done when this returns.
  func expireNames() {
    guard canExpireNames, isOpen.load(ordering: .acquiring) else { return }
    _ = Notices.sendEpoch(to: device.rawValue)
  }

  /// Makes the remembered attributes of a node stale; done when this returns.
  ///
  /// A node the kernel does not know (ENOENT) has none. From inside a request only for a directory, or a node that the kernel
  /// holds on to: for one it is just dropping, the call waits until that is done, and a file's pages are written first.
  func expireAttributes(of node: NodeID) {
    // A negative offset: the attributes only, no pages.
    expire(node, from: -1)
  }

  /// Makes the kernel write the changed pages of a node and drop all of them.
  ///
  /// It waits for the requests that these pages are in: from inside a request only for a node that this request holds on to, and
  /// that nobody has open.
  func dropPages(of node: NodeID) { expire(node, from: 0) }

  private func expire(_ node: NodeID, from offset: Int64) {
    guard isOpen.load(ordering: .acquiring) else { return }
    _ = Notices.send(
      InvalidateInode(
        header: Notices.header(UInt32(MemoryLayout<InvalidateInode>.size), FUSE_NOTIFY_INVAL_INODE.rawValue),
        body: fuse_notify_inval_inode_out(ino: node, off: offset, len: 0)),
      to: device.rawValue)
  }

  // MARK: Backing files

  /// Hands a file to the kernel; `nil` if it takes none.
  ///
  /// What it refuses for one file it refuses for all of the tree (EPERM: not privileged enough; ELOOP: too many
  /// file systems on top of each other), so it is not asked again. Running out of room is another matter.
  private func openBacking(_ file: borrowing Descriptor) -> BackingID? {
    guard passesThrough, isOpen.load(ordering: .acquiring), backingRefusal.load(ordering: .relaxed) == 0
    else { return nil }
    let number = lv_fuse_open_backing(device.rawValue, file.rawValue)
    if number > 0 { return BackingID(truncatingIfNeeded: number) }
    let refusal = Errno(rawValue: CInt(truncatingIfNeeded: -number))
    if file.isPath, refusal == .badDescriptor {
      // The first kernels with passthrough wanted the file itself.
      refusesPaths.store(true, ordering: .relaxed)
      guard let opened = try? file.reopen(.readOnly) else { return nil }
      return openBacking(opened)
    }
    if refusal != .noMemory, refusal != .tooManyOpenFiles, refusal != .fileTableFull {
      backingRefusal.store(refusal.rawValue, ordering: .relaxed)
    }
    return nil
  }

  private var takesPaths: Bool {
    passesThrough && backingRefusal.load(ordering: .relaxed) == 0 && !refusesPaths.load(ordering: .relaxed)
  }

  private func closeBacking(_ number: BackingID) {
    guard isOpen.load(ordering: .acquiring) else { return }
    _ = lv_fuse_close_backing(device.rawValue, number)
  }

  // MARK: For the volume

  /// The volume's side of this.
  func link(
    _ agreement: Agreement, requests: @escaping @Sendable () -> [(name: String, count: UInt64)]
  ) -> KernelLink {
    KernelLink(
      canExpireNames: canExpireNames, stripsItself: !agreement.includes(.killPrivilegesV2),
      features: {
        let refusal = self.backingRefusal.load(ordering: .relaxed)
        return agreement.describe(
          canExpireNames: self.canExpireNames,
          backingRefusal: refusal == 0 ? nil : Errno(rawValue: refusal))
      },
      requests: requests,
      expireNames: { self.expireNames() },
      dropPages: { self.dropPages(of: $0) },
      expireAttributes: { self.expireAttributes(of: $0) },
      takesPaths: { self.takesPaths },
      openBacking: { self.openBacking($0) },
      closeBacking: { self.closeBacking($0) })
  }

  // MARK: Bytes

  private struct InvalidateInode: BitwiseCopyable {
    var header: fuse_out_header
    var body: fuse_notify_inval_inode_out
  }

  /// A notice is a reply to request 0 whose error is the number of the notice.
  private static func header(_ length: UInt32, _ notice: UInt32) -> fuse_out_header {
    fuse_out_header(len: length, error: Int32(bitPattern: notice), unique: 0)
  }

  private static func sendEpoch(to device: CInt) -> Int {
    send(
      header(UInt32(MemoryLayout<fuse_out_header>.size), UInt32(LV_FUSE_NOTIFY_INC_EPOCH)), to: device)
  }

  private static func send<T: BitwiseCopyable>(_ notice: T, to device: CInt) -> Int {
    unsafe withUnsafeBytes(of: notice) { bytes in
      guard let start = bytes.baseAddress else { return -1 }
      return unsafe lv_fuse_write(device, start, bytes.count)
    }
  }
}
