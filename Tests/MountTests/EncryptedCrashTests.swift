import Glibc
import MountSupport
import Testing

extension MountTests {
  /// The daemon is killed while encrypted files are written; what was synced is there afterwards.
  ///
  /// `LONG=1` runs 500 rounds of each kind of change.
  @Suite(
    "Crashes over encrypted files", .enabled(if: EncryptedStage.hasPython, "needs python3"),
    .timeLimit(.minutes(60)))
  struct EncryptedCrashTests {
    @Test("Files: overwritten, appended to, cut, replaced, and a journal")
    func files() throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run(
        "crashes", EncryptedStage.times(10, 500), "overwrite", "append", "truncate", "rename", "journal")
    }

    @Test(
      "A reader without our code reads files of every shape in each class: open, unmounted and after a kill",
      .enabled(if: EncryptedStage.hasCryptography, "needs python3-cryptography"))
    func shapes() throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("shapes")
    }

    @Test(
      "A reader without our code refuses every bit that is turned in a file whose session has ended",
      .enabled(if: EncryptedStage.hasCryptography, "needs python3-cryptography"))
    func flips() throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("flips", EncryptedStage.times(101, 1))
    }

    @Test(
      "The same kills of gocryptfs: what it loses is printed",
      .enabled(if: EncryptedStage.isLong && Programs.has("gocryptfs"), "LONG=1, and gocryptfs"))
    func peer() throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      defer { umount2("\(stage.base)/peer", CInt(MNT_DETACH)) }
      try stage.run("crashes", "500", "--peer")
    }

    @Test("A tree that changes its class: each file is as it was or done, with its times")
    func conversions() throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("conversions", EncryptedStage.times(10, 500), EncryptedStage.times(5, 1))
    }

    @Test(
      "Verbs of keys, program and daemon killed at their calls: the old keyfiles open it or the new, and nothing is half"
    )
    func keys() throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("keys", EncryptedStage.times(6, 1))
    }

    @Test("SQLite with a rollback journal and with a write-ahead log")
    func databases() throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("crashes", EncryptedStage.times(10, 500), "rollback", "wal")
    }
  }
}
