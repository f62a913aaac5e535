// The secret that a mount begins with: read from a pipe that the program that started the daemon has filled.

import Ciphers
import FUSEDoor
import LayeredVolume
import LinuxFiles

enum StartingKey {
  /// Reads it, within a second; the descriptor is closed.
  static func read(_ number: Int32, for mountPoint: [UInt8]) throws(MountFailure) -> HandedSecret {
    CoreFiles.forbid()
    let pipe = Descriptor(adopting: number)
    do throws(CipherFailure) {
      return try HandedSecret.read(from: pipe)
    } catch {
      guard case .system(let number) = error else { throw MountFailure(mountPoint, error.sentence) }
      throw MountFailure(mountPoint, "the secret of the keyfile did not come through '--key-fd': \(number)")
    }
  }

  /// Unlocks the volume, which is not mounted yet, if there is a secret; that is gone then.
  static func unlock(
    _ volume: Volume, _ secret: inout HandedSecret?, for mountPoint: [UInt8]
  ) throws(MountFailure) {
    guard let secret = secret.take() else { return }
    let outcome: Keyring.Unlocking
    do throws(KeyFailure) {
      outcome = try volume.unlock(with: secret)
    } catch {
      throw MountFailure(mountPoint, "the volume is not unlocked: \(error.sentenceUnmounted)")
    }
    outcome.tell()
  }
}
