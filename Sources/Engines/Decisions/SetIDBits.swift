// When the set-id bits and the capability of a file go because somebody changes its bytes: Linux spares the changes of
// root with CAP_FSETID. Of some changes the kernel says whether they are spared; of the others it is worked out here.

import AccessControl
package import DirectoryModes

/// A change of a file's bytes; `isForeign`: the kernel says that the bits go.
package enum ByteChange: Hashable, Sendable {
  /// write(2): the kernel always says it, also of bytes it kept for a while, which come in nobody's name.
  case write(isForeign: Bool)
  /// Cut or extended, by an open too: of user 0 the kernel says it.
  case size(isForeign: Bool)
  /// fallocate(2) and copy_file_range(2), of which it says nothing.
  case space
}

extension Judge {
  /// Whether a change by this user takes the bits away.
  package static func strips(_ change: ByteChange, by user: UInt32) -> Bool {
    switch change {
    case .write(let isForeign): isForeign
    case .size(let isForeign): isForeign || user != 0
    case .space: user != 0
    }
  }

  /// Whether the bits go when a file is opened, because of writes that are not told.
  ///
  /// Bits that are not shown to the kernel it does not take away. And who has a file open to read and write can map it,
  /// and write without a system call: natively only those can who were given the right to write by the mode; here an
  /// entry gives it, and `admin_group`.
  ///
  /// `isSpared`: whether user 0 has CAP_FSETID; asked only where there is a bit that it would keep.
  package static func strips(
    openedFor request: OpenRequest, of item: Item, by user: UInt32, isSpared: () -> Bool
  ) -> Bool {
    guard request.writes else { return false }
    let hasBits = item.mode.hasSetUser || item.mode.hasSetGroup
    if hasBits, item.hasSharedOwner { return true }
    guard request.reads || request.executes, user != item.user else { return false }
    return user != 0 || hasBits && !isSpared()
  }

  /// The mode that is left, if this chmod is one by which kernels without KILLPRIV_V2 strip in the name of the writer.
  ///
  /// They do so for files alone, and know nothing of the sticky bit, which they leave to us.
  package static func stripped(by wanted: Mode, of item: Item) -> Mode? {
    let present = item.shownMode.bits
    let left = wanted.bits | present & 0o1000
    guard item.kind == .file, left != present, left | 0o6000 == present | 0o6000, left & ~present == 0
    else { return nil }
    return Mode(left)
  }
}
