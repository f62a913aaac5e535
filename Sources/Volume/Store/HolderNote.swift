// What the lock file says of who has the lock. The lock itself is the kernel's or the server's; the note tells people whom
// to look for, and the next holder whether the last one may still believe that it has the lock.

import LinuxFiles
import Synchronization

/// Who has the lock of a volume, as far as anybody knows.
package struct LockHolder: Equatable, Sendable {
  package var process: Int32?
  /// Another machine than this one.
  package var host: String?
  /// It is a volume that has this one as a layer; which process that is nothing says.
  package var isVolumeAbove = false
}

/// Who had the lock, and may not know yet that it is gone.
struct FormerHolder: Equatable, Sendable {
  var holder = LockHolder()
  /// After how many seconds it stops by itself; nil if it did not say.
  var lease: Int?

  /// Longer than anybody would have to wait.
  private static let longestLease = 3_600

  /// How long to wait, in milliseconds: `usual`, or half as long again as its own lease.
  func waiting(atLeast usual: Int) -> Int {
    max(usual, 1_500 * min(max(lease ?? 0, 0), FormerHolder.longestLease))
  }
}

/// The text of the lock file.
struct HolderNote: Equatable, Sendable {
  /// How a note ends.
  enum End: Equatable, Sendable {
    /// Its writer has the lock, or ended without a word.
    case none
    /// Its writer has not begun: a holder before may still believe that it has the lock.
    case waits
    /// Nobody writes under this note any more.
    case ended
  }

  /// What is longer is none of ours.
  static let longest = 1_024

  var process: Int32
  var machine: MachineIdentity
  /// After how many seconds without a confirmation its writer stops; nil where the lock cannot get lost.
  var lease: Int?
  /// No two notes are the same.
  var token: String
  var end = End.none

  init(lease: Int?, machine: MachineIdentity = .present) {
    process = CurrentProcess.identifier
    self.machine = machine
    self.lease = lease
    token = RandomIdentifier.make()
    let token = token
    HolderNote.own.withLock { _ = $0.insert(token) }
  }

  /// The tokens of this process.
  private static let own = Mutex<Set<String>>([])

  // MARK: The text

  /// A beginning of it is no note, but for one that ends before the last word.
  var text: [UInt8] {
    var lines = ["\(process)", "host \(HolderNote.printable(machine.hostName))"]
    if let boot = machine.boot { lines.append("boot \(boot)") }
    if let namespace = machine.processNamespace { lines.append("pidns \(namespace)") }
    if let lease { lines.append("lease \(lease)") }
    lines.append("token \(token)")
    switch end {
    case .none: break
    case .waits: lines.append("waits")
    case .ended: lines.append("ended")
    }
    return Array((lines.joined(separator: "\n") + "\n").utf8)
  }

  /// Nil for what is no note, or half of one; lines of later versions are passed over.
  init?(_ text: [UInt8]) {
    guard text.count < HolderNote.longest, text.last == UInt8(ascii: "\n") else { return nil }
    let lines = text.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    guard let first = lines.first, let process = Int32(first), process > 0 else { return nil }
    self.process = process
    machine = MachineIdentity(hostName: "", boot: nil, processNamespace: nil)
    token = ""
    for line in lines.dropFirst() {
      let words = line.split(separator: " ", maxSplits: 1)
      let value = words.count > 1 ? String(words[1]) : ""
      switch words.first {
      case "host": machine.hostName = HolderNote.printable(value)
      case "boot": machine.boot = value
      case "pidns": machine.processNamespace = UInt64(value)
      // Whoever has one may not know that it is gone, also where it is not known how long it is.
      case "lease": lease = Int(value) ?? LeaseTimes().seconds
      case "token": token = value
      case "waits": end = .waits
      case "ended": end = .ended
      default: break
      }
    }
    guard !token.isEmpty else { return nil }
  }

  /// Of a host's name what can stand in a line for people, whatever wrote it.
  private static func printable(_ name: String) -> String {
    let kept = name.unicodeScalars.filter { scalar in
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", ".", "-", "_": true
      default: false
      }
    }
    return String(String.UnicodeScalarView(kept.prefix(64)))
  }

  // MARK: What follows from it

  /// Whether who wrote this may go on for a while, although the lock was free.
  ///
  /// `inStore`: also of a process that is gone the store's client may still be carrying out calls.
  func mayStillWrite(inStore: Bool, seenFrom here: MachineIdentity = .present) -> Bool {
    switch end {
    case .ended: return false
    case .waits: return true
    case .none: break
    }
    // Without a lease it is a kernel that keeps the lock, and that lets go of it with the process.
    guard lease != nil else { return false }
    guard let boot = machine.boot, boot == here.boot, let namespace = machine.processNamespace,
      namespace == here.processNamespace
    else { return true }
    if process == CurrentProcess.identifier { return !HolderNote.own.withLock { $0.contains(token) } }
    return inStore || MachineIdentity.mayRun(process)
  }

  func holder(seenFrom here: MachineIdentity = .present) -> LockHolder {
    let isElsewhere = machine.boot != nil && machine.boot != here.boot
    return LockHolder(
      process: process, host: isElsewhere && !machine.hostName.isEmpty ? machine.hostName : nil)
  }
}

extension LockHolder {
  /// Whom the text of a lock file names.
  init(readFrom file: borrowing Descriptor) {
    if (try? file.isLockedShared()) == true {
      isVolumeAbove = true
      return
    }
    let note = (try? file.read(upTo: HolderNote.longest)).flatMap { HolderNote($0) }
    self = note?.holder() ?? LockHolder()
  }
}
