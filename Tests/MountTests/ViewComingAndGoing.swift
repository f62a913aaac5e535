// Names that come and go while others look at them through views.

import CMountSupport
import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Randomness
import Synchronization

/// Names that come and go in a directory, each file with its own real name in it; and files that are saved and exchanged.
final class ComingAndGoing: Sendable {
  /// Items that stay, and are shown by a name of their own.
  static let stays = 40
  let directory: String
  /// For how long a view may show what was: 0 for changes through the mount.
  private let grace: UInt64
  let isOver = Atomic<Bool>(false)
  let looks = Atomic<Int>(0)
  let failures: Mutex<[String]> = Mutex([])
  /// When each item that stays was replaced by a later one; how often is in its content.
  private let saves = Mutex([[UInt64]](repeating: [], count: stays))
  /// Counted before and after each time that one is replaced.
  private let replacements = Atomic<Int>(0)
  private let wandered = Atomic<Int>(0)
  private let lastExchange = Atomic<UInt64>(0)
  /// Counted before and after each exchange of two files.
  private let exchanges = Atomic<Int>(0)

  /// `grace`: in nanoseconds, for changes behind the mount.
  init(_ directory: String, grace: UInt64 = 0) throws {
    (self.directory, self.grace) = (directory, grace)
    for number in 0..<ComingAndGoing.stays { try write("stay \(number).txt", "stay \(number).txt 0") }
    for number in 0..<2 { try write("swap \(number).txt", "\(number)") }
    try write("here it is.txt", "")
  }

  /// Never in the directory before its content is.
  private func write(_ name: String, _ text: String) throws {
    if let error = Calls.write("\(directory)/../new", text) { throw TestFailure("new: \(error)") }
    guard rename("\(directory)/../new", "\(directory)/\(name)") == 0 else {
      throw TestFailure("\(name): \(Errno.current)")
    }
  }

  /// As an editor saves.
  private func save(_ number: Int) throws {
    let count = saves.withLock { $0[number].count } + 1
    replacements.add(1, ordering: .sequentiallyConsistent)
    try write("stay \(number).txt", "stay \(number).txt \(count)")
    saves.withLock { $0[number].append(Clock.monotonicNanoseconds) }
    replacements.add(1, ordering: .sequentiallyConsistent)
  }

  /// Gives one file another name, again and again.
  private func wander() throws {
    let (from, to) = wandered.load(ordering: .relaxed) % 2 == 1 ? ("away", "here") : ("here", "away")
    guard rename("\(directory)/\(from) it is.txt", "\(directory)/\(to) it is.txt") == 0 else {
      throw TestFailure("\(from): \(Errno.current)")
    }
    wandered.add(1, ordering: .relaxed)
  }

  private func exchange() throws {
    exchanges.add(1, ordering: .sequentiallyConsistent)
    let result = lt_renameat2(
      AT_FDCWD, "\(directory)/swap 0.txt", AT_FDCWD, "\(directory)/swap 1.txt", 2)
    guard result == 0 else { throw TestFailure("exchange: \(Errno(rawValue: CInt(-result)))") }
    exchanges.add(1, ordering: .sequentiallyConsistent)
    lastExchange.store(Clock.monotonicNanoseconds, ordering: .sequentiallyConsistent)
  }

  /// Waits until others have looked so often meanwhile.
  private func awaitLooks(_ count: Int) throws {
    let wanted = looks.load(ordering: .relaxed) + count
    let deadline = Clock.monotonicNanoseconds &+ 20_000_000_000
    while looks.load(ordering: .relaxed) < wanted, !isOver.load(ordering: .acquiring) {
      guard Clock.monotonicNanoseconds < deadline else { throw TestFailure("nobody looks any more") }
      sched_yield()
    }
  }

  /// Makes `count` changes; with so many looks between one and the next.
  func change(_ count: Int, seed: UInt64, looks: Int = 0) throws {
    var dice = Dice(seed: seed)
    let ends = [".txt", ".md", ".pdf", ""]
    var present: Set<String> = []
    for _ in 0..<count where !isOver.load(ordering: .acquiring) {
      if looks > 0 { try awaitLooks(looks) }
      switch dice.below(5) {
      case 0: try save(dice.below(ComingAndGoing.stays))
      case 1: try exchange()
      case 2: try wander()
      default:
        let name = "x \(dice.below(12))\(dice.pick(ends))"
        if present.remove(name) == nil {
          try write(name, name)
          present.insert(name)
        } else if unlink("\(directory)/\(name)") != 0 {
          throw TestFailure("\(name): \(Errno.current)")
        }
      }
    }
  }

  /// Reads by shown and real names until it is over.
  func read(in view: String, seed: UInt64) {
    var dice = Dice(seed: seed)
    while !isOver.load(ordering: .acquiring) {
      looks.add(1, ordering: .relaxed)
      let number = dice.below(ComingAndGoing.stays)
      switch dice.below(8) {
      case 6: expectLookedUp(number, view, "stay \(number)")
      case 7: expectLookedUp(number, view, "stay \(number).txt")
      case 0: expectLatest(number, view, "stay \(number)")
      case 1: expectLatest(number, view, "stay \(number).txt")
      case 2: expectExchanged(view, "swap \(dice.below(2))")
      case 3: expectExchanged(view, "swap \(dice.below(2)).txt")
      case 4:
        let name = "x \(dice.below(12))"
        let found = Calls.read("\(view)/\(name)")
        // Whatever is shown by that name, or has it.
        if found.refusal != .noSuchFile {
          expect(found, in: [".txt", ".md", ".pdf", ""].map { name + $0 }, name)
        }
      default:
        let name = "x \(dice.below(12)).txt"
        let found = Calls.read("\(view)/\(name)")
        if found.refusal != .noSuchFile { expect(found, in: [name], name) }
      }
    }
  }

  /// Lists again and again, in pieces: what stays is there once.
  func list(_ view: String) {
    while !isOver.load(ordering: .acquiring) {
      looks.add(1, ordering: .relaxed)
      let texts: [String]
      do {
        let listing = try SlowListing(view)
        while !listing.isOver { try listing.read() }
        texts = listing.names
      } catch {
        return fail("\(view) cannot be listed: \(error)")
      }
      let stays = texts.filter { $0.hasPrefix("stay ") }
      if stays != (0..<ComingAndGoing.stays).map({ "stay \($0)" }) { fail("listed: \(stays)") }
      if Set(texts).count != texts.count { fail("twice: \(texts)") }
      // What was listed is opened, if it is there still.
      for name in texts where name.hasPrefix("x ") {
        let found = Calls.read("\(view)/\(name)")
        let names = [name] + [".txt", ".md", ".pdf"].map { name + $0 }
        if found.refusal != .noSuchFile { expect(found, in: names, "listed \(name)") }
      }
      for number in stays.indices { expectLatest(number, view, stays[number]) }
    }
  }

  /// What was saved before the look began, or later.
  private func expectLatest(_ number: Int, _ view: String, _ name: String) {
    let settled = Clock.monotonicNanoseconds &- grace
    let least = saves.withLock { $0[number].count { $0 <= settled } }
    let found = Calls.read("\(view)/\(name)")
    guard case .success(let text) = found, text.hasPrefix("stay \(number).txt "),
      let count = Int(text.dropFirst("stay \(number).txt ".count)), count >= least
    else { return fail("\(name): \(found) after \(least) were saved") }
  }

  /// The item that has the name in the directory, if it had it all the time.
  private func expectLookedUp(_ number: Int, _ view: String, _ name: String) {
    let before = replacements.load(ordering: .sequentiallyConsistent)
    let found = BytePath("\(view)/\(name)").inode
    let real = BytePath("\(directory)/stay \(number).txt").inode
    let after = replacements.load(ordering: .sequentiallyConsistent)
    if found == nil { fail("\(name) is not found") }
    if grace == 0, before == after, before % 2 == 0, found != real { fail("\(name) is another item") }
  }

  /// Whether all that was changed is so for every name.
  func expectSettled(in view: String) {
    for number in 0..<ComingAndGoing.stays {
      let text = "stay \(number).txt \(saves.withLock { $0[number].count })"
      for name in ["stay \(number)", "stay \(number).txt"] {
        let found = Calls.read("\(view)/\(name)")
        if found != .success(text) { fail("\(name): \(found) at last, not \(text)") }
        if BytePath("\(view)/\(name)").inode != BytePath("\(directory)/stay \(number).txt").inode {
          fail("\(name) is another item at last")
        }
      }
    }
    for number in 0..<2 { expectExchanged(view, "swap \(number)") }
    let real = Set((BytePath(directory).names ?? []).map { String(decoding: $0, as: UTF8.self) })
    let listed = BytePath(view).names ?? []
    let back = listed.map { (BytePath(view) / $0).attribute("user.varve.realname") ?? [] }
    if Set(back.map { String(decoding: $0, as: UTF8.self) }) != real || listed.count != real.count {
      fail("lists \(listed.map { String(decoding: $0, as: UTF8.self) }) at last, not \(real)")
    }
  }

  /// What bears the name, if it bore it all the time.
  private func expectExchanged(_ view: String, _ name: String) {
    let before = exchanges.load(ordering: .sequentiallyConsistent)
    let isSettled =
      lastExchange.load(ordering: .sequentiallyConsistent) &+ grace <= Clock.monotonicNanoseconds
    let found = Calls.read("\(view)/\(name)")
    let after = exchanges.load(ordering: .sequentiallyConsistent)
    let number = (name.contains("0") ? 0 : 1) ^ (before / 2 % 2)
    if isSettled, before == after, before % 2 == 0, found != .success("\(number)") {
      fail("\(name): \(found) after \(before / 2) exchanges")
    } else {
      expect(found, in: ["0", "1"], name)
    }
  }

  private func expect(_ found: Result<String, Errno>, in wanted: [String], _ name: String) {
    switch found {
    case .success(let text) where wanted.contains(text): break
    case .success(let text): fail("\(name) opened \(text)")
    case .failure(let error): fail("\(name): \(error)")
    }
  }

  private func fail(_ sentence: String) {
    failures.withLock { $0.append(sentence) }
    isOver.store(true, ordering: .releasing)
  }
}
