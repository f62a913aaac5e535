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
    // What nobody wrote, or not to its end.
    let halves = ["", "12", "12\n", "12\nhost a\nlease 10\n", "12\ntoken a"]
    let others = [
      "x\ntoken a\n", "-1\ntoken a\n", "0\ntoken a\n", "12\ntoken a\n" + String(repeating: "1\n", count: 600),
    ]
    for text in halves + others {
      #expect(HolderNote(Array(text.utf8)) == nil, "\(text.prefix(20))")
    }
    let rude = HolderNote(Array("12\nhost a\u{1b}[31m b;c\nboot x\ntoken a\n".utf8))
    #expect(rude?.holder(seenFrom: Self.here) == LockHolder(process: 12, host: "a31mbc"))
  }

  @Test("Who may still believe that it has the lock: another machine, another start, a process that runs")
  func former() {
    var gone: Int32 = 4_000_000
    while kill(gone, 0) == 0 { gone -= 1 }
    let otherBoot = MachineIdentity(hostName: "here", boot: "b-2", processNamespace: 7)
    let otherSpace = MachineIdentity(hostName: "here", boot: "b-1", processNamespace: 8)
    let unknown = MachineIdentity(hostName: "here", boot: nil, processNamespace: nil)
    // In a store, and on a file system of this machine.
    let cases: [(HolderNote, Bool, Bool)] = [
      (note(otherBoot), true, true), (note(otherBoot, process: gone), true, true),
      (note(otherSpace, process: gone), true, true),
      (note(unknown, process: gone), true, true), (note(Self.here, process: 1), true, true),
      (note(Self.here, process: gone), true, false), (note(Self.here, process: getpid()), false, false),
      (note(otherBoot, lease: nil), false, false), (note(otherBoot, end: .ended), false, false),
      (note(Self.here, process: gone, end: .waits), true, true),
      (note(Self.here, process: gone, end: .ended), false, false),
    ]
    for (number, (note, inStore, here)) in cases.enumerated() {
      #expect(note.mayStillWrite(inStore: true, seenFrom: Self.here) == inStore, "case \(number)")
      #expect(note.mayStillWrite(inStore: false, seenFrom: Self.here) == here, "case \(number)")
    }
    // Another process had our number once.
    var other = note(Self.here, process: getpid())
    other.token = "another"
    #expect(other.mayStillWrite(inStore: true, seenFrom: Self.here))
    for (lease, expected) in [(nil, 15_000), (10, 15_000), (20, 30_000), (-5, 15_000), (Int.max, 5_400_000)] {
      #expect(FormerHolder(lease: lease).waiting(atLeast: 15_000) == expected)
    }
  }

  // MARK: A lease

  static func isShort(_ options: inout VolumeOptions) {
    options.disabledFeatures = ["local"]
    (options.leaseTimes.renewal, options.leaseTimes.validity, options.leaseTimes.waiting) = (20, 2_000, 300)
  }

  func wait(_ what: String, until isSo: () throws -> Bool) rethrows {
    let end = Clock.monotonicNanoseconds + 20_000_000_000
    while try !isSo() {
      guard Clock.monotonicNanoseconds < end else {
        Issue.record("in 20 s it did not come to it: \(what)")
        return
      }
      usleep(2_000)
    }
  }

  func lock(_ tree: Tree) throws -> String { try tree.volume().status()["lock"]?.string ?? "" }

  func tree() throws -> Tree {
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

  @Test("Where '.varve' is moved away or removed nothing is changed any more, and a new one waits")
  func moved() throws {
    for isRemoved in [false, true] {
      let tree = try tree()
      _ = try tree.volume()
      #expect(try lock(tree) == "held")
      let (own, aside) = ("\(tree.path)/.varve", "\(tree.path)/d/aside")
      if isRemoved {
        try FileManager.default.removeItem(atPath: own)
      } else {
        #expect(rename(own, aside) == 0)
      }
      let start = Clock.monotonicNanoseconds
      var options = VolumeOptions()
      Self.isShort(&options)
      options.leaseTimes.waiting = 2_500
      let root = SharedDescriptor(try Descriptor.directory(atPath: tree.path))
      let second = try VolumeDirectory.open(root: root, readOnly: false, lease: options.leaseTimes)
      let took = (Clock.monotonicNanoseconds - start) / 1_000_000
      #expect(took >= 2_500, "\(took) ms")
      // What is removed goes piece by piece, and a look can come in between.
      let expected =
        ["lost: '.varve' was removed or replaced"] + (isRemoved ? ["lost: the lock file was removed"] : [])
      let found = try lock(tree)
      #expect(expected.contains { found.hasPrefix($0) }, "\(found)")
      #expect(throws: Errno.readOnly) { try tree.create("new") }
      #expect(second.lock != nil)
    }
  }

  @Test(
    "What an encrypted file owes is not written when the lock is gone", arguments: ["fsync", "lock", "end"])
  func owed(by deed: String) throws {
    let tree = try Tree(Self.isShort) { directory("d") }
    try tree.addKeybag()
    try waitForNobody(tree)
    try tree.unlock()
    try tree.setClass("d", "complete")
    try tree.create("d/f")
    let caller = tree.caller()
    let handle = try tree.at("d/f") { volume, node in
      try volume.open(node, [.read, .write], for: caller).handle
    }
    let volume = try tree.volume()
    func write(_ count: Int, at offset: UInt64) throws {
      var bytes = [UInt8](repeating: 7, count: count)
      var span = bytes.mutableSpan
      _ = try volume.write(handle, at: offset, &span, appends: false, clearsSetID: false, for: caller)
    }
    try write(400_000, at: 0)
    try volume.synchronize(handle, dataOnly: false)
    // The end that is cut off is still there until a commit.
    try write(5_000, at: 3)
    try tree.cut("d/f", to: 70_000, by: handle)
    try write(5_000, at: 20_000)
    unlink("\(tree.path)/.varve/lock")
    try wait("the loss is noticed") { try lock(tree).hasPrefix("lost: ") }
    let before = try tree.stored("d/f")
    switch deed {
    case "fsync": try? volume.synchronize(handle, dataOnly: false)
    case "lock": _ = try tree.lock(.all)
    default: volume.endSessions()
    }
    #expect(try tree.stored("d/f") == before)
    volume.release(handle)
    volume.endSessions()
    #expect(try tree.stored("d/f") == before)
  }

  @Test("A damaged keybag is healed by an unlock, but not without the lock", arguments: [false, true])
  func keybag(isLost: Bool) throws {
    let tree = try Tree(Self.isShort) { directory("d") }
    try tree.addKeybag()
    try waitForNobody(tree)
    let keybag = URL(fileURLWithPath: "\(tree.path)/.varve/keybag")
    let whole = try Data(contentsOf: keybag)
    try Data("torn".utf8).write(to: keybag)
    _ = try tree.volume()
    if isLost {
      unlink("\(tree.path)/.varve/lock")
      try wait("the loss is noticed") { try lock(tree).hasPrefix("lost: ") }
    }
    try tree.unlock()
    let isHealed = try Data(contentsOf: keybag) == whole
    #expect(isHealed == !isLost)
  }

  @Test("A volume that cannot become writable holds nothing, and can be tried again") func becoming() throws {
    let tree = try tree()
    var options = VolumeOptions()
    Self.isShort(&options)
    let root = SharedDescriptor(try Descriptor.directory(atPath: tree.path))
    let directory = try VolumeDirectory.open(root: root, readOnly: true, lease: options.leaseTimes)
    let live = LiveOptions(LiveSettings())
    live.requireLease()
    for _ in 0..<2 {
      #expect(throws: VolumeFailure.self) {
        try directory.becomeWritable { _ in throw VolumeFailure("the lock for writing cannot be kept") }
      }
      #expect(directory.lock == nil && directory.workshop == nil && !directory.isLocked)
      #expect(live.forbidsChanges)
    }
    #expect(throws: VolumeFailure.self) {
      try directory.becomeWritable { _ in
        try directory.beginLease(live)
        #expect(directory.isLocked && !live.forbidsChanges)
        throw VolumeFailure("later")
      }
    }
    #expect(directory.lock == nil && live.forbidsChanges)
    #expect(try directory.becomeWritable { _ in try directory.beginLease(live) } != nil)
    #expect(directory.isLocked && !live.forbidsChanges)
    unlink("\(tree.path)/.varve/lock")
    wait("the loss is noticed") { !directory.isLocked }
    directory.endLease()
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
    #expect(!live.forbidsChanges && !live.current.isReadOnly && !live.lacksLock)
    // A lock that can get lost counts for nothing before its lease begins.
    live.requireLease()
    live.set(LiveSettings())
    #expect(live.forbidsChanges && live.current.isReadOnly && live.lacksLock)
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
}
