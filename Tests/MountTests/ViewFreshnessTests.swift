// How soon a change is seen in a view by names that the kernel remembers.

import CMountSupport
import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Synchronization
import Testing

extension MountTests {
  @Suite("Views right after a change", .timeLimit(.minutes(2))) struct ViewFreshnessTests {
    private func write(_ path: String, _ text: String) throws {
      if let error = Calls.write(path, text, O_CREAT | O_TRUNC) { throw TestFailure("\(path): \(error)") }
    }

    private func exchange(_ one: String, _ other: String) throws {
      let result = lt_renameat2(AT_FDCWD, one, AT_FDCWD, other, 2)
      guard result == 0 else { throw TestFailure("\(one): \(Errno(rawValue: CInt(-result)))") }
    }

    @Test("What is changed through the mount is so in its views at once, whatever the kernel remembers")
    func atOnce() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let real = volume.path
      for name in ["one", "two", "saved", "photo"] { try write("\(real)/\(name).txt", name) }
      for name in ["A", "B"] {
        try #require(mkdir("\(real)/\(name)", 0o755) == 0)
        try write("\(real)/\(name)/x.txt", name)
      }
      let view = volume.path + "/.varve/view/fr"
      for round in 0..<40 {
        for shown in ["one", "one.txt", "A/x", "saved", "photo"] {
          // A name that is shown anew is found a moment later.
          let deadline = Clock.monotonicNanoseconds &+ 1_500_000_000
          while Calls.read("\(view)/\(shown)").refusal != nil {
            try #require(Clock.monotonicNanoseconds < deadline, "\(shown), round \(round)")
          }
        }
        try exchange("\(real)/one.txt", "\(real)/two.txt")
        let (one, other) = round % 2 == 0 ? ("two", "one") : ("one", "two")
        #expect(Calls.read("\(view)/one") == .success(one), "round \(round)")
        #expect(Calls.read("\(view)/one.txt") == .success(one), "round \(round)")
        #expect(Calls.read("\(view)/two") == .success(other), "round \(round)")
        try exchange("\(real)/A", "\(real)/B")
        #expect(Calls.read("\(view)/A/x") == .success(round % 2 == 0 ? "B" : "A"), "round \(round)")
        // As editors save.
        try write("\(real)/new", "saved \(round)")
        try #require(rename("\(real)/new", "\(real)/saved.txt") == 0)
        #expect(Calls.read("\(view)/saved") == .success("saved \(round)"))
        // A real name that was a shown one until then.
        try write("\(real)/photo", "own \(round)")
        #expect(Calls.read("\(view)/photo") == .success("own \(round)"))
        try #require(unlink("\(real)/photo") == 0)
        #expect(Calls.read("\(view)/photo") != .success("own \(round)"))
        #expect(Calls.read("\(view)/photo.txt") == .success("photo"))
        try write("\(real)/gone.txt", "")
        _ = Calls.status("\(view)/gone")
        try #require(Calls.status("\(view)/gone.txt").refusal == nil && unlink("\(real)/gone.txt") == 0)
        #expect(Calls.status("\(view)/gone.txt").refusal == .noSuchFile)
        #expect(Calls.status("\(view)/gone").refusal == .noSuchFile)
      }
    }

    @Test(
      "What is changed of a directory is so in its views at once, and the other way round",
      arguments: ["", "cache=exclusive"])
    func directories(_ options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let real = volume.path + "/d"
      try #require(mkdir(real, 0o755) == 0)
      let views = ["fr", "de"].map { "\(volume.path)/.varve/view/\($0)/d" }
      func seen(_ path: String) throws -> (mode: UInt32, links: UInt64, changed: Int) {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw TestFailure("\(path): \(errno)") }
        return (status.st_mode & 0o7777, UInt64(status.st_nlink), Int(status.st_mtim.tv_sec))
      }
      func asked() throws -> Int { try PassthroughTests.requests(volume, "getattr", "statx") }
      var remembered = 0
      for round in 0..<50 {
        let mode: mode_t = round % 2 == 0 ? 0o750 : 0o755
        // The kernel knows the numbers, and then remembers what it is told of them.
        for path in views + views { _ = try seen(path) }
        // To read the counts takes requests as well.
        let idle = [try asked(), try asked()]
        _ = try seen(views[0])
        if try asked() - idle[1] == idle[1] - idle[0] { remembered += 1 }
        try #require(mkdir("\(real)/\(round)", 0o755) == 0)
        for path in views { #expect(try seen(path).links == (try seen(real).links), "round \(round)") }
        try #require(chmod(real, mode) == 0)
        for path in views { #expect(try seen(path).mode == UInt32(mode), "round \(round)") }
        _ = try seen(real)
        var times = [timespec(tv_sec: round, tv_nsec: 0), timespec(tv_sec: round, tv_nsec: 0)]
        try #require(utimensat(AT_FDCWD, views[0], &times, 0) == 0)
        for path in views + [real] { #expect(try seen(path).changed == round, "round \(round)") }
      }
      // Unless more than a second went by; a kernel without epochs asks for each name.
      #expect(remembered > 25 || !Machine.offers("epoch"))
    }

    @Test("What changes behind the mount is so in views within a second, also by names that are in use")
    func behind() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try write(volume.path + "/run.sh", "")
      let view = volume.path + "/.varve/view/fr"
      for round in 0..<2 {
        for mode: mode_t in [0o755, 0o644] {
          let shown = view + "/run"
          let wanted: Errno? = mode == 0o755 ? .noSuchFile : nil
          try #require(Calls.status(shown).refusal == (mode == 0o755 ? nil : .noSuchFile), "round \(round)")
          try #require(chmod(volume.upper + "/run.sh", mode) == 0)
          // And what the machine takes.
          let deadline = Clock.monotonicNanoseconds &+ 1_500_000_000
          while Calls.status(shown).refusal != wanted {
            try #require(Clock.monotonicNanoseconds < deadline, "round \(round)")
          }
          #expect(BytePath(view).names == [Array((mode == 0o755 ? "run.sh" : "run").utf8)])
        }
      }
    }
  }
}
