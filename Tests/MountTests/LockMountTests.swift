import Glibc
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

    @Test(
      "While it is locked class complete-unless-open is given to files that can be read, and closes those that nobody has open",
      arguments: ways)
    func classes(options: String) throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("classes", options)
    }

    @Test(
      "Nothing hangs and no byte is wrong under writers, readers, mappings and syncs",
      arguments: ways + ["no_explicit_inval_data"])
    func cycles(options: String) throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("cycles", EncryptedStage.times(10, 1000), options)
    }

    @Test("A disk that hangs keeps the key of its own file, which is named, and no byte is lost")
    func frozen() throws {
      let base = try EncryptedStage.diskOfItsOwn()
      defer { EncryptedStage.removeDisk(base) }
      try EncryptedStage(in: base).run("frozen")
    }

    @Test("What a full disk does not take during a lock is told, and what was synced stays")
    func unwritten() throws {
      let base = try TemporaryDirectory.make()
      try Program.shell("mount -t tmpfs -o size=24m,mode=755 unwritten \(base)")
      defer {
        umount2("\(base)/mount", CInt(MNT_DETACH))
        umount2(base, CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      try EncryptedStage(in: base).run("unwritten")
    }

    @Test(
      "What a refused write brought is not in the daemon's memory",
      .enabled(if: EncryptedStage.hasCryptography, "needs python3-cryptography"),
      arguments: ["", "passthrough=off,threads=1", "threads=8,clone_fd", "cache=none"])
    func refusedWrites(options: String) throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("refused", options)
    }

    @Test(
      "A write that waits for others of its user stays in no memory when it is done",
      .enabled(if: EncryptedStage.hasCryptography, "needs python3-cryptography"))
    func queuedWrites() throws {
      let base = try EncryptedStage.diskOfItsOwn()
      defer { EncryptedStage.removeDisk(base) }
      try EncryptedStage(in: base).run("queued")
    }

    @Test(
      "A write that waits for others of its user when its class is locked is refused then, and stays in no memory",
      .enabled(if: EncryptedStage.hasCryptography, "needs python3-cryptography"))
    func closedWrites() throws {
      let base = try EncryptedStage.diskOfItsOwn()
      defer { EncryptedStage.removeDisk(base) }
      try EncryptedStage(in: base).run("closed")
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
