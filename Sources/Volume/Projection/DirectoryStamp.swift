// When a directory changed last, in whatever layers it lies.

import LinuxFiles

/// The times of change of a directory's parts.
struct DirectoryStamp: Sendable {
  private let top: Timestamp
  /// Of the parts below; empty where there is one layer.
  private let others: [Timestamp]
  /// Whether every later change moves one of the times.
  let isSettled: Bool

  init(_ parts: DirectoryParts) throws(Errno) {
    try self.init(try parts.top.descriptor.descriptor.status(), parts)
  }

  /// `status`: of the topmost part.
  init(_ status: FileStatus, _ parts: DirectoryParts) throws(Errno) {
    var isSettled = status.isSettled
    var others: [Timestamp] = []
    for part in parts.all.dropFirst() {
      let status = try part.descriptor.descriptor.status()
      others.append(status.change)
      isSettled = isSettled && status.isSettled
    }
    (top, self.others, self.isSettled) = (status.change, others, isSettled)
  }

  /// Whether nothing has changed between the two, as far as times tell.
  ///
  /// A part more is a change as well: the directory was brought up, or opened by its flag.
  func isSame(as other: DirectoryStamp) -> Bool { top == other.top && others == other.others }
}
