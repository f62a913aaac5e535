import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  /// The daemon is killed in the middle of work, again and again; what is there afterwards is right.
  @Suite("Crashes of the daemon", .timeLimit(.minutes(5))) struct CrashTests {
    private static let rounds = 15

    /// Waits a random moment, kills the daemon, waits for the threads and mounts again.
    private func crash(
      _ volume: MountedVolume, _ chance: inout Chance, after end: Signal, atLeast work: Int,
      _ threads: [ThreadBox]
    ) throws {
      var patience = 4000
      while end.count < work, patience > 0 {
        usleep(500)
        patience -= 1
      }
      usleep(UInt32(chance.next(below: 40_000)))
      try volume.kill()
      end.give()
      for thread in threads { thread.join() }
      try volume.mount()
      let work = try Program.shell("ls -A '\(volume.upper)/.varve/work'")
      #expect(work.output == "", "the workshop after a crash")
    }

    /// Every record can be read by every door, whatever it says.
    private func expectSoundRecords(_ volume: MountedVolume) throws {
      let result = try Program.shell("find '\(volume.path)' -mindepth 1 -print0", in: "/")
      for path in result.output.split(separator: "\0").map(String.init) {
        for name in ["system.varve.flags", "system.varve.acl"] {
          guard case .failure(let error) = RawAttribute.get(path, name) else { continue }
          #expect(error == .noData, "\(name) of \(path)")
        }
      }
    }

    @Test("What fsync acknowledged is there after the daemon was killed")
    func acknowledged() throws {
      let seed = Chance.seed("acknowledged writes")
      var chance = Chance(seed: seed)
      let volume = try MountedVolume()
      defer { volume.remove() }
      _ = chmod(volume.path, 0o777)
      for round in 0..<Self.rounds {
        let end = Signal()
        let complaints = SharedList<String>()
        let acknowledged = SharedList<(file: String, count: Int)>()
        let root = volume.path
        var threads: [ThreadBox] = []
        for writer in 0..<4 {
          let user = TestUser(UInt32(1001 + writer), group: 2001)
          threads.append(
            ThreadBox(
              try PlainThread {
                let (file, count, complaint) = user.run {
                  Self.write("r\(round)-w\(writer)", below: root, until: end)
                }
                acknowledged.add((file, count))
                if let complaint { complaints.add(complaint) }
              }))
        }
        try crash(volume, &chance, after: end, atLeast: 20, threads)
        #expect(complaints.all == [], "seed \(seed), round \(round)")
        for (file, count) in acknowledged.all {
          let lines = ((try? Text.read("\(root)/\(file)")) ?? "").split(separator: "\n").map(String.init)
          let wanted = (0..<count).map { Self.line(file, $0) }
          #expect(
            Array(lines.prefix(count)) == wanted,
            "seed \(seed), round \(round), \(file): \(lines.count) of \(count)")
          // One line may have come without an answer, in part.
          #expect(lines.count <= count + 1)
        }
        #expect(acknowledged.all.reduce(0) { $0 + $1.count } > 0)
      }
      try expectSoundRecords(volume)
      try volume.unmount()
    }

    private static func line(_ file: String, _ number: Int) -> String {
      "\(file) line \(number) \(String(repeating: "x", count: number * 37 % 300))"
    }

    /// Writes lines, each followed by fsync, and answers how many were acknowledged.
    private static func write(
      _ name: String, below root: String, until end: Signal
    ) -> (file: String, count: Int, complaint: String?) {
      let fd = Glibc.open("\(root)/\(name)", O_CREAT | O_EXCL | O_WRONLY | O_APPEND, 0o644)
      guard fd >= 0 else {
        let error = Errno.current
        return (name, 0, error.isEndOfMount ? nil : "open: \(error)")
      }
      defer { Glibc.close(fd) }
      var number = 0
      while !end.isGiven {
        let text = line(name, number) + "\n"
        let written = Glibc.write(fd, text, text.utf8.count)
        // Of two pages the first may have been written; then the next call tells of the end.
        let isWhole = written == text.utf8.count || written >= 0 && Glibc.write(fd, "", 1) == text.utf8.count
        guard isWhole, Glibc.fsync(fd) == 0 else {
          let isGone = Errno.current.isEndOfMount || errno == EIO
          return (name, number, isGone ? nil : "write: \(Errno.current)")
        }
        number += 1
        end.countOne()
      }
      return (name, number, nil)
    }

    @Test(
      "After a crash in a storm of creates nothing is half made",
      arguments: ["", "no_tmpfile", "no_tmpfile,passthrough=off,threads=8"])
    func creates(options: String) throws {
      let seed = Chance.seed("storm of creates")
      var chance = Chance(seed: seed)
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let box = try SharedBox(volume)
      for round in 0..<Self.rounds {
        let end = Signal()
        let complaints = SharedList<String>()
        let threads = try SharedBox.users.map { user in
          ThreadBox(
            try PlainThread {
              if let complaint = box.makeThings(as: user, until: end, removing: false) {
                complaints.add(complaint)
              }
            })
        }
        try crash(volume, &chance, after: end, atLeast: 30, threads)
        #expect(complaints.all == [], "seed \(seed), round \(round)")
        let made = names(in: box.upper)
        #expect(made.count >= 30)
        #expect(names(in: box.path).sorted() == made.sorted())
        let faults = made.flatMap { name in
          [true, false].compactMap { box.fault(name, throughMount: $0) }
        }
        #expect(faults == [], "seed \(seed), round \(round), \(made.count) items")
        _ = try Program.shell("rm -rf '\(box.path)'/*")
      }
      try volume.unmount()
    }

    @Test("After a crash flags and lists are the old ones or the new ones") func records() throws {
      let seed = Chance.seed("changing records")
      var chance = Chance(seed: seed)
      let volume = try MountedVolume()
      defer { volume.remove() }
      let flags = ["nodump", "uchg,hidden"]
      let lists = ["user:1001 allow read\n", "user:1002 deny write,append\ngroup:2001 allow read,execute\n"]
      let items = (0..<6).map { "item\($0)" }
      for item in items {
        let fd = Glibc.creat("\(volume.path)/\(item)", 0o644)
        try #require(fd >= 0)
        Glibc.close(fd)
        try #require(RawAttribute.set("\(volume.path)/\(item)", "system.varve.flags", flags[0]) == nil)
        try #require(RawAttribute.set("\(volume.path)/\(item)", "system.varve.acl", lists[0]) == nil)
      }
      func states(_ name: String, _ values: [String]) throws -> Set<String> {
        // What the doors print for each value, learnt beforehand.
        Set(
          try values.map { value in
            try #require(RawAttribute.set("\(volume.path)/item0", "system.varve.flags", "") == nil)
            try #require(RawAttribute.set("\(volume.path)/item0", name, value) == nil)
            return RawAttribute.text("\(volume.path)/item0", name)
          })
      }
      let allowedFlags = try states("system.varve.flags", flags)
      let allowedLists = try states("system.varve.acl", lists)
      try #require(allowedFlags.count == 2 && allowedLists.count == 2)
      _ = RawAttribute.set("\(volume.path)/item0", "system.varve.flags", flags[0])
      for round in 0..<Self.rounds {
        let end = Signal()
        let root = volume.path
        let threads = try (0..<2).map { number in
          ThreadBox(
            try PlainThread {
              var count = number
              while !end.isGiven {
                let path = "\(root)/\(items[count % items.count])"
                if RawAttribute.set(path, "system.varve.flags", "") == .notConnected { return }
                _ = RawAttribute.set(path, "system.varve.acl", lists[count / 3 % 2])
                _ = RawAttribute.set(path, "system.varve.flags", flags[count / 7 % 2])
                count += 1
                end.countOne()
              }
            })
        }
        try crash(volume, &chance, after: end, atLeast: 20, threads)
        for item in items {
          let (shownFlags, shownList) = (
            RawAttribute.text("\(root)/\(item)", "system.varve.flags"),
            RawAttribute.text("\(root)/\(item)", "system.varve.acl")
          )
          #expect(
            shownFlags == "" || allowedFlags.contains(shownFlags), "seed \(seed), round \(round), \(item)")
          #expect(allowedLists.contains(shownList), "seed \(seed), round \(round), \(item)")
        }
      }
      try volume.unmount()
    }

    @Test(
      "Whoever watches never sees a new item without its owner, mode and list", arguments: ["", "no_tmpfile"])
    func watched(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let box = try SharedBox(volume)
      let (end, complaints) = (Signal(), SharedList<String>())
      var threads = try SharedBox.users.map { user in
        ThreadBox(
          try PlainThread {
            if let complaint = box.makeThings(as: user, until: end, removing: true) {
              complaints.add(complaint)
            }
          })
      }
      let seen = Signal()
      for throughMount in [true, false] {
        threads.append(
          ThreadBox(
            try PlainThread {
              while !end.isGiven {
                for name in names(in: throughMount ? box.path : box.upper) {
                  if let fault = box.fault(name, throughMount: throughMount) { complaints.add(fault) }
                  seen.countOne()
                }
              }
            }))
      }
      let deadline = Glibc.time(nil) + 6
      while Glibc.time(nil) < deadline, complaints.all.isEmpty { usleep(20_000) }
      end.give()
      for thread in threads { thread.join() }
      #expect(complaints.all.prefix(10) == [])
      #expect(end.count > 200 && seen.count > 200, "\(end.count) made, \(seen.count) looked at")
      try volume.unmount()
    }
  }
}
