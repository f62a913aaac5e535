// Windows' view of a volume, through a real Samba: what it sets is what every other door shows, and is enforced.

import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite(
    "Samba",
    .enabled(
      if: Programs.has("smbd", "smbclient", "smbcacls", "smbpasswd", "ip", "unshare", "nfs4_getfacl"),
      "needs samba, smbclient, iproute2 and nfs4-acl-tools"),
    .timeLimit(.minutes(2)))
  struct SambaTests {
    /// A folder of group 2001 that nobody else gets into but bob, who may pass.
    private static let teamList = [
      "group:2001 allow list,add_file,search,delete,add_subdirectory,delete_child,readattr,writeattr,readextattr,"
        + "writeextattr,readsecurity,writesecurity,chown,file_inherit,directory_inherit",
      "user:1002 allow search",
    ]
    private static let full =
      "read,write,execute,delete,append,readattr,writeattr,readextattr,writeextattr,readsecurity,writesecurity,chown"

    /// The entries smbcacls prints, without its other lines.
    private func entries(_ output: String) -> [String] {
      output.split(separator: "\n").filter { $0.hasPrefix("ACL:") }.map { line in
        String(line.dropFirst(4).drop { $0 != "\\" && $0 != ":" }.drop { $0 == "\\" })
      }
    }

    @Test("What Samba sets, NFSv4 tools and varve show and the volume enforces, and the other way round")
    func agreement() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try #require(chmod(volume.path, 0o755) == 0)
      let team = try volume.directory("t", 0, 2001, 0o700, list: Self.teamList)
      let answers = try SambaStage(volume: volume, share: SambaStage.recommended).converse([
        "smb ann 'put /etc/hostname t/plan'",  // 0
        "varve ls -le t/plan; nfs4_getfacl t/plan; acls ann t/plan",  // 1
        "acls ann t/plan -a 'ACL:varve-bob:DENIED/0x0/0x00000006'",  // 2
        "varve ls -len t/plan | tail -n +2; nfs4_getfacl t/plan",  // 3
        "acls ann t/plan",  // 4
        "varve chmod +a 'user:1002 allow read,write,append,readattr,readextattr,readsecurity' t/plan"
          + " && become 1002 2009 cat t/plan && smb bob 'get t/plan -'",  // 5
        "become 1002 2009 sh -c 'echo x >> t/plan' || smb bob 'put /etc/hostname t/plan'",  // 6
        "nfs4_setfacl -a D::1002:r t/plan && acls ann t/plan",  // 7
        "become 1002 2009 cat t/plan || smb bob 'get t/plan -'",  // 8
        "acls ann t/plan -D 'ACL:varve-bob:DENIED/0x0/0x00000001' && nfs4_getfacl t/plan",  // 9
        "smb bob 'get t/plan -'",  // 10
        "acls bob t/plan -a 'ACL:varve-bob:ALLOWED/0x0/FULL'",  // 11
        "smb eve 'get t/plan -' || become 1005 2010 cat t/plan",  // 12
        "smb ann 'rm t/plan'; ls t",  // 13
      ])
      func succeeded(_ index: Int) { #expect(answers[index].exit == 0, "\(index): \(answers[index].output)") }
      func refused(_ index: Int) { #expect(answers[index].exit != 0, "\(index): \(answers[index].output)") }
      for index in [0, 1, 2, 3, 4, 5, 7, 9, 10, 13] { succeeded(index) }
      // What the directory handed on, three times in three languages.
      #expect(
        answers[1].output.contains(" 0: group:varve-2001 inherited allow \(Self.full)\n"),
        "\(answers[1].output)")
      #expect(answers[1].output.contains("A:g:2001:rwadxtTnNcCo\n"), "\(answers[1].output)")
      // Everything but "synchronize", which nothing ever asks for.
      #expect(answers[1].output.contains("varve-2001:ALLOWED/I/0x000f01ff\n"), "\(answers[1].output)")
      // Samba sorts denies to the front and repeats the mode; the mode is not stored a second time.
      let shown = answers[3].output.split(separator: "\n").map(String.init)
      #expect(
        shown.prefix(2) == [
          " 0: user:1002 deny write,append", " 1: group:2001 inherited allow \(Self.full)",
        ], "\(shown)")
      #expect(shown.contains("D::1002:wa") && shown.contains("A:g:2001:rwadxtTnNcCo"), "\(shown)")
      #expect(entries(answers[4].output).first == "varve-bob:DENIED/0x0/0x00000006", "\(answers[4].output)")
      refused(6)
      #expect(answers[6].output.contains("NT_STATUS_ACCESS_DENIED"), "\(answers[6].output)")
      #expect(entries(answers[7].output).first == "varve-bob:DENIED/0x0/0x00000001", "\(answers[7].output)")
      refused(8)
      #expect(answers[8].output.contains("NT_STATUS_ACCESS_DENIED"), "\(answers[8].output)")
      #expect(!answers[9].output.contains("D::1002:r\n"), "\(answers[9].output)")
      refused(11)
      refused(12)
      #expect(answers[13].output == "", "\(answers[13].output)")
      #expect(try Shown(of: team).list == Self.teamList)
    }

    @Test("What is made through Samba inherits as what is made beside it") func inheritance() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try #require(chmod(volume.path, 0o755) == 0)
      _ = try volume.directory(
        "t", 0, 2001, 0o700, list: Self.teamList + ["user:1002 deny delete,file_inherit,directory_inherit"])
      let answers = try SambaStage(volume: volume, share: SambaStage.recommended).converse([
        "smb ann 'mkdir t/s; put /etc/hostname t/s/f; put /etc/hostname t/g'",
        "become 1001 2001 sh -c 'mkdir t/here; echo > t/here/f; echo > t/h'",
        "acls ann t/s; acls ann t/here",
        "acls ann t/s/f; acls ann t/here/f",
      ])
      for answer in answers { #expect(answer.exit == 0, "\(answer.output)") }
      // Samba says GROUP@ where an entry that is not handed on names the item's own group, and has no word for
      // "inherited" in this layout. Otherwise it comes to the same as the volume does.
      func entries(_ name: String) throws -> [String] {
        try Shown(of: "\(volume.path)/\(name)").list.map {
          $0.replacing(" inherited", with: "").replacing("group@", with: "group:2001")
            .replacing(",delete_child", with: "")
        }
      }
      for (mine, theirs) in [("t/here", "t/s"), ("t/here/f", "t/s/f"), ("t/h", "t/g")] {
        let (here, there) = (try entries(mine), try entries(theirs))
        #expect(here.count == 2 && Set(here) == Set(there), "\(theirs)")
      }
      for path in ["t/s/f", "t/here/f", "t/g"] {
        let file = "\(volume.path)/\(path)"
        #expect(TestUser.carol.run { Calls.write(file, "carol is in the group") } == nil, "\(path)")
        #expect(TestUser(1005, group: 2010).run { Calls.read(file).refusal } == .accessDenied, "\(path)")
      }
    }

    @Test("A group that is taken off a folder loses what was made there through Samba") func revoked() throws
    {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try #require(chmod(volume.path, 0o755) == 0)
      let bobs =
        "user:1002 allow list,search,readattr,readextattr,readsecurity,file_inherit,directory_inherit"
      _ = try volume.directory("t", 0, 2001, 0o700, list: Self.teamList.prefix(1) + [bobs])
      let answers = try SambaStage(volume: volume, share: SambaStage.recommended).converse([
        "smb ann 'mkdir t/s; put /etc/hostname t/s/f; put /etc/hostname t/g'",  // 0
        "become 1002 2009 cat t/s/f && become 1002 2009 cat t/g && smb bob 'get t/s/f -'",  // 1
        "varve acl check -R t | grep -c copied",  // 2
        "varve chmod -a 'user:1002 allow list,search,readattr,readextattr,readsecurity,file_inherit,directory_inherit' t"
          + " && varve acl propagate t",  // 3
        "become 1002 2009 cat t/s/f || become 1002 2009 cat t/g || smb bob 'get t/s/f -'",  // 4
        "varve acl get -R t",  // 5
        "smb ann 'get t/s/f -'",  // 6
        // Windows sends the whole list back when an entry is added: what was inherited stays so.
        "acls ann t/g -a 'ACL:varve-bob:DENIED/0x0/0x00000002' && varve acl get t/g",  // 7
      ])
      for index in [0, 1, 3, 5, 6, 7] {
        #expect(answers[index].exit == 0, "\(index): \(answers[index].output)")
      }
      #expect(answers[2].output == "0\n")
      #expect(answers[4].exit != 0, "\(answers[4].output)")
      #expect(
        !answers[5].output.contains("bob") && !answers[5].output.contains("1002"), "\(answers[5].output)")
      #expect(answers[7].output.contains("inherited allow"), "\(answers[7].output)")
    }

    @Test("What Samba makes one entry of, or two, is taken back like any other") func revokedTogether() throws
    {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try #require(chmod(volume.path, 0o755) == 0)
      let both = ",file_inherit,directory_inherit"
      let readers = "group:2009 allow list,search,readattr,readextattr,readsecurity" + both
      let writers = "group:2009 allow add_file,add_subdirectory,writeattr,writeextattr" + both
      let owners = "group@ allow list,search,readattr" + both
      _ = try volume.directory("t", 0, 2001, 0o700, list: Self.teamList.prefix(1) + [readers, owners])
      let answers = try SambaStage(volume: volume, share: SambaStage.recommended).converse([
        "varve chmod +a 'user:1003 allow list,readattr,file_inherit' t && mkdir -m 700 t/inbox"
          + " && varve chmod +a# 0 '\(writers)' t/inbox",  // 0
        "smb ann 'put /etc/hostname t/inbox/f; mkdir t/inbox/d; put /etc/hostname t/inbox/d/g'",  // 1
        "become 1002 2009 sh -c 'cat t/inbox/f t/inbox/d/g && echo x >>t/inbox/f'"
          + " && become 1002 2009 sh -c 'echo >t/inbox/d/new'",  // 2
        "varve acl check -R t | grep -c copied",  // 3
        "varve chmod -a '\(writers)' t/inbox && varve acl propagate t",  // 4
        "become 1002 2009 sh -c 'echo x >>t/inbox/f' || become 1002 2009 sh -c 'echo >t/inbox/d/newer'",  // 5
        "become 1002 2009 cat t/inbox/f t/inbox/d/g",  // 6
        "for entry in '\(readers)' '\(owners)' 'user:1003 allow list,readattr,file_inherit'; do varve chmod -a \"$entry\" t; done"
          + " && varve acl propagate t",  // 7
        "become 1002 2009 cat t/inbox/f || become 1002 2009 cat t/inbox/d/g"
          + " || smb bob 'get t/inbox/d/g -'",  // 8
        "varve find -entry group:2009 t; varve find -entry user:1003 t; varve find -entry group@ t",  // 9
        "smb ann 'get t/inbox/d/g -'",  // 10
      ])
      for index in [0, 1, 2, 4, 6, 7, 9, 10] {
        #expect(answers[index].exit == 0, "\(index): \(answers[index].output)")
      }
      #expect(answers[3].output == "0\n", "\(answers[3].output)")
      for index in [5, 8] { #expect(answers[index].exit != 0, "\(index): \(answers[index].output)") }
      #expect(answers[9].output == "", "\(answers[9].output)")
    }

    @Test("What is made through Samba is for those its list lets in, and whom Windows removes is out")
    func strangers() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try #require(chmod(volume.path, 0o755) == 0)
      // Everybody may look around here.
      _ = try volume.directory("t", 0, 2001, 0o755, list: [Self.teamList[0]])
      _ = try volume.directory("p", 1001, 2001, 0o755)
      // smbcacls asks for the right to take ownership whenever it writes.
      _ = try volume.file("p/f", 1001, 2001, 0o644, list: ["user:1001 allow chown"])
      let answers = try SambaStage(volume: volume, share: SambaStage.recommended).converse([
        "smb ann 'put /etc/hostname t/f; mkdir t/s; put /etc/hostname t/s/f'",  // 0
        "stat -c %a t/f t/s t/s/f",  // 1
        "varve ls -len t; nfs4_getfacl t/f; nfs4_getfacl t/s",  // 2
        "become 1003 2001 sh -c 'cat t/f t/s/f && echo x >>t/f && ls t/s && echo >t/s/g'",  // 3
        "become 1005 2010 cat t/f || become 1005 2010 cat t/s/f",  // 4
        "become 1005 2010 sh -c 'echo x >>t/f' || become 1005 2010 sh -c 'echo x >>t/s/f'",  // 5
        "become 1005 2010 ls t/s || become 1005 2010 touch t/s/h",  // 6
        "smb eve 'get t/f -' || smb eve 'put /etc/hostname t/f' || smb eve 'ls t/s/*'",  // 7
        "become 1005 2010 cat p/f && smb eve 'get p/f -'",  // 8
        "acls ann p/f",  // 9
        "acls ann p/f -D 'ACL:Everyone:ALLOWED/0x0/0x00120089'",  // 10
        "stat -c %a p/f; acls ann p/f; nfs4_getfacl p/f",  // 11
        "become 1005 2010 cat p/f || smb eve 'get p/f -'",  // 12
        "acls ann t/f -a 'ACL:varve-bob:DENIED/0x0/0x00000006' && nfs4_getfacl t/f",  // 13
        "smb ann 'put /etc/hostname t/f' && become 1001 2001 cat t/f",  // 14
        "become 1003 2001 cat p/f && become 1001 2001 sh -c 'echo x >>p/f'",  // 15
      ])
      for index in [0, 1, 2, 3, 8, 9, 10, 11, 13, 14, 15] {
        #expect(answers[index].exit == 0, "\(index): \(answers[index].output)")
      }
      for index in [4, 5, 6, 7, 12] {
        #expect(answers[index].exit != 0, "\(index): \(answers[index].output)")
      }
      #expect(answers[1].output == "0\n0\n0\n", "\(answers[1].output) \(answers[2].output)")
      // A list that is sorted, denies to the front, still lets its owner in.
      #expect(!answers[13].output.contains("D::OWNER@"), "\(answers[13].output)")
      #expect(answers[11].output.hasPrefix("640\n"), "\(answers[9].output) \(answers[11].output)")
    }

    @Test("Attributes of DOS bind Windows alone: mode and flags stay, and other programs write as before")
    func attributesOfDOS() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try #require(chmod(volume.path, 0o755) == 0)
      _ = try volume.directory("t", 0, 2001, 0o700, list: [Self.teamList[0]])
      // The lines for it of docs/doors.md.
      let lines = [
        "store dos attributes = yes", "map readonly = no", "map archive = no", "map hidden = no",
        "map system = no",
      ]
      let answers = try SambaStage(volume: volume, share: SambaStage.recommended + lines).converse([
        "smb ann 'put /etc/hostname t/f'",  // 0
        "stat -c %a t/f && varve ls -lO t/f",  // 1
        "smb ann 'setmode t/f +rhsa'",  // 2
        "smb ann 'ls t/f'",  // 3
        "stat -c %a t/f && varve ls -lO t/f",  // 4
        "smb ann 'put /etc/hostname t/f'",  // 5
        "become 1001 2001 sh -c 'echo x >>t/f'",  // 6
      ])
      for index in [0, 1, 2, 3, 4, 6] {
        #expect(answers[index].exit == 0, "\(index): \(answers[index].output)")
      }
      #expect(answers[3].output.contains(" AHSR "), "\(answers[3].output)")
      #expect(answers[4].output == answers[1].output)
      // Only for Windows it is read-only now.
      #expect(answers[5].exit != 0, "\(answers[5].output)")
      #expect(answers[5].output.contains("NT_STATUS_ACCESS_DENIED"), "\(answers[5].output)")
    }

    @Test("Samba's own lists: with acl_xattr they pass, other encodings of nfs4acl_xattr fail aloud")
    func ownLists() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try #require(chown(volume.path, 1001, 2001) == 0 && chmod(volume.path, 0o755) == 0)
      let passing = try SambaStage(
        volume: volume, share: ["vfs objects = acl_xattr", "acl_xattr:ignore system acls = yes"]
      ).converse([
        "smb ann 'put /etc/hostname f'", "acls ann f -a 'ACL:varve-bob:DENIED/0x0/R'", "acls ann f",
      ])
      for answer in passing { #expect(answer.exit == 0, "\(answer.output)") }
      #expect(entries(passing[2].output).contains("varve-bob:DENIED/0x0/R"), "\(passing[2].output)")
      let file = volume.path + "/f"
      #expect(try Attribute.names(file).get() == ["security.NTACL", "user.DOSATTRIB"])
      #expect(try Shown(of: file).list == [])
      try #require(rename(volume.base + "/samba", volume.base + "/first") == 0)
      let failing = try SambaStage(volume: volume, share: ["vfs objects = nfs4acl_xattr"]).converse([
        "smb ann 'put /etc/hostname g'", "acls ann f",
      ])
      for answer in failing { #expect(answer.exit != 0, "\(answer.output)") }
      #expect(access(volume.path + "/g", F_OK) != 0)
    }
  }
}
