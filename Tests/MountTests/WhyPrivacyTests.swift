// No user learns by asking what that user could not read: not by why, not by what was denied, not about own rights or those of others.

import CMountSupport
import Glibc
import JSONForm
import LinuxFiles
import MountSupport
import Testing
import TextForms

extension MountTests {
  @Suite("What why and the list of denials keep to themselves") struct WhyPrivacyTests {
    private let volume: MountSupport.MountedVolume
    private let client: WhyClient

    init() throws {
      volume = try MountSupport.MountedVolume()
      client = try WhyClient(volume)
    }

    private func asked(_ questions: [JSON], by asker: TestUser, about user: TestUser? = nil) throws -> JSON {
      let client = client
      var members = [JSON.Member("questions", .array(questions))]
      if let user { members.append(JSON.Member("as", user.json)) }
      let result = asker.run { [members] in Result { try client.ask("why", members) } }
      return try result.get()
    }

    private func denials(of user: TestUser, _ count: Int = 512) throws -> [JSON] {
      let client = client
      let result = user.run { Result { try client.ask("denials", [JSON.Member("count", .number(count))]) } }
      guard case .array(let denials)? = try result.get()["denials"] else { throw TestFailure("no denials") }
      return denials
    }

    @Test("What is in a directory one may not search cannot be told from what is not") func closedDirectory()
      throws
    {
      defer { volume.remove() }
      _ = try volume.directory("private", 1001, 2001, 0o700)
      _ = try volume.file("private/there", 1001, 2001, 0o644)
      for operation in ["read", "delete", "readattr", "create", "chmod"] {
        let answers = try ["there", "missing"].map { name in
          let path = "private/\(name)"
          let answer = try asked([WhyClient.question(operation, path)], by: .bob)
          return answer.text.replacing(path, with: "PATH")
        }
        #expect(answers[0] == answers[1])
        #expect(answers[0].contains("\"error\": \"EACCES\""))
      }
      let answer = try asked(
        [WhyClient.question("rename", "private/there", to: "private/missing/x")], by: .bob)
      #expect(answer.text.contains("ENOENT") == false)
    }

    @Test("A dry run is told nothing of what is in a directory one may not search") func closedDryRun() throws
    {
      defer { volume.remove() }
      _ = try volume.directory("open", 1001, 2001, 0o755)
      _ = try volume.file("open/foreign", 1001, 2001, 0o644)
      _ = try volume.directory("open/private", 1001, 2001, 0o700)
      _ = try volume.file("open/private/there", 1002, 2002, 0o644)
      func question(_ path: String, _ change: JSON.Member) -> JSON {
        .object(
          JSON.nameMembers("path", Array(path.utf8)) + [JSON.Member("changes", .array([.object([change])]))])
      }
      let client = client
      func asked(_ paths: [String], _ change: JSON.Member) throws -> [JSON] {
        let members = [JSON.Member("questions", .array(paths.map { question($0, change) }))]
        let result = TestUser.bob.run { Result { try client.ask("dryrun", members) } }
        guard case .array(let answers)? = try result.get()["answers"] else { throw TestFailure("no answers") }
        return answers
      }
      for change in [
        JSON.Member("mode", .number(0o600)), JSON.Member("list", .bool(true)),
        JSON.Member("list", .bool(false)),
        JSON.Member("flags", .number(2)), JSON.Member("user", .number(1002)),
        JSON.Member("ownerGroup", .number(2002)),
      ] {
        let answers = try asked(
          ["open/foreign", "open/private/there", "open/private/missing", "open/private"], change)
        let isNothing = change.value == .bool(false)
        #expect(answers[0]["isOnTheWay"] == nil && (isNothing || answers[0]["error"] != nil))
        #expect(answers[1]["isOnTheWay"] == .bool(true) && answers[1]["error"] == .string("EACCES"))
        #expect(answers[2] == answers[1])
        #expect(
          answers.allSatisfy { $0.nameBytes("path") == nil }, "a link's target could be long, and private")
      }
      let nonsense = [
        JSON.Member("mode", .number(-1)), JSON.Member("flags", .string("uchg")),
        JSON.Member("list", .string("user:1002 allow read")), JSON.Member("assumed", .object([])),
        JSON.Member("then", .string("search")), JSON.Member("bogus", .bool(true)),
      ]
      for change in nonsense { #expect(throws: (any Error).self) { try asked(["open/foreign"], change) } }
    }

    @Test("Rules that may not be read are not told, neither by why nor by the list of denials")
    func closedRules()
      throws
    {
      defer { volume.remove() }
      let path = try volume.file(
        "guarded", 1001, 2001, 0o640,
        list: ["user:1002 deny readsecurity,write", "user:4711 allow write,delete"], flags: "hidden")
      let locked = try volume.file(
        "locked", 1001, 2001, 0o640, list: ["user:1002 deny readattr"], flags: "uchg")
      TestUser.bob.run {
        #expect(Calls.open(path, O_WRONLY) == .accessDenied)
        #expect(Calls.open(path, O_RDONLY) == .accessDenied)
        #expect(Calls.open(locked, O_WRONLY) == .notPermitted)
      }
      let operations = Operations.all
      var told = ""
      for name in ["guarded", "locked"] {
        told += try asked(operations.map { WhyClient.question($0, name) }, by: .bob).text
      }
      let last = try denials(of: .bob)
      #expect(last.count == 3)
      told += JSON.array(last).text
      for secret in ["4711", "entryText", "\"entry\":", "rw-r", "r--", "0640", "uchg", "hidden", "1001"] {
        #expect(!told.contains(secret), "'\(secret)' was told")
      }
      #expect(told.contains("by its rules, which you may not read"))
      // Root and the owner are told.
      let open = try asked([WhyClient.question("write", "guarded")], by: .root, about: .bob)
      #expect(open.text.contains("entry 0 of its list: user:1002 deny write,readsecurity"))
      let all = JSON.array(try denials(of: .root)).text
      #expect(all.contains("by its flag uchg") && all.contains("entry 0 of its list"))
    }

    @Test("About others one is told only where one may walk and read every rule") func others() throws {
      defer { volume.remove() }
      _ = try volume.directory("private", 1001, 2001, 0o700)
      _ = try volume.file("private/there", 1001, 2001, 0o644)
      _ = try volume.file("public", 1001, 2001, 0o600, list: ["user:1003 allow read"])
      _ = try volume.file("guarded", 1001, 2001, 0o600, list: ["user:1002 deny readsecurity"])
      _ = try volume.directory("half", 1001, 2001, 0o711, list: ["user:1002 deny readsecurity"])
      _ = try volume.file("half/file", 1001, 2001, 0o644)
      for path in ["private/there", "private/missing", "guarded", "half/file", "half/missing"] {
        for operation in Operations.all {
          let answer = try asked([WhyClient.question(operation, path)], by: .bob, about: .alice)
          // That a name exists, or is not a directory, every user who may search the directory finds out anyway.
          let isFact = path == "guarded" && answer.text.contains("\"reason\": \"fact\"")
          #expect(answer["ok"] == .bool(false) || isFact, "\(operation) \(path): \(answer.text)")
          #expect(!answer.text.contains("ENOENT"))
        }
      }
      let answer = try asked([WhyClient.question("read", "public")], by: .bob, about: .carol)
      #expect(answer.text.contains("entry 0 of its list: user:1003 allow read"), "\(answer.text)")
      // Nor does the kernel's rule about links to set-id programs tell bob of a mode that bob may not read.
      _ = try volume.file("setid", 1003, 2001, 0o4755, list: ["user:1002 deny readsecurity"])
      let link = try asked([WhyClient.question("link", "setid")], by: .bob, about: .alice)
      #expect(link["ok"] == .bool(false), "\(link.text)")
      // Bob's groups are what the kernel says, not what bob says: with other groups bob is another subject.
      let boasting = TestUser(1002, group: 2001, groups: [0])
      let refused = try asked([WhyClient.question("read", "private/there")], by: .bob, about: boasting)
      #expect(refused["ok"] == .bool(false))
    }

    @Test("Users hear of their own denials, root of all") func ownDenials() throws {
      defer { volume.remove() }
      let path = try volume.file("file", 0, 0, 0o600)
      TestUser.alice.run { #expect(Calls.open(path, O_RDONLY) == .accessDenied) }
      TestUser.bob.run { #expect(Calls.open(path, O_WRONLY) == .accessDenied) }
      #expect(try denials(of: .alice).map { $0["operation"]?.string } == ["read"])
      #expect(try denials(of: .bob).map { $0["operation"]?.string } == ["write"])
      #expect(try denials(of: .carol).isEmpty)
      #expect(try denials(of: .root).map { $0["user"]?.integer } == [1002, 1001])
    }

    @Test("A directory that was moved away takes its new name along, and keeps it") func movedAway() throws {
      defer { volume.remove() }
      _ = try volume.directory("private", 1001, 2001, 0o700)
      _ = try volume.directory("drop", 1001, 2001, 0o711)
      let place = try volume.directory("open", 1001, 2001, 0o755)
      _ = try volume.file("open/file", 1001, 2001, 0o644)
      let base = volume.path
      for hidden in ["private/codename", "drop/codename"] {
        let directory = TestUser.bob.run { Glibc.open(place, O_RDONLY | O_DIRECTORY) }
        defer { close(directory) }
        let failure = Calls.answer(rename(place, "\(base)/\(hidden)"))
        #expect(failure == nil)
        let error = TestUser.bob.run { Calls.answer(unlinkat(directory, "file", 0)) }
        #expect(error == .accessDenied)
        let own = JSON.array(try denials(of: .bob, 1)).text
        #expect(!own.contains("codename"), "\(own)")
        #expect(own.contains("file"))
        #expect(JSON.array(try denials(of: .root, 1)).text.contains("\(hidden)/file"))
        #expect(rename("\(base)/\(hidden)", place) == 0)
      }
    }

    @Test("Requests that make no sense are refused with a word, and the daemon goes on") func nonsense()
      throws
    {
      defer { volume.remove() }
      let deep = String(repeating: "a/", count: 5_000)
      let paths = [
        "../../etc/passwd", "/etc/passwd", "..", "", ".", "/", "a//b/./..", deep, ".varve", ".varve/m",
      ]
      for path in paths {
        for operation in Operations.all {
          let answer = try asked([WhyClient.question(operation, path)], by: .bob)
          #expect(answer["ok"] == .bool(true), "\(operation) \(path.prefix(20)): \(answer.text)")
          #expect(!answer.text.contains("root:x"))
        }
      }
      let far = Array(repeating: WhyClient.question("read", ""), count: 65)
      #expect(try asked(far, by: .bob)["ok"] == .bool(false))
      for body in [JSON.null, .array([]), .object([JSON.Member("operation", .string("fly"))])] {
        #expect(try asked([body], by: .bob)["ok"] == .bool(false))
      }
      _ = symlink("loop", volume.path + "/loop")
      _ = symlink("../../../etc/passwd", volume.path + "/out")
      #expect(try asked([WhyClient.question("read", "loop")], by: .bob).text.contains("ELOOP"))
      #expect(try asked([WhyClient.question("read", "out")], by: .bob).text.contains("EXDEV"))
    }
  }
}

/// The words of `varve why`.
enum Operations {
  static let all = [
    "read", "write", "append", "execute", "search", "list", "create", "mkdir", "delete", "rename", "link",
    "readattr", "writeattr", "readxattr", "writexattr", "readacl", "writeacl", "chown", "chmod", "chflags",
  ]
}
