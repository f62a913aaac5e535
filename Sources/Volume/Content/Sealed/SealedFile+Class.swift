// Another class for a file that has content: its key stays, and is wrapped anew in both static sectors.
//
//   step                                               a crash then leaves
//   1  the sector that is not in use                   that one old, torn or new; the other one opens
//   2  fdatasync                                       the same
//   3  the sector in use                               it old, torn or new; the first one is new, and opens
//   4  fsync, which takes the times along              both new
//   5  the marker in the record: the caller's          the header is right, and the marker is not
//
// The sector in use is the first one, unless that is damaged. Between two openings nothing but the wrapping differs, so
// readers and writers go on meanwhile.

import LinuxFiles
import SealedFormat
import Synchronization

extension SealedFile {
  /// Gives the file to another class; false if it has no header, so that only the marker changes.
  ///
  /// `wrap` makes the static sector of the class. `restoreTimes` follows each write at once: a crash is to leave the times
  /// as they were. ENOKEY while the old class is locked, or no file of the new one can be made. One change at a time: the
  /// caller has the node to itself. After an error the file is of either class, and opens with the keys of both.
  func changeClass(
    restoreTimes: () throws(Errno) -> Void = {},
    _ wrap: (FileKeys) throws(Errno) -> StaticSector
  ) throws(Errno) -> Bool {
    guard let identity = try currentIdentity() else { return false }
    try requireClass(of: identity)
    let sector = try wrap(identity.keys)
    guard sector.file == identity.keys.file else { throw .invalid }
    var bytes = [UInt8](repeating: 0, count: StaticSector.size)
    var span = bytes.mutableSpan
    try encode(sector, into: &span)
    for half in [identity.half.other, identity.half] {
      guard try replaceHeader(half, with: bytes, of: identity.keys) else { return false }
      try restoreTimes()
      // As any fsync: what a failed one loses of the content has to be known.
      try synchronize(dataOnly: half != identity.half)
    }
    state.withLock { state in
      guard state.identity?.keys === identity.keys else { return }
      state.identity = SealedState.Identity(sector: sector, keys: identity.keys)
    }
    return true
  }

  /// Nil for a file without bytes; keys it may have got for its first ones are of the old class.
  private func currentIdentity() throws(Errno) -> SealedState.Identity? {
    turn.withLock { _ in
      state.withLock { state in
        if state.pages == 0 { state.becomeEmpty() }
        return state.identity
      }
    }
  }

  /// The keys of a file that is open stay when its class is locked; they do not give it to another one.
  private func requireClass(of identity: SealedState.Identity) throws(Errno) {
    let page = try indexPage(0)
    let start = StaticSector.offset(identity.half)
    _ = try surroundings.keys(from: page.bytes.span.extracting(start..<start + StaticSector.size))
  }

  /// Writes one static sector; false if the file has lost its header meanwhile.
  private func replaceHeader(
    _ half: Half, with bytes: [UInt8], of keys: FileKeys
  ) throws(Errno) -> Bool {
    try turn.withLock { (_) throws(Errno) in
      guard state.withLock({ $0.pages > 0 && $0.identity?.keys === keys }) else { return false }
      var page = try indexPage(0)
      let start = StaticSector.offset(half)
      do throws(Errno) {
        try store.write(bytes.span, at: UInt64(start))
      } catch {
        // Some of it may be there.
        state.withLock { $0.index.drop(0) }
        throw error
      }
      page.bytes.replaceSubrange(start..<start + StaticSector.size, with: bytes)
      state.withLock { $0.index.wrote(0, page) }
      return true
    }
  }
}
