// Which lookups of directories have been answered with a time that the kernel may not have noted yet.
//
// Why this must be known: the kernel checks a remembered name by asking again (LOOKUP) and then extends the name's time
// without looking at the epoch. A directory has one such name in the kernel, which later lookups take over. So
// an answer with a time that was given while a directory was open to everybody, and that is noted only after the
// directory was closed and looked at once, would let everybody walk by that name. `Volume.lookup` makes names stale
// once more (a new epoch) before it answers, as long as an answer with a time may be under way for the directory it
// found: the kernel reads the epoch before it asks, so that what such a lookup leaves is stale from the start.
//
// A thread asks one thing at a time, so it has at most one answer under way. It has noted it when it asks something
// else, is gone, or sleeps after the answer was delivered: between the two it never sleeps.
//
// The room is bounded. What finds none is answered without a time, which is always right.

import LinuxFiles
import Synchronization

/// The answers with a time about directories that the kernel may not have noted yet.
final class AnswersUnderWay: Sendable {
  private struct Answer {
    let node: NodeID
    let thread: Int32
    /// The number the kernel gave the request.
    let request: UInt64
    /// Whether the kernel has it, so that its thread is no longer waiting for it.
    var isDelivered: Bool
  }

  /// The answers to some of the threads, and how many answers there are about some of the nodes.
  private final class Part: Sendable {
    /// How many there are in `answers`; read without the lock.
    let count = Atomic<Int>(0)
    /// How many answers in all parts are about nodes that belong here.
    let aboutNodes = Atomic<Int>(0)
    let answers: Mutex<[Answer]>

    init() {
      var none: [Answer] = []
      none.reserveCapacity(AnswersUnderWay.room)
      answers = Mutex(none)
    }
  }

  private static let partCount = 128
  /// Answers in one part: 4,096 threads in all.
  private static let room = 32
  /// So many threads are looked at in one lookup; if more may be at work, they are taken to be.
  private static let mostLooks = 8

  private let parts: [Part] = (0..<partCount).map { _ in Part() }

  private func part(of thread: Int32) -> Part {
    parts[Int(UInt32(bitPattern: thread) % UInt32(AnswersUnderWay.partCount))]
  }

  private func part(about node: NodeID) -> Part {
    let mixed = (node ^ (node >> 32)) &* 0x9E37_79B9_7F4A_7C15
    return parts[Int(mixed >> 57)]
  }

  /// Notes that `thread` will be told of a directory with a time; false if there is no room, and then it must not be.
  func add(_ node: NodeID, to thread: Int32, request: UInt64) -> Bool {
    // Thread 0 is none that could be recognized when it asks again.
    guard thread > 0 else { return false }
    let part = part(of: thread)
    return part.answers.withLock { answers in
      guard answers.count < AnswersUnderWay.room else { return false }
      answers.append(Answer(node: node, thread: thread, request: request, isDelivered: false))
      part.count.store(answers.count, ordering: .relaxed)
      self.part(about: node).aboutNodes.add(1, ordering: .sequentiallyConsistent)
      return true
    }
  }

  /// The kernel has been given the answer to a request.
  func delivered(_ request: UInt64, to thread: Int32) {
    let part = part(of: thread)
    guard part.count.load(ordering: .relaxed) > 0 else { return }
    part.answers.withLock { answers in
      guard let index = answers.firstIndex(where: { $0.thread == thread && $0.request == request }) else {
        return
      }
      answers[index].isDelivered = true
    }
  }

  /// A thread asks something: whatever it was told before, it has noted.
  func threadAsks(_ thread: Int32) {
    let part = part(of: thread)
    guard part.count.load(ordering: .relaxed) > 0 else { return }
    remove(from: part) { $0.thread == thread }
  }

  /// Whether an answer about `node` may not have been noted yet.
  ///
  /// Looks at the threads that were answered, and forgets those that have noted it.
  func mayInclude(_ node: NodeID) -> Bool {
    guard part(about: node).aboutNodes.load(ordering: .sequentiallyConsistent) > 0 else { return false }
    var looks = 0
    for part in parts where part.count.load(ordering: .relaxed) > 0 {
      let found = part.answers.withLock { $0.filter { $0.node == node } }
      for answer in found {
        looks += 1
        guard looks <= AnswersUnderWay.mostLooks, AnswersUnderWay.isNoted(answer) else { return true }
        remove(from: part) { $0.thread == answer.thread && $0.request == answer.request }
      }
    }
    return false
  }

  private static func isNoted(_ answer: Answer) -> Bool {
    switch ThreadActivity.of(thread: answer.thread) {
    case .gone: true
    case .asleep: answer.isDelivered
    case .mayBeWorking: false
    }
  }

  private func remove(from part: Part, where isDone: (Answer) -> Bool) {
    part.answers.withLock { answers in
      var index = 0
      while index < answers.count {
        guard isDone(answers[index]) else {
          index += 1
          continue
        }
        self.part(about: answers[index].node).aboutNodes.subtract(1, ordering: .sequentiallyConsistent)
        answers.swapAt(index, answers.count - 1)
        answers.removeLast()
      }
      part.count.store(answers.count, ordering: .relaxed)
    }
  }

  // MARK: For a thread that has the time

  /// Whether some part is half full.
  var isCrowded: Bool {
    parts.contains { $0.count.load(ordering: .relaxed) > AnswersUnderWay.room / 2 }
  }

  /// Forgets what was noted, where room is getting scarce.
  func sweep() {
    for part in parts where part.count.load(ordering: .relaxed) > AnswersUnderWay.room / 2 {
      for answer in part.answers.withLock({ $0 }) where AnswersUnderWay.isNoted(answer) {
        remove(from: part) { $0.thread == answer.thread && $0.request == answer.request }
      }
    }
  }
}
