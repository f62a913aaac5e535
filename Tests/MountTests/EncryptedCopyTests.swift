import MountSupport
import Testing

extension MountTests {
  @Suite("Rights and copies of encrypted files", .enabled(if: EncryptedStage.hasPython, "needs python3"))
  struct EncryptedCopyTests {
    @Test("Rights decide before keys, and 'why' tells which it was")
    func rights() throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("rights")
    }

    @Test(
      "A copy opens elsewhere with the keyfile, also one made beside writers, and gets no plaintext",
      .enabled(if: Programs.has("rsync", "tar"), "needs rsync, tar"))
    func copies() throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("copies", EncryptedStage.times(4, 200))
    }
  }
}
