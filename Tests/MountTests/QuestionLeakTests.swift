// An ordinary user asks the daemon about items whose attributes that user may not read, with every value and assumption
// that could tell what they are.

import Glibc
import JSONForm
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("What questions do not tell") struct QuestionLeakTests {
    private static let denies = "user:1002 deny readattr,readsecurity"

    /// Files in one directory that differ in what stat and `ls -lO` would show; the first one is the plain one.
    private func items(_ volume: MountedVolume) throws -> [String] {
      _ = try volume.directory("d", 1001, 2001, 0o755)
      let items: [(user: UInt32, mode: mode_t, flags: String)] = [
        (1001, 0o640, ""), (1001, 0o604, ""), (1001, 0o4640, ""), (1003, 0o640, ""), (1001, 0o640, "hidden"),
        (1001, 0o640, "uchg"), (1001, 0o640, "schg"),
      ]
      return try items.enumerated().map { index, item in
        let name = "d/secret\(index)"
        _ = try volume.file(name, item.user, 2001, item.mode, list: [Self.denies], flags: item.flags)
        return name
      }
    }

    private func object(_ members: (String, JSON)...) -> JSON {
      .object(members.map { JSON.Member($0.0, $0.1) })
    }

    /// What bob is told of `path` by one question after the other.
    private func told(_ client: WhyClient, _ verb: String, _ questions: [JSON], _ path: String) -> [String] {
      TestUser.bob.run {
        questions.map { question in
          do {
            return try client.ask(verb, [JSON.Member("questions", .array([question]))]).text
              .replacing(path, with: "PATH")
          } catch {
            return "\(error)"
          }
        }
      }
    }

    /// Values as a run would set them, among them those the items have.
    private var values: [JSON] {
      [0o640, 0o604, 0o600, 0o4640, 0o4755, 0].map { object(("mode", .number($0))) }
        + [1001, 1002, 1003].map { object(("user", .number($0))) }
        + [object(("group", .number(2001))), object(("ownerGroup", .number(2002)))]
        + [0, 1, 2, 0x8000, 0x8002, 0x20000, 0x20002].map { object(("flags", .number($0))) }
        + [.bool(true), .bool(false), .string(Self.denies)].map { object(("list", $0)) }
    }

    @Test(
      "A user who may not read an item's attributes learns neither mode, owner nor flags, whatever is asked"
    )
    func guesses() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let client = try WhyClient(volume)
      let mine = object(
        ("assumed", object(("list", .string("user:1002 allow writesecurity,chown,write,readattr")))))
      let transcripts = try items(volume).map { path in
        let one = values.map { object(("path", .string(path)), ("changes", .array([$0]))) }
        let assuming = values.map { value in
          object(
            ("path", .string(path)), ("steps", .array([mine, value])), ("changes", .array([mine, value])))
        }
        return told(client, "dryrun", one, path) + told(client, "dryrun", assuming, path)
          // The verb that once assumed what it was told.
          + told(client, "plan", assuming, path)
      }
      for other in transcripts.dropFirst() { #expect(other == transcripts[0]) }
      // None of it is the same only because nothing was understood.
      #expect(transcripts[0].first?.contains("EACCES") == true, "\(transcripts[0].first ?? "")")
    }

    @Test("Nor by setting what is there already") func settings() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let paths = try items(volume)
      let directories = [0o700, 0o2700].map { mode in
        (try? volume.directory("d/dir\(mode)", 1001, 2001, mode_t(mode), list: [Self.denies])) ?? ""
      }
      /// Every value that one of them has, as those who may read them see it.
      let nfs = try Set(paths.map { try Attribute.get("\(volume.path)/\($0)", "system.nfs4_acl").get() })
      let flags = ["", "hidden", "uchg", "schg", "uchg,hidden"]
      let lists = ["", Self.denies, "user:1002 allow read"]
      @Sendable func answers(_ path: String) -> [Errno?] {
        var all: [Errno?] = flags.map { Attribute.set(path, Attribute.flags, $0) }
        all += lists.map { Attribute.set(path, Attribute.list, $0) }
        all += nfs.map { Attribute.set(path, "system.nfs4_acl", $0) }
        all += [Attribute.flags, Attribute.list, "system.nfs4_acl"].map { Attribute.remove(path, $0) }
        all += [0o640, 0o604, 0o4640].map { Calls.answer(chmod(path, $0)) }
        all += [1001, 1003].map { Calls.answer(chown(path, $0, gid_t.max)) }
        return all + [Calls.answer(chown(path, uid_t.max, gid_t.max))]
      }
      let told = TestUser.bob.run { paths.map { answers("\(volume.path)/\($0)") } }
      for (path, answer) in zip(paths, told) { #expect(answer == told[0], "\(path)") }
      #expect(told[0].allSatisfy { $0 == .notPermitted }, "\(told[0])")
      let ofDirectories = TestUser.bob.run {
        directories.map { Calls.answer(chown($0, uid_t.max, gid_t.max)) }
      }
      #expect(ofDirectories == [.notPermitted, .notPermitted])
      // To those who may read it, what is there already can be set, as on macOS.
      let plain = try volume.file("plain", 1001, 2001, 0o644, flags: "hidden")
      #expect(TestUser.bob.run { Attribute.set(plain, Attribute.flags, "hidden") } == nil)
      #expect(TestUser.bob.run { Attribute.set(plain, Attribute.flags, "") } == .notPermitted)
      #expect(TestUser.bob.run { Attribute.remove(plain, Attribute.list) } == nil)
    }

    @Test("Why tells of an item whose attributes are denied no more than the error a program gets")
    func reasons() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let client = try WhyClient(volume)
      let paths = try items(volume)
      for operation in Operations.all where !["rename", "link"].contains(operation) {
        var answers: [String: String] = [:]
        for path in paths {
          let question = object(("operation", .string(operation)), ("path", .string(path)))
          let answer = told(client, "why", [question], path)[0]
          let error = ["EPERM", "EACCES", "EIO", "EROFS"].first { answer.contains($0) } ?? "none"
          #expect(answer == answers[error, default: answer], "\(operation) \(path)")
          answers[error] = answer
        }
      }
    }
  }
}
