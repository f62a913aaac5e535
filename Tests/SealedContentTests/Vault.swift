// A directory with a keybag, and encrypted files in it, as a mounted volume would make them.

import Foundation
import KeyFixture
import LinuxFiles
import SealedFormat

@testable import KeyringFixture
@testable import LayeredVolume

/// A volume nobody has mounted, with the keybag and the keyfile of the format's own vectors.
final class Vault {
  let path: String
  private let directory: VolumeDirectory
  private let root: SharedDescriptor
  private(set) var keyring: Keyring
  let budget = IndexBudget(pages: 64)

  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("vault-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    root = SharedDescriptor(try Descriptor.directory(atPath: path))
    directory = try VolumeDirectory.open(root: root, readOnly: false)
    try StoredKeys.storeKeybag(in: path)
    try Data(StoredKeys.rawKeyfile).write(to: URL(fileURLWithPath: "\(path)/keyfile"))
    keyring = Keyring(of: directory)
    try unlock()
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  private func unlock() throws {
    _ = try keyring.unlock(with: StoredKeys.secret())
  }

  /// The volume is unmounted, or the daemon is killed; then it is mounted again.
  func remount(killed: Bool) throws {
    if !killed { try keyring.sessions.end() }
    keyring = Keyring(of: directory)
    try unlock()
  }

  /// A file that is there, or is made.
  func file(
    _ name: String, _ protection: StaticSector.ProtectionClass = .complete
  ) throws -> SealedFile<BackingStore> {
    let isThere = FileManager.default.fileExists(atPath: "\(path)/\(name)")
    let found = try FileName.with(Array(name.utf8)) { (entry) throws(Errno) in
      isThere ? try root.descriptor.openPath(entry) : try root.descriptor.createFile(entry, mode: 0o600)
    }
    return try SealedFile(
      BackingStore(SharedDescriptor(found)),
      in: KeyringSurroundings(keyring, protection, pagesWorthCutting: 1), budget: budget)
  }
}
