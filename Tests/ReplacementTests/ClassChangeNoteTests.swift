// What a change of class takes away from a file is noted before, and given back by the next mount after a crash.

import Foundation
import Glibc
import LinuxFiles
import RecordFormat
import Testing

@testable import LayeredVolume

@Suite("Notes of what a change of class takes away") struct ClassChangeNoteTests {
  /// What a crash leaves: the file was written to, and the note is there.
  private func crash(_ upper: Upper, in name: String, at path: String? = nil) throws {
    let object = try upper.object(name)
    let status = try object.descriptor.status()
    let note = ReplacementTrailer(
      .plain, inode: status.inode, generation: status.workGeneration, mode: status.mode, user: status.user,
      group: status.group,
      modified: .init(
        seconds: status.modification.seconds, nanoseconds: status.modification.nanoseconds),
      storedSize: 0, size: 0, record: CoreRecord(), capability: Upper.isRoot ? Upper.capability : [],
      path: Array((path ?? name).utf8))
    var kept = Data()
    try upper.site.noting(note) { () throws(Errno) in
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
    let status = try upper.object("f").descriptor.status()
    let note = ReplacementTrailer(
      .plain, inode: status.inode, generation: 0, mode: 0, user: 0, group: 0,
      modified: .init(seconds: 0, nanoseconds: 0), storedSize: 0, size: 0, record: CoreRecord(), path: [])
    #expect(throws: Errno.readOnly) { try site.noting(note) { Issue.record("it begins") } }
  }
}
