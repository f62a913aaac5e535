// An encrypted directory that a Samba share shows: clients see files as any others, and their names alone while it is
// locked.

import Glibc
import MountSupport
import Testing

extension MountTests {
  @Suite(
    "Encrypted files through Samba",
    .enabled(
      if: Programs.has("smbd", "smbclient", "smbpasswd", "ip", "unshare", "getfattr"),
      "needs samba, smbclient, iproute2 and attr"),
    .timeLimit(.minutes(2)))
  struct EncryptedSambaTests {
    private func varve(_ words: String...) throws {
      let result = try Program.run(Program.built("varve"), words)
      try #require(result.exit == 0, "\(words): \(result.output)")
    }

    @Test(
      "What a client writes to an encrypted share is encrypted, reads back, and is refused while it is locked"
    )
    func share() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try #require(chmod(volume.path, 0o755) == 0)
      let (key, folder) = ("\(volume.base)/key", "\(volume.path)/p")
      try varve("key", "create", key)
      try varve("key", "slot", "add", volume.path, key)
      try varve("unlock", volume.path, key)
      try #require(mkdir(folder, 0o755) == 0 && chown(folder, 1001, 2001) == 0)
      try varve("protect", "-q", "complete", folder)
      let answers = try SambaStage(volume: volume, share: []).converse([
        "cd \"$home\"; seq 500000 >big; smb ann 'put big p/big; mkdir p/s; rename p/big p/s/big; get p/s/big back'"
          + " && cmp big back",  // 0
        "cd \"$home\"; echo word >word; smb ann 'put word p/s/big; get p/s/big back' && cmp word back",  // 1
        "cd \"$home\"; smb ann 'put big p/big'",  // 2
        "getfattr --only-values -n system.varve.class p/big p/s p/s/big",  // 3
        "varve lock . && smb ann 'ls p/*'",  // 4
        "cd \"$home\"; smb ann 'get p/big locked' || smb ann 'put word p/new'",  // 5
        "varve unlock . '\(key)' && cd \"$home\" && smb ann 'get p/big back; put word p/new'"
          + " && cmp big back",  // 6
        "cat p/new; rm \"$home/back\"; smb ann 'rm p/new; rm p/s/big; rmdir p/s'; ls p",  // 7
      ])
      func succeeded(_ index: Int) { #expect(answers[index].exit == 0, "\(index): \(answers[index].output)") }
      for index in [0, 1, 2, 3, 4, 6, 7] { succeeded(index) }
      #expect(answers[3].output == "completecompletecomplete")
      #expect(
        answers[4].output.contains(" big ") && answers[4].output.contains(" 3388895 "), "\(answers[4].output)"
      )
      #expect(answers[5].exit != 0 && !answers[5].output.contains("putting"), "\(answers[5].output)")
      #expect(
        answers[7].output.hasPrefix("word\n") && answers[7].output.hasSuffix("big\n"), "\(answers[7].output)")
      let search = try Program.run("/bin/grep", ["-c", "^499999$", "\(volume.upper)/p/big"])
      #expect(search.output == "0\n")
    }
  }
}
