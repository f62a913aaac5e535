// What a crash leaves, settled: by the next mount, or when the file is opened.

import Faults
import FlagRules
import Foundation
import LinuxFiles
import Randomness
import RecordFormat
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Replacements that were interrupted") struct RecoveryTests {
  @Test("Before the file is touched nothing has happened") func prepared() throws {
    let upper = try Upper()
    let content = exampleContent()
    try upper.make("f", content)
    // A work file that the process had no time to remove.
    try upper.begin("f", .protected)
    let work = try #require(upper.workNames.first)
    let copy = try Data(contentsOf: URL(fileURLWithPath: upper.open(".varve/work/\(work)")))
    try upper.mountAgain()
    try upper.replace("f", .plain)
    try copy.write(to: URL(fileURLWithPath: upper.open(".varve/work/\(work)")))
    #expect(try upper.mountAgain() == ReplacementRecovery(dropped: 1))
    #expect(try upper.bytes("f") == content)
    #expect(upper.workNames.isEmpty)
  }

  @Test(
    "Whatever the file holds by then, it gets its new bytes",
    arguments: [Upper.Goal.protected, .plain, .compressed, .expanded])
  func mixtures(_ goal: Upper.Goal) throws {
    let upper = try Upper()
    var dice = Dice(for: "mixtures of old and new")
    let content = exampleContent()
    for round in 0..<12 {
      let name = "f\(round)"
      try upper.make(name, content)
      if let former = goal.former { try upper.replace(name, former) }
      let before = try upper.appearance(name)
      try upper.begin(name, goal)
      #expect(try upper.stored(name).core.isReplacing)
      let file = try Descriptor.open(path: upper.open(name), .readWrite)
      for _ in 0..<dice.below(4) {
        let bytes = (0..<5000).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
        try file.writeAll(bytes, at: Int64(dice.below(200_000)))
      }
      if dice.once(in: 2) { try file.truncate(to: UInt64(dice.below(150_000))) }
      // Others see nothing of privileges that were taken away, but what was changed on purpose stays.
      _ = consume file
      if round % 3 == 0 {
        #expect(try upper.mountAgain() == ReplacementRecovery(redone: 1))
      } else if round % 3 == 1 {
        // As a repair does; asked once more, it leaves alone what is whole.
        for _ in 0..<2 { try upper.site.finish(upper.object(name)) }
      } else {
        let isRedone = try upper.redo(name)
        #expect(isRedone)
        #expect(try !upper.redo(name))
      }
      #expect(try upper.appearance(name) == before, "round \(round)")
      #expect(try upper.content(name) == content, "round \(round)")
      #expect(try upper.form(name) == goal.form)
      #expect(upper.workNames.isEmpty)
    }
  }

  @Test("Without the lock for writing nothing of it is done, and the next mount finishes it") func lost()
    throws
  {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    try upper.begin("f", .protected)
    let (before, names) = (try upper.bytes("f"), upper.workNames)
    // It may get lost at each question.
    for allowed in 0..<3 {
      let asked = Atomic(0)
      let site = ReplacementSite(
        of: upper.directory, store: upper.store,
        lacksLock: { asked.add(1, ordering: .relaxed).newValue > allowed })
      #expect(throws: Errno.readOnly) { _ = try upper.redo("f", at: site) }
      if allowed == 0 { #expect(try upper.bytes("f") == before) }
      #expect(try upper.stored("f").core.isReplacing)
      #expect(upper.workNames == names)
    }
    #expect(try upper.mountAgain() == ReplacementRecovery(redone: 1))
    #expect(try upper.content("f") == exampleContent())
  }

  @Test("A lock that is lost once the record is settled takes nothing back: only the work file stays")
  func lostAtTheEnd() throws {
    let upper = try Upper()
    var settled = 0
    for allowed in 0..<40 {
      let name = "f\(allowed)"
      try upper.make(name, exampleContent())
      try upper.begin(name, .protected)
      let asked = Atomic(0)
      let site = ReplacementSite(
        of: upper.directory, store: upper.store,
        lacksLock: { asked.add(1, ordering: .relaxed).newValue > allowed })
      let error = failure { _ = try upper.redo(name, at: site) }
      let isSettled = try !upper.stored(name).core.isReplacing
      #expect(error == (isSettled ? nil : .readOnly), "after \(allowed) questions")
      let isRemoved = upper.workNames.isEmpty
      #expect(isSettled || !isRemoved)
      if isSettled, !isRemoved { settled += 1 }
      #expect(try upper.mountAgain() == (isSettled ? .init(dropped: isRemoved ? 0 : 1) : .init(redone: 1)))
      #expect(try upper.content(name) == exampleContent() && upper.workNames.isEmpty)
      if isRemoved { break }
    }
    #expect(settled == 1)
  }

  @Test(
    "A file whose content was replaced has no work file that a repair would believe, whatever call fails",
    arguments: [CallKinds.name, .write, .sync], [false, true])
  func unbelieved(_ kinds: CallKinds, isInUse: Bool) throws {
    let upper = try Upper()
    let inspection = try VolumeInspection(of: upper.root, for: .looking)
    // Begins the session.
    try upper.make("first", exampleContent())
    try upper.replace("first", .protected)
    var (looked, left) = (0, 0)
    for call in 0..<100 {
      let name = "f\(call)"
      try upper.make(name, exampleContent())
      let (file, body) = try upper.replaced(name, .protected)
      let (_, hits) = Fault(kinds, .inputOutput, after: call).during {
        var replacement = try Replacement.prepare(file, as: body, at: upper.site)
        try replacement.begin { isInUse }
        try replacement.copyOver()
        try replacement.settle()
      }
      if try !upper.stored(name).core.isReplacing {
        looked += 1
        #expect(try inspection.newContent(of: upper.object(name)) == nil, "call \(call)")
        left += upper.workNames.count
      }
      let recovery = try upper.mountAgain()
      #expect(recovery.kept == 0 && upper.workNames.isEmpty, "call \(call)")
      guard hits > 0 else { break }
    }
    #expect(looked > 1)
    // What could not be removed is empty.
    #expect(left > 0 || kinds != .name)
  }

  @Test("A mount that cannot remove a work file that is not needed empties it") func dropped() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    try upper.begin("f", .protected)
    let work = upper.open(".varve/work/\(try #require(upper.workNames.first))")
    let copy = try Data(contentsOf: URL(fileURLWithPath: work))
    try upper.mountAgain()
    try copy.write(to: URL(fileURLWithPath: work))
    let (mount, _) = Fault(.name, .inputOutput, count: .max >> 1).during {
      try upper.site.recover(beneath: upper.root)
    }
    #expect(try mount.get() == ReplacementRecovery(dropped: 1))
    #expect(try Data(contentsOf: URL(fileURLWithPath: work)).isEmpty)
    #expect(try upper.mountAgain() == ReplacementRecovery(dropped: 1))
    #expect(try upper.content("f") == exampleContent() && upper.workNames.isEmpty)
  }

  @Test("A file that is being expanded is finished although it is being read") func readers() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    try upper.replaceAndSettle("f", .compressed)
    try upper.begin("f", .expanded)
    let reader = try Descriptor.open(path: upper.open("f"), .readOnly)
    #expect(try upper.mountAgain() == ReplacementRecovery(redone: 1))
    #expect(try upper.bytes("f") == exampleContent())
    _ = consume reader
    // One that is being compressed is not: its bytes may be mapped.
    try upper.replaceAndSettle("f", .compressed)
    try upper.replaceAndSettle("f", .expanded)
    try upper.begin("f", .compressed)
    let other = try Descriptor.open(path: upper.open("f"), .readOnly)
    #expect(try upper.mountAgain() == ReplacementRecovery(kept: 1))
    _ = consume other
    #expect(try upper.mountAgain() == ReplacementRecovery(redone: 1))
    #expect(try upper.content("f") == exampleContent() && upper.form("f") == .compressed)
  }

  @Test("A file that was renamed is found when it is opened") func renamed() throws {
    let upper = try Upper()
    let content = exampleContent()
    try upper.make("f", content)
    try upper.begin("f", .protected)
    try FileManager.default.moveItem(atPath: upper.open("f"), toPath: upper.open("g"))
    #expect(try upper.mountAgain() == ReplacementRecovery(kept: 1))
    try FileManager.default.removeItem(atPath: upper.open("f.link"))
    // Something else under the old name is not taken for it.
    try upper.make("f", [1, 2, 3])
    #expect(try upper.mountAgain() == ReplacementRecovery(kept: 1))
    #expect(try upper.bytes("f") == [1, 2, 3])
    let isRedone = try upper.redo("g")
    #expect(isRedone)
    #expect(try upper.content("g") == content)
    #expect(upper.workNames.isEmpty)
  }

  @Test("However many are left of files that have no path any more, the index of hard links is read once")
  func indexReadOnce() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    let (before, note) = (try upper.appearance("f"), try upper.note(of: "f"))
    let (entries, left) = (300, 40)
    #expect(mkdir(upper.open(".varve/index"), 0o700) == 0)
    for entry in 0..<entries {
      try Data().write(to: URL(fileURLWithPath: upper.open(".varve/index/\(entry)")))
    }
    func leave(_ trailer: ReplacementTrailer, _ name: [UInt8]) throws {
      let bytes = Data(try #require(trailer.encoded()))
      try bytes.write(to: URL(fileURLWithPath: upper.work(String(decoding: name, as: UTF8.self))))
    }
    for number in 0..<left {
      var gone = note
      gone.generation &+= UInt32(number) + 1
      try leave(gone, gone.name)
      try leave(gone, gone.nameOfNote)
    }
    try leave(note, note.nameOfNote)
    try upper.object("f").descriptor.changeTimes(access: .omit, modification: .now)
    #expect(rename(upper.open("f"), upper.open(".varve/index/f")) == 0)
    // A look at each entry, and a few for each file that is left: not one of each for each.
    let (recovery, hits) = Fault(.look, .inputOutput, after: entries + left * 20).during {
      try upper.mountAgain()
    }
    #expect(try recovery.get() == ReplacementRecovery(givenBack: 1, kept: left))
    #expect(hits == 0)
    #expect(rename(upper.open(".varve/index/f"), upper.open("f")) == 0)
    #expect(try upper.appearance("f") == before)
  }

  @Test("A path through a link, or out of the volume, leads nowhere") func paths() throws {
    let upper = try Upper()
    let content = exampleContent()
    for path in ["link/f", "../f", "d/../f", "", "f/f", "d//f", "."] {
      try? FileManager.default.removeItem(atPath: upper.open("f"))
      try? FileManager.default.removeItem(atPath: upper.open("f.link"))
      try upper.make("f", content)
      try? FileManager.default.createSymbolicLink(
        atPath: upper.open("link"), withDestinationPath: upper.path)
      try? FileManager.default.createDirectory(
        atPath: upper.open("d"), withIntermediateDirectories: false)
      let (file, body) = try upper.replaced("f", .protected)
      let astray = ReplacedFile(
        object: file.object, path: Array(path.utf8), present: file.present, final: file.final)
      do {
        var replacement = try Replacement.prepare(astray, as: body, at: upper.site)
        try replacement.begin { false }
      }
      #expect(try upper.mountAgain() == ReplacementRecovery(kept: 1), "\(path)")
      _ = try upper.redo("f")
      #expect(try upper.content("f") == content)
    }
  }

  @Test("A damaged work file is kept, and its file is closed") func damaged() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    try upper.begin("f", .protected)
    let work = upper.open(".varve/work/\(try #require(upper.workNames.first))")
    let whole = try Data(contentsOf: URL(fileURLWithPath: work))
    for damage in [Data(), whole.dropLast(), whole.dropLast(20) + Data(count: 20), whole + Data(count: 1)] {
      try damage.write(to: URL(fileURLWithPath: work))
      // Only in an empty one there is nothing to keep.
      let wanted: ReplacementRecovery = damage.isEmpty ? .init(dropped: 1) : .init(kept: 1)
      #expect(try upper.mountAgain() == wanted)
      #expect(failure { _ = try upper.redo("f") } == .inputOutput)
      #expect(try upper.stored("f").core.isReplacing)
    }
    // Under a number that is not its own.
    try whole.write(to: URL(fileURLWithPath: upper.open(".varve/work/r-1-00000000")))
    try FileManager.default.removeItem(atPath: work)
    #expect(try upper.mountAgain() == ReplacementRecovery(kept: 1))
    #expect(failure { _ = try upper.redo("f") } == .inputOutput)
    try whole.write(to: URL(fileURLWithPath: work))
    #expect(try upper.mountAgain() == ReplacementRecovery(redone: 1, kept: 1))
    #expect(try upper.content("f") == exampleContent())
  }

  @Test("Somebody who has the file open is waited for") func held() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    try upper.begin("f", .protected)
    let reader = try Descriptor.open(path: upper.open("f"), .readOnly)
    #expect(try upper.mountAgain() == ReplacementRecovery(kept: 1))
    #expect(failure { _ = try upper.redo("f") } == .busy)
    _ = consume reader
    #expect(try upper.mountAgain() == ReplacementRecovery(redone: 1))
  }

  @Test("Privileges go to nobody who had not got them", .enabled(if: Upper.isRoot, "changes owners"))
  func privileges() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    try upper.begin("f", .protected)
    // As if somebody had given it away meanwhile, which takes the set-id bits and the capability.
    let object = try upper.object("f")
    try object.descriptor.changeOwner(user: 99, group: nil)
    #expect(try upper.mountAgain() == ReplacementRecovery(redone: 1))
    let after = try upper.appearance("f")
    #expect(after.mode == 0o755 && after.user == 99)
    #expect(after.attributes["security.capability"] == nil)
    #expect(try upper.content("f") == exampleContent())
  }

  @Test("Flags that were set while it waited stay") func flags() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    try upper.begin("f", .protected)
    let present = try upper.stored("f")
    var record = present.core
    record.flags = .noDump
    try upper.store.write(record, list: .keep, over: present, to: try upper.object("f").descriptor)
    #expect(try upper.mountAgain() == ReplacementRecovery(redone: 1))
    #expect(try upper.stored("f").core.flags == .noDump)
    #expect(try upper.stored("f").core.isEncrypted)
  }

  @Test("A mount sweeps everything but replacements, and so does a repair") func swept() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    try upper.begin("f", .protected)
    let work = upper.workNames
    try Data([1]).write(to: URL(fileURLWithPath: upper.open(".varve/work/t-77")))
    try FileManager.default.createDirectory(
      atPath: upper.open(".varve/work/t-78/r-1-2"), withIntermediateDirectories: true)
    // What has such a name, and is no file.
    #expect(symlink("../volume", upper.work("r-9-00000001")) == 0)
    #expect(mkfifo(upper.work("r-9-00000002"), 0o600) == 0)
    #expect(mkdir(upper.work("c-9-00000003"), 0o700) == 0)
    try Sweeper.empty(workshop: upper.workshop)
    #expect(upper.workNames == work)
  }
}
