// What is done, and not done, for a volume whose keybag is lost or damaged.

import Ciphers
import Glibc
import LinuxFiles
import SealedFormat
import Testing

@testable import LayeredVolume

@Suite("Lost keybags") struct LostKeybagTests {
  @Test("No first keybag is made where there are encrypted files, unless that is wanted")
  func besideEncrypted()
    throws
  {
    let vault = try Vault()
    mkdir("\(vault.path)/deep", 0o755)
    mkdir("\(vault.path)/deep/er", 0o755)
    let sealed = Golden.header + [UInt8](repeating: 0, count: 8192 - Golden.header.count)
    try vault.write("../deep/plain", [UInt8](repeating: 7, count: 8192))
    try vault.write("../deep/short", Golden.header)
    try vault.keyring.makeKeybag(for: try keyfile(1))
    for name in ["keybag", "keybag.copy", "sessions"] { try vault.write(name, nil) }
    vault.restart()
    try vault.write("../deep/er/secret", sealed)
    let refusal = failure { try vault.keyring.makeKeybag(for: try keyfile(1)) }
    #expect(refusal == .encryptedFiles(Array("deep/er/secret".utf8)))
    #expect(refusal?.number == .noKey)
    #expect(
      refusal?.sentence.contains("such as deep/er/secret: bring back .varve, or name an export") == true)
    #expect(vault.read("keybag") == nil && vault.read("sessions") == nil)
    // The right export is still taken.
    #expect(try vault.keyring.unlock(with: try Golden.keyfile(), exported: Golden.keybag).healed)
    for name in ["keybag", "keybag.copy", "sessions"] { try? vault.write(name, nil) }
    vault.restart()
    try vault.keyring.makeKeybag(for: try keyfile(1), besideEncrypted: true)
    #expect(vault.read("keybag") != nil)
  }

  @Test("No advice about a lost or wrong keybag is to remove something") func advice() {
    let failures: [KeyFailure] = [
      .noKeybag, .encryptedFiles([]), .keybagLost, .damaged(.code), .damaged(.slot), .foreignKeybag,
      .keybagOfAnother, .keybagsDiffer,
    ]
    for failure in failures { #expect(!failure.sentence.contains("remove"), "\(failure)") }
    #expect(KeyFailure.keybagLost.sentence.contains("leave .varve/sessions as it is"))
    #expect(KeyFailure.keybagOfAnother.sentence.contains("keep it until all files open"))
  }

  @Test("An export takes the place of a keybag that opens with no keyfile, and of no other")
  func damagedBoth() throws {
    let vault = try Vault(["keybag": Golden.keybag, "keybag.copy": Golden.keybag])
    // Its code, its form, and a slot of which others may be whole.
    for (place, isReplaced) in [(100, true), (0, true), (140 + 40, false)] {
      var damaged = Golden.keybag
      damaged[place] ^= 1
      for copy in [damaged, Golden.keybag] {
        try vault.write("keybag", damaged)
        try vault.write("keybag.copy", copy)
        vault.restart()
        let outcome = try vault.keyring.unlock(with: try Golden.keyfile(), exported: Golden.keybag)
        let isAdopted = isReplaced && copy == damaged
        #expect(outcome.healed == isAdopted, "byte \(place)")
        #expect((vault.read("keybag") == Golden.keybag) == isAdopted, "byte \(place)")
      }
    }
  }
}
