// Listings that are read so slowly that the volume has let go of what they are read from, or that something is changed
// meanwhile.

import CMountSupport
import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Synchronization
import Testing

/// A listing that is read in small pieces: what the kernel has no room for is asked for again.
final class SlowListing {
  private let file: CInt
  private(set) var names: [String] = []
  private(set) var isOver = false

  init(_ path: String) throws {
    file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard file >= 0 else { throw TestFailure("\(path): \(Errno.current)") }
  }

  deinit { close(file) }

  /// Some 20 names more.
  func read() throws {
    guard let entries = Side.entries(Int(file), onePage: true, of: 640) else {
      throw TestFailure("read: \(Errno.current)")
    }
    if entries.isEmpty { isOver = true }
    names += entries.map { String(decoding: $0.name, as: UTF8.self) }.filter { $0 != "." && $0 != ".." }
  }
}

/// A large directory, whose indexes fill the memory that there is for all.
private final class Pressure {
  private static let files = 6_000
  private let volume: MountedVolume
  /// Views of languages that nobody speaks, each with an index of its own.
  private var views = (0..<26).flatMap { one in (0..<26).map { (one, $0) } }.makeIterator()

  init(_ volume: MountedVolume) throws {
    self.volume = volume
    let path = try volume.directory("large", 0, 0, 0o755)
    // Of each name both forms are kept.
    let stem = "e\u{301}" + String(repeating: "x", count: 230)
    for number in 0..<Pressure.files {
      if let error = Calls.create("\(path)/\(stem) \(number)") { throw TestFailure("\(number): \(error)") }
    }
  }

  private func bytes() throws -> Int {
    let text = try Text.read(volume.path + "/.varve/status")
    guard let found = text.range(of: "\"indexBytes\":") else { throw TestFailure("no indexBytes: \(text)") }
    return Int(text[found.upperBound...].prefix { $0.isNumber }) ?? 0
  }

  /// Fills it anew, so that every index that was there had to go.
  func letGo() throws {
    var before = try bytes()
    var drops = 0
    for _ in 0..<24 {
      guard let (one, other) = views.next() else { throw TestFailure("there are no more languages") }
      let language = String(decoding: [UInt8(97 + one), UInt8(97 + other)], as: UTF8.self)
      let listed = BytePath("\(volume.path)/.varve/view/\(language)/large").names
      guard listed?.count == Pressure.files else { throw TestFailure("\(language): \(listed?.count ?? -1)") }
      let after = try bytes()
      #expect(after <= 64 << 20)
      if after < before { drops += 1 }
      before = after
    }
    guard drops > 0 else { throw TestFailure("nothing had to go") }
  }
}

/// A change of rights that another thread makes.
private final class OwnersChange: Sendable {
  let isOver = Atomic(false)
}

extension MountTests {
  @Suite("Listings of views that take their time", .timeLimit(.minutes(8))) struct ViewListingTests {
    private static let stays = 300

    @Test(
      "A name that stays is read exactly once, however slowly, though the index had to go and names change")
    func indexGone() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let real = try volume.directory("d", 0, 0, 0o755)
      func make(_ name: String) throws {
        if let error = Calls.create("\(real)/\(name)") { throw TestFailure("\(name): \(error)") }
      }
      for number in 0..<Self.stays {
        try make("stay \(number).txt")
        try make("go \(number).txt")
      }
      let pressure = try Pressure(volume)
      let views = ["fr", "de,all"].map { "\(volume.path)/.varve/view/\($0)/d" }
      let listings = try views.map { try SlowListing($0) }
      // Names go and come before, between and behind those that were read.
      var round = 0
      while listings.contains(where: { !$0.isOver }) {
        for listing in listings where !listing.isOver {
          for _ in 0..<(3 + round % 3) where !listing.isOver { try listing.read() }
        }
        for number in stride(from: round, to: Self.stays, by: 7) where round < 7 {
          try #require(unlink("\(real)/go \(number).txt") == 0)
          try make("come \(number).txt")
          try make("stay \(number).5.txt")
        }
        if round % 2 == 0, round < 5 { try pressure.letGo() }
        round += 1
      }
      #expect(round > 5, "it was not read while names changed")
      for (view, listing) in zip(views, listings) {
        let stays = listing.names.filter { $0.hasPrefix("stay ") && !$0.hasSuffix(".5") }
        #expect(stays == (0..<Self.stays).map { "stay \($0)" }, "\(view)")
        #expect(Set(listing.names).count == listing.names.count, "\(view)")
      }
    }

    /// What each of 10,000 may take of 64 MiB, beside the indexes, which have a budget.
    private static let bytesOfListing = (64 << 20) / 10_000

    /// Lets this process open as many files as it may, which is what the daemon does; how many listings that gives room for.
    private func roomForListings() throws -> Int {
      let line = try #require(
        try Text.read("/proc/self/limits").split(separator: "\n").first { $0.contains("open files") })
      let hard = try #require(line.split(separator: " ").dropLast().last.flatMap { UInt($0) })
      try #require(lt_limit_open_files(0, hard, hard) == 0)
      return Int(min(hard, 1 << 20)) - 500
    }

    @Test("Many listings that were begun keep within the memory of views, and each goes on to its end")
    func many() throws {
      let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"
      let room = try roomForListings()
      let count = isLong ? 10_000 : min(1_500, room)
      try #require(count <= room)
      let volume = try MountedVolume()
      defer { volume.remove() }
      let real = try volume.directory("d", 0, 0, 0o755)
      for number in 0..<200 { try #require(Calls.create("\(real)/stay \(number).txt") == nil) }
      func own() throws -> Int {
        try LimitsTests.status(volume.path, "residentBytes") - LimitsTests.status(volume.path, "indexBytes")
      }
      var listings: [SlowListing] = []
      var before = 0
      for number in 0..<count {
        let listing = try SlowListing("\(volume.path)/.varve/view/\(["fr", "de", "ja", "ru"][number % 4])/d")
        try listing.read()
        listings.append(listing)
        // So that not all read from one index.
        if number % 50 == 0 {
          try #require(Calls.create("\(real)/x \(number).txt") == nil)
          try #require(unlink("\(real)/x \(number).txt") == 0)
        }
        // By then there is what takes no more with more of them.
        if number == 100 { before = try own() }
      }
      let each = (try own() - before) / (count - 100)
      print("\(count) open listings: \(each) bytes of memory each")
      #expect(each <= Self.bytesOfListing)
      try Pressure(volume).letGo()
      for listing in listings {
        while !listing.isOver { try listing.read() }
        let stays = listing.names.filter { $0.hasPrefix("stay ") }
        try #require(stays == (0..<200).map { "stay \($0)" })
      }
    }

    /// Each build takes many small pieces for every item, on whichever thread makes it.
    @Test("What making indexes took of memory is given back soon after") func leftovers() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try #require(mkdir(volume.upper + "/d", 0o755) == 0)
      for number in 0..<20_000 { try #require(Calls.create("\(volume.upper)/d/item \(number).txt") == nil) }
      func own() throws -> Int {
        try LimitsTests.status(volume.path, "residentBytes") - LimitsTests.status(volume.path, "indexBytes")
      }
      func run(_ script: String) throws {
        try #require(try Program.run("/bin/sh", ["-c", script], in: volume.path).exit == 0)
      }
      // ICU and the orders of four languages stay.
      try run("for view in fr de es it; do ls .varve/view/$view >/dev/null; done")
      let before = try own()
      try run(
        """
        for round in 1 2 3 4 5 6; do
          touch d/new$round
          for view in fr de es it; do ls -U .varve/view/$view/d >/dev/null & done
          wait
        done
        """)
      var more = 0
      let end = ContinuousClock.now + .seconds(10)
      repeat {
        usleep(100_000)
        more = try own() - before
      } while more > 8 << 20 && ContinuousClock.now < end
      print("\(more >> 10) KiB more than before, beside the indexes")
      #expect(more <= 8 << 20)
    }

    @Test("While a program is in the middle of a listing, its directory is closed at the real path alone")
    func underWay() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      for name in ["Library", "Music"] {
        let real = try volume.directory(name, 0, 0, 0o755)
        try #require(Calls.create(real + "/.localized") == nil)
        for number in 0..<300 { try #require(Calls.create("\(real)/\(number)") == nil) }
      }
      for (name, shown, isReadToTheEnd) in [("Library", "Bibliothèque", true), ("Music", "Musique", false)] {
        let (real, view) = (volume.path + "/" + name, volume.path + "/.varve/view/fr/" + shown)
        func mode() throws -> mode_t { try Calls.status(real).get().st_mode & 0o777 }
        try {
          let listing = try SlowListing(real)
          try listing.read()
          try #require(!listing.names.isEmpty && !listing.isOver)
          #expect(Calls.answer(chmod(view, 0o700)) == .busy)
          #expect(Calls.answer(lchown(view, 1001, 2001)) == .busy)
          #expect(Attribute.set(view, Attribute.list, "user:1001 deny search") == .busy)
          #expect(try mode() == 0o755)
          #expect(Attribute.get(real, Attribute.list).refusal == .noData)
          // Nothing else in views waits for it, and nothing at the real path.
          #expect(BytePath(view).names?.count == 300)
          #expect(Calls.answer(chmod(view + "/7", 0o600)) == nil)
          guard isReadToTheEnd else { return }
          try #require(chmod(real, 0o711) == 0 && chmod(real, 0o755) == 0)
          while !listing.isOver { try listing.read() }
          #expect(Set(listing.names) == Set((0..<300).map { "\($0)" } + [".localized"]))
          #expect(listing.names.count == 301)
          #expect(Calls.answer(chmod(view, 0o755)) == nil)
        }()
        // As soon as the kernel has told that the listing is closed.
        let deadline = Clock.monotonicNanoseconds &+ 5_000_000_000
        while let error = Calls.answer(chmod(view, 0o700)) {
          try #require(error == .busy && Clock.monotonicNanoseconds < deadline)
        }
        #expect(try mode() == 0o700)
      }
    }

    @Test(
      "A reader who is held up in the middle of an answer holds up nobody in views, and keeps no name open",
      .enabled(if: Programs.has("python3"), "needs python3"))
    func heldUp() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let real = try volume.directory("Library", 0, 0, 0o755)
      try #require(Calls.create(real + "/.localized") == nil)
      for number in 0..<20 { try #require(Calls.create("\(real)/\(number).txt") == nil) }
      let view = volume.path + "/.varve/view/fr/Bibliothèque"
      let reader = try HeldReader(of: real, in: volume.base)
      defer { reader.end() }
      // Nothing is changed before it stands in the call: a listing that begins meanwhile has names alone.
      try reader.hold()
      #expect(Calls.answer(chmod(view, 0o700)) == .busy)
      let closing = OwnersChange()
      var owner = Crowd()
      try owner.add {
        if chmod(real, 0o700) == 0 { closing.isOver.store(true, ordering: .releasing) }
      }
      for _ in 0..<50 {
        #expect(BytePath(view).names?.count == 20)
        #expect(Calls.read(view + "/7") == .success(""))
      }
      let isEarly = closing.isOver.load(ordering: .acquiring) || reader.hasRead
      #expect(!isEarly, "the reader was not held up")
      reader.letGo()
      owner.join()
      let isOver = closing.isOver.load(ordering: .acquiring)
      #expect(isOver)
      let refused = TestUser.bob.run {
        (0..<20).map { number in
          [Calls.status("\(real)/\(number).txt").refusal, Calls.status("\(view)/\(number).txt").refusal]
        }
      }
      #expect(refused.allSatisfy { $0 == [.accessDenied, .accessDenied] }, "\(refused)")
      try reader.waitUntilRead()
    }
  }
}
