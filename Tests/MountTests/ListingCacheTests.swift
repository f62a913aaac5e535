// Names that the kernel keeps of a large directory must be those that are there, whoever changed it and however.

import CMountSupport
import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Randomness
import Testing

extension MountTests {
  @Suite("Kept listings", .timeLimit(.minutes(2))) struct ListingCacheTests {
    private func requests(_ volume: MountedVolume) throws -> Int {
      let text = try Text.read(volume.path + "/.varve/status")
      return ["readdir", "readdirplus"].reduce(0) { sum, name in
        guard let found = text.range(of: "\"\(name)\":") else { return sum }
        return sum + (Int(text[found.upperBound...].prefix { $0.isNumber }) ?? 0)
      }
    }

    private func fill(_ path: String, _ count: Int) throws {
      for number in 0..<count { try #require(Calls.create(path + "/name-\(number)") == nil) }
    }

    @Test("A directory that is read for its names is asked for once") func kept() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.directory("d", 0, 0, 0o755)
      try fill(path, 3_000)
      usleep(50_000)
      let expected = Set(try Calls.list(volume.upper + "/d").get())
      // The first listing of a large directory is kept.
      #expect(Set(try Calls.list(path).get()) == expected)
      let before = try requests(volume)
      for _ in 0..<5 { #expect(Set(try Calls.list(path).get()) == expected) }
      #expect(try requests(volume) == before)
      // Somebody without the right to list gets nothing of it.
      try #require(Calls.answer(chmod(path, 0o711)) == nil)
      #expect(TestUser.bob.run { Calls.list(path).refusal } == .accessDenied)
      #expect(TestUser.bob.run { Calls.status(path + "/name-7").refusal } == nil)
    }

    @Test("The names of a small directory are kept when it is known to be read for them") func small() throws
    {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.directory("d", 0, 0, 0o755)
      // More than one part of a listing on any file system, and small on tmpfs.
      try fill(path, 700)
      usleep(50_000)
      for _ in 0..<2 { _ = try Calls.list(path).get() }
      let before = try requests(volume)
      for _ in 0..<2 { _ = try Calls.list(path).get() }
      #expect(try requests(volume) == before)
    }

    @Test("A program that looks at the names gets them with their attributes again") func looked() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.directory("d", 0, 0, 0o755)
      try fill(path, 3_000)
      usleep(50_000)
      for _ in 0..<3 { _ = try Calls.list(path).get() }
      try volume.unmount()
      try volume.mount()
      for _ in 0..<2 { _ = try Calls.list(path).get() }
      usleep(1_100_000)
      for name in try Calls.list(path).get() { #expect(Calls.status(path + "/" + name).refusal == nil) }
      let before = try requests(volume)
      _ = try Calls.list(path).get()
      #expect(try requests(volume) > before)
    }

    @Test(
      "Every listing is what is there, while names come and go on both sides",
      arguments: ["cache=shared", "cache=exclusive", "cache=none"])
    func alwaysRight(_ options: String) throws {
      var dice = Dice(for: "kept listings, \(options)")
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let path = try volume.directory("d", 0, 0, 0o755)
      let below = volume.upper + "/d"
      try fill(path, 1_500)
      var names = Set((0..<1_500).map { "name-\($0)" })
      for round in 0..<300 {
        // Beside a volume that has the tree for itself nothing changes.
        let isNative = options != "cache=exclusive" && Bool.random(using: &dice)
        let place = isNative ? below : path
        let modification = try Calls.status(below).get().st_mtim
        switch Int.random(in: 0..<4, using: &dice) {
        case 0:
          try #require(Calls.create(place + "/new-\(round)") == nil)
          names.insert("new-\(round)")
        case 1:
          let name = try #require(names.randomElement(using: &dice))
          try #require(Calls.answer(unlink(place + "/" + name)) == nil)
          names.remove(name)
        case 2:
          let name = try #require(names.randomElement(using: &dice))
          try #require(Calls.answer(rename(place + "/" + name, place + "/moved-\(round)")) == nil)
          names.remove(name)
          names.insert("moved-\(round)")
        default: break
        }
        if isNative, Bool.random(using: &dice) {
          // As tools do that copy trees: the time of the directory is put back.
          var times = [timespec(tv_sec: 0, tv_nsec: (1 << 30) - 2), modification]
          let refusal = Calls.answer(utimensat(AT_FDCWD, below, &times, 0))
          try #require(refusal == nil)
        }
        if Int.random(in: 0..<3, using: &dice) == 0 { usleep(30_000) }
        for _ in 0..<Int.random(in: 1...3, using: &dice) {
          let found = Set(try Calls.list(path).get())
          try #require(found.symmetricDifference(names) == [], "round \(round)")
        }
      }
    }
  }
}
