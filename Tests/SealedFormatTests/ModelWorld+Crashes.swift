// What a kill or a power cut may leave, and what it may not.

import CrashDisk
import Randomness
import SealedFormat

extension ModelWorld {
  // MARK: Crashes

  func crash() {
    // What a failed sync left in the page cache is not on the disk, and nobody can tell.
    let isCut = dice.once(in: 2) || writer?.state.owesAfterFailure == true
    disk.writesLeft = nil
    let creation = disk.isCreationDurable
    if isCut {
      findings.cuts += 1
      trace.append("POWER CUT")
      disk.losePower(&dice)
    } else {
      findings.kills += 1
      trace.append("KILL")
    }
    newMount()
    defer { interrupted = nil }
    guard disk.pages > 0 else {
      check(ModelContent(), isCut: isCut)
      return
    }
    do {
      let view = try ModelReader(disk: disk, rules: rules).view(hasEnded)
      check(try ModelReader(disk: disk, rules: rules).content(view), isCut: isCut)
    } catch {
      if isCut && !creation, (error as? ModelFailure) != nil { return startAgain() }
      fail(\.falseErrors, "\(error)")
    }
  }

  /// A new file of which nothing was ever synced may be lost.
  func startAgain() {
    try? disk.cut(to: 0)
    try? disk.sync()
    current = ModelContent()
    history = [current]
  }

  func check(_ found: ModelContent, isCut: Bool) {
    var allowed = history
    if !isCut {
      // The page cache is whole: the last operation is done, not done, or done in part.
      allowed = Array(history.suffix(2))
      if let (before, after) = interrupted, found != before, found != after, found.size == before.size {
        fail(\.wrong, "half a truncation")
      }
    }
    if !allowed.contains(where: { $0.size == found.size }) {
      fail(\.wrong, "size \(found.size), not \(Set(allowed.map(\.size)).sorted())")
    }
    for number in Set(allowed.flatMap(\.blocks.keys)).union(found.blocks.keys)
    where number * 4096 < found.size {
      let words = found[number]
      if !allowed.contains(where: { ModelContent.cut($0[number], of: number, at: found.size) == words }) {
        fail(\.wrong, "block \(number)")
      }
    }
    current = found
    // After a kill the disk itself is still as old as before.
    history = isCut ? [found] : history + [found]
  }
}
