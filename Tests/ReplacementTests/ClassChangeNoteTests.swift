// What a change of class takes away from a file is noted before, and given back by the next mount after a crash.

import Faults
import Foundation
import Glibc
import LinuxFiles
import Randomness
import RecordFormat
import SealedFormat
import Testing

@testable import LayeredVolume

@Suite("Notes of what a change of class takes away") struct ClassChangeNoteTests {
  /// What a crash leaves: the file was written to, and the note is there.
  private func crash(_ upper: Upper, in name: String, at path: String? = nil) throws {
    let (object, note) = (try upper.object(name), try upper.note(of: name, at: path))
    var kept = Data()
    try upper.site.noting(note, of: object, restore: {}) { () throws(Errno) in
      #expect(upper.workNames == [String(decoding: note.nameOfNote, as: UTF8.self)])
      kept = (try? Data(contentsOf: work(upper, note))) ?? Data()
      let file = try object.descriptor.reopen(.readWrite)
      try file.writeAll([1, 2, 3], at: 0)
    }
    #expect(upper.workNames.isEmpty)
    try kept.write(to: work(upper, note))
  }

  private func work(_ upper: Upper, _ note: ReplacementTrailer) -> URL {
    URL(fileURLWithPath: upper.open(".varve/work/\(String(decoding: note.nameOfNote, as: UTF8.self))"))
  }

  @Test("Time, set-id bits and capability are given back once, and the bytes stay") func givenBack() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    let before = try upper.appearance("f")
    try crash(upper, in: "f")
    #expect(try upper.appearance("f") != before)
    #expect(try upper.mountAgain() == ReplacementRecovery(givenBack: 1))
    #expect(try upper.appearance("f") == before)
    #expect(try upper.bytes("f").starts(with: [1, 2, 3]))
    #expect(upper.workNames.isEmpty)
    // What is written from now on is not taken back.
    try upper.object("f").descriptor.changeTimes(access: .omit, modification: .now)
    #expect(try upper.mountAgain() == ReplacementRecovery())
    #expect(try upper.appearance("f").modified != before.modified)
  }

  @Test("A note whose file is elsewhere, or which is damaged, is removed", arguments: ["g", "d/../f", ""])
  func notFound(_ path: String) throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    try upper.make("g", [1])
    try crash(upper, in: "f", at: path)
    let (after, other) = (try upper.appearance("f"), try upper.appearance("g"))
    #expect(try upper.mountAgain() == ReplacementRecovery())
    #expect(try upper.appearance("f") == after && upper.appearance("g") == other)
    #expect(upper.workNames.isEmpty)
    try Data(count: 100).write(to: URL(fileURLWithPath: upper.open(".varve/work/c-1-00000000")))
    #expect(try upper.mountAgain() == ReplacementRecovery())
    #expect(upper.workNames.isEmpty)
    // A directory is no note, and no reason not to mount.
    #expect(mkdir(upper.work("c-1-00000000"), 0o700) == 0)
    #expect(try upper.mountAgain() == ReplacementRecovery())
  }

  @Test("A file that only the index of hard links leads to is found") func indexed() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    let before = try upper.appearance("f")
    try crash(upper, in: "f")
    #expect(mkdir(upper.open(".varve/index"), 0o700) == 0)
    try Data([1]).write(to: URL(fileURLWithPath: upper.open(".varve/index/0")))
    #expect(rename(upper.open("f"), upper.open(".varve/index/1")) == 0)
    #expect(try upper.mountAgain() == ReplacementRecovery(givenBack: 1))
    #expect(rename(upper.open(".varve/index/1"), upper.open("f")) == 0)
    #expect(try upper.appearance("f") == before)
  }

  @Test(
    "Who owns the file by now gets no privileges of another", .enabled(if: Upper.isRoot, "changes owners"))
  func owner() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    try crash(upper, in: "f")
    try upper.object("f").descriptor.changeOwner(user: 99, group: nil)
    #expect(try upper.mountAgain() == ReplacementRecovery(givenBack: 1))
    let after = try upper.appearance("f")
    #expect(after.mode == 0o755 && after.attributes["security.capability"] == nil)
    #expect(after.modified == Timestamp(seconds: 1_600_000_000, nanoseconds: 7))
  }

  @Test("Without room for the note, or without the lock for writing, nothing is changed") func refused()
    throws
  {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    let site = ReplacementSite(of: upper.directory, store: upper.store, lacksLock: { true })
    let (object, note) = (try upper.object("f"), try upper.note(of: "f"))
    #expect(throws: Errno.readOnly) {
      try site.noting(note, of: object, restore: {}) { Issue.record("it begins") }
    }
  }

  @Test(
    "A power cut in a change of class, or after it, leaves what the file had before, or what was synced since"
  )
  func powerCuts() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    try upper.replaceAndSettle("f", .protected)
    let before = try upper.appearance("f")
    let start = try PowerlessDisk(of: upper, "f")
    let change = try start.record(upper, "f") { try upper.changeClass("f", to: .untilFirstUnlock) }
    #expect(try upper.appearance("f") == before)
    // What a write takes away, and then it is synced.
    let changed = try PowerlessDisk(of: upper, "f")
    let write = try changed.record(upper, "f") {
      let file = try upper.object("f").descriptor.reopen(.readWrite)
      try file.writeAll([1, 2, 3], at: 0)
      try file.changeMode(0o755)
      try file.sync()
    }
    let after = try upper.appearance("f")
    #expect(after.modified != before.modified && after.mode != before.mode)
    #expect(!Upper.isRoot || after.attributes["security.capability"] == nil)
    try #require(write.last?.isSync == true)
    var dice = Dice(for: "power cuts in a change of class")
    let events = change + write
    var givenBack = 0
    for calls in 0...events.count {
      for round in 0..<20 {
        var disk = start
        for event in events[..<calls] { disk.take(event) }
        try disk.cut(&dice).build(upper, "f")
        givenBack += try upper.mountAgain().givenBack
        let found = try upper.appearance("f")
        let moment = "after \(calls) of \(change.count) and \(write.count) calls, round \(round)"
        #expect(upper.workNames.isEmpty, "\(moment)")
        if calls <= change.count { #expect(found == before, "\(moment)") }
        if calls == events.count { #expect(found == after, "\(moment)") }
      }
    }
    print(
      "\(change.count) calls of a change of class, \(write.count) after it; \(givenBack) times given back")
    #expect(givenBack > 40)
  }

  @Test("A power cut after a change of class that failed takes nothing from the file")
  func powerCutsAfterFailures() throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    try upper.replaceAndSettle("f", .protected)
    let before = try upper.appearance("f")
    var dice = Dice(for: "power cuts after a change of class that failed")
    var failures = 0
    for calls in 0... {
      let start = try PowerlessDisk(of: upper, "f")
      var hits = 0
      let events = try start.record(upper, "f") {
        hits =
          Fault([.write, .sync], .inputOutput, after: calls).during {
            try? upper.changeClass("f", to: .untilFirstUnlock)
          }.hits
      }
      guard hits > 0 else { break }
      failures += 1
      for round in 0..<20 {
        var disk = start
        for event in events { disk.take(event) }
        try disk.cut(&dice).build(upper, "f")
        try upper.mountAgain()
        #expect(try upper.appearance("f") == before, "call \(calls), round \(round)")
      }
    }
    // The note, its name, both headers, the note again, each synced.
    #expect(failures >= 7)
  }

  @Test(
    "Unless its note is emptied, or removed for good, a change of class fails, and a mount",
    arguments: [CallKinds.write, .sync, .name, [.write, .name], [.sync, .name], [.write, .sync, .name]])
  func staying(_ kinds: CallKinds) throws {
    let upper = try Upper()
    try upper.make("f", exampleContent())
    let wanted: Errno? = kinds.contains(.sync) || kinds == [.write, .name] ? .inputOutput : nil
    // The note is written, synced, renamed, and its name synced.
    let passing =
      (kinds.contains(.write) ? 1 : 0) + (kinds.contains(.sync) ? 2 : 0) + (kinds.contains(.name) ? 1 : 0)
    let (object, note) = (try upper.object("f"), try upper.note(of: "f"))
    var isBegun = false
    let (change, _) = Fault(kinds, .inputOutput, after: passing, count: .max >> 1).during {
      try upper.site.noting(note, of: object, restore: {}) { () throws(Errno) in isBegun = true }
    }
    #expect(isBegun && failure { try change.get() } == wanted)
    // What stays says nothing.
    if wanted == nil { #expect(try upper.mountAgain() == ReplacementRecovery() && upper.workNames.isEmpty) }
    try upper.mountAgain()

    let before = try upper.appearance("f")
    try crash(upper, in: "f")
    let (mount, _) = Fault(kinds, .inputOutput, count: .max >> 1).during {
      try upper.site.recover(beneath: upper.root)
    }
    #expect(failure { _ = try mount.get() } == wanted)
    // Nobody was served meanwhile, so it may be given back once more.
    #expect(try upper.mountAgain() == ReplacementRecovery(givenBack: wanted == nil ? 0 : 1))
    #expect(try upper.appearance("f") == before && upper.workNames.isEmpty)
  }
}
