// Whether a keyfile opens a volume, for a check from below: mounted or not, nothing is changed and nothing is locked.

package import Ciphers
package import LinuxFiles
import SealedFormat

/// The keybag of a volume that is looked at and left as it is.
package struct KeybagInspection {
  /// What was seen of a keybag that opened.
  package struct Opening: Equatable, Sendable {
    /// How many keyfiles open the volume.
    package let slots: Int
    /// Whether both files of the keybag are there, and alike.
    package let isWhole: Bool
  }

  private let files: SharedDescriptor

  init(files: SharedDescriptor) { self.files = files }

  /// Refuses what a mount would refuse: bookkeeping that is not there, or belongs to another user.
  package init(of root: SharedDescriptor) throws(VolumeFailure) {
    files = try VolumeDirectory.openOwn(in: root)
  }

  /// Opens the keybag as unlocking does; `.noKeybag` if there is none.
  package func open(with secret: borrowing HandedSecret) throws(KeyFailure) -> Opening {
    var aead = try Keyring.ownContext()
    let pair = try KeybagPair(in: files)
    // Without one, is there nothing to open, or was it lost?
    if pair.isMissing { try SessionLogFile.requireUnused(in: files) }
    var place = KeybagPair.Place.first
    let opened = try pair.open(with: secret, &aead, from: &place)
    return Opening(slots: opened.keybag.slots.count { $0 != nil }, isWhole: pair.areAlike)
  }
}

extension Keyring {
  /// Whether a keyfile opens the keybag; nothing is unlocked.
  package func inspect(
    with secret: borrowing HandedSecret
  ) throws(KeyFailure) -> KeybagInspection.Opening {
    guard let files = directory.descriptor else { throw .noKeybag }
    return try KeybagInspection(files: files).open(with: secret)
  }
}
