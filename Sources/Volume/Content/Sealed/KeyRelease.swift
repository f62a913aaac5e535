// Files whose keys go with a lock: in threads, because one whose disk hangs keeps its own key, and no other's.

import LinuxFiles
import Synchronization

/// The files that are let go of by one lock.
final class KeyRelease: Sendable {
  struct File: Sendable {
    /// Nil for a file that the kernel has forgotten.
    let node: NodeID?
    let object: SealedObject
  }

  private struct State {
    /// Positions in the list of files; those that somebody is at work on stay here.
    var waiting: [Int]
    var left: Set<Int>
    var threads = 0
  }

  private static let mostThreads = 64

  private let files: [File]
  private let letGo: @Sendable (File) -> Void
  private let state: Mutex<State>

  /// Lets go at once of files that owe nothing; for the others there is `letGo`, which may wait for a disk.
  init(of files: [File], by letGo: @escaping @Sendable (File) -> Void) {
    self.files = files
    self.letGo = letGo
    let waiting = files.indices.filter { !files[$0].object.lockDownAtOnce() }
    state = Mutex(State(waiting: waiting.reversed(), left: Set(waiting)))
  }

  /// Waits until all are let go of and nothing else is at work; those that are not when the time is over.
  ///
  /// Of those that nobody had come to by then the keys are forgotten without that anything is written.
  func run(atMost nanoseconds: UInt64, alsoWhile isBusy: () -> Bool) -> [File] {
    let end = Clock.monotonicNanoseconds + nanoseconds
    var pause: UInt32 = 1
    while state.withLock({ !$0.left.isEmpty }) || isBusy() {
      guard Clock.monotonicNanoseconds < end else { break }
      addThread()
      Clock.pause(milliseconds: pause)
      pause = min(pause * 2, 16)
    }
    let (givenUp, left) = state.withLock { state in
      defer { state.waiting = [] }
      return (state.waiting, state.left)
    }
    // A request that hangs has the key as long as it hangs; with its end the key is wiped.
    for index in givenUp { files[index].object.abandon() }
    return left.map { files[$0] }
  }

  /// One more, as long as there is something to do: those that are there may all be waiting for a disk.
  private func addThread() {
    let isWanted = state.withLock { state in
      guard state.threads < KeyRelease.mostThreads, next(in: state) != nil else { return false }
      state.threads += 1
      return true
    }
    guard isWanted else { return }
    do throws(Errno) {
      _ = try PlainThread(name: "lock") { self.work() }
    } catch {
      work()
    }
  }

  private func work() {
    while let index = take() {
      letGo(files[index])
      state.withLock { _ = $0.left.remove(index) }
    }
    state.withLock { $0.threads -= 1 }
  }

  private func take() -> Int? {
    state.withLock { state in next(in: state).map { state.waiting.remove(at: $0) } }
  }

  private func next(in state: borrowing State) -> Int? {
    state.waiting.lastIndex { !files[$0].object.isBusy }
  }
}
