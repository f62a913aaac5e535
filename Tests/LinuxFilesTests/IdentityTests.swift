import CMountSupport
import Glibc
import LinuxFiles
import Synchronization
import Testing

/// What a thread found out, for the test that started it.
private final class Findings<Value: Sendable>: Sendable {
  private let stored: Mutex<Value?> = Mutex(nil)
  var value: Value? { stored.withLock { $0 } }
  func set(_ value: Value) { stored.withLock { $0 = value } }
}

/// Runs `body` on a thread of its own, whose identity ends with it.
private func onOwnThread<Value: Sendable>(
  _ body: @escaping @Sendable () throws(Errno) -> Value
) throws -> Result<Value, Errno>? {
  let findings = Findings<Result<Value, Errno>>()
  let thread = try PlainThread { findings.set(Result { () throws(Errno) in try body() }) }
  thread.join()
  return findings.value
}

/// Holds a thread until another opens it.
private final class Gate: Sendable {
  private let isOpen = Atomic(false)
  func open() { isOpen.store(true, ordering: .releasing) }
  func wait() { while !isOpen.load(ordering: .acquiring) { sched_yield() } }
}

extension LinuxFilesTests {
  @Suite("Identity of threads", .enabled(if: Machine.isRoot, "changing identity needs root"))
  struct IdentityTests {
    @Test("what a thread creates as somebody else is theirs, in a directory closed to them")
    func createsForOthers() throws {
      let world = try TemporaryDirectory()
      try world.descriptor.changeMode(0o700)
      let result = try onOwnThread { () throws(Errno) -> [UInt32] in
        try ThreadIdentity.keepCapabilities()
        let file = try FileName("file")
        let folder = try FileName("folder")
        let other = try FileName("other")
        _ = try world.descriptor.createFile(other, mode: 0o600)
        try ThreadIdentity.become(user: 1_001, group: 2_002)
        _ = try world.descriptor.createFile(file, mode: 0o600)
        try world.descriptor.makeDirectory(folder, mode: 0o700)
        // CAP_FOWNER, CAP_CHOWN and CAP_DAC_OVERRIDE are still there.
        try world.descriptor.changeMode(of: other, 0o000)
        try world.descriptor.changeOwner(of: other, user: 3, group: 4)
        _ = try world.descriptor.open(other, .readWrite)
        try ThreadIdentity.become(user: 0, group: 0)
        let (first, second, third) = try (
          world.descriptor.status(of: file), world.descriptor.status(of: folder),
          world.descriptor.status(of: other)
        )
        let after = try world.descriptor.createFile(try FileName("after"), mode: 0o600).status()
        return [
          first.user, first.group, second.user, second.group, third.user, third.group, after.user,
          after.group,
        ]
      }
      #expect(try result?.get() == [1_001, 2_002, 1_001, 2_002, 3, 4, 0, 0])
    }

    @Test("without keeping capabilities the other user is held off, and the thread comes back whole")
    func losesCapabilities() throws {
      let world = try TemporaryDirectory()
      try world.descriptor.changeMode(0o700)
      let result = try onOwnThread { () throws(Errno) -> Bool in
        let name = try FileName("file")
        var refused = false
        try ThreadIdentity.become(user: 1_001, group: 1_001)
        do throws(Errno) {
          _ = try world.descriptor.createFile(name, mode: 0o600)
        } catch .accessDenied {
          refused = true
        }
        try ThreadIdentity.become(user: 0, group: 0)
        let status = try world.descriptor.createFile(name, mode: 0o600).status()
        return refused && status.user == 0 && status.group == 0
      }
      #expect(try result?.get() == true)
    }

    @Test("an identity stays until the next one; one that cannot be had changes nothing") func stays() throws
    {
      let result = try onOwnThread { () throws(Errno) -> [UInt32?] in
        try ThreadIdentity.keepCapabilities()
        let me = PlainThread.currentIdentifier
        var seen: [UInt32?] = []
        for (user, group) in [(UInt32(7), UInt32(8)), (7, 8), (7, 9), (0, 9), (.max, 0), (5, .max)] {
          do throws(Errno) {
            try ThreadIdentity.become(user: user, group: group)
          } catch .notPermitted {
            seen.append(nil)
          }
          let now = ProcessCredentials.credentials(ofThread: me)
          seen += [now?.fsUser, now?.fsGroup]
        }
        return seen
      }
      #expect(try result?.get() == [7, 8, 7, 8, 7, 9, 0, 9, nil, 0, 9, nil, 0, 9])
      // What one thread becomes is nothing to another.
      let other = try onOwnThread { () throws(Errno) in
        ProcessCredentials.credentials(ofThread: PlainThread.currentIdentifier)?.fsUser
      }
      #expect(try other?.get() == .some(0))
    }

    @Test("the bit belongs to the thread: those it starts later have it, those before and others do not")
    func bitIsPerThread() throws {
      let (early, late) = (Findings<Bool>(), Findings<Bool>())
      let result = try onOwnThread { () throws(Errno) -> [Bool] in
        let before = ThreadIdentity.keepsCapabilities
        let gate = Gate()
        let earlier = try PlainThread {
          gate.wait()
          early.set(ThreadIdentity.keepsCapabilities)
        }
        try ThreadIdentity.keepCapabilities()
        gate.open()
        let later = try PlainThread { late.set(ThreadIdentity.keepsCapabilities) }
        earlier.join()
        later.join()
        return [before, ThreadIdentity.keepsCapabilities]
      }
      #expect(try result?.get() == [false, true])
      #expect(early.value == false && late.value == true)
      let other = try onOwnThread { () throws(Errno) in ThreadIdentity.keepsCapabilities }
      #expect(try other?.get() == false)
    }

    @Test("a thread cannot put groups into its name")
    func hostileName() throws {
      let findings = Findings<[UInt32]?>()
      let thread = try PlainThread(name: "\nGroups:\t7\n") {
        findings.set(supplementaryGroups(ofThread: PlainThread.currentIdentifier))
      }
      thread.join()
      #expect(findings.value == .some(supplementaryGroups(ofThread: getpid())))
      #expect(findings.value != .some([7]))
    }

    @Test("the groups of a thread that leads no process are told, any number of them")
    func groups() throws {
      let former = supplementaryGroups(ofThread: getpid()) ?? []
      defer { _ = former.withUnsafeBufferPointer { setgroups($0.count, $0.baseAddress) } }
      for count in [0, 1, 3, 65_536] {
        let wanted = (0..<count).map { UInt32(truncatingIfNeeded: 4_000_000_000 - 7 * $0) }.sorted()
        let failure = wanted.withUnsafeBufferPointer { setgroups($0.count, $0.baseAddress) }
        #expect(failure == 0)
        let result = try onOwnThread { () throws(Errno) -> ThreadCredentials? in
          let me = PlainThread.currentIdentifier
          return me == getpid() ? nil : ProcessCredentials.credentials(ofThread: me)
        }
        let found = try #require(try result?.get())
        #expect([found.realUser, found.realGroup, found.fsUser, found.fsGroup] == [0, 0, 0, 0])
        #expect(found.groups == wanted && found.capabilities == nil)
      }
    }

    @Test("Capabilities are those of the thread, and none where it is in another user namespace")
    func capabilities() throws {
      let whole = ProcessCredentials.credentials(ofThread: getpid(), withCapabilities: true)?.capabilities
      #expect(try #require(whole) & 0x3FF == 0x3FF)
      let result = try onOwnThread { () throws(Errno) -> UInt64? in
        guard lt_keep_capabilities(1 << 3 | 1 << 9) == 0 else { throw .current }
        let me = PlainThread.currentIdentifier
        return ProcessCredentials.credentials(ofThread: me, withCapabilities: true)?.capabilities
      }
      #expect(try result?.get() == 1 << 3 | 1 << 9)
      let child = pid_t(lt_child_with_own_users())
      try #require(child > 0)
      defer {
        kill(child, SIGKILL)
        waitpid(child, nil, 0)
      }
      #expect(ProcessCredentials.credentials(ofThread: child, withCapabilities: true)?.capabilities == 0)
    }

    @Test("a thread's state and flags are found behind any name") func figures() {
      func figures(_ text: String) -> FiguresParser {
        var parser = FiguresParser()
        for byte in text.utf8 { parser.take(byte) }
        return parser
      }
      func flags(_ text: String) -> UInt32? { figures(text).flags }
      #expect(figures("7 (a) S 1 2 3 4 5 16 6 () R 1 2 3 4 5 80 6 7\n").state == UInt8(ascii: "R"))
      #expect(figures("7 (a").state == nil)
      #expect(flags("7 (sh) S 1 2 3 4 5 4194560 6 7\n") == 4_194_560)
      #expect(flags("7 (a) S 1 2 3 4 5 16 6 () S 1 2 3 4 5 80 6 7\n") == 80)
      for wrong in ["", "7 (sh) S 1 2 3 4 5", "7 (sh) S 1 2 3 4 5 x 6", "7 (sh) S 1 2 3 4 5 99999999999 6"] {
        #expect(flags(wrong) == nil)
      }
    }

    @Test("a thread that does not exist has no groups", arguments: [0, -1, Int32.max, 4_194_305])
    func noThread(_ tid: Int32) {
      #expect(supplementaryGroups(ofThread: tid) == nil)
    }
  }
}

/// All supplementary groups of a thread; nil when it is gone or cannot be read.
private func supplementaryGroups(ofThread tid: Int32) -> [UInt32]? {
  ProcessCredentials.credentials(ofThread: tid)?.groups
}
