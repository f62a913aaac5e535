// What encrypted files ask of a real keyring, for tests without a volume.

import Ciphers
import LinuxFiles
import SealedFormat

@testable import LayeredVolume

/// What files of one class ask of the keyring of a volume.
final class KeyringSurroundings: SealedSurroundings {
  let keyring: Keyring
  let protection: StaticSector.ProtectionClass
  let pagesWorthCutting: UInt64

  init(_ keyring: Keyring, _ protection: StaticSector.ProtectionClass, pagesWorthCutting: UInt64 = 256) {
    (self.keyring, self.protection, self.pagesWorthCutting) = (keyring, protection, pagesWorthCutting)
  }

  var contexts: AeadPool { keyring.contexts }

  func session() throws(Errno) -> UInt64 {
    do throws(KeyFailure) { return try keyring.sessions.begin() } catch { throw error.number }
  }

  func hasEnded(_ session: UInt64) -> Bool { keyring.sessions.hasEnded(session) }

  func newKeys() throws(Errno) -> (StaticSector, FileKeys) {
    do throws(KeyFailure) {
      let keys = try keyring.makeKeys()
      return (try keyring.header(for: keys, protection), keys)
    } catch {
      throw error.number
    }
  }

  func keys(from sector: Span<UInt8>) throws(Errno) -> FileKeys {
    do throws(KeyFailure) { return try keyring.keys(from: sector) } catch { throw error.number }
  }

  func report(_ event: SealedEvent) {}
}
