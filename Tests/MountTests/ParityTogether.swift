import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Synchronization
import Testing

// Several at once, on the mount alone: what no order of calls may break.

extension MountTests.ParityTests {
  @Test("Writers that append at once lose no byte, nor of a file of a lower", arguments: [false, true])
  func appenders(isInLower: Bool) throws {
    var volume = try MountedVolume()
    defer { volume.remove() }
    _ = chmod(volume.path, 0o777)
    if isInLower {
      try #require(
        Calls.write(volume.path + "/log", "begin\n") == nil && chmod(volume.path + "/log", 0o666) == 0)
      volume = try volume.lowered()
    }
    let path = volume.path + "/log"
    let (writers, lines) = (6, 400)
    try atOnce(writers) { number in
      let fd = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT, 0o666)
      defer { Glibc.close(fd) }
      for line in 0..<lines {
        let text = "writer \(number) line \(line) \(String(repeating: "x", count: line % 50))\n"
        guard Glibc.write(fd, text, text.utf8.count) == text.utf8.count else {
          return "write: \(Errno.current)"
        }
      }
      return nil
    }
    let all = try Text.read(path).split(separator: "\n")
    #expect(all.count == writers * lines + (isInLower ? 1 : 0))
    for number in 0..<writers {
      let mine = all.filter { $0.hasPrefix("writer \(number) ") }
      let wanted = (0..<lines).map { "writer \(number) line \($0) \(String(repeating: "x", count: $0 % 50))" }
      #expect(mine.map(String.init) == wanted)
    }
  }

  @Test(
    "Who reads a file that grows sees what was appended and nothing else",
    arguments: [
      ("", ""), ("", "uappnd"), ("passthrough=off", "uappnd"), ("passthrough=off,cache=none", "uappnd"),
    ])
  func followers(options: String, flag: String) throws {
    let isCached = flag.isEmpty && !Machine.passesThrough
    try follow(options, flag: flag, mayBeEarly: isCached)
  }

  // The kernel may drop a page, and fill it from the file, between a program's write into it and the WRITE.
  @Test(
    "In the page cache bytes that are being appended may read as zeros, and whoever opens the file then reads them",
    arguments: ["passthrough=off", "passthrough=off,cache=none"])
  func cachedFollowers(options: String) throws {
    try follow(options, flag: "", mayBeEarly: true)
  }

  @Test(
    "Who reads a file of a lower that grows sees what was appended, and nothing else",
    arguments: ["", "passthrough=off", "passthrough=off,cache=none"])
  func followersOfLower(options: String) throws {
    // The kernel has its pages, because it is not handed over.
    try follow(options, flag: "", mayBeEarly: true, isInLower: true)
  }

  /// One appends and two read what comes; `mayBeEarly`: they may find zeros in its place.
  private func follow(
    _ options: String, flag: String, mayBeEarly: Bool, isInLower: Bool = false
  ) throws {
    var volume = try MountedVolume(options)
    defer { volume.remove() }
    if isInLower {
      for round in 0..<5 { try #require(Calls.write("\(volume.path)/log\(round)", "begin\n") == nil) }
      volume = try volume.lowered(options)
    }
    for round in 0..<5 {
      let path = "\(volume.path)/log\(isInLower ? "\(round)" : "")"
      if !isInLower { try #require(Calls.write(path, "begin\n") == nil) }
      if !flag.isEmpty { try #require(Attribute.set(path, Attribute.flags, flag) == nil) }
      let written = Mutex([UInt8]("begin\n".utf8))
      let isOver = Atomic<Bool>(false)
      try atOnce(3) { number in
        let file = Glibc.open(path, number == 0 ? O_WRONLY | O_APPEND : O_RDONLY)
        defer { Glibc.close(file) }
        guard number > 0 else {
          for line in 0..<400 {
            let text = Array("line \(line) \(String(repeating: "x", count: line * 37 % 200))\n".utf8)
            // Noted first: a reader may be quicker than who wrote it.
            written.withLock { $0 += text }
            guard Glibc.write(file, text, text.count) == text.count else { return "write: \(Errno.current)" }
          }
          isOver.store(true, ordering: .releasing)
          return nil
        }
        var (at, buffer) = (0, [UInt8](repeating: 0, count: 4096))
        while true {
          let isLast = isOver.load(ordering: .acquiring)
          let count = pread(file, &buffer, buffer.count, off_t(at))
          guard count >= 0 else { return "read: \(Errno.current)" }
          let wanted = written.withLock { Array($0[at..<min($0.count, at + count)]) }
          let isRight =
            count == wanted.count && zip(buffer, wanted).allSatisfy { $0 == $1 || mayBeEarly && $0 == 0 }
          guard isRight else { return "byte \(at): \(buffer[..<min(count, 20)])" }
          at += count
          if isLast, count == 0 { return nil }
        }
      }
      #expect(try Text.read(path) == String(decoding: written.withLock { $0 }, as: UTF8.self))
      if !flag.isEmpty { try #require(Attribute.set(path, Attribute.flags, "") == nil) }
    }
  }

  @Test(
    "A listing of 20,000 names under change shows each name that stays exactly once, half of them in a lower or none",
    arguments: [false, true])
  func listing(isHalfInLower: Bool) throws {
    var volume = try MountedVolume()
    defer { volume.remove() }
    try #require(Glibc.mkdir(volume.path + "/many", 0o755) == 0)
    if isHalfInLower {
      volume = try volume.lowered()
      try #require(Glibc.mkdir(volume.upper + "/many", 0o755) == 0)
    }
    let directory = volume.path + "/many"
    for number in 0..<20_000 {
      let below = isHalfInLower && number % 2 == 0 ? volume.base + "/lower0/many" : volume.upper + "/many"
      let fd = Glibc.open("\(below)/stays-\(number)", O_CREAT | O_WRONLY, 0o644)
      try #require(fd >= 0)
      Glibc.close(fd)
    }
    let isOver = Atomic<Bool>(false)
    let changes = Atomic<Int>(0)
    let changer = try PlainThread {
      var number = 0
      while !isOver.load(ordering: .acquiring) {
        let name = "\(directory)/comes-\(number % 500)"
        let fd = Glibc.open(name, O_CREAT | O_WRONLY, 0o644)
        if fd >= 0 { Glibc.close(fd) }
        if number % 3 != 0 { Glibc.unlink(name) }
        if number % 7 == 0 { Glibc.rename(name, "\(directory)/goes-\(number % 300)") }
        number += 1
        changes.store(number, ordering: .releasing)
      }
    }
    var complaints: [String] = []
    for round in 0..<6 {
      let fd = Int(Glibc.open(directory, O_RDONLY | O_DIRECTORY))
      let entries = (round < 3 ? Side.entries(fd) : Side.entriesBySeeking(fd)) ?? []
      Glibc.close(CInt(fd))
      var seen: [[UInt8]: Int] = [:]
      for entry in entries where entry.name.starts(with: Array("stays-".utf8)) {
        seen[entry.name, default: 0] += 1
      }
      if seen.count != 20_000 { complaints.append("round \(round) shows \(seen.count)") }
      if let twice = seen.first(where: { $0.value != 1 }) {
        complaints.append("round \(round) shows \(Path(bytes: twice.key)) \(twice.value) times")
      }
    }
    isOver.store(true, ordering: .releasing)
    changer.join()
    #expect(complaints == [])
    #expect(changes.load(ordering: .acquiring) > 100)
  }

  @Test(
    "Creating and removing in one directory by several users at once leaves nothing behind, nor where a lower has the names",
    arguments: [false, true])
  func creators(isInLower: Bool) throws {
    var volume = try MountedVolume()
    defer { volume.remove() }
    let shared = volume.path + "/shared"
    try #require(Glibc.mkdir(shared, 0o777) == 0 && Glibc.chmod(shared, 0o777) == 0)
    if isInLower {
      for number in 0..<20 {
        let name = "\(shared)/name-\(number / 10)-\(number % 10)"
        try #require(Calls.write(name, "x") == nil && chmod(name, 0o666) == 0)
        try #require(mkdir(name + "-dir", 0o777) == 0 && chown(name + "-dir", 1001, 2001) == 0)
        try #require(Calls.write(name + "-moved", "x") == nil)
      }
      volume = try volume.lowered()
    }
    let directory = volume.path + "/shared"
    try atOnce(4) { number in
      TestUser(UInt32(1001 + number), group: 2001).run {
        for round in 0..<150 {
          // Two of them share each name.
          let name = "\(directory)/name-\(number / 2)-\(round % 10)"
          let fd = Glibc.open(name, O_CREAT | O_RDWR, 0o666)
          if fd < 0 { return "open: \(Errno.current)" }
          if Glibc.write(fd, "x", 1) != 1 { return "write: \(Errno.current)" }
          Glibc.close(fd)
          if Glibc.rename(name, name + "-moved") != 0, errno != ENOENT { return "rename: \(Errno.current)" }
          if Glibc.unlink(name + "-moved") != 0, errno != ENOENT { return "unlink: \(Errno.current)" }
          if Glibc.mkdir(name + "-dir", 0o777) != 0, errno != EEXIST { return "mkdir: \(Errno.current)" }
          if Glibc.rmdir(name + "-dir") != 0, errno != ENOENT { return "rmdir: \(Errno.current)" }
        }
        return nil
      }
    }
    let left = try Program.shell("ls -A '\(directory)'")
    #expect(left.output.split(separator: "\n").filter { $0.contains("-dir") || $0.contains("-moved") } == [])
    let unfinished = try Program.shell("ls -A '\(volume.upper)/.varve/work'").output
    #expect(unfinished == "" || isInLower && unfinished == "wh\n")
  }
}

/// Runs `body` on several threads at once; what it answers is a complaint.
func atOnce(_ count: Int, _ body: @escaping @Sendable (Int) -> String?) throws {
  let complaints = SharedList<String>()
  var threads: [ThreadBox] = []
  for number in 0..<count {
    threads.append(
      ThreadBox(
        try PlainThread {
          if let complaint = body(number) { complaints.add("thread \(number): \(complaint)") }
        }))
  }
  for thread in threads { thread.join() }
  #expect(complaints.all == [])
}

/// A list that several threads add to.
final class SharedList<Element: Sendable>: Sendable {
  private let elements: Mutex<[Element]> = Mutex([])
  var all: [Element] { elements.withLock { $0 } }
  func add(_ element: Element) { elements.withLock { $0.append(element) } }
}

/// A thread in an array.
final class ThreadBox {
  private var thread: PlainThread?
  init(_ thread: consuming PlainThread) { self.thread = consume thread }
  func join() { thread.take()?.join() }
}
