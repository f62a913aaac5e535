// Files that are saved and exchanged behind the mount while programs use them through it.

import CMountSupport
import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Synchronization
import Testing

/// Two files of a directory that change places, and one that is saved, as fast as that can be done.
private final class Unrest: Sendable {
  private let directory: String
  let isOver = Atomic<Bool>(false)
  let changes = Atomic<Int>(0)
  let looks = Atomic<Int>(0)
  let failures: Mutex<[String]> = Mutex([])

  init(_ directory: String) throws {
    self.directory = directory
    for name in ["a", "b", "saved"] {
      if let error = Calls.write("\(directory)/\(name)", name, O_CREAT) {
        throw TestFailure("\(name): \(error)")
      }
    }
  }

  func change() {
    while !isOver.load(ordering: .acquiring) {
      let result = lt_renameat2(AT_FDCWD, "\(directory)/a", AT_FDCWD, "\(directory)/b", 2)
      if result != 0 { fail("exchange: \(result)") }
      if let error = Calls.write("\(directory)/new", "saved", O_CREAT | O_TRUNC) { fail("new: \(error)") }
      if rename("\(directory)/new", "\(directory)/saved") != 0 { fail("save: \(Errno.current)") }
      changes.add(1, ordering: .relaxed)
    }
  }

  /// Uses them by their names: they are always there.
  func use(_ path: String) {
    while !isOver.load(ordering: .acquiring) {
      for (name, texts) in [("a", ["a", "b"]), ("b", ["a", "b"]), ("saved", ["saved"])] {
        let file = "\(path)/\(name)"
        let found = Calls.read(file)
        if case .success(let text) = found, texts.contains(text) {} else { fail("\(name): \(found)") }
        if let error = Calls.status(file).refusal { fail("status of \(name): \(error)") }
        if chmod(file, 0o644) != 0 { fail("chmod of \(name): \(Errno.current)") }
        let attribute = Attribute.get(file, "user.none").refusal
        if attribute != .noData { fail("attribute of \(name): \(String(describing: attribute))") }
        looks.add(1, ordering: .relaxed)
      }
    }
  }

  private func fail(_ sentence: String) {
    failures.withLock { $0.append(sentence) }
    isOver.store(true, ordering: .releasing)
  }
}

extension MountTests {
  @Suite("Names that change behind the mount while they are used", .timeLimit(.minutes(2)))
  struct UnsettledNameMountTests {
    /// Runs `work` while names of a directory change and are used; what failed.
    private func inUnrest(_ volume: MountedVolume, _ work: (Unrest) throws -> Void) throws -> [String] {
      _ = try volume.directory("d", 0, 0, 0o755)
      let unrest = try Unrest(volume.upper + "/d")
      var crowd = Crowd()
      do {
        defer {
          unrest.isOver.store(true, ordering: .releasing)
          crowd.join()
        }
        try crowd.add { unrest.change() }
        for path in ["d", ".varve/view/fr/d"] {
          try crowd.add { unrest.use("\(volume.path)/\(path)") }
        }
        try work(unrest)
      }
      return unrest.failures.withLock { $0 }
    }

    @Test(
      "A name that always leads to a file never fails, however often it changes behind the mount",
      arguments: ["", "cache=none", "passthrough=off"])
    func stays(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let failures = try inUnrest(volume) { unrest in
        let end = Clock.monotonicNanoseconds &+ 30_000_000_000
        while unrest.looks.load(ordering: .relaxed) < 1_500
          || unrest.changes.load(ordering: .relaxed) < 1_500,
          !unrest.isOver.load(ordering: .acquiring)
        {
          try #require(Clock.monotonicNanoseconds < end, "nobody looks any more")
          usleep(10_000)
        }
      }
      #expect(failures == [])
    }

    @Test("A file that is replaced behind the mount is found at once, also while other names change there")
    func replaced() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let (path, real) = ("\(volume.path)/d/f", "\(volume.upper)/d/f")
      let failures = try inUnrest(volume) { unrest in
        for round in 0..<500 where !unrest.isOver.load(ordering: .acquiring) {
          try #require(Calls.write(real + ".new", "\(round)", O_CREAT | O_TRUNC) == nil)
          try #require(rename(real + ".new", real) == 0)
          try #require(Calls.read(path) == .success("\(round)"))
          try #require(Calls.status(path).refusal == nil)
        }
      }
      #expect(failures == [])
    }

    @Test("What was removed behind the mount is let go of within moments, whatever was held of it")
    func released() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let failures = try inUnrest(volume) { unrest in
        while unrest.changes.load(ordering: .relaxed) < 1_000, !unrest.isOver.load(ordering: .acquiring) {
          usleep(10_000)
        }
      }
      #expect(failures == [])
      let daemon = try #require(volume.daemon)
      let end = Clock.monotonicNanoseconds &+ 20_000_000_000
      var held: [String] = []
      repeat {
        held = try Calls.list("/proc/\(daemon)/fd").get().compactMap { number in
          try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(daemon)/fd/\(number)")
        }.filter { $0.hasPrefix(volume.upper) && $0.hasSuffix("(deleted)") }
        usleep(50_000)
      } while !held.isEmpty && Clock.monotonicNanoseconds < end
      #expect(held == [])
    }
  }
}
