// A list that denies nobody a look is not read to show its item; so the mark that says so must always be true.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import RecordFormat
import Testing

extension MountTests {
  @Suite("Lists that hide nothing", .timeLimit(.minutes(1))) struct OpenListTests {
    static let open = "group:2001 allow read,write\nuser:1003 deny write"
    static let closed = "user:1002 deny readattr\ngroup:2001 allow read"

    private func isMarked(_ volume: MountedVolume, _ name: String) throws -> Bool? {
      switch Attribute.get(volume.upper + "/" + name, "trusted.varve.m") {
      case .success(let bytes): try CoreRecord(decoding: bytes.span).hasOpenList
      case .failure: nil
      }
    }

    @Test("The mark is there while it is true, whichever way the list came")
    func follows() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o644)
      for (list, marked) in [
        (OpenListTests.open, true), (OpenListTests.closed, false), (OpenListTests.open, true),
        ("user:1002 deny readsecurity", false),
        ("everyone allow readattr", true),
      ] {
        let refusal = Attribute.set(path, Attribute.list, list)
        try #require(refusal == nil)
        #expect(try isMarked(volume, "f") == marked, "\(list)")
        try #require(Attribute.set(path, Attribute.flags, "hidden") == nil)
        #expect(try isMarked(volume, "f") == marked, "\(list), with flags")
        try #require(Attribute.set(path, Attribute.flags, "") == nil)
        #expect(try isMarked(volume, "f") == marked, "\(list), without flags")
      }
      try #require(Attribute.remove(path, Attribute.list) == nil)
      #expect(try isMarked(volume, "f") == nil, "nothing is left to say")
      // What denies a look only to what is made below does not count for the directory itself.
      let directory = try volume.directory(
        "d", 1001, 2001, 0o777, list: ["user:1002 deny readattr,file_inherit,only_inherit"])
      #expect(try isMarked(volume, "d") == true)
      try #require(Calls.create(directory + "/f") == nil)
      #expect(try isMarked(volume, "d/f") == false)
      try #require(Calls.answer(mkdir(directory + "/s", 0o755)) == nil)
      #expect(try isMarked(volume, "d/s") == nil)
      #expect(TestUser.bob.run { Calls.status(directory + "/f").refusal } == .accessDenied)
    }

    @Test(
      "Looks are refused from the moment a list denies them, and no longer",
      arguments: [
        "cache=shared", "cache=exclusive", "cache=none",
      ])
    func revoked(_ options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let path = try volume.file("f", 1001, 2001, 0o644)
      for round in 0..<200 {
        try #require(Attribute.set(path, Attribute.list, OpenListTests.open) == nil)
        if round % 20 == 0 { usleep(25_000) }
        for _ in 0..<2 {
          try #require(TestUser.bob.run { Calls.status(path).refusal } == nil, "round \(round)")
        }
        try #require(Attribute.set(path, Attribute.list, OpenListTests.closed) == nil)
        for _ in 0..<2 {
          try #require(TestUser.bob.run { Calls.status(path).refusal } == .accessDenied, "round \(round)")
        }
      }
    }

    @Test("What was shown without its list is decided about with it") func complete() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let directory = try volume.directory("d", 1001, 2001, 0o755)
      for number in 0..<20 {
        _ = try volume.file("d/\(number)", 1001, 2001, 0o666, list: ["user:1002 deny read"])
      }
      try volume.unmount()
      try volume.mount()
      usleep(25_000)
      #expect(try Calls.list(directory).get().count == 20)
      for number in 0..<20 {
        let path = directory + "/\(number)"
        #expect(TestUser.bob.run { Calls.status(path).refusal } == nil)
        #expect(TestUser.bob.run { Calls.open(path, O_RDONLY) } == .accessDenied)
        #expect(TestUser.bob.run { Calls.open(path, O_WRONLY) } == nil)
        #expect(TestUser.carol.run { Calls.open(path, O_RDONLY) } == nil)
      }
    }
  }
}
