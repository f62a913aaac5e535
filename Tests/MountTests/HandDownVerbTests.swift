// The verb `handdown`, asked by hand: whatever descriptor comes with it, and whoever asks.

import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Handing lists down by the control socket", .timeLimit(.minutes(2))) struct HandDownVerbTests {
    private static let entry = "user:5 allow read,file_inherit"

    /// A volume with a directory `d` that has a list, and files in it that have not inherited it.
    private func volume(_ options: String = "") throws -> MountSupport.MountedVolume {
      let volume = try MountSupport.MountedVolume(options)
      #expect(mkdir(volume.path + "/d", 0o755) == 0)
      for name in ["a", "b"] { _ = try volume.file("d/" + name, 0, 0, 0o644) }
      #expect(Attribute.set(volume.path + "/d", Attribute.list, Self.entry) == nil)
      return volume
    }

    private func inherits(_ volume: MountSupport.MountedVolume) -> Bool {
      (try? Attribute.text(volume.path + "/d/a", Attribute.list).get())?.contains("inherited") == true
    }

    private static func ask(_ socket: String, _ number: CInt, _ members: String = "") -> String {
      let line = "{\"verb\":\"handdown\",\"directory\":\(number),\"names\":[\"a\",\"b\"]\(members)}"
      return ControlCall.ask(socket, line) ?? "no answer"
    }

    private func socket(_ volume: MountSupport.MountedVolume) throws -> String {
      try Attribute.text(volume.path, "system.varve.control").get()
    }

    @Test("A directory by any descriptor of it, and each name for itself") func works() throws {
      let volume = try volume()
      defer { volume.remove() }
      let place = try socket(volume)
      #expect(mkdir(volume.path + "/d/s", 0o755) == 0)
      for (flags, user) in [(O_RDONLY | O_DIRECTORY, 6), (Held.path, 7)] {
        #expect(
          Attribute.set(volume.path + "/d", Attribute.list, "user:\(user) allow read,file_inherit")
            == nil)
        let directory = open(volume.path + "/d", flags)
        defer { close(directory) }
        let look = Self.ask(place, directory, ",\"look\":true")
        #expect(look.contains("\"outcomes\": \"cc\""), "\(look)")
        let names = "\"names\":[\"a\",\"s\",\"\",\".\",\"..\",\"../d/a\",\"none\",\"b\"]"
        let answer = ControlCall.ask(
          place, "{\"verb\":\"handdown\",\"directory\":\(directory),\(names)}")
        #expect(answer?.contains("\"outcomes\": \"caaaaaac\"") == true, "\(answer ?? "no answer")")
        #expect(Self.ask(place, directory).contains("\"outcomes\": \"uu\""))
      }
    }

    @Test("A file whose list is not the one that was told any more is left aside") func changedMeanwhile()
      throws
    {
      let volume = try volume()
      defer { volume.remove() }
      let place = try socket(volume)
      let directory = open(volume.path + "/d", O_RDONLY)
      defer { close(directory) }
      #expect(Attribute.set(volume.path + "/d/b", Attribute.list, "user:7 allow read") == nil)
      let look = Self.ask(place, directory, ",\"look\":true")
      #expect(look.contains("\"former\": [0, 1], \"lists\": [\"\", \"user:7 allow read\\n\"]"), "\(look)")
      #expect(Attribute.set(volume.path + "/d/a", Attribute.list, "user:8 allow read") == nil)
      let told = ",\"former\":[0,1],\"lists\":[\"\",\"user:7 allow read\\n\"]"
      #expect(Self.ask(place, directory, told).contains("\"outcomes\": \"ac\""))
      #expect(!inherits(volume))
    }

    @Test("Descriptors of anything else are refused, and none is kept") func foreign() throws {
      let volume = try volume()
      let other = try self.volume()
      defer {
        volume.remove()
        other.remove()
      }
      let place = try socket(volume)
      var pipes: [CInt] = [0, 0]
      #expect(pipe(&pipes) == 0)
      let wanted: [(descriptor: CInt, error: String)] = [
        (open(volume.path + "/d/a", O_RDONLY), "ENOTDIR"), (open(volume.path + "/d/a", Held.path), "ENOTDIR"),
        (open(volume.path + "/.varve", Held.path), "EPERM"),
        (open(volume.upper + "/d", O_RDONLY), "EXDEV"), (open(other.path + "/d", O_RDONLY), "EXDEV"),
        (open("/proc", O_RDONLY), "EXDEV"), (open("/dev/null", O_RDWR), "EXDEV"), (pipes[0], "EXDEV"),
        (Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0), "EXDEV"),
      ]
      defer { for number in wanted.map(\.descriptor) + [pipes[1]] { close(number) } }
      let daemon = try #require(volume.daemon)
      func descriptors() throws -> Int { try Calls.list("/proc/\(daemon)/fd").get().count }
      for (descriptor, error) in wanted + [(-1, "ENOENT"), (99_999, "ENOENT")] {
        let answer = Self.ask(place, descriptor)
        #expect(answer.contains("(\(error))"), "\(descriptor): \(answer)")
      }
      let before = try descriptors()
      for _ in 0..<50 { for (descriptor, _) in wanted { _ = Self.ask(place, descriptor) } }
      #expect(try descriptors() <= before + 4)
      #expect(!inherits(volume) && !inherits(other))
    }

    @Test("Requests that are not such a question are refused") func malformed() throws {
      let volume = try volume()
      defer { volume.remove() }
      let place = try socket(volume)
      let directory = open(volume.path + "/d", O_RDONLY)
      defer { close(directory) }
      let many = [String](repeating: "\"a\"", count: 513).joined(separator: ",")
      for members in [
        "\"names\":[\"a\"]", "\"directory\":\(directory)", "\"directory\":\"\(directory)\",\"names\":[\"a\"]",
        "\"directory\":\(1 << 40),\"names\":[\"a\"]", "\"directory\":\(directory),\"names\":[]",
        "\"directory\":\(directory),\"names\":[\(many)]",
        "\"directory\":\(directory),\"names\":[\"a\"],\"former\":[0]",
        "\"directory\":\(directory),\"names\":[\"a\"],\"former\":[],\"lists\":[\"\"]",
        "\"directory\":\(directory),\"names\":[\"a\"],\"former\":[1],\"lists\":[\"\"]",
        "\"directory\":\(directory),\"names\":[\"a\"],\"former\":[-1],\"lists\":[\"\"]",
        "\"directory\":\(directory),\"names\":[\"a\"],\"former\":[0],\"lists\":[\"nonsense\"]",
      ] {
        let answer = ControlCall.ask(place, "{\"verb\":\"handdown\",\(members)}")
        #expect(answer?.contains("\"ok\": false") == true, "\(members): \(answer ?? "no answer")")
      }
      #expect(!inherits(volume))
    }

    @Test("By a mount that is read-only, or not in the asker's table, nothing is changed") func mounts()
      throws
    {
      let volume = try volume()
      defer { volume.remove() }
      let place = try socket(volume)
      let bound = volume.base + "/bound"
      #expect(mkdir(bound, 0o755) == 0)
      try Program.shell("mount --bind mount/d bound; mount -o remount,bind,ro bound", in: volume.base)
      let directory = open(bound, O_RDONLY)
      defer { close(directory) }
      #expect(Self.ask(place, directory).contains("(EROFS)"))
      try Program.shell("mount -o remount,bind,rw bound", in: volume.base)
      #expect(umount2(bound, CInt(MNT_DETACH)) == 0)
      #expect(Self.ask(place, directory).contains("(EXDEV)"))
      #expect(!inherits(volume))
    }

    @Test("Somebody who names a descriptor of a process that is another's is refused") func otherProcess()
      throws
    {
      let volume = try volume()
      defer { volume.remove() }
      let place = try socket(volume)
      let directory = open(volume.path + "/d", O_RDONLY)
      defer { close(directory) }
      // A thread of this process: what is open here is root's.
      let answer = TestUser.bob.run { Self.ask(place, directory) }
      #expect(answer.contains("(EPERM)"), "\(answer)")
    }

    @Test("Descriptors on a stopped daemon's mount keep nobody waiting") func stopped() throws {
      let volume = try volume()
      let hanging = try self.volume("passthrough=off")
      defer {
        volume.remove()
        hanging.remove()
      }
      let place = try socket(volume)
      let (file, directory) = (open(hanging.path + "/d/a", O_RDWR), open(hanging.path + "/d", O_RDONLY))
      let daemon = try #require(hanging.daemon)
      kill(daemon, SIGSTOP)
      let start = Clock.monotonicNanoseconds
      for _ in 0..<20 {
        #expect(Self.ask(place, file).contains("(EXDEV)"))
        #expect(Self.ask(place, directory).contains("(EXDEV)"))
      }
      #expect(Clock.monotonicNanoseconds - start < 5_000_000_000)
      kill(daemon, SIGCONT)
      close(file)
      close(directory)
      try volume.unmount()
    }
  }
}

/// O_PATH, which Glibc does not import.
private enum Held {
  static let path: CInt = 0x20_0000
}
