import Foundation
import Glibc
import JSONForm
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("The writer's lease", .timeLimit(.minutes(1))) struct WriterLeaseTests {
  // MARK: What the lock file says

  private static let here = MachineIdentity(hostName: "here", boot: "b-1", processNamespace: 7)

  private func note(
    _ machine: MachineIdentity, lease: Int? = 10, process: Int32 = getppid(), end: HolderNote.End = .none
  ) -> HolderNote {
    var note = HolderNote(lease: lease, machine: machine)
    note.process = process
    note.end = end
    return note
  }

  @Test("A note says everything again when it is read, and what is none says nothing") func text() throws {
    let elsewhere = MachineIdentity(hostName: "there", boot: "b-2", processNamespace: nil)
    for machine in [Self.here, elsewhere] {
      for lease in [nil, 10] {
        for end in [HolderNote.End.none, .waits, .ended] {
          let written = note(machine, lease: lease, end: end)
          #expect(HolderNote(written.text) == written)
        }
      }
    }
    #expect(note(Self.here).text != note(Self.here).text, "two notes can be told apart")
    // What earlier versions wrote, and what nobody did.
    #expect(HolderNote(Array("12\n".utf8))?.process == 12)
    #expect(HolderNote(Array("12\n".utf8))?.mayStillWrite(seenFrom: Self.here) == false)
    for text in ["", "12", "x\n", "-1\nhost a\n", "0\n", String(repeating: "1\n", count: 600)] {
      #expect(HolderNote(Array(text.utf8)) == nil, "\(text.prefix(20))")
    }
    let rude = HolderNote(Array("12\nhost a\u{1b}[31m b;c\nboot x\n".utf8))
    #expect(rude?.holder(seenFrom: Self.here) == LockHolder(process: 12, host: "a31mbc"))
  }

  @Test("Who may still believe that it has the lock: another machine, another start, a process that runs")
  func former() {
    var gone: Int32 = 4_000_000
    while kill(gone, 0) == 0 { gone -= 1 }
    let otherBoot = MachineIdentity(hostName: "here", boot: "b-2", processNamespace: 7)
    let otherSpace = MachineIdentity(hostName: "here", boot: "b-1", processNamespace: 8)
    let unknown = MachineIdentity(hostName: "here", boot: nil, processNamespace: nil)
    let cases: [(HolderNote, Bool)] = [
      (note(otherBoot), true), (note(otherBoot, process: gone), true),
      (note(otherSpace, process: gone), true),
      (note(unknown, process: gone), true), (note(Self.here, process: 1), true),
      (note(Self.here, process: gone), false), (note(Self.here, process: getpid()), false),
      (note(otherBoot, lease: nil), false), (note(otherBoot, end: .ended), false),
      (note(Self.here, process: gone, end: .waits), true),
    ]
    for (number, (note, expected)) in cases.enumerated() {
      #expect(note.mayStillWrite(seenFrom: Self.here) == expected, "case \(number)")
    }
  }

  // MARK: A lease

  private static func isShort(_ options: inout VolumeOptions) {
    options.disabledFeatures = ["local"]
    (options.leaseTimes.renewal, options.leaseTimes.validity, options.leaseTimes.waiting) = (20, 2_000, 1_500)
  }

  private func wait(_ what: String, until isSo: () throws -> Bool) rethrows {
    let end = Clock.monotonicNanoseconds + 20_000_000_000
    while try !isSo() {
      guard Clock.monotonicNanoseconds < end else {
        Issue.record("in 20 s it did not come to it: \(what)")
        return
      }
      usleep(2_000)
    }
  }

  private func lock(_ tree: Tree) throws -> String { try tree.volume().status()["lock"]?.string ?? "" }

  private func tree() throws -> Tree {
    try Tree(Self.isShort) {
      file("old", "text")
      directory("d")
    }
  }

  /// Every way of changing something, and what can be done without.
  private func changes(_ tree: Tree, _ handle: HandleID) -> [(String, () throws -> Void)] {
    [
      ("create", { try tree.create("new") }), ("mkdir", { try tree.makeDirectory("new") }),
      ("link", { try tree.link("old", as: "new") }), ("rename", { try tree.rename("old", to: "new") }),
      ("flags", { try tree.setAttribute("old", "system.varve.flags", "hidden") }),
      ("write", { try write(tree, handle, "more") }),
    ]
  }

  private func write(_ tree: Tree, _ handle: HandleID, _ text: String) throws {
    var bytes = Array(text.utf8)
    var span = bytes.mutableSpan
    _ = try tree.volume().write(
      handle, at: 0, &span, appends: false, clearsSetID: false, for: tree.caller())
  }

  private func open(_ tree: Tree) throws -> HandleID {
    try tree.at("old") { volume, node in
      try volume.open(node, [.read, .write], for: tree.caller()).handle
    }
  }

  @Test("Without the lock nothing is changed, also through open files, and reading goes on")
  func removed() throws {
    let tree = try tree()
    let handle = try open(tree)
    #expect(try lock(tree) == "held")
    try write(tree, handle, "TEXT")
    unlink("\(tree.path)/.varve/lock")
    try wait("the loss is noticed") { try lock(tree).hasPrefix("lost: the lock file was removed") }
    for (name, change) in changes(tree, handle) {
      #expect(throws: Errno.readOnly, "\(name)") { try change() }
    }
    var bytes = [UInt8](repeating: 0, count: 8)
    var span = bytes.mutableSpan
    var isSecret = false
    let count = try tree.volume().read(handle, at: 0, into: &span, isSecret: &isSecret)
    #expect(count == 4 && bytes.starts(with: "TEXT".utf8))
    #expect(throws: Never.self) { try tree.lookup("d") }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: tree.path).sorted() == [".varve", "d", "old"])
    // A remount does not bring it back, and the end writes nothing.
    let volume = try tree.volume()
    #expect(throws: Never.self) { try volume.change(to: LiveSettings()) }
    #expect(throws: Errno.readOnly) { try tree.create("new") }
    volume.giveUpLock()
    #expect(access("\(tree.path)/.varve/lock", F_OK) == -1)
  }

  @Test("While the store gives no answer nothing is changed, and afterwards everything goes on")
  func unanswered() throws {
    let tree = try tree()
    let handle = try open(tree)
    let directory = SharedDescriptor(try Descriptor.directory(atPath: "\(tree.path)/.varve"))
    func exchange() throws {
      try directory.descriptor.rename(
        try FileName("lock"), to: directory.descriptor, as: try FileName("away"), .exchange)
    }
    // To open a directory for writing is an error that says nothing of the lock.
    mkdir("\(tree.path)/.varve/away", 0o700)
    try exchange()
    try wait("the lease runs out") { try tree.volume().options.isReadOnly }
    for (name, change) in changes(tree, handle) {
      #expect(throws: Errno.readOnly, "\(name)") { try change() }
    }
    try wait("the status says so") { try lock(tree).hasPrefix("not confirmed: ") }
    try exchange()
    try wait("the lock is confirmed again") { try lock(tree) == "held" }
    for (name, change) in changes(tree, handle).reversed() {
      #expect(throws: Never.self, "\(name)") { try change() }
      for made in ["new"] where !["flags", "write", "rename"].contains(name) {
        #expect(remove("\(tree.path)/\(made)") == 0)
      }
      if name == "rename" { #expect(rename("\(tree.path)/new", "\(tree.path)/old") == 0) }
    }
  }

  @Test("Somebody else's note ends the lease for good, and so does somebody else's lock for the time being")
  func taken() throws {
    let tree = try tree()
    _ = try tree.volume()
    let path = "\(tree.path)/.varve/lock"
    let note = try Data(contentsOf: URL(fileURLWithPath: path))
    let other = MachineIdentity(hostName: "far-away", boot: "another", processNamespace: nil)
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try handle.write(contentsOf: Data(HolderNote(lease: 10, machine: other).text))
    try wait("the loss is noticed") { try lock(tree).hasPrefix("lost: process \(getpid()) on far-away has ") }
    // Not even when the former note is there again.
    try note.write(to: URL(fileURLWithPath: path))
    try wait("the store was asked again") { try tree.volume().options.isReadOnly }
    #expect(throws: Errno.readOnly) { try tree.create("new") }
  }

  @Test("A lease that has run out counts before anybody has noticed it") func late() {
    let live = LiveOptions(LiveSettings())
    #expect(!live.forbidsChanges && !live.current.isReadOnly)
    live.beginLease(until: Clock.nanosecondsSinceBoot + 60_000_000_000)
    #expect(!live.forbidsChanges && !live.current.isReadOnly)
    // As after a sleep of the machine.
    live.extendLease(until: Clock.nanosecondsSinceBoot - 1)
    #expect(live.forbidsChanges && live.current.isReadOnly && !live.wanted.isReadOnly)
    live.set(LiveSettings())
    #expect(live.forbidsChanges && live.current.isReadOnly)
    live.extendLease(until: Clock.nanosecondsSinceBoot + 60_000_000_000)
    #expect(!live.forbidsChanges && !live.current.isReadOnly)
  }

  // MARK: The next holder

  /// A volume that a mount with a lease left, with another note.
  private func leave(_ tree: Tree, _ note: HolderNote?) throws {
    _ = try tree.volume()
    tree.close()
    // The thread of the lease may be looking at the lock for a moment still.
    let root = try Descriptor.directory(atPath: tree.path)
    wait("nobody has the lock") { VolumeUse.of(root) { _ in true } == .nobody }
    let path = "\(tree.path)/.varve/lock"
    if let note { try Data(note.text).write(to: URL(fileURLWithPath: path)) } else { unlink(path) }
  }

  @Test(
    "Who finds another machine without a clean end waits, and a second one after a crash meanwhile as well")
  func waits() throws {
    let elsewhere = MachineIdentity(hostName: "there", boot: "another", processNamespace: nil)
    var ended = HolderNote(lease: 10, machine: elsewhere)
    ended.end = .ended
    var waiting = HolderNote(lease: 10)
    waiting.end = .waits
    let cases: [(String, HolderNote?, Bool)] = [
      ("another machine", HolderNote(lease: 10, machine: elsewhere), true), ("a clean end", ended, false),
      ("without a lease", HolderNote(lease: nil, machine: elsewhere), false),
      ("one that waited", waiting, true),
      ("no lock file", nil, true),
    ]
    for (name, note, expected) in cases {
      let tree = try tree()
      try leave(tree, note)
      let start = Clock.monotonicNanoseconds
      _ = try tree.volume()
      let took = (Clock.monotonicNanoseconds - start) / 1_000_000
      #expect((took >= 1_500) == expected, "\(name): \(took) ms")
      let left = HolderNote(try [UInt8](Data(contentsOf: URL(fileURLWithPath: "\(tree.path)/.varve/lock"))))
      #expect(left?.end == HolderNote.End.none && left?.machine == .present && left?.lease == 2, "\(name)")
      try tree.volume().giveUpLock()
      let text = try String(contentsOfFile: "\(tree.path)/.varve/lock", encoding: .utf8)
      #expect(text.hasSuffix("\nended\n"), "\(name)")
      #expect(throws: Errno.readOnly) { try tree.create("new") }
    }
  }

  @Test("A look leaves the note of who may still write, and a repair refuses") func inspection() throws {
    let tree = try tree()
    let elsewhere = HolderNote(
      lease: 10, machine: MachineIdentity(hostName: "there", boot: "another", processNamespace: nil))
    try leave(tree, elsewhere)
    let root = SharedDescriptor(try Descriptor.directory(atPath: tree.path))
    for purpose in [VolumeInspection.Purpose.looking, .repairing] {
      let use = "\(try VolumeInspection(of: root, for: purpose).use)"
      #expect(purpose == .looking ? use == "nobody" : use.contains("there"))
      let text = try [UInt8](Data(contentsOf: URL(fileURLWithPath: "\(tree.path)/.varve/lock")))
      #expect(text == elsewhere.text)
    }
  }
}
