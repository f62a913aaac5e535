// Content that this version cannot read or write: every way to its bytes is refused, to root as well.

import CMountSupport
import FlagRules
import Glibc
import LinuxFiles
import MountSupport
import RecordFormat
import Testing

extension MountTests {
  @Suite("Content that is not plain", .timeLimit(.minutes(2))) struct ForeignContentTests {
    static let core = "trusted.varve.m"

    /// A record that says in which way the bytes are not the content.
    struct Form: Sendable, CustomTestStringConvertible {
      let testDescription: String
      let record: [UInt8]
      /// Its content was being replaced when something stopped it.
      let isReplacing: Bool

      init(_ name: String, _ change: (inout CoreRecord) -> Void) {
        testDescription = name
        var record = CoreRecord()
        change(&record)
        self.record = record.encoded()
        isReplacing = record.isReplacing
      }
    }

    private static let shown = CoreRecord.ReplacedContent(
      size: 7, modified: .init(seconds: 8, nanoseconds: 9))

    static let forms = [
      Form("encrypted") { $0.marks = .encrypted },
      Form("compressed and encrypted") { ($0.marks, $0.logicalSize) = (.encrypted, 7) },
      Form("being replaced") { $0.replaced = shown },
      Form("all three") { ($0.marks, $0.logicalSize, $0.replaced) = (.encrypted, 7, shown) },
      Form("of a key class, with no word of encryption") { $0.protectionClass = .b },
    ]

    struct Way: Sendable {
      let name: String
      let take: @Sendable (String) -> Errno?

      init(_ name: String, _ take: @escaping @Sendable (String) -> Errno?) {
        (self.name, self.take) = (name, take)
      }
    }

    /// Every operation on content that names a path.
    static let ways = [
      Way("open to read") { Calls.open($0, O_RDONLY) },
      Way("open to write") { Calls.open($0, O_WRONLY) },
      Way("open for both") { Calls.open($0, O_RDWR) },
      Way("open to append") { Calls.open($0, O_WRONLY | O_APPEND) },
      Way("O_TRUNC") { Calls.open($0, O_WRONLY | O_TRUNC) },
      Way("O_RDONLY | O_TRUNC") { Calls.open($0, O_RDONLY | O_TRUNC) },
      Way("O_CREAT") { Calls.open($0, O_WRONLY | O_CREAT) },
      Way("O_CREAT | O_TRUNC") { Calls.open($0, O_WRONLY | O_CREAT | O_TRUNC) },
      Way("truncate to nothing") { Calls.answer(truncate($0, 0)) },
      Way("truncate to the size it has") { Calls.answer(truncate($0, 7)) },
      Way("truncate to more") { Calls.answer(truncate($0, 100_000)) },
      Way("run") { Calls.execute($0) },
      Way("access to read") { Calls.answer(access($0, R_OK)) },
      Way("access to write") { Calls.answer(access($0, W_OK)) },
      Way("access to run") { Calls.answer(access($0, X_OK)) },
    ]

    /// A volume that knows of records: while it has none, it looks for none.
    private func recordingVolume(_ options: String = "") throws -> MountedVolume {
      let volume = try MountedVolume(options)
      _ = try volume.file("marked", 0, 0, 0o644, flags: "hidden")
      return volume
    }

    @Test("No operation reads or changes bytes that are not plain content, by a path", arguments: forms)
    func paths(form: Form) throws {
      for options in ["", "passthrough=off", "no_killpriv_v2", "no_tmpfile"] {
        let volume = try recordingVolume(options)
        defer { volume.remove() }
        let path = try volume.file("f", 1001, 2001, 0o4777)
        let below = volume.upper + "/f"
        try #require(Attribute.set(below, Self.core, form.record) == nil)
        for way in Self.ways {
          for user in [TestUser.alice, .bob, .root] {
            let answer = user.run { way.take(path) }
            // Each of them would settle it, but there is nothing to settle it from.
            let isSettled = form.isReplacing
            // Without that feature the kernel strips before it cuts, and is refused there.
            let stripsFirst = options == "no_killpriv_v2" && way.name.hasPrefix("truncate") && user != .root
            let expected: Errno = isSettled && !stripsFirst ? .inputOutput : .unsupported
            #expect(answer == expected, "\(options): \(way.name) by \(user)")
            #expect(try Calls.read(below).get() == "content", "\(options): \(way.name) by \(user)")
          }
        }
        #expect(try Calls.status(below).get().st_mode & 0o7777 == 0o4777, "\(options): nothing is half done")
        // What the form does not concern goes on; but settled content would get the mode of before.
        let answer = TestUser.alice.run { Calls.answer(chmod(path, 0o640)) }
        #expect(answer == (form.isReplacing ? .inputOutput : nil))
        #expect(TestUser.alice.run { Attribute.set(path, Attribute.flags, "hidden") } == nil)
        let record = try Attribute.get(below, Self.core).get()
        var kept = try CoreRecord(decoding: record.span)
        kept.flags = []
        #expect(kept.encoded() == form.record, "a change of flags keeps what it does not know")
        #expect(Calls.answer(rename(path, path + "2")) == nil)
        #expect(Calls.answer(unlink(path + "2")) == nil)
      }
    }

    @Test("Nor by the name of something that appeared behind the kernel's back", arguments: forms)
    func created(form: Form) throws {
      let volume = try recordingVolume("cache=exclusive")
      defer { volume.remove() }
      for (number, flags) in [O_CREAT, O_CREAT | O_TRUNC].enumerated() {
        let (path, below) = ("\(volume.path)/n\(number)", "\(volume.upper)/n\(number)")
        // The kernel remembers that there is nothing, and so asks for a creation.
        #expect(Calls.status(path).refusal == .noSuchFile)
        try #require(Calls.write(below, "content") == nil)
        try #require(Attribute.set(below, Self.core, form.record) == nil)
        #expect(Calls.open(path, O_WRONLY | flags) == (form.isReplacing ? .inputOutput : .unsupported))
        #expect(try Calls.read(below).get() == "content")
      }
    }

    @Test("Nor through a descriptor from before, as soon as the record has been looked at", arguments: forms)
    func handles(form: Form) throws {
      let volume = try recordingVolume("passthrough=off,cache=none")
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o666)
      let other = try volume.file("other", 1001, 2001, 0o666)
      let below = volume.upper + "/f"
      let file = open(path, O_RDWR)
      let plain = open(other, O_RDWR)
      try #require(file >= 0 && plain >= 0)
      defer { [file, plain].forEach { close($0) } }
      try #require(Attribute.set(below, Self.core, form.record) == nil)
      _ = Calls.status(path)
      func copy(_ from: CInt, _ to: CInt) -> Errno? {
        var (source, target) = (off_t(0), off_t(0))
        let copied = withUnsafeMutablePointer(to: &source) { source in
          withUnsafeMutablePointer(to: &target) { target in
            lt_call(
              Int(SYS_copy_file_range), Int(from), Int(bitPattern: source), Int(to), Int(bitPattern: target),
              4, 0)
          }
        }
        return copied < 0 ? Errno(rawValue: CInt(-copied)) : nil
      }
      func allocate() -> Errno? {
        let result = lt_call(Int(SYS_fallocate), Int(file), 0, 0, 8192, 0, 0)
        return result < 0 ? Errno(rawValue: CInt(-result)) : nil
      }
      var byte: UInt8 = 0
      let answers: [String: Errno?] = [
        "write": Calls.answer(pwrite(file, "X", 1, 0)), "read": Calls.answer(pread(file, &byte, 1, 0)),
        "ftruncate": Calls.answer(ftruncate(file, 1)), "grow": Calls.answer(ftruncate(file, 100)),
        "fallocate": allocate(), "copy to it": copy(plain, file),
        "copy from it": copy(file, plain),
      ]
      // Cutting would settle it, too.
      let settling = form.isReplacing ? ["ftruncate", "grow"] : []
      #expect(
        answers.filter { $0.value != (settling.contains($0.key) ? .inputOutput : .unsupported) } == [:])
      #expect(try Calls.read(below).get() == "content")
      #expect(try Calls.read(other).get() == "content")
      // Once the content is plain again, so is the descriptor.
      try #require(Attribute.remove(below, Self.core) == nil)
      _ = Calls.status(path)
      #expect(pwrite(file, "C", 1, 0) == 1)
    }

    @Test(
      "A record with a bit that nobody knows closes descriptors from before, too", arguments: [5, 11, 14, 15])
    func unknownBits(bit: Int) throws {
      let volume = try recordingVolume("passthrough=off,cache=none")
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o666)
      let below = volume.upper + "/f"
      let file = open(path, O_RDWR)
      try #require(file >= 0)
      defer { close(file) }
      try #require(Attribute.set(below, Self.core, CoreRecord.bytes(withBit: bit)) == nil)
      #expect(Calls.open(path, O_RDONLY) == .inputOutput)
      var byte: UInt8 = 0
      let answers: [String: Errno?] = [
        "write": Calls.answer(pwrite(file, "X", 1, 0)), "read": Calls.answer(pread(file, &byte, 1, 0)),
        "ftruncate": Calls.answer(ftruncate(file, 1)), "grow": Calls.answer(ftruncate(file, 100)),
        "fallocate": Calls.answer(Int(lt_call(Int(SYS_fallocate), Int(file), 0, 0, 8192, 0, 0))),
      ]
      #expect(answers.filter { $0.value == nil } == [:])
      #expect(try Calls.read(below).get() == "content")
    }

    @Test(
      "A directory with such a record can be neither listed nor searched nor added to", arguments: forms[..<4]
    )
    func directories(form: Form) throws {
      let volume = try recordingVolume("cache=none")
      defer { volume.remove() }
      let path = try volume.directory("d", 1001, 2001, 0o777)
      let inner = try volume.file("d/f", 1001, 2001, 0o666)
      try #require(Attribute.set(volume.upper + "/d", Self.core, form.record) == nil)
      for user in [TestUser.alice, .root] {
        let answers: [String: Errno?] = user.run {
          [
            "list": Calls.list(path).refusal, "stat": Calls.status(inner).refusal,
            "create": Calls.create(path + "/new"), "remove": Calls.answer(unlink(inner)),
            "mkdir": Calls.answer(mkdir(path + "/sub", 0o755)),
            "move out": Calls.answer(rename(inner, path + "2")),
          ]
        }
        #expect(answers.filter { $0.value != .unsupported } == [:], "\(user)")
      }
      #expect(try Calls.list(volume.upper + "/d").get() == ["f"])
    }

    @Test(
      "Nothing plain gets into a directory that wants its content encrypted",
      arguments: ["cache=none", "cache=none,no_tmpfile"])
    func protecting(options: String) throws {
      let volume = try recordingVolume(options)
      defer { volume.remove() }
      let safe = try volume.directory("safe", 1001, 2001, 0o777)
      let plain = try volume.directory("plain", 1001, 2001, 0o777)
      let inside = try volume.file("safe/inside", 1001, 2001, 0o666)
      let outside = try volume.file("plain/outside", 1001, 2001, 0o666)
      let sealed = try volume.file("plain/sealed", 1001, 2001, 0o666)
      try #require(mkdir(plain + "/dir", 0o777) == 0 && chown(plain + "/dir", 1001, 2001) == 0)
      var record = CoreRecord()
      record.protectionClass = .a
      try #require(Attribute.set(volume.upper + "/safe", Self.core, record.encoded()) == nil)
      try #require(Attribute.set(volume.upper + "/plain/sealed", Self.core, Self.forms[0].record) == nil)
      for user in [TestUser.alice, .root] {
        let made: [String: Errno?] = user.run {
          [
            "create": Calls.create(safe + "/new"),
            "O_CREAT": Calls.open(safe + "/new", O_RDWR | O_CREAT),
            "O_TMPFILE": Calls.open(safe, lt_o_tmpfile | O_RDWR),
          ]
        }
        #expect(made.filter { $0.value != .noKey } == [:], "\(user)")
        let moved: [String: Errno?] = user.run {
          [
            "link": Calls.answer(link(outside, safe + "/new")),
            "rename": Calls.answer(rename(outside, safe + "/new")),
            "rename a directory": Calls.answer(rename(plain + "/dir", safe + "/new")),
            "rename onto": Calls.answer(rename(outside, inside)),
            "swap": Calls.answer(lt_renameat2(AT_FDCWD, outside, AT_FDCWD, inside, 2)),
          ]
        }
        #expect(moved.filter { $0.value != .crossDevice } == [:], "\(user)")
        #expect(try Calls.list(volume.upper + "/safe").get() == ["inside"], "\(user)")
      }
      let why = try Program.run(
        Program.built("varve"), ["why", "create", safe + "/new"])
      #expect(why.exit == 1 && why.output.contains("is locked"), "\(why.output)")
      // What is there stays usable, keeps its directory or leaves it; and what is encrypted may come.
      #expect(Calls.read(inside) == .success("content"))
      #expect(Calls.open(inside, O_RDWR | O_CREAT) == nil)
      #expect(Calls.answer(rename(inside, safe + "/other")) == nil)
      #expect(Calls.answer(rename(sealed, safe + "/sealed")) == nil)
      #expect(Calls.answer(rename(safe + "/other", plain + "/left")) == nil)
      #expect(Calls.answer(unlink(safe + "/sealed")) == nil)
    }

    @Test("Why says of content that is not plain what happens", arguments: forms)
    func why(form: Form) throws {
      let volume = try recordingVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o777)
      try #require(Attribute.set(volume.upper + "/f", Self.core, form.record) == nil)
      // What was being replaced would be settled first, and there is nothing to settle it from.
      let words = form.isReplacing ? "the new content is missing or damaged" : "cannot read or write"
      let settling = form.isReplacing ? ["chmod"] : []
      let status: Int32 = form.isReplacing ? 2 : 1
      for deed in ["read", "write", "append", "execute"] + settling {
        let why = try Program.run(Program.built("varve"), ["why", deed, path])
        #expect(why.exit == status && why.output.contains(words), "\(deed): \(why.output)")
      }
      for deed in ["delete", "rename", "readattr", "chmod", "writexattr"] where !settling.contains(deed) {
        let words = deed == "rename" ? [path, path + "2"] : [path]
        let why = try Program.run(Program.built("varve"), ["why", deed] + words)
        #expect(why.exit == 0, "\(deed): \(why.output)")
      }
    }

    @Test("A record with a bit that is reserved or unknown closes its item", arguments: [5, 11, 14, 15])
    func reserved(bit: Int) throws {
      let volume = try recordingVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o666)
      let below = volume.upper + "/f"
      let bytes = CoreRecord.bytes(withBit: bit)
      try #require(Attribute.set(below, Self.core, bytes) == nil)
      for user in [TestUser.alice, .root] {
        for way in Self.ways where !way.name.hasPrefix("access") && way.name != "run" {
          #expect(user.run { way.take(path) } == .inputOutput, "\(way.name) by \(user)")
        }
        let changes = user.run {
          [
            Calls.answer(chmod(path, 0o600)), Calls.setTimes(path), Attribute.set(path, "user.x", "y"),
            Attribute.set(path, Attribute.flags, ""), Calls.answer(rename(path, path + "2")),
            Calls.answer(link(path, path + "3")), Calls.answer(unlink(path)),
          ]
        }
        #expect(changes == Array(repeating: Errno.inputOutput, count: 7), "\(user)")
      }
      #expect(try Attribute.get(below, Self.core).get() == bytes)
      try volume.unmount()
      let check = try Program.run(Program.built("varve"), ["check", "--repair", "-y", volume.upper])
      #expect(check.exit == 1 && check.output.contains("needs a newer varve"), "\(check.output)")
      #expect(
        try Attribute.get(below, Self.core).get() == bytes, "a repair does not replace what it cannot read")
    }
  }
}
