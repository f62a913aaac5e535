// What a question may cost the daemon, and how much of a deep place it remembers.

import CMountSupport
import Glibc
import JSONForm
import LinuxFiles
import MountSupport
import Testing
import TextForms

extension MountTests {
  @Suite("The limits of why and of the list of denials") struct WhyLimitTests {
    private static let name = String(repeating: "n", count: 200)

    /// A descriptor of the directory `depth` long names below `path`, which are made if they are missing.
    private static func deep(_ path: String, _ depth: Int, making: Bool) -> Int32 {
      var here = open(path, OpenFlags.path.rawValue | O_DIRECTORY)
      for _ in 0..<depth {
        if making { mkdirat(here, name, 0o755) }
        let next = openat(here, name, OpenFlags.path.rawValue | O_DIRECTORY)
        close(here)
        here = next
      }
      return here
    }

    /// Deeper than any path can name; taken away by a program that goes step by step.
    private func remove(_ volume: MountSupport.MountedVolume) {
      _ = try? Program.shell("rm -rf -- *", in: volume.path)
      volume.remove()
    }

    private func asked(
      _ volume: MountSupport.MountedVolume, _ questions: [JSON], by asker: TestUser = .bob
    ) throws -> JSON {
      let client = try WhyClient(volume)
      let members = [JSON.Member("questions", .array(questions))]
      return try asker.run { Result { try client.ask("why", members) } }.get()
    }

    @Test("A way that links make longer than any path is not walked to its end") func deepWay() throws {
      let volume = try MountSupport.MountedVolume()
      defer { remove(volume) }
      let bottom = Self.deep(volume.path, 25, making: true)
      #expect(bottom >= 0)
      close(bottom)
      let middle = Self.deep(volume.path, 15, making: false)
      let rest = Array(repeating: Self.name, count: 9).joined(separator: "/")
      #expect(symlinkat(rest, middle, "on") == 0)
      close(middle)
      let way = Array(repeating: Self.name, count: 15).joined(separator: "/")
      let near = try asked(volume, [WhyClient.question("search", way + "/" + Self.name)])
      #expect(near["ok"] == .bool(true))
      let far = try asked(volume, [WhyClient.question("search", way + "/on")])
      #expect(far["ok"] == .bool(false), "\(far.text.prefix(200))")
      #expect(far["error"]?.string?.contains("a path is too long") == true, "\(far.text.prefix(200))")
    }

    @Test("Links that go up and down without end are left soon, and many questions as well") func wandering()
      throws
    {
      let volume = try MountSupport.MountedVolume()
      defer { volume.remove() }
      #expect(mkdir(volume.path + "/d", 0o755) == 0)
      for number in 0..<38 {
        let target = String(repeating: "d/../", count: 800) + (number == 37 ? "d" : "l\(number + 1)")
        #expect(symlink(target, "\(volume.path)/l\(number)") == 0)
      }
      let started = Clock.monotonicNanoseconds
      let one = try asked(volume, [WhyClient.question("search", "l0")])
      #expect(one["error"]?.string?.contains("a path is too long") == true, "\(one.text.prefix(200))")
      // Each of these is short enough.
      let many = try asked(volume, Array(repeating: WhyClient.question("search", "l34"), count: 64))
      let isAnswered = many["ok"] == .bool(true)
      #expect(isAnswered || many["error"]?.string?.contains("too long") == true, "\(many.text.prefix(200))")
      #expect(many.text.utf8.count < 2 << 20)
      #expect(Clock.monotonicNanoseconds - started < 10_000_000_000)
    }

    @Test("Answers to one request have a bound together, and root has the same") func manyAnswers() throws {
      let volume = try MountSupport.MountedVolume()
      defer { remove(volume) }
      close(Self.deep(volume.path, 18, making: true))
      let way = Array(repeating: Self.name, count: 18).joined(separator: "/")
      let question = WhyClient.question("search", way)
      #expect(try asked(volume, [question])["ok"] == .bool(true))
      for asker in [TestUser.bob, .root] {
        let answer = try asked(volume, Array(repeating: question, count: 16), by: asker)
        #expect(answer["ok"] == .bool(true))
      }
      let path = volume.path
      #expect(symlink(way, path + "/short") == 0)
      let short = WhyClient.question("search", "short")
      for asker in [TestUser.bob, .root] {
        let answer = try asked(volume, Array(repeating: short, count: 64), by: asker)
        #expect(answer["error"]?.string?.contains("ask about less") == true, "\(answer.text.prefix(200))")
      }
    }

    @Test(
      "Of a place deeper than any path the list of denials keeps the lower end, and tells who may walk there")
    func deepPlace() throws {
      let volume = try MountSupport.MountedVolume()
      defer { remove(volume) }
      let bottom = Self.deep(volume.path, 25, making: true)
      let file = openat(bottom, "secret", O_CREAT | O_WRONLY, 0o600)
      #expect(file >= 0)
      close(file)
      close(bottom)
      // A directory with the name of the mark teaches nobody anything.
      #expect(mkdir(volume.path + "/…", 0o755) == 0)
      let path = volume.path
      let error: Errno? = TestUser.bob.run {
        let directory = Self.deep(path, 25, making: false)
        defer { close(directory) }
        return openat(directory, "secret", O_RDONLY) < 0 ? Errno.current : nil
      }
      #expect(error == .accessDenied)
      let client = try WhyClient(volume)
      func told(_ user: TestUser) throws -> String {
        let answer = user.run { Result { try client.ask("denials", [JSON.Member("count", .number(1))]) } }
        guard case .array(let denials)? = try answer.get()["denials"], let last = denials.first,
          let path = last.nameBytes("path")
        else { throw TestFailure("no denials") }
        return String(decoding: path, as: UTF8.self)
      }
      let whole = try told(.root)
      #expect(whole.hasPrefix("…/nnn") && whole.hasSuffix("n/secret"))
      #expect(whole.utf8.count > 3_800 && whole.utf8.count < 4_096 + 256)
      #expect(try told(.bob) == "…/?")
    }
  }
}
