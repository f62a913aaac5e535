import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Names for requests") struct NameServiceTests {
  private final class Log: Sendable {
    let asked = Mutex<[NameService.Query]>([])
    let answered = Bell()
    let goesOn = Atomic(false)
  }

  /// Rings may outnumber the rounds of questions, as each thread of a user rings: what counts is that answers are there.
  private static func areAnswered(_ names: [String], for user: UInt32, by service: NameService) -> Bool {
    let deadline = Clock.monotonicNanoseconds + 10_000_000_000
    while Clock.monotonicNanoseconds < deadline {
      let missing = names.contains { name in
        if case .number(7) = service.answer(to: .user(name), for: user) { return false }
        return true
      }
      guard missing else { return true }
      Clock.pause(milliseconds: 1)
    }
    return false
  }

  @Test("A name is asked once for all requests of a user, and each user has answers of their own") func once()
  {
    let log = Log()
    let service = NameService { question in
      log.asked.withLock { $0.append(question) }
      return .number(7)
    }
    service.whenAnswered { log.answered.ring() }
    #expect(service.answer(to: .user("ann"), for: 1001) == nil)
    for _ in 0..<100 { service.ask([.user("ann"), .user("ben"), .user("ann")], for: 1001) }
    #expect(log.answered.wait(milliseconds: 10_000))
    #expect(NameServiceTests.areAnswered(["ann", "ben"], for: 1001, by: service))
    service.ask([.user("ann")], for: 1002)
    #expect(NameServiceTests.areAnswered(["ann"], for: 1002, by: service))
    #expect(service.answer(to: .user("ben"), for: 1002) == nil)
    #expect(log.asked.withLock { $0.count } == 3)
  }

  @Test("A user whose names hang holds up no other, and their questions are given up") func hanging() throws {
    let log = Log()
    let service = NameService { question in
      if case .user("slow") = question {
        while !log.goesOn.load(ordering: .acquiring) { Clock.pause(milliseconds: 1) }
      }
      if case .user("slower") = question {
        while !log.goesOn.load(ordering: .acquiring) { Clock.pause(milliseconds: 1) }
      }
      return .number(nil)
    }
    defer { log.goesOn.store(true, ordering: .releasing) }
    service.whenAnswered { log.answered.ring() }
    service.ask([.user("slow"), .user("slower"), .user("quick")], for: 1001)
    service.ask([.user("quick")], for: 1002)
    #expect(log.answered.wait(milliseconds: 10_000))
    guard case .number(nil) = service.answer(to: .user("quick"), for: 1002) else {
      Issue.record("the second user was held up")
      return
    }
    let deadline = Clock.monotonicNanoseconds + 10_000_000_000
    while service.answer(to: .user("quick"), for: 1001) == nil, Clock.monotonicNanoseconds < deadline {
      Clock.pause(milliseconds: 10)
    }
    guard case .late = service.answer(to: .user("quick"), for: 1001) else {
      Issue.record("an answer that did not come was not given up")
      return
    }
  }

  @Test("Which lock an object has cannot be told from outside") func key() throws {
    let directory = try Descriptor.directory(atPath: "/")
    let identity = ObjectIdentity(try directory.status())
    #expect(identity.generation != UInt32(truncatingIfNeeded: identity.hash))
  }
}
