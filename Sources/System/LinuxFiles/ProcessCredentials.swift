import CLinux

// Who a calling thread is, from /proc. FUSE tells user and group of a request, not its other groups, and not what root
// may do.

/// What a thread may do to files.
package struct ThreadCredentials: Sendable, Equatable {
  package var realUser: UInt32
  package var realGroup: UInt32
  package var fsUser: UInt32
  package var fsGroup: UInt32
  package var groups: [UInt32]
  /// The effective capabilities as a mask, none where they are those of another user namespace; nil if they were not
  /// asked for or cannot be found out.
  package var capabilities: UInt64?

  /// Whether a request with these ids can have come from this thread.
  ///
  /// access(2) asks with the real ids, everything else with those for files.
  package func canHaveAsked(user: UInt32, group: UInt32) -> Bool {
    (user == fsUser && group == fsGroup) || (user == realUser && group == realGroup)
  }
}

/// The credentials of other threads.
package enum ProcessCredentials {
  /// The file-system ids and groups of the thread `tid`, which need not lead its process, and its capabilities if they
  /// are wanted.
  ///
  /// Nil when it is gone or cannot be read. The id may belong to another thread by now: ask
  /// ``ThreadCredentials/canHaveAsked(user:group:)``. Linux writes the text in one piece, so all of it fits together.
  package static func credentials(
    ofThread tid: Int32, withCapabilities: Bool = false
  ) -> ThreadCredentials? {
    guard let (found, leader) = status(ofThread: tid, withCapabilities) else { return nil }
    // The leader itself is none of the kernel's workers.
    guard leader != tid else { return found }
    var credentials = found
    guard let isWorker = isRingWorker(tid, of: leader) else { return nil }
    guard isWorker else { return credentials }
    // It carries what its process was when the kernel made it, and works for what the process is now. Of that only the
    // leader is known, so what both have counts.
    guard let present = status(ofThread: leader, withCapabilities)?.0 else { return nil }
    let groups = Set(present.groups).union([present.fsGroup, present.realGroup])
    credentials.groups.removeAll { !groups.contains($0) }
    credentials.capabilities = credentials.capabilities.flatMap { mask in
      present.capabilities.map { mask & $0 }
    }
    return credentials
  }

  private static func status(
    ofThread tid: Int32, _ withCapabilities: Bool
  ) -> (ThreadCredentials, leader: Int32)? {
    guard tid > 0, let opened = try? retrying({ lv_open_thread_status(tid) }) else { return nil }
    var parser = StatusParser(withCapabilities: withCapabilities)
    let isRead = read(Descriptor(adopting: opened.asCInt)) { byte in
      parser.take(byte)
      return !parser.isDone
    }
    guard isRead, var credentials = parser.credentials, let leader = parser.leader else { return nil }
    if credentials.capabilities != nil {
      switch try? retrying({ lv_shares_users(tid) }) {
      case 1: break
      case 0: credentials.capabilities = 0
      default: credentials.capabilities = nil
      }
    }
    return (credentials, leader)
  }

  /// Whether the kernel made a thread to carry out what a process has put into an io_uring.
  private static func isRingWorker(_ tid: Int32, of leader: Int32) -> Bool? {
    figures(ofThread: tid, of: leader)?.flags.map { $0 & FiguresParser.ringWorker != 0 }
  }

  /// The numbers of a thread; `process` may be any thread of its process.
  static func figures(ofThread tid: Int32, of process: Int32) -> FiguresParser? {
    guard let opened = try? retrying({ lv_open_thread_figures(process, tid) }) else { return nil }
    var parser = FiguresParser()
    // Longer than the text, and small enough for the stack.
    let isRead = read(Descriptor(adopting: opened.asCInt), pageSize: 512) { byte in
      parser.take(byte)
      return true
    }
    return isRead ? parser : nil
  }

  /// Gives a file of /proc to `take`, byte by byte, until that has enough; whether it could be read.
  private static func read(
    _ file: borrowing Descriptor, pageSize: Int = 4_096, _ take: (UInt8) -> Bool
  ) -> Bool {
    unsafe withUnsafeTemporaryAllocation(byteCount: pageSize, alignment: 8) { buffer in
      var offset: Int64 = 0
      while true {
        // Any failure means the thread ended.
        guard let count = unsafe try? file.read(into: buffer, at: offset) else { return false }
        for index in 0..<count {
          guard unsafe take(buffer[index]) else { return true }
        }
        // The kernel fills what it is given as long as there is text.
        guard count == pageSize else { return true }
        offset += Int64(count)
      }
    }
  }
}

/// Reads ids, groups and capabilities from the text of /proc/TID/status, byte by byte.
///
/// A thread cannot smuggle lines in through its name: the kernel escapes line ends there.
struct StatusParser {
  /// Set at the end of the last line that is wanted.
  private(set) var isDone = false
  /// The thread that leads the process.
  private(set) var leader: Int32?

  private enum Field { case none, leader, user, group, groups, capabilities }
  private let last: Field
  private var field = Field.none
  // The text before the colon, last eight bytes, newest lowest.
  private var key: UInt64 = 0
  private var number: UInt64?
  private var isDamaged = false
  private var columns = 0
  private var realUser: UInt32?
  private var realGroup: UInt32?
  private var fsUser: UInt32?
  private var fsGroup: UInt32?
  private var groups: [UInt32] = []
  private var capabilities: UInt64?

  init(withCapabilities: Bool) {
    // That line comes after all others.
    last = withCapabilities ? .capabilities : .groups
  }

  var credentials: ThreadCredentials? {
    guard isDone, !isDamaged, let realUser, let realGroup, let fsUser, let fsGroup else { return nil }
    return ThreadCredentials(
      realUser: realUser, realGroup: realGroup, fsUser: fsUser, fsGroup: fsGroup, groups: groups,
      capabilities: capabilities)
  }

  mutating func take(_ byte: UInt8) {
    if byte == UInt8(ascii: "\n") {
      endNumber()
      isDone = field == last
      (field, key, columns) = (.none, 0, 0)
    } else if field != .none {
      takeNumber(byte)
    } else if byte == UInt8(ascii: ":") {
      startField()
    } else {
      key = key << 8 | UInt64(byte)
    }
  }

  private mutating func startField() {
    switch key {
    case 0x54_67_69_64: field = .leader  // Tgid
    case 0x55_69_64: field = .user  // Uid
    case 0x47_69_64: field = .group  // Gid
    case 0x47_72_6F_75_70_73: field = .groups  // Groups
    case 0x43_61_70_45_66_66: field = .capabilities  // CapEff
    default: key = .max  // No line has two keys; a longer text never matches again.
    }
  }

  private mutating func takeNumber(_ byte: UInt8) {
    let base: UInt64 = field == .capabilities ? 16 : 10
    guard let digit = hexadecimalDigit(byte), digit < base else { return endNumber() }
    let (scaled, tooLarge) = (number ?? 0).multipliedReportingOverflow(by: base)
    let (sum, overflow) = scaled.addingReportingOverflow(digit)
    if tooLarge || overflow { isDamaged = true }
    number = sum
  }

  private mutating func endNumber() {
    guard let value = number else { return }
    number = nil
    columns += 1
    if field == .capabilities {
      capabilities = value
      return
    }
    guard let value = UInt32(exactly: value) else {
      isDamaged = true
      return
    }
    switch field {
    case .leader: leader = Int32(exactly: value)
    // Real, effective, saved, file system.
    case .user where columns == 1: realUser = value
    case .group where columns == 1: realGroup = value
    case .user where columns == 4: fsUser = value
    case .group where columns == 4: fsGroup = value
    case .groups: groups.append(value)
    default: break
    }
  }
}

/// Reads state and flags from the text of /proc/TID/stat, byte by byte.
///
/// The second word is the thread's name in parentheses, which may hold anything, more of them as well.
package struct FiguresParser {
  package init() {}

  /// PF_IO_WORKER.
  static let ringWorker: UInt32 = 0x10

  /// The letter of what the thread is doing, the third word.
  package private(set) var state: UInt8?

  /// The ninth word; nil if there is none.
  package var flags: UInt32? { words >= 7 && !isDamaged ? value : nil }

  /// Words since the last closing parenthesis; below 0 in front of the first.
  private var words = Int.min
  private var value: UInt32?
  private var isDamaged = false

  package mutating func take(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: ")"): (words, state, value, isDamaged) = (0, nil, nil, false)
    case UInt8(ascii: " "): words += 1
    default:
      if words == 1 { state = byte }
      guard words == 7 else { return }
      // A word that is no number is not believed.
      guard let digit = decimalDigit(byte) else {
        isDamaged = true
        return
      }
      let (scaled, tooLarge) = (value ?? 0).multipliedReportingOverflow(by: 10)
      let (sum, overflow) = scaled.addingReportingOverflow(UInt32(digit))
      (value, isDamaged) = (sum, isDamaged || tooLarge || overflow)
    }
  }
}

private func hexadecimalDigit(_ byte: UInt8) -> UInt64? {
  if let digit = decimalDigit(byte) { return UInt64(digit) }
  guard (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte) else { return nil }
  return UInt64(byte - UInt8(ascii: "a") + 10)
}
