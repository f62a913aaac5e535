import MountSupport
import Testing

extension MountTests {
  /// What a lock does to programs that have encrypted files open, and what of them stays in memory.
  @Suite(
    "Locking a mounted volume", .enabled(if: EncryptedStage.hasPython, "needs python3"),
    .timeLimit(.minutes(60)))
  struct LockMountTests {
    /// Ways to serve that might keep other buffers, or other pages.
    static let ways = ["", "passthrough=off,threads=1", "threads=8,clone_fd", "cache=none"]

    @Test("Pages go, dirty ones are kept, and descriptors and mappings work again", arguments: ways)
    func pages(options: String) throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("pages", options)
    }

    @Test("Nothing hangs and no byte is wrong under writers, readers, mappings and syncs", arguments: ways)
    func cycles(options: String) throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("cycles", EncryptedStage.times(10, 1000), options)
    }

    @Test(
      "Afterwards no key and no plaintext is in the daemon's memory",
      .enabled(if: EncryptedStage.hasCryptography, "needs python3-cryptography"),
      arguments: ["", "passthrough=off,threads=1", "threads=8,clone_fd"])
    func memory(options: String) throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("memory", EncryptedStage.times(2, 100), options)
    }
  }
}
