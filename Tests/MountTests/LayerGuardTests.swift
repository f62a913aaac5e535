import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Testing

// What an operation on a file of a lower costs the daemon in system calls, as `GuardTests` has it for volumes without lowers.

extension MountTests {
  @Suite(
    "System calls over lowers", .timeLimit(.minutes(2)),
    .enabled(if: CallTracer.works, "needs strace, and leave to watch other processes"),
    .enabled(
      if: Machine.passesThrough && Machine.offers("epoch"), "needs a kernel with passthrough and epochs"))
  struct LayerGuardTests {
    @Test("Files of lowers are read with few requests and calls, and brought up with few more")
    func calls() throws {
      var best: [String: CallCount] = [:]
      // On a machine that is busy or slow, names grow old in the middle of a pass and are asked for again.
      for round in 0..<3 {
        best.merge(try measure(few: round > 0)) { $0.calls < $1.calls ? $0 : $1 }
      }
      func require(_ operation: String, _ requests: Double, _ calls: Double) throws {
        let found = try #require(best[operation])
        print("\(operation): \(found.summary) (at most \(calls))")
        #expect(found.each(found.requests) <= requests + GuardTests.tolerance, "\(operation): requests")
        #expect(found.each(found.calls) <= calls + GuardTests.tolerance, "\(operation): \(found.summary)")
      }
      try require("open, read 4 KiB, close", 3, 13)
      try require("open, read 4 KiB, close, again", 2, 5)
      // It is looked at in the upper and below it, and a whiteout is made.
      try require("remove a file of a lower", 2, 14)
      // Finished elsewhere, and put in the place of the whiteout, which is removed.
      try require("make and close a file in its place", 3, 22)
      // Beside the 20 names, each of which is looked at: opened once, and each part asked what its children's numbers are.
      try require("list a directory of two lowers", 5, 44)
      let own = try #require(best["append to a file of the upper"])
      let first = try #require(best["append to a file of a lower"])
      print("append: \(own.summary), and brought up: \(first.summary)")
      #expect(first.each(first.calls) - own.each(own.calls) <= 24 + GuardTests.tolerance, "\(first.summary)")
    }

    private func measure(few: Bool) throws -> [String: CallCount] {
      let base = try TemporaryDirectory.makeInMemory()
      mkdir(base + "/lower", 0o755)
      mkdir(base + "/lower/d", 0o755)
      let text = String(repeating: "x", count: 4096)
      for number in 0..<GuardWork.count {
        try #require(Calls.write("\(base)/lower/d/f\(number)", text) == nil)
        try #require(Calls.write("\(base)/lower/d/g\(number)", text) == nil)
        try #require(Calls.write("\(base)/lower/d/r\(number)", text) == nil)
      }
      for lower in ["lower", "below"] {
        mkdir("\(base)/\(lower)", 0o755)
        mkdir("\(base)/\(lower)/both", 0o755)
        for number in 0..<10 {
          try #require(Calls.write("\(base)/\(lower)/both/\(lower)\(number)", text) == nil)
        }
      }
      let volume = try MountedVolume("threads=1,lower=\(base)/lower:\(base)/below", base: base)
      defer { volume.remove() }
      let path = volume.path + "/d/"
      // The directory is brought up, and whatever is done first is done.
      for number in 0..<GuardWork.count {
        try #require(Calls.write("\(path)own\(number)", text) == nil)
      }
      let daemon = try #require(volume.daemon)
      let tracer = try CallTracer(daemon, of: volume.path, logsIn: base)
      defer { tracer.end() }
      var found: [String: CallCount] = [:]
      func count(_ operation: String, of numbers: Range<Int>, _ succeeds: (Int) -> Bool) throws {
        var failures = 0
        found[operation, default: CallCount()] += try tracer.count {
          for number in numbers where !succeeds(number) { failures += 1 }
        }
        #expect(failures == 0, "\(operation)")
      }
      func each(
        _ operation: String, _ prefix: String, of numbers: Range<Int>, _ flags: CInt, _ body: (CInt) -> Int
      ) throws {
        // Names are known, for a second.
        for number in numbers { _ = access("\(path)\(prefix)\(number)", F_OK) }
        try count(operation, of: numbers) { number in
          let file = open("\(path)\(prefix)\(number)", flags)
          defer { close(file) }
          return file >= 0 && body(file) == 4096
        }
      }
      var bytes = [UInt8](repeating: 7, count: 4096)
      for group in GuardWork.groups(few: few) {
        // What rested of the group before is let go.
        usleep(1_100_000)
        for operation in ["open, read 4 KiB, close", "open, read 4 KiB, close, again"] {
          try each(operation, "f", of: group, O_RDONLY) { read($0, &bytes, 4096) }
        }
        try each("append to a file of the upper", "own", of: group, O_WRONLY | O_APPEND) {
          write($0, bytes, 4096)
        }
        try each("append to a file of a lower", "g", of: group, O_WRONLY | O_APPEND) {
          write($0, bytes, 4096)
        }
        try count("remove a file of a lower", of: group) { unlink("\(path)r\($0)") == 0 }
        try count("make and close a file in its place", of: group) { number in
          let file = creat("\(path)r\(number)", 0o644)
          return file >= 0 && close(file) == 0
        }
        try count("list a directory of two lowers", of: group) { _ in
          (try? FileManager.default.contentsOfDirectory(atPath: volume.path + "/both"))?.count == 20
        }
      }
      return found
    }
  }
}
