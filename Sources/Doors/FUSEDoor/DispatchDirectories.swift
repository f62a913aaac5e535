// Requests about open directories.

import CFUSE
import LayeredVolume
import LinuxFiles

extension Door {
  func openDirectory(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) -> Undo {
    // The flags of the caller's open(2) have nothing to say about a directory.
    let (handle, use) = try volume.openDirectory(request.node, for: request.caller)
    try buffer.appendOpenDirectory(handle, use)
    return .release(handle)
  }

  func readDirectory(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) {
    try list(request, &buffer, withEntries: false)
  }

  /// Lists with what a lookup of each name would answer.
  ///
  /// Each name that comes with its entry counts as one more reference of the kernel.
  func readDirectoryWithEntries(
    _ request: borrowing Request, _ buffer: inout ReplyBuffer
  ) throws(Errno) -> Undo {
    try list(request, &buffer, withEntries: true)
    return .forgetListed
  }

  private func list(
    _ request: borrowing Request, _ buffer: inout ReplyBuffer, withEntries: Bool
  ) throws(Errno) {
    let input = try request.read(fuse_read_in.self)
    let limit = Int(input.size)
    do throws(Errno) {
      try volume.readDirectory(
        input.fh, from: Int64(bitPattern: input.offset), withAttributes: withEntries, for: request.caller
      ) { name, listed in
        buffer.appendListed(name, listed, withEntry: withEntries, limit: limit)
      }
    } catch {
      // Names before the failure count: they may have been handed out with references. The failure
      // comes again with the next request, which starts where it stands.
      if buffer.count == 0 { throw error }
    }
  }
}
