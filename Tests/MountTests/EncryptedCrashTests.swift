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

    @Test("SQLite with a rollback journal and with a write-ahead log")
    func databases() throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("crashes", EncryptedStage.times(10, 500), "rollback", "wal")
    }
  }
}
