// What is asked about the content of an encrypted file that is in memory, and what is written last.

import LinuxFiles
import SealedFormat

extension SealedObject {
  /// Whether it was written.
  var isChanged: Bool { present?.isChanged ?? false }

  /// Whether it is being changed under the number of one of these sessions, or was and is kept so.
  func writes(in sessions: Set<UInt64>) -> Bool { present?.session.map { sessions.contains($0) } ?? false }

  /// Whether something has to be written before it can rest: then the times of the backing file move.
  var owesFinish: Bool { present?.owesFinish ?? false }

  /// What is written last when nobody uses the file any more; whether the backing file was touched.
  ///
  /// Within ``ending(_:)``.
  func finish() throws(Errno) -> Bool { try present?.close() ?? false }
}
