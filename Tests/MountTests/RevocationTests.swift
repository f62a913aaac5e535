// What is taken away is gone when the call that takes it returns, whatever the kernel remembers.

import Glibc
import LinuxFiles
import MountSupport
import Synchronization
import Testing

extension MountTests {
  @Suite("Taking rights away on a mount", .timeLimit(.minutes(4))) struct RevocationTests {
    @Test(
      "After a revocation has returned nobody gets through by remembered names, nor of what lies in a lower",
      arguments: [false, true])
    func byDefault(isInLower: Bool) throws {
      try stress("", rounds: isInLower && !EncryptedStage.isLong ? 250 : 1_000, isInLower: isInLower)
    }

    @Test(
      "Nobody gets through in any arrangement of threads, routes, caches and kernel",
      arguments: Arrangement.all)
    func arranged(options: String) throws {
      try stress(options, rounds: 120)
    }

    @Test(
      "Nobody gets through over a lower, in any arrangement",
      arguments: EncryptedStage.isLong
        ? Arrangement.all : ["cache=none", "passthrough=off,cache=exclusive", "no_epoch"])
    func arrangedOverLower(options: String) throws {
      try stress(options, rounds: 120, isInLower: true)
    }

    @Test(
      "After a remount has returned nobody gets through by what the former options allowed",
      arguments: [Gate.lists, .owners],
      ["", "cache=exclusive", "no_epoch", "passthrough=off", "lower"])
    func options(gate: Gate, options: String) throws {
      let isInLower = options == "lower"
      var volume = try MountedVolume(isInLower ? "" : options)
      defer { volume.remove() }
      let area = "\(volume.path)/\(gate)"
      try gate.build(in: area)
      if isInLower { volume = try volume.lowered() }
      let passage = Passage(gate, area: area)
      let rounds = 60
      try passage.alternate(at: area, rounds: rounds, seed: .random(in: 0...(.max)))
      try #require(passage.failures.withLock { $0 } == [], "-o '\(options)'")
      #expect(passage.passed.load(ordering: .relaxed) > rounds / 5)
      #expect(passage.refused.load(ordering: .relaxed) > rounds / 5)
    }

    @Test(
      "Whoever is inside already goes on by relative names, as on any file system, also in a lower",
      arguments: [false, true])
    func inside(isInLower: Bool) throws {
      var volume = try MountedVolume()
      defer { volume.remove() }
      let gate = try volume.directory("gate", 0, 0, 0o755)
      let inner = try volume.directory("gate/inner", 0, 0, 0o755)
      _ = try volume.file("gate/inner/file", 0, 0, 0o644)
      if isInLower { volume = try volume.lowered() }
      let turns = Turns()
      let seen: Mutex<[Errno?]> = Mutex([])
      var crowd = Crowd()
      try crowd.add {
        defer { turns.end() }
        TestUser.bob.become(umask: 0)
        let handle = open(inner, O_RDONLY | O_DIRECTORY)
        let file = open(inner + "/file", O_RDONLY)
        // A thread of a test user has a working directory of its own.
        guard handle >= 0, file >= 0, chdir(inner) == 0 else { return }
        defer {
          close(handle)
          close(file)
        }
        for turn in 1...2 {
          turns.finish(turn * 2 - 1)
          turns.await(turn * 2)
          var letter: UInt8 = 0
          let answers = [
            Calls.open("file", O_RDONLY), Calls.answer(openat(handle, "file", O_RDONLY)),
            Calls.answer(read(file, &letter, 1)), Calls.open(inner + "/file", O_RDONLY),
          ]
          seen.withLock { $0 += answers }
        }
      }
      turns.await(1)
      #expect(chmod(gate, 0o700) == 0)
      turns.finish(2)
      turns.await(3)
      #expect(chmod(gate, 0o755) == 0)
      #expect(chmod(inner, 0o700) == 0)
      turns.finish(4)
      crowd.join()
      let answers = seen.withLock { $0 }
      #expect(answers.prefix(4) == [nil, nil, nil, .accessDenied], "the gate is shut behind alice")
      #expect(
        answers.dropFirst(4) == [.accessDenied, .accessDenied, nil, .accessDenied], "the room is shut")
    }

    @Test("After a deny of readattr nobody reads remembered attributes", arguments: Arrangement.all)
    func attributes(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      try denyAttributes(of: [try volume.file("file", 1001, 2001, 0o644)])
    }

    @Test("Nor those of a file of a lower, which the denial brings up", arguments: ["", "cache=exclusive"])
    func attributesOfLower(options: String) throws {
      var volume = try MountedVolume()
      defer { volume.remove() }
      let files = try (0..<60).map { try volume.file("file\($0)", 1001, 2001, 0o644) }
      volume = try volume.lowered(options)
      try denyAttributes(of: files)
    }

    private func denyAttributes(of files: [String]) throws {
      for number in 0..<60 {
        let path = files[number % files.count]
        #expect(TestUser.bob.run { Calls.status(path).refusal } == nil)
        try #require(Attribute.set(path, Attribute.list, "user:1002 deny readattr") == nil)
        #expect(TestUser.bob.run { Calls.status(path).refusal } == .accessDenied)
        try #require(Attribute.remove(path, Attribute.list) == nil)
      }
    }

    /// Opens and shuts every kind of gate `rounds` times.
    private func stress(_ options: String, rounds: Int, isInLower: Bool = false) throws {
      var volume = try MountedVolume(isInLower ? "" : options)
      defer { volume.remove() }
      let seed = UInt64.random(in: 0...(.max))
      for gate in Gate.allCases { try gate.build(in: "\(volume.path)/\(gate)") }
      if isInLower { volume = try volume.lowered(options) }
      for gate in Gate.allCases {
        let area = "\(volume.path)/\(gate)"
        let passage = Passage(gate, area: area)
        try passage.alternate(at: area, rounds: rounds, seed: seed)
        let failures = passage.failures.withLock { $0 }
        try #require(failures == [], "-o '\(options)', seed \(seed)")
        // Both answers were really seen, again and again.
        #expect(passage.passed.load(ordering: .relaxed) > rounds / 5, "\(gate)")
        #expect(passage.refused.load(ordering: .relaxed) > rounds / 5, "\(gate)")
      }
    }
  }
}
