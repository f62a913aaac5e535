// Somebody changes the backing tree while the volume works in it: no operation may ever leave the tree.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Synchronization
import Testing

extension MountTests {
  @Suite("Links swapped under a mount", .timeLimit(.minutes(2))) struct HostileSwapTests {
    /// What must stay as it is, whatever happens on the mount.
    private struct Canary: Equatable {
      var content: String
      var status: [Int]
      var names: [String]
      var attributes: [String]

      init(_ outside: String) throws {
        let file = outside + "/data"
        content = try Calls.read(file).get()
        let found = try Calls.status(file).get()
        let parent = try Calls.status(outside).get()
        status = [
          Int(found.st_mode), Int(found.st_uid), Int(found.st_gid), found.st_size, Int(found.st_nlink),
          found.st_mtim.tv_sec, found.st_mtim.tv_nsec, found.st_ctim.tv_sec, found.st_ctim.tv_nsec,
          Int(parent.st_mode), Int(parent.st_uid), parent.st_ctim.tv_sec, parent.st_ctim.tv_nsec,
        ]
        names = try Calls.list(outside).get()
        attributes = try Attribute.names(file).get() + Attribute.names(outside).get()
      }
    }

    private final class Race: Sendable {
      let isOver = Atomic<Bool>(false)
      let escapes: Mutex<[String]> = Mutex([])
      let calls = Atomic<Int>(0)
      let successes = Atomic<Int>(0)

      /// Works below `/area/place`, with the mount as the root: a link that leads outside leads nowhere.
      func work(seed: UInt64) {
        var dice = SeededDice(seed: seed)
        let place = "/area/place"
        let file = place + "/data"
        while !isOver.load(ordering: .acquiring) {
          let refusal: Errno?
          switch dice.next() % 16 {
          case 0, 1, 2:
            let seen = Calls.read(file)
            refusal = seen.refusal
            if case .success(let text) = seen, text.contains("canary") {
              escapes.withLock { $0.append("read the canary") }
            }
          case 3: refusal = Calls.write(file, "inside", O_NOFOLLOW)
          case 4: refusal = Calls.answer(chmod(file, 0o600))
          case 5: refusal = Calls.answer(lchown(file, 7, 7))
          case 6: refusal = Calls.answer(truncate(file, 3))
          case 7: refusal = Attribute.set(file, "user.mark", "x")
          case 8: refusal = Attribute.set(file, Attribute.list, "user:1 allow read")
          case 9: refusal = Attribute.set(file, Attribute.flags, dice.next() % 2 == 0 ? "hidden" : "")
          case 10: refusal = Calls.setTimes(file)
          case 11: refusal = Calls.create(place + "/new")
          case 12: refusal = Calls.answer(unlink(place + "/new"))
          case 13: refusal = Calls.answer(rename(file, place + "/other"))
          case 14: refusal = Calls.answer(rename(place + "/other", file))
          default:
            let seen = Calls.list(place)
            refusal = seen.refusal
            if case .success(let names) = seen, names.contains("canary") {
              escapes.withLock { $0.append("listed the outside") }
            }
          }
          calls.add(1, ordering: .relaxed)
          if refusal == nil { successes.add(1, ordering: .relaxed) }
        }
      }

      /// Swaps a directory and a link, and a file and a link, as fast as it can.
      func swap(_ area: String) {
        while !isOver.load(ordering: .acquiring) {
          _ = lt_renameat2(AT_FDCWD, area + "/place", AT_FDCWD, area + "/link", 2)
          sched_yield()
          _ = lt_renameat2(AT_FDCWD, area + "/place", AT_FDCWD, area + "/link", 2)
          _ = lt_renameat2(AT_FDCWD, area + "/place/data", AT_FDCWD, area + "/filelink", 2)
          sched_yield()
          _ = lt_renameat2(AT_FDCWD, area + "/place/data", AT_FDCWD, area + "/filelink", 2)
        }
      }

      /// Makes the kernel forget the names of one volume, so that they are looked up again: a remount lets go of all of them.
      func forget(_ volume: String) {
        while !isOver.load(ordering: .acquiring) {
          if mount("none", volume, nil, UInt(MS_REMOUNT | MS_NOSUID | MS_NODEV), nil) != 0 {
            let error = Errno.current
            escapes.withLock { $0.append("not remounted: \(error)") }
          }
          usleep(20_000)
        }
      }
    }

    @Test(
      "No operation ever reads or changes what lies outside the upper directory",
      arguments: ["", "cache=none"])
    func swaps(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let outside = volume.base + "/outside"
      let area = volume.upper + "/area"
      try Program.shell(
        """
        mkdir outside upper/area upper/area/place
        echo canary > outside/data; echo canary > outside/canary
        echo inside > upper/area/place/data
        ln -s \(outside) upper/area/link
        ln -s \(outside)/data upper/area/filelink
        """, in: volume.base)
      let before = try Canary(outside)
      let race = Race()
      let seed = UInt64.random(in: 0...(.max))
      var crowd = Crowd()
      defer {
        race.isOver.store(true, ordering: .releasing)
        crowd.join()
      }
      let root = volume.path
      for number in 0..<3 {
        try crowd.add {
          TestUser.root.become(umask: 0)
          guard chroot(root) == 0, chdir("/") == 0 else { return }
          race.work(seed: seed &+ UInt64(number))
        }
      }
      try crowd.add { race.swap(area) }
      try crowd.add { race.forget(root) }
      let deadline = time(nil) + 8
      while time(nil) < deadline { usleep(100_000) }
      race.isOver.store(true, ordering: .releasing)
      crowd.join()
      #expect(race.escapes.withLock { $0 } == [], "seed \(seed)")
      #expect(try Canary(outside) == before, "seed \(seed)")
      // The race was run, and the volume did work between the swaps.
      #expect(race.calls.load(ordering: .relaxed) > 1_000)
      #expect(race.successes.load(ordering: .relaxed) > 100)
      #expect(volume.daemon != nil)
      #expect(Calls.create(volume.path + "/still") == nil)
    }

    @Test("A name that goes to another file behind the mount leads there at once, though the former is open")
    func replaced() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let path = try volume.file("f", 0, 0, 0o600)
      let file = open(path, O_RDWR | O_CLOEXEC)
      try #require(file >= 0)
      defer { close(file) }
      try #require(Calls.status(path).refusal == nil)
      try #require(rename(volume.upper + "/f", volume.upper + "/former") == 0)
      try #require(Calls.write(volume.upper + "/f", "another", O_CREAT) == nil)
      #expect(Attribute.set(path, "user.more", "x") == nil)
      #expect(Attribute.set(path, Attribute.list, "user:1 deny read") == nil)
      #expect(try Attribute.get(volume.upper + "/f", "user.more").get() == [UInt8(ascii: "x")])
      #expect(try !Attribute.names(volume.upper + "/former").get().contains { $0.contains("varve") })
      // The handle itself still leads to its file.
      #expect(fchmod(file, 0o640) == 0)
      #expect(try Calls.status(volume.upper + "/former").get().st_mode & 0o777 == 0o640)
    }
  }
}
