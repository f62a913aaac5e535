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

    @Test(
      "Files that are moved, exchanged and replaced behind the mount are verified or passed over, and end no verify"
    )
    func moved() throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("moved", EncryptedStage.times(8, 300))
    }

    @Test(
      "A read-only mount beside the one that writes shows what was written, and never zeros; taking over it builds on that",
      arguments: ["", "passthrough=off,no_explicit_inval_data"])
    func beside(_ options: String) throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("beside", EncryptedStage.times(3, 120), options)
    }

    @Test(
      "A read-only mount shows the content of a file, never what is stored, whatever form another mount gives it meanwhile",
      arguments: ["", "passthrough=off,no_explicit_inval_data"])
    func forms(_ options: String) throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("forms", EncryptedStage.times(6, 120), options)
    }
  }
}
