import MountSupport
import Testing

extension MountTests {
  /// Programs work in an encrypted directory as anywhere else.
  ///
  /// `LONG=1` runs the random operations much longer.
  @Suite(
    "Encrypted directories", .enabled(if: EncryptedStage.hasPython, "needs python3"), .timeLimit(.minutes(60))
  )
  struct EncryptedMountTests {
    @Test(
      "Random operations on a file leave the bytes that a model has",
      arguments: ["", "cache=none", "no_explicit_inval_data", "passthrough=off"], [0, 1001])
    func operations(options: String, user: Int) throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run(
        "operations", EncryptedStage.times(3, 150), EncryptedStage.times(150, 1000), options, String(user))
    }

    @Test(
      "What the kernel keeps of a file is what it holds",
      arguments: ["", "no_explicit_inval_data", "cache=none", "cache=exclusive"])
    func caching(options: String) throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("caching", EncryptedStage.times(3, 100), options)
    }

    @Test(
      "Of a damaged encrypted file every other block is read, at once and page by page, and no answer is short before its end",
      arguments: ["", "passthrough=off,threads=1", "cache=none"])
    func damage(options: String) throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("damage", options)
    }

    @Test(
      "git, SQLite, tar, rsync, make and gcc do their work, and nothing the second time",
      arguments: [0, 1001])
    func programs(user: Int) throws {
      try #require(Programs.has("git", "sqlite3", "rsync", "tar", "make", "gcc", "setpriv"))
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("programs", String(user), "work")
    }

    @Test(
      "vim saves in each of its ways, and finds again what a kill left",
      .enabled(if: Programs.has("vim.tiny"), "needs vim-tiny"), arguments: [0, 1001])
    func editor(user: Int) throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("programs", String(user), "vim")
    }

    @Test(
      "nano and ed save over a file, shorter and longer, with a backup, and append",
      .enabled(if: Programs.has("nano", "ed"), "needs nano, ed"), arguments: [0, 1001])
    func otherEditors(user: Int) throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("programs", String(user), "editors")
    }

    @Test(
      "fio reads what it wrote, also through mappings and past the cache",
      .enabled(if: Programs.has("fio"), "needs fio, which only CI installs"), arguments: [0, 1001])
    func verified(user: Int) throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("programs", String(user), "fio")
    }

    @Test("Sparse and full disks, hard links, many users, capabilities, read-only and remounted volumes")
    func limits() throws {
      let stage = try EncryptedStage()
      defer { stage.remove() }
      try stage.run("limits")
    }
  }
}
