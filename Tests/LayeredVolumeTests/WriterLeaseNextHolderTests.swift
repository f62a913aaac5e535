// Who takes the lock after a holder that may not know that it is gone.

import Decisions
import Foundation
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

extension WriterLeaseTests {
  static let elsewhere = MachineIdentity(hostName: "there", boot: "another", processNamespace: nil)

  /// A volume that a mount with a lease left, with another text of the lock file.
  func leave(_ tree: Tree, _ text: [UInt8]?) throws {
    _ = try tree.volume()
    tree.close()
    try waitForNobody(tree)
    let path = "\(tree.path)/.varve/lock"
    if let text { try Data(text).write(to: URL(fileURLWithPath: path)) } else { unlink(path) }
  }

  /// The thread of a lease may be looking at the lock for a moment still.
  func waitForNobody(_ tree: Tree) throws {
    let root = try Descriptor.directory(atPath: tree.path)
    wait("nobody has the lock") { VolumeUse.of(root) { _ in true } == .nobody }
  }

  func text(_ tree: Tree) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: URL(fileURLWithPath: "\(tree.path)/.varve/lock")))
  }

  @Test(
    "Who finds another machine without a clean end waits, and a second one after a crash meanwhile as well")
  func waits() throws {
    var ended = HolderNote(lease: 1, machine: Self.elsewhere)
    ended.end = .ended
    var waiting = HolderNote(lease: 1)
    waiting.end = .waits
    let torn = Array(ended.text.dropLast(20))
    // Half as long again as the lease of the former holder, 300 ms at least.
    let cases: [(String, [UInt8]?, UInt64?)] = [
      ("another machine", HolderNote(lease: 1, machine: Self.elsewhere).text, 1_500),
      ("a clean end", ended.text, nil),
      ("without a lease", HolderNote(lease: nil, machine: Self.elsewhere).text, nil),
      ("one that waited", waiting.text, 1_500),
      ("no lock file", nil, 300), ("an empty one", [], 300), ("half a note", torn, 300),
      ("another process's note", Array("x".utf8), 300),
    ]
    for (name, former, expected) in cases {
      let tree = try tree()
      try leave(tree, former)
      let start = Clock.monotonicNanoseconds
      _ = try tree.volume()
      let took = (Clock.monotonicNanoseconds - start) / 1_000_000
      #expect(took >= expected ?? 0 && (expected != nil || took < 300), "\(name): \(took) ms")
      let left = HolderNote(try text(tree))
      #expect(left?.end == HolderNote.End.none && left?.machine == .present && left?.lease == 2, "\(name)")
      try tree.volume().giveUpLock()
      #expect(try String(decoding: text(tree), as: UTF8.self).hasSuffix("\nended\n"), "\(name)")
      #expect(throws: Errno.readOnly) { try tree.create("new") }
    }
  }

  @Test("Nothing is written over the note of another mount, neither after the waiting nor at the end")
  func overwritten() throws {
    let tree = try tree()
    try leave(tree, HolderNote(lease: 1, machine: Self.elsewhere).text)
    let root = SharedDescriptor(try Descriptor.directory(atPath: tree.path))
    let directory = try VolumeDirectory.openOwn(in: root)
    var times = LeaseTimes()
    (times.validity, times.waiting) = (2_000, 0)
    let other = HolderNote(lease: 1, machine: Self.elsewhere).text
    guard
      case .taken(let lock, unsettled: let former?) = try VolumeDirectory.tryLock(
        in: directory, of: root, lease: times)
    else {
      Issue.record("the lock is taken, and waits")
      return
    }
    #expect(HolderNote(try text(tree))?.end == .waits)
    try Data(other).write(to: URL(fileURLWithPath: "\(tree.path)/.varve/lock"))
    #expect(throws: VolumeFailure.self) {
      try VolumeDirectory.settle(lock, after: FormerHolder(holder: former.holder), times)
    }
    #expect(try text(tree) == other)
    #expect(try !lock.end())
    #expect(try text(tree) == other)
  }

  @Test("A look leaves the note of who may still write, and a repair waits") func inspection() throws {
    let tree = try tree()
    let elsewhere = HolderNote(lease: 1, machine: Self.elsewhere)
    try leave(tree, elsewhere.text)
    let root = SharedDescriptor(try Descriptor.directory(atPath: tree.path))
    var times = LeaseTimes()
    (times.validity, times.waiting) = (1_000, 100)
    // It holds the lock for as long as it lives.
    do {
      let look = try VolumeInspection(of: root, for: .looking, leaseTimes: times)
      #expect(try "\(look.use)" == "nobody" && text(tree) == elsewhere.text)
    }
    let start = Clock.monotonicNanoseconds
    let repair = try VolumeInspection(of: root, for: .repairing, leaseTimes: times)
    #expect("\(repair.use)" == "nobody")
    #expect(Clock.monotonicNanoseconds - start >= 1_500_000_000)
    let left = HolderNote(try text(tree))
    #expect(left?.machine == .present && left?.end == HolderNote.End.none && left?.lease == nil)
  }

  @Test("A volume whose lock is lost does not become writable by an option") func lostForGood() throws {
    let tree = try tree()
    try leave(tree, nil)
    let volume = try tree.volume()
    var wanted = volume.options
    wanted.rules.isReadOnly = true
    try volume.change(to: wanted)
    try FileManager.default.removeItem(atPath: "\(tree.path)/.varve/lock")
    wanted.rules.isReadOnly = false
    for _ in 0..<500 where volume.directory.lockDescription?.hasPrefix("lost") != true {
      Clock.pause(milliseconds: 10)
    }
    let failure = #expect(throws: ChangeRefusal.self) { try volume.change(to: wanted) }
    #expect("\(failure.map { "\($0)" } ?? "")".contains("the lock file was removed; unmount and mount again"))
    #expect(volume.options.isReadOnly)
  }

  @Test(
    "A note whose lease cannot be read is of a mount with a lease",
    arguments: ["x", "99999999999999999999", ""])
  func unreadLease(_ word: String) {
    let note = String(decoding: HolderNote(lease: 1, machine: Self.elsewhere).text, as: UTF8.self)
    let other = HolderNote(Array(note.replacing("lease 1\n", with: "lease \(word)\n").utf8))
    #expect(other?.mayStillWrite(inStore: false) == true && other?.lease == LeaseTimes().seconds)
  }

  @Test("A mount that does not come about does not make the next one wait") func tookBack() throws {
    let tree = try tree()
    try leave(tree, nil)
    try tree.volume().takeBack()
    #expect(HolderNote(try text(tree))?.end == .ended)
  }

  @Test("In a store a repair waits, keeps its lock, and says when it has ended; a look leaves no lease")
  func repair() throws {
    let tree = try tree()
    try leave(tree, HolderNote(lease: 1, machine: Self.elsewhere).text)
    let root = SharedDescriptor(try Descriptor.directory(atPath: tree.path))
    var times = LeaseTimes()
    (times.validity, times.waiting) = (1_000, 100)
    let start = Clock.monotonicNanoseconds
    do {
      let inspection = try VolumeInspection(of: root, for: .repairing, leaseTimes: times, isStore: true)
      #expect((Clock.monotonicNanoseconds - start) / 1_000_000 >= 1_500)
      #expect("\(inspection.use)" == "nobody")
      #expect(HolderNote(try text(tree))?.end == HolderNote.End.none)
      #expect(throws: Never.self) { try inspection.letRecordsCount() }
    }
    #expect(HolderNote(try text(tree))?.end == .ended)
    do {
      let look = try VolumeInspection(of: root, for: .looking, leaseTimes: times, isStore: true)
      #expect("\(look.use)" == "nobody")
    }
    #expect(HolderNote(try text(tree))?.end == .ended)
    let inspection = try VolumeInspection(of: root, for: .repairing, leaseTimes: times, isStore: true)
    try inspection.requireLock()
    unlink("\(tree.path)/.varve/lock")
    wait("the repair stops") { (try? inspection.requireLock()) == nil }
    #expect(throws: Errno.busy) { try inspection.letRecordsCount() }
    // A look does not take the missing file's place.
    _ = try VolumeInspection(of: root, for: .looking, leaseTimes: times, isStore: true)
    #expect(HolderNote(try text(tree)) == nil)
  }
}
