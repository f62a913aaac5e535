// The flags as lsattr and chattr know them.

/// The two forms in which Linux programs see inode flags.
package enum InodeFlags {
  // Numbers of the kernel's interface.
  private static let compressed: UInt32 = 0x4
  private static let immutable: UInt32 = 0x10
  private static let appendOnly: UInt32 = 0x20
  private static let noDump: UInt32 = 0x40
  private static let encrypted: UInt32 = 0x800
  /// Bits that describe how the backing file system stores something; kept out of every change.
  private static let extents: UInt32 = 0x8_0000

  private static let extendedImmutable: UInt32 = 0x8
  private static let extendedAppendOnly: UInt32 = 0x10
  private static let extendedNoDump: UInt32 = 0x80

  /// The word of `FS_IOC_GETFLAGS`: what lsattr shows.
  package static func word(_ flags: FileFlags, isEncrypted: Bool = false) -> UInt32 {
    var word: UInt32 = isEncrypted ? encrypted : 0
    if flags.isImmutable { word |= immutable }
    if flags.isAppendOnly { word |= appendOnly }
    if flags.contains(.noDump) { word |= noDump }
    if flags.contains(.compressed) { word |= compressed }
    return word
  }

  /// The word of `FS_IOC_FSGETXATTR`.
  ///
  /// The kernel takes the old state from here when it decides whether a change of `i` or `a` needs
  /// CAP_LINUX_IMMUTABLE. Only flags of the system domain are shown, so that owners can clear `uchg` with
  /// `chattr -i`.
  package static func extendedWord(_ flags: FileFlags) -> UInt32 {
    var word: UInt32 = 0
    if flags.contains(.systemImmutable) { word |= extendedImmutable }
    if flags.contains(.systemAppendOnly) { word |= extendedAppendOnly }
    if flags.contains(.noDump) { word |= extendedNoDump }
    return word
  }

  /// What a chattr asks for: the flags after it, or `nil` if it names something we do not have.
  ///
  /// `setsSystem`: whether `i` and `a` mean `schg` and `sappnd` or `uchg` and `uappnd`. Clearing one
  ///   clears both of its kind; flags without a Linux twin stay.
  package static func flags(
    _ flags: FileFlags, isEncrypted: Bool = false, afterWord word: UInt32, setsSystem: Bool
  ) -> FileFlags? {
    // Whether it is encrypted is told and not set.
    let told = compressed | extents | (isEncrypted ? encrypted : 0)
    guard word & ~(immutable | appendOnly | noDump | told) == 0 else { return nil }
    guard (word & compressed != 0) == flags.contains(.compressed) else { return nil }
    return merged(
      flags, immutable: word & immutable != 0, appendOnly: word & appendOnly != 0,
      noDump: word & noDump != 0, setsSystem: setsSystem)
  }

  /// The same for the word of `FS_IOC_FSSETXATTR`, compared with what its reader was shown.
  package static func flags(
    _ flags: FileFlags, afterExtendedWord word: UInt32, setsSystem: Bool
  ) -> FileFlags? {
    guard word & ~(extendedImmutable | extendedAppendOnly | extendedNoDump) == 0 else { return nil }
    let shown = extendedWord(flags)
    func wanted(_ bit: UInt32, now: Bool) -> Bool { (word & bit) == (shown & bit) ? now : word & bit != 0 }
    return merged(
      flags, immutable: wanted(extendedImmutable, now: flags.isImmutable),
      appendOnly: wanted(extendedAppendOnly, now: flags.isAppendOnly),
      noDump: word & extendedNoDump != 0, setsSystem: setsSystem)
  }

  private static func merged(
    _ flags: FileFlags, immutable: Bool, appendOnly: Bool, noDump: Bool, setsSystem: Bool
  ) -> FileFlags {
    var result = flags
    if !immutable { result.subtract(.immutable) }
    if immutable, !flags.isImmutable { result.insert(setsSystem ? .systemImmutable : .userImmutable) }
    if !appendOnly { result.subtract(.appendOnly) }
    if appendOnly, !flags.isAppendOnly {
      result.insert(setsSystem ? .systemAppendOnly : .userAppendOnly)
    }
    if noDump { result.insert(.noDump) } else { result.remove(.noDump) }
    return result
  }
}
