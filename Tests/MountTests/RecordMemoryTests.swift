// A record that is remembered must be as good as one read now, also when somebody changes it behind the mount.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Synchronization
import Testing

extension MountTests {
  private final class Shared: Sendable {
    let value: Atomic<Bool>
    init(_ value: Bool) { self.value = Atomic(value) }
  }

  @Suite("Remembered records", .timeLimit(.minutes(1))) struct RecordMemoryTests {
    @Test(
      "A list that is swapped behind the mount decides about the very next call",
      arguments: ["cache=shared", "cache=exclusive", "cache=none"])
    func swapped(_ options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let file = try volume.file("f", 1001, 2001, 0o600, list: ["user:1002 allow read"])
      let patterns = ["user:1002 allow read", "user:1002 deny read"].enumerated()
      // The stored form of each list, as the volume writes it.
      var stored: [(core: [UInt8], list: [UInt8])] = []
      for (number, text) in patterns {
        let pattern = try volume.file("pattern\(number)", 1001, 2001, 0o600, list: [text])
        let below = volume.upper + pattern.dropFirst(volume.path.count)
        stored.append(
          (
            try Attribute.get(below, "trusted.varve.m").get(),
            try Attribute.get(below, "trusted.varve.acl").get()
          ))
      }
      let below = volume.upper + "/f"
      let lists = stored.map(\.list)
      for round in 0..<600 {
        let isAllowed = round % 2 == 0
        try #require(Attribute.set(below, "trusted.varve.acl", lists[round % 2]) == nil)
        // Sometimes long enough for what was read to be remembered, sometimes within one tick of the clock.
        if round % 50 < 10 { usleep(25_000) }
        for _ in 0..<3 {
          let refusal = TestUser.bob.run { Calls.open(file, O_RDONLY) }
          try #require(refusal == (isAllowed ? nil : .accessDenied), "\(options), round \(round)")
        }
      }
    }

    @Test("So does one of the directory, about removing, moving and linking what is in it") func ofParent()
      throws
    {
      let volume = try MountedVolume("cache=exclusive")
      defer { volume.remove() }
      let directory = try volume.directory("d", 1001, 2001, 0o777)
      let pattern = try volume.directory("pattern", 1001, 2001, 0o777, flags: "uappnd")
      let record = try Attribute.get(volume.upper + "/pattern", "trusted.varve.m").get()
      #expect(Calls.status(pattern).refusal == nil)
      let below = volume.upper + "/d"
      for round in 0..<20 {
        if round % 4 == 0 { usleep(25_000) }
        try #require(Calls.create(directory + "/f") == nil)
        try #require(Attribute.set(below, "trusted.varve.m", record) == nil)
        #expect(Calls.answer(unlink(directory + "/f")) == .notPermitted, "round \(round)")
        #expect(Calls.answer(rename(directory + "/f", directory + "/g")) == .notPermitted, "round \(round)")
        try #require(Attribute.remove(below, "trusted.varve.m") == nil)
        #expect(Calls.answer(rename(directory + "/f", directory + "/g")) == nil, "round \(round)")
        #expect(Calls.answer(unlink(directory + "/g")) == nil, "round \(round)")
      }
    }

    @Test("A locked file that comes under a free name, and goes again, is never changed")
    func exchanged() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let free = try volume.file("free", 1002, 2002, 0o600, list: ["user:1003 allow read"])
      _ = try volume.file("locked", 1002, 2002, 0o600, list: ["user:1003 allow read"], flags: "uchg")
      let (name, other) = (volume.upper + "/free", volume.upper + "/locked")
      let lockedFile = try Calls.status(other).get().st_ino
      let isOver = Shared(false)
      var dice = SeededDice(seed: 41)
      // Long enough for what was read to be remembered, or two exchanges in a row.
      let pauses = (0..<200).map { _ in UInt32(dice.next() % 2 == 0 ? 24_000 : dice.next() % 60) }
      let swapper = try PlainThread {
        for pause in pauses {
          _ = lt_renameat2(AT_FDCWD, name, AT_FDCWD, other, 2)
          usleep(pause)
        }
        isOver.value.store(true, ordering: .releasing)
      }
      let (changed, refused) = TestUser.bob.run {
        var (changed, refused) = (0, 0)
        while !isOver.value.load(ordering: .acquiring) {
          let refusal = Calls.answer(chmod(free, 0o640))
          if refusal == nil { changed += 1 }
          if refusal == .notPermitted { refused += 1 }
          usleep(UInt32((changed + refused) % 3 * 11_500))
        }
        return (changed, refused)
      }
      swapper.join()
      for path in [name, other] {
        let status = try Calls.status(path).get()
        #expect(status.st_mode & 0o777 == (status.st_ino == lockedFile ? 0o600 : 0o640))
      }
      #expect(changed > 0 && refused > 0, "\(changed) changes, \(refused) refusals")
    }

    @Test("A record that is put on an object or taken from it behind the mount is seen at once")
    func putAndTaken() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let locked = try volume.file("locked", 1001, 2001, 0o666, flags: "uchg")
      let plain = try volume.file("plain", 1001, 2001, 0o666)
      let record = try Attribute.get(volume.upper + "/locked", "trusted.varve.m").get()
      for round in 0..<40 {
        let below = volume.upper + "/plain"
        if round % 4 == 0 { usleep(25_000) }
        #expect(Calls.open(plain, O_WRONLY) == nil, "round \(round)")
        try #require(Attribute.set(below, "trusted.varve.m", record) == nil)
        #expect(Calls.open(plain, O_WRONLY) == .notPermitted, "round \(round)")
        #expect(try Attribute.text(plain, Attribute.flags).get() == "uchg")
        try #require(Attribute.remove(below, "trusted.varve.m") == nil)
      }
      #expect(Calls.open(locked, O_WRONLY) == .notPermitted)
    }
  }
}
