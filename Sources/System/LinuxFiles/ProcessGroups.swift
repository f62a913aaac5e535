import CLinux

// Who a calling thread is, from /proc. FUSE tells user and group of a request, not its other groups.

/// What a thread may do to files, as far as ids tell.
package struct ThreadCredentials: Sendable, Equatable {
  package let realUser: UInt32
  package let realGroup: UInt32
  package let fsUser: UInt32
  package let fsGroup: UInt32
  package let groups: [UInt32]

  package init(
    realUser: UInt32, realGroup: UInt32, fsUser: UInt32, fsGroup: UInt32, groups: [UInt32]
  ) {
    self.realUser = realUser
    self.realGroup = realGroup
    self.fsUser = fsUser
    self.fsGroup = fsGroup
    self.groups = groups
  }

  /// Whether a request with these ids can have come from this thread.
  ///
  /// access(2) asks with the real ids, everything else with those for files.
  package func canHaveAsked(user: UInt32, group: UInt32) -> Bool {
    (user == fsUser && group == fsGroup) || (user == realUser && group == realGroup)
  }
}

/// The supplementary groups of other threads.
package enum ProcessGroups {
  /// All supplementary groups of the thread `tid`; nil when it is gone or cannot be read.
  package static func supplementaryGroups(ofThread tid: Int32) -> [UInt32]? {
    credentials(ofThread: tid)?.groups
  }

  /// The file-system ids and groups of the thread `tid`, which need not lead its process.
  ///
  /// Nil when it is gone or cannot be read. The id may belong to another thread by now: ask
  /// ``ThreadCredentials/canHaveAsked(user:group:)``. Linux writes the text in one piece, so the three fit together.
  package static func credentials(ofThread tid: Int32) -> ThreadCredentials? {
    guard tid > 0, let opened = try? retrying({ lv_open_thread_status(tid) }) else { return nil }
    let file = Descriptor(adopting: opened.asCInt)
    var parser = StatusParser()
    return unsafe withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
      var offset: Int64 = 0
      while !parser.isDone {
        // Any failure means the thread ended; the caller learns that by nil.
        guard let count = unsafe try? file.read(into: buffer, at: offset), count > 0 else { return nil }
        for index in 0..<count where !parser.isDone { unsafe parser.take(buffer[index]) }
        offset += Int64(count)
      }
      return parser.credentials
    }
  }
}

/// Reads "Uid:", "Gid:" and "Groups:" from the text of /proc/TID/status, byte by byte.
///
/// A thread cannot smuggle lines in through its name: the kernel escapes line ends there.
struct StatusParser {
  /// Set at the end of the "Groups:" line, which comes after the two others.
  private(set) var isDone = false

  private enum Field { case none, user, group, groups }
  private var field = Field.none
  // The text before the colon, last eight bytes, newest lowest.
  private var key: UInt64 = 0
  private var number: UInt32?
  private var isDamaged = false
  private var columns = 0
  private var realUser: UInt32?
  private var realGroup: UInt32?
  private var fsUser: UInt32?
  private var fsGroup: UInt32?
  private var groups: [UInt32] = []

  var credentials: ThreadCredentials? {
    guard isDone, !isDamaged, let realUser, let realGroup, let fsUser, let fsGroup else { return nil }
    return ThreadCredentials(
      realUser: realUser, realGroup: realGroup, fsUser: fsUser, fsGroup: fsGroup, groups: groups)
  }

  mutating func take(_ byte: UInt8) {
    if byte == UInt8(ascii: "\n") {
      endNumber()
      isDone = field == .groups
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
    case 0x55_69_64: field = .user  // Uid
    case 0x47_69_64: field = .group  // Gid
    case 0x47_72_6F_75_70_73: field = .groups  // Groups
    default: key = .max  // No line has two keys; a longer text never matches again.
    }
  }

  private mutating func takeNumber(_ byte: UInt8) {
    guard let digit = decimalDigit(byte) else { return endNumber() }
    let (scaled, tooLarge) = (number ?? 0).multipliedReportingOverflow(by: 10)
    let (sum, overflow) = scaled.addingReportingOverflow(UInt32(digit))
    if tooLarge || overflow { isDamaged = true }
    number = sum
  }

  private mutating func endNumber() {
    guard let value = number else { return }
    number = nil
    columns += 1
    switch field {
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
