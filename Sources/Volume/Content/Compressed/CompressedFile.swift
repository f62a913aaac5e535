// The content of one compressed file that is open, for all its handles. They only read: an open for writing has the
// file expanded first, in place, and its readers follow.
//
// While it is expanded its frames are written over. So before the first byte of them goes, readers are sent to the work file,
// which has the whole content already, and those that are still reading frames are waited for.
//
// Another mount that writes to the volume sends nobody away. Where there may be one, frames that cannot be read are looked at
// once more: the file may have been expanded, or is just being.
//
// For trees that are read more than written: headers and sources took a fifth of the room, and are read from pages at 0.94 of
// the speed of plain ones (docs/performance.md, "Compressed files").

import CompressedFormat
import LinuxFiles
import RecordFormat
import Synchronization

/// The content of a compressed file.
final class CompressedFile: Sendable {
  /// Where readers find the bytes.
  private enum Form {
    case frames
    /// Being expanded: in the work file.
    case copied(SharedDescriptor)
    /// About to be something else; for a moment.
    case changing
    /// In the file, as they are.
    case plain
  }

  private struct State {
    var form = Form.frames
    /// Leads to the file, open for reading.
    var way: SharedDescriptor
  }

  /// Nil for a file without bytes: it was cut, and its record does not say so yet.
  private let frames: FrameFile?
  private let modified: Timestamp
  private let storedSize: UInt64
  private let site: ReplacementSite
  private let state: Mutex<State>
  /// Requests that may be reading frames.
  private let atFrames = Atomic(0)
  /// Requests that may be reading the work file.
  private let atCopy = Atomic(0)

  /// Reads the table of a file that is open for reading.
  ///
  /// EIO where it is damaged.
  init(
    _ file: SharedDescriptor, logicalSize: UInt64, _ cache: FrameCache, at site: ReplacementSite
  ) throws(Errno) {
    let status = try file.descriptor.status()
    frames =
      status.size > 0
      ? try FrameFile(
        file.descriptor, logicalSize: logicalSize, cache, isLogged: { !site.hasWriterElsewhere })
      : nil
    self.site = site
    (modified, storedSize) = (status.modification, status.size)
    state = Mutex(State(form: status.size > 0 ? .frames : .plain, way: file))
  }

  private var logicalSize: UInt64 { frames?.table.logicalSize ?? 0 }
  var way: SharedDescriptor { state.withLock { $0.way } }

  /// Whether a file with this status is still the one whose table this has; a program may have written to it natively.
  func isOf(_ status: FileStatus, storedSize: UInt64) -> Bool {
    guard case .frames = state.withLock({ $0.form }) else { return false }
    return status.modification == modified && storedSize == self.storedSize && status.size == logicalSize
  }

  /// The file was brought up: its copy has the same bytes.
  func follow(_ copy: SharedDescriptor) { state.withLock { $0.way = copy } }

  // MARK: Reading

  func read(at offset: Int64, into bytes: inout MutableSpan<UInt8>) throws(Errno) -> Int {
    guard offset >= 0 else { throw .invalid }
    while true {
      // Counted first, and then asked: a change of the form waits for those who are counted.
      atFrames.add(1, ordering: .sequentiallyConsistent)
      let (form, way) = state.withLock { ($0.form, $0.way) }
      if case .frames = form, let frames {
        defer { atFrames.subtract(1, ordering: .releasing) }
        do throws(Errno) {
          return try frames.read(way.descriptor, at: UInt64(offset), into: &bytes)
        } catch .inputOutput where site.mayBeAtWorkElsewhere {
          try requireExpandedElsewhere(way)
          continue
        }
      }
      atFrames.subtract(1, ordering: .releasing)
      switch form {
      case .plain: return try way.descriptor.readFully(into: &bytes, at: offset)
      case .copied:
        if let count = try readCopy(at: offset, into: &bytes) { return count }
      case .frames, .changing: Clock.pause(milliseconds: 1)
      }
    }
  }

  /// Reads the work file; nil if that is not where the content is any more.
  private func readCopy(at offset: Int64, into bytes: inout MutableSpan<UInt8>) throws(Errno) -> Int? {
    // As at the frames: the work file is emptied when those who are counted have left.
    atCopy.add(1, ordering: .sequentiallyConsistent)
    defer { atCopy.subtract(1, ordering: .releasing) }
    guard case .copied(let work) = state.withLock({ $0.form }) else { return nil }
    // Behind the content of a work file is its trailer.
    guard offset < Int64(clamping: logicalSize) else { return 0 }
    let count = Int(min(UInt64(bytes.count), logicalSize - UInt64(offset)))
    var part = bytes._mutatingExtracting(0..<count)
    return try work.descriptor.readFully(into: &part, at: offset)
  }

  /// Frames cannot be read: has the file other content by now, then that is what is read from now on.
  ///
  /// EIO if it is compressed still. Delayed while another mount expands it.
  private func requireExpandedElsewhere(_ way: SharedDescriptor) throws(Errno) {
    var record = try site.record(of: way).core
    if record.isReplacing {
      guard !site.isAtWorkElsewhere(on: way) else { throw .delayed(.leased) }
      // Or it is done by now.
      record = try site.record(of: way).core
      guard !record.isReplacing else { throw .inputOutput }
    }
    // What was cut to nothing was cut before its record says so.
    let isPlain = !record.isReplacedOrCompressed && !record.isEncrypted
    let size = try way.descriptor.status().size
    guard isPlain || size == 0 else { throw .inputOutput }
    state.withLock { $0.form = .plain }
  }

  func size() throws(Errno) -> UInt64 {
    let (form, way) = state.withLock { ($0.form, $0.way) }
    guard case .plain = form else { return logicalSize }
    return try way.descriptor.status().size
  }

  /// A compressed file has no holes.
  func seek(from offset: Int64, _ origin: SeekOrigin) throws(Errno) -> UInt64 {
    let (form, way) = state.withLock { ($0.form, $0.way) }
    if case .plain = form { return UInt64(try way.descriptor.seek(offset: offset, whence: origin)) }
    guard offset >= 0, UInt64(offset) < logicalSize else { throw .noDevice }
    return origin == .hole ? logicalSize : UInt64(offset)
  }

  // MARK: Another form

  /// Nobody reads frames any more when this returns; readers find the content in the work file, or wait.
  func leaveFrames(for work: SharedDescriptor? = nil) {
    state.withLock { $0.form = work.map { .copied($0) } ?? .changing }
    // Those who come now see the new form at once.
    while atFrames.load(ordering: .acquiring) > 0 { Clock.pause(milliseconds: 1) }
  }

  /// The file has its bytes as they are now; nobody reads the work file any more when this returns.
  func becomePlain() {
    state.withLock { $0.form = .plain }
    while atCopy.load(ordering: .acquiring) > 0 { Clock.pause(milliseconds: 1) }
  }

  /// Nothing came of it.
  func returnToFrames() { state.withLock { $0.form = frames == nil ? .plain : .frames } }
}
