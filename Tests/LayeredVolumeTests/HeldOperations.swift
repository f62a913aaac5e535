// Operations that are held up before each of their system calls in turn, while something changes behind the mount.

import Faults
import Glibc
import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

/// What an operation of another thread came to.
private final class Outcome: Sendable {
  private let result = Mutex<Result<Void, any Error>?>(nil)

  var isThere: Bool { result.withLock { $0 != nil } }

  func set(_ new: Result<Void, any Error>) { result.withLock { $0 = new } }

  func get() -> Result<Void, any Error> { result.withLock { $0 } ?? .failure(Errno.canceled) }
}

/// Runs an operation in a world of its own for each of its calls, and holds it up before that call while `behind` changes
/// something; how often it was held up.
///
/// `look` is told what came of it, also of the last one, which nothing has held up. Of the calls every one of `step` is taken,
/// from `first` on, or from an earlier one where there are not that many.
func heldAtEachCall<World: Sendable>(
  from first: Int = 0, step: Int = 1, of operation: @escaping @Sendable (World) throws -> Void,
  in world: () throws -> World,
  behind: (World) throws -> Void, then look: (World, Result<Void, any Error>, Comment) throws -> Void
) throws -> Int {
  var (number, count) = (first, 0)
  while number < 600 {
    let world = try world()
    let (held, outcome) = (HeldCall(.all, after: number), Outcome())
    let thread = try PlainThread { outcome.set(Result { try held.during { try operation(world) } }) }
    while !held.isHeld, !outcome.isThere { usleep(50) }
    let wasHeld = held.isHeld
    let change = Result { if wasHeld { try behind(world) } }
    held.letGo()
    thread.join()
    try change.get()
    let result = outcome.get()
    try look(world, result, "held up at call \(number): \(result)")
    if wasHeld {
      count += 1
      number += step
    } else if count == 0, number > 0 {
      number /= 2
    } else {
      return count
    }
  }
  Issue.record("there was no end of calls")
  return count
}
