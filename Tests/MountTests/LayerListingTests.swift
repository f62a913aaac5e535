// Listings of directories that several layers have: each name once, whatever becomes of it meanwhile, and in bounded memory.

import CMountSupport
import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Synchronization
import Testing

extension MountTests {
  @Suite("Long listings of several layers", .timeLimit(.minutes(10))) struct LayerListingTests {
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

    private func fill(_ directory: String, _ prefix: String, _ numbers: Range<Int>) throws {
      for number in numbers {
        let file = Glibc.open("\(directory)/\(prefix)-\(number)", O_CREAT | O_WRONLY, 0o644)
        try #require(file >= 0)
        Glibc.close(file)
      }
    }

    /// A volume over two lowers that share half of their names in `many`.
    private func volume(
      _ count: Int, of prefix: String, _ options: String = "", in base: String? = nil
    ) throws -> MountedVolume {
      let base = try base ?? TemporaryDirectory.makeInMemory()
      for lower in ["/lower1", "/lower2"] {
        mkdir(base + lower, 0o755)
        mkdir(base + lower + "/many", 0o755)
      }
      try fill(base + "/lower1/many", prefix, 0..<(count * 3 / 4))
      try fill(base + "/lower2/many", prefix, (count / 4)..<count)
      return try MountedVolume("lower=\(base)/lower1:\(base)/lower2\(options)", base: base)
    }

    /// `LONG=1`: a million names, too.
    @Test(
      "Each name that stays is listed once, also after seeks, while names come, go, are brought up, replaced and exchanged",
      arguments: isLong ? [12_000, 1_000_000] : [12_000])
    func changing(count: Int) throws {
      // tmpfs gives what is exchanged or replaced a new position, and so misses it by itself.
      let base = try TemporaryDirectory.make()
      try TemporaryDirectory.countReads(in: base)
      let keepsPositions = try !Program.shell("stat -f -c %T '\(base)'").output.hasPrefix("tmpfs")
      let volume = try volume(count, of: "stays", in: base)
      defer { volume.remove() }
      let lowers = try ["/lower1", "/lower2"].map { try LowerTree.print(of: base + $0) }
      let directory = volume.path + "/many"
      let isOver = Atomic<Bool>(false)
      let changes = Atomic<Int>(0)
      let changer = ThreadBox(
        try PlainThread {
          var number = 0
          func stays(_ salt: Int) -> String { "\(directory)/stays-\((number &* 7919 &+ salt) % count)" }
          while !isOver.load(ordering: .acquiring) {
            let name = "\(directory)/comes-\(number % 500)"
            _ = Calls.create(name)
            switch number % 5 {
            // Of a lower the first time: it is brought up.
            case 0: chmod(stays(1), number.isMultiple(of: 2) ? 0o600 : 0o644)
            case 1 where keepsPositions: Glibc.rename(name, stays(2))
            case 2: unlink(name)
            case 3 where keepsPositions:
              _ = lt_renameat2(AT_FDCWD, stays(3), AT_FDCWD, stays(4 + count / 2), 2)
            default: Glibc.rename(name, "\(directory)/goes-\(number % 300)")
            }
            number += 1
            changes.store(number, ordering: .releasing)
          }
        })
      var complaints: [String] = []
      // At least one of each kind.
      let rounds = count > 100_000 ? 4 : LayerListingTests.isLong ? 60 : 8
      for round in 0..<rounds {
        let fd = Int(Glibc.open(directory, O_RDONLY | O_DIRECTORY))
        let found =
          switch round % 4 {
          case 0: Side.entries(fd)
          case 2: Side.entries(fd, of: 2_048)
          default: Side.entriesBySeeking(fd)
          }
        let entries = found ?? []
        Glibc.close(CInt(fd))
        var seen: [[UInt8]: Int] = [:]
        for entry in entries where entry.name.starts(with: Array("stays-".utf8)) {
          seen[entry.name, default: 0] += 1
        }
        if seen.count != count { complaints.append("round \(round) shows \(seen.count)") }
        if let twice = seen.first(where: { $0.value != 1 }) {
          complaints.append("round \(round) shows \(Path(bytes: twice.key)) \(twice.value) times")
        }
      }
      isOver.store(true, ordering: .releasing)
      changer.join()
      let made = changes.load(ordering: .acquiring)
      print("\(rounds) listings of \(count) names, \(made) changes")
      #expect(try ["/lower1", "/lower2"].map { try LowerTree.print(of: base + $0) } == lowers)
      #expect(complaints == [])
      #expect(made > 100)
    }

    /// In KiB; `VmHWM` is the most there was.
    private func memory(_ key: String, of daemon: Int32) throws -> Int {
      let lines = try Text.read("/proc/\(daemon)/status").split(separator: "\n")
      guard let line = lines.first(where: { $0.hasPrefix(key + ":") }),
        let value = Int(line.filter(\.isNumber))
      else { throw TestFailure("no \(key) of \(daemon)") }
      return value
    }

    /// `LONG=1`: a million names.
    @Test("A listing of many merged names takes 25 bytes of memory for each, and gives them back")
    func bounded() throws {
      let count = LayerListingTests.isLong ? 1_000_000 : 200_000
      let volume = try volume(count, of: "some-name-of-usual-length")
      defer { volume.remove() }
      let daemon = try #require(volume.daemon)
      let directory = volume.path + "/many"
      // Whatever is made once is there.
      var fd = Int(Glibc.open(directory, O_RDONLY | O_DIRECTORY))
      _ = Side.entries(fd, onePage: true)
      Glibc.close(CInt(fd))
      let before = try memory("VmRSS", of: daemon)
      // What was the most begins anew.
      try #require(Calls.write("/proc/\(daemon)/clear_refs", "5", 0) == nil)
      fd = Int(Glibc.open(directory, O_RDONLY | O_DIRECTORY))
      let entries = try #require(Side.entries(fd))
      let most = try memory("VmHWM", of: daemon) - before
      #expect(Set(entries.map(\.name)).count == count + 2 && entries.count == count + 2)
      Glibc.close(CInt(fd))
      // And what one listing needed the next ones use again.
      for _ in 0..<2 {
        fd = Int(Glibc.open(directory, O_RDONLY | O_DIRECTORY))
        #expect(Side.entries(fd)?.count == count + 2)
        Glibc.close(CInt(fd))
      }
      let again = try memory("VmHWM", of: daemon) - before
      print("\(count) names: \(most) KiB, \(again) KiB after two more")
      // 25 MB for a million, and what one request may need; in KiB.
      let allowed = count * 25 / 1_024 + 1_024
      #expect(most <= allowed, "\(most) KiB")
      #expect(again <= allowed * 3 / 2, "\(again) KiB")
    }
  }
}
