// Views while names change, and views of every kind of mount.

import CMountSupport
import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Randomness
import Synchronization
import Testing

/// Names that come and go in a directory, each file with its own real name in it; and files that are saved and exchanged.
private final class ComingAndGoing: Sendable {
  /// Items that stay, and are shown by a name of their own.
  static let stays = 40
  let directory: String
  let isOver = Atomic<Bool>(false)
  let looks = Atomic<Int>(0)
  let failures: Mutex<[String]> = Mutex([])
  /// How often each item that stays was replaced by a later one; that is in its content.
  private let saves = Mutex([Int](repeating: 0, count: stays))
  private let wandered = Atomic<Int>(0)
  /// Counted before and after each exchange of two files.
  private let exchanges = Atomic<Int>(0)

  init(_ directory: String) throws {
    self.directory = directory
    for number in 0..<ComingAndGoing.stays { try write("stay \(number).txt", "stay \(number).txt 0") }
    for number in 0..<2 { try write("swap \(number).txt", "\(number)") }
    try write("here it is.txt", "")
  }

  /// Never in the directory before its content is.
  private func write(_ name: String, _ text: String) throws {
    if let error = Calls.write("\(directory)/../new", text) { throw TestFailure("new: \(error)") }
    guard rename("\(directory)/../new", "\(directory)/\(name)") == 0 else {
      throw TestFailure("\(name): \(Errno.current)")
    }
  }

  /// As an editor saves.
  private func save(_ number: Int) throws {
    let count = saves.withLock { $0[number] } + 1
    try write("stay \(number).txt", "stay \(number).txt \(count)")
    saves.withLock { $0[number] = count }
  }

  /// Gives one file another name, again and again.
  private func wander() throws {
    let (from, to) = wandered.load(ordering: .relaxed) % 2 == 1 ? ("away", "here") : ("here", "away")
    guard rename("\(directory)/\(from) it is.txt", "\(directory)/\(to) it is.txt") == 0 else {
      throw TestFailure("\(from): \(Errno.current)")
    }
    wandered.add(1, ordering: .relaxed)
  }

  private func exchange() throws {
    exchanges.add(1, ordering: .sequentiallyConsistent)
    let result = lt_renameat2(
      AT_FDCWD, "\(directory)/swap 0.txt", AT_FDCWD, "\(directory)/swap 1.txt", 2)
    guard result == 0 else { throw TestFailure("exchange: \(Errno(rawValue: CInt(-result)))") }
    exchanges.add(1, ordering: .sequentiallyConsistent)
  }

  /// Makes `count` changes.
  func change(_ count: Int, seed: UInt64) throws {
    var dice = Dice(seed: seed)
    let ends = [".txt", ".md", ".pdf", ""]
    var present: Set<String> = []
    for _ in 0..<count where !isOver.load(ordering: .acquiring) {
      switch dice.below(5) {
      case 0: try save(dice.below(ComingAndGoing.stays))
      case 1: try exchange()
      case 2: try wander()
      default:
        let name = "x \(dice.below(12))\(dice.pick(ends))"
        if present.remove(name) == nil {
          try write(name, name)
          present.insert(name)
        } else if unlink("\(directory)/\(name)") != 0 {
          throw TestFailure("\(name): \(Errno.current)")
        }
      }
    }
  }

  /// Reads by shown and real names until it is over.
  func read(in view: String, seed: UInt64) {
    var dice = Dice(seed: seed)
    while !isOver.load(ordering: .acquiring) {
      looks.add(1, ordering: .relaxed)
      let number = dice.below(ComingAndGoing.stays)
      switch dice.below(6) {
      case 0: expectLatest(number, view, "stay \(number)")
      case 1: expectLatest(number, view, "stay \(number).txt")
      case 2: expectExchanged(view, "swap \(dice.below(2))")
      case 3: expectExchanged(view, "swap \(dice.below(2)).txt")
      case 4:
        let name = "x \(dice.below(12))"
        let found = Calls.read("\(view)/\(name)")
        // Whatever is shown by that name, or has it.
        if found.refusal != .noSuchFile {
          expect(found, in: [".txt", ".md", ".pdf", ""].map { name + $0 }, name)
        }
      default:
        let name = "x \(dice.below(12)).txt"
        let found = Calls.read("\(view)/\(name)")
        if found.refusal != .noSuchFile { expect(found, in: [name], name) }
      }
    }
  }

  /// Lists again and again, in pieces: what stays is there once.
  func list(_ view: String) {
    while !isOver.load(ordering: .acquiring) {
      looks.add(1, ordering: .relaxed)
      let texts: [String]
      do {
        let listing = try SlowListing(view)
        while !listing.isOver { try listing.read() }
        texts = listing.names
      } catch {
        return fail("\(view) cannot be listed: \(error)")
      }
      let stays = texts.filter { $0.hasPrefix("stay ") }
      if stays != (0..<ComingAndGoing.stays).map({ "stay \($0)" }) { fail("listed: \(stays)") }
      if Set(texts).count != texts.count { fail("twice: \(texts)") }
    }
  }

  /// What was saved before the look began, or later.
  private func expectLatest(_ number: Int, _ view: String, _ name: String) {
    let least = saves.withLock { $0[number] }
    let found = Calls.read("\(view)/\(name)")
    guard case .success(let text) = found, text.hasPrefix("stay \(number).txt "),
      let count = Int(text.dropFirst("stay \(number).txt ".count)), count >= least
    else { return fail("\(name): \(found) after \(least) were saved") }
  }

  /// What bears the name, if it bore it all the time.
  private func expectExchanged(_ view: String, _ name: String) {
    let before = exchanges.load(ordering: .sequentiallyConsistent)
    let found = Calls.read("\(view)/\(name)")
    let after = exchanges.load(ordering: .sequentiallyConsistent)
    let number = (name.contains("0") ? 0 : 1) ^ (before / 2 % 2)
    if before == after, before % 2 == 0, found != .success("\(number)") {
      fail("\(name): \(found) after \(before / 2) exchanges")
    } else if case .failure(let error) = found {
      fail("\(name): \(error)")
    }
  }

  private func expect(_ found: Result<String, Errno>, in wanted: [String], _ name: String) {
    switch found {
    case .success(let text) where wanted.contains(text): break
    case .success(let text): fail("\(name) opened \(text)")
    case .failure(let error): fail("\(name): \(error)")
    }
  }

  private func fail(_ sentence: String) {
    failures.withLock { $0.append(sentence) }
    isOver.store(true, ordering: .releasing)
  }
}

extension MountTests {
  @Suite("Views under change, and of every mount", .timeLimit(.minutes(4))) struct ViewStressTests {
    @Test("Whatever changes, a name of a view opens what bears it then, and names that stay never fail")
    func stress() throws {
      let changes = ProcessInfo.processInfo.environment["LONG"] == "1" ? 200_000 : 10_000
      let volume = try MountedVolume()
      defer { volume.remove() }
      let seed = UInt64.random(in: 0...(.max))
      let world = try ComingAndGoing(volume.directory("d", 0, 0, 0o755))
      var crowd = Crowd()
      for (number, view) in ["fr", "de,all"].enumerated() {
        let path = "\(volume.path)/.varve/view/\(view)/d"
        try crowd.add { world.read(in: path, seed: seed &+ UInt64(number)) }
        try crowd.add { world.list(path) }
      }
      do {
        defer {
          world.isOver.store(true, ordering: .releasing)
          crowd.join()
        }
        try world.change(changes, seed: seed)
      }
      #expect(world.failures.withLock { $0 } == [], "seed \(seed)")
      #expect(world.looks.load(ordering: .relaxed) > 100)
    }

    private func stage(_ volume: MountedVolume) throws {
      try Program.shell(
        """
        mkdir Library Foo.app && touch Library/.localized Foo.app/x.txt
        echo text >report.txt; echo hidden >.dot; echo own >Library/notes.md
        """, in: volume.path)
    }

    @Test(
      "A view shows the same with every option, and content is written as far as the mount allows",
      arguments: [
        "noacl", "noowners", "cache=none", "cache=exclusive", "passthrough=off", "securelevel=1", "ro",
      ])
    func options(words: String) throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try stage(volume)
      try volume.unmount()
      try volume.mount(more: words)
      let view = volume.path + "/.varve/view/fr"
      #expect(
        try Program.shell("ls; ls -A Foo; cat report", in: view).output
          == "Bibliothèque\nFoo\nreport\nx.txt\ntext\n")
      let isReadOnly = words == "ro"
      #expect(Calls.write(view + "/report", "more", O_TRUNC) == (isReadOnly ? .readOnly : nil))
      #expect(Calls.read(volume.path + "/report.txt").refusal == nil)
      #expect(mkdir(view + "/new", 0o755) != 0 && errno == EROFS)
      #expect(rename(view + "/report", view + "/other") != 0 && errno == EROFS)
      #expect(Attribute.text(view + "/Bibliothèque/notes", "user.varve.realname") == .success("notes.md"))
    }

    @Test("Without the directory of the volume there are no views, and facts remain") func noMagic() throws {
      let volume = try MountedVolume("nomagic")
      defer { volume.remove() }
      try stage(volume)
      #expect(Calls.status(volume.path + "/.varve/view/fr").refusal == .noSuchFile)
      #expect(
        Attribute.text(volume.path + "/Library", "user.varve.displayname.fr") == .success("Bibliothèque"))
    }

    @Test("A view of a volume that was killed and mounted again shows what is there") func killed() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try stage(volume)
      let view = volume.path + "/.varve/view/fr"
      #expect(try Program.shell("ls", in: view).output == "Bibliothèque\nFoo\nreport\n")
      try volume.kill()
      try volume.mount()
      #expect(Calls.read(view + "/report") == .success("text\n"))
    }

    @Test(
      "A user's own mount has views with what the user may read",
      .enabled(if: UserMountTests.hasTools, "needs fusermount3 and setpriv"))
    func usersMount() throws {
      let result = try UserMountTests().inOwnWorld(
        """
        as_user '
        varve mount upper mount
        mkdir mount/Library mount/Fotos.localized mount/Fotos.localized/.localized
        touch mount/Library/.localized mount/.dot; echo text > mount/report.txt
        varve name --localize fr=Photos mount/Fotos.localized
        ls mount/.varve/view/fr; cat mount/.varve/view/fr/report
        varve ls --display --as de mount
        varve name --hide-ext mount/report.txt; varve name --as fr mount/report.txt
        if mkdir mount/.varve/view/fr/new 2> /dev/null; then exit 10; fi
        varve mount -o view=display upper mount 2> /dev/null && exit 11
        varve umount mount
        '
        """)
      #expect(
        result.output == "Bibliothèque\nPhotos\nreport\ntext\nBibliothek\nFotos\nreport\nreport\n",
        "exit \(result.exit)")
      #expect(result.exit == 0)
    }

    @Test("Nothing that is mounted over what makes a name is read for it") func mountedOver() throws {
      let volume = try MountedVolume()
      let inside = volume.upper + "/A.localized/.localized"
      defer {
        umount2(inside, CInt(MNT_DETACH))
        volume.remove()
      }
      let result = try Program.shell(
        """
        mkdir -p mount/A.localized/.localized other
        echo '"A" = "Eigen";' >mount/A.localized/.localized/fr.strings; echo '"A" = "Fremd";' >other/fr.strings
        ls mount/.varve/view/fr
        mount --bind other '\(inside)'; mkdir mount/B; ls mount/.varve/view/fr; umount '\(inside)'
        mount --bind other/fr.strings '\(inside)/fr.strings'; mkdir mount/C; ls mount/.varve/view/fr
        umount '\(inside)/fr.strings'; mkdir mount/D; ls mount/.varve/view/fr
        """, in: volume.base)
      #expect(result.exit == 0 && !result.output.contains("Fremd"), "\(result.output)")
      #expect(result.output.hasPrefix("Eigen\n"), "\(result.output)")
      #expect(result.output.hasSuffix("B\nC\nD\nEigen\n"), "\(result.output)")
    }

    @Test("With 1,024 descriptors a view of many directories is walked and kept open") func descriptors()
      throws
    {
      let base = try TemporaryDirectory.make()
      defer {
        umount2(base + "/mount", CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      let result = try Program.shell(
        """
        set -e; mkdir upper mount; ulimit -n 1024
        '\(Program.built("varve"))' mount upper mount
        python3 - <<'END'
        import os
        os.chdir('mount')
        for i in range(1200):
            os.makedirs(f'd{i % 30}/Sub {i}.localized/.localized')
            with open(f'd{i % 30}/Sub {i}.localized/.localized/fr.strings', 'w') as f:
                f.write(f'"Sub {i}" = "Sous {i}";')
            open(f'd{i % 30}/Sub {i}.localized/a.txt', 'w').close()
        END
        find mount/.varve/view/fr | sort | md5sum
        find mount/.varve/view/fr -name 'Sous *' | wc -l
        find mount/.varve/view/fr -name a | wc -l
        find mount/.varve/view/fr | sort | md5sum
        '\(Program.built("varve"))' umount mount
        """, in: base)
      let lines = result.output.split(separator: "\n")
      try #require(lines.count == 4, "\(result.output)")
      #expect(lines[0] == lines[3] && lines[1] == "1200" && lines[2] == "1200", "\(result.output)")
    }
  }
}
