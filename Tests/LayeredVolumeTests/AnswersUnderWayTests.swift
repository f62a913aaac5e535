// Which answers the kernel may not have noted yet.

import Glibc
import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Answers under way") struct AnswersUnderWayTests {
  /// A thread that runs or sleeps until it is told to end.
  private final class Other: Sendable {
    private let number = Atomic<Int32>(0)
    private let isOver = Atomic(false)
    private let thread: Mutex<PlainThread?> = Mutex(nil)

    init(sleeps: Bool) throws {
      thread.withLock { thread in
        thread = try? PlainThread(name: "other") {
          self.number.store(PlainThread.currentIdentifier, ordering: .releasing)
          while !self.isOver.load(ordering: .acquiring) { if sleeps { usleep(1_000) } }
        }
      }
      while number.load(ordering: .acquiring) == 0 { sched_yield() }
    }

    var id: Int32 { number.load(ordering: .acquiring) }

    func end() {
      isOver.store(true, ordering: .releasing)
      thread.withLock { $0.take() }?.join()
    }
  }

  @Test("An answer is under way until its thread asks something else")
  func asksAgain() throws {
    let answers = AnswersUnderWay()
    let busy = try Other(sleeps: false)
    defer { busy.end() }
    #expect(!answers.mayInclude(7))
    #expect(answers.add(7, to: busy.id, request: 1))
    #expect(answers.mayInclude(7))
    #expect(!answers.mayInclude(8))
    answers.delivered(1, to: busy.id)
    // It may not have run since.
    #expect(answers.mayInclude(7))
    answers.threadAsks(busy.id)
    #expect(!answers.mayInclude(7))
  }

  @Test("A thread that sleeps has noted its answer, if it was delivered")
  func sleeps() throws {
    let answers = AnswersUnderWay()
    let idle = try Other(sleeps: true)
    defer { idle.end() }
    #expect(answers.add(7, to: idle.id, request: 3))
    // It may be asleep because it waits for this very answer.
    #expect(answers.mayInclude(7))
    // The end of an earlier request says nothing about this one.
    answers.delivered(2, to: idle.id)
    #expect(answers.mayInclude(7))
    answers.delivered(3, to: idle.id)
    let deadline = Clock.monotonicNanoseconds &+ 10_000_000_000
    while answers.mayInclude(7), Clock.monotonicNanoseconds < deadline { sched_yield() }
    #expect(!answers.mayInclude(7))
  }

  @Test("A thread that is gone notes nothing any more")
  func gone() throws {
    let answers = AnswersUnderWay()
    let short = try Other(sleeps: true)
    let id = short.id
    #expect(answers.add(7, to: id, request: 1))
    #expect(answers.mayInclude(7))
    short.end()
    #expect(!answers.mayInclude(7))
  }

  @Test("There is room for a bounded number of answers, and what finds none is refused")
  func room() throws {
    let answers = AnswersUnderWay()
    let busy = try Other(sleeps: false)
    defer { busy.end() }
    #expect(!answers.add(7, to: 0, request: 1), "a thread without a number")
    var taken = 0
    // Numbers of threads that are there and work, as far as anybody can tell: each of them is this one's.
    while taken < 100_000, answers.add(UInt64(taken), to: busy.id, request: UInt64(taken)) { taken += 1 }
    #expect(taken == 32)
    #expect(answers.isCrowded)
    answers.sweep()
    #expect(answers.isCrowded, "nothing of it was noted")
    #expect(answers.mayInclude(31))
    answers.threadAsks(busy.id)
    #expect(!answers.isCrowded)
    #expect((0..<32).allSatisfy { !answers.mayInclude($0) })
  }

  @Test("Where room is getting scarce, what sleeping threads have noted is forgotten")
  func sweeps() throws {
    let answers = AnswersUnderWay()
    let idle = try Other(sleeps: true)
    defer { idle.end() }
    for request in 0..<UInt64(20) {
      #expect(answers.add(request, to: idle.id, request: request))
      answers.delivered(request, to: idle.id)
    }
    #expect(answers.isCrowded)
    let deadline = Clock.monotonicNanoseconds &+ 10_000_000_000
    while answers.isCrowded, Clock.monotonicNanoseconds < deadline { answers.sweep() }
    #expect(!answers.isCrowded)
  }
}
