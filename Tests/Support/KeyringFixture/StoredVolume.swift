// The keybag and the keyfile of the format's own vectors, in upper directories.

import Ciphers
import Foundation
import KeyFixture
import SealedFormat

@testable import LayeredVolume

extension StoredKeys {
  /// Puts the keybag into an upper directory that has its bookkeeping.
  static func storeKeybag(in upper: String) throws {
    for name in ["keybag", "keybag.copy"] {
      try Data(StoredKeys.keybag).write(to: URL(fileURLWithPath: "\(upper)/.varve/\(name)"))
    }
  }

  /// What the keyfile hands over to open all classes.
  static func secret() throws -> HandedSecret {
    var secret = try SecretBytes(count: 32)
    secret.withMutableBytes { into in
      for index in 0..<32 { into[index] = UInt8(0xA0 + index) }
    }
    let keyfile = Bytes16([UInt8](0x10...0x1F).span, at: 0)
    return HandedSecret(keyfile: keyfile.tag, secret: try Key(secret))
  }
}
