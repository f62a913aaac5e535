// Content that was half replaced when a disk failed or a daemon was killed: it is settled by the first who asks for it, where
// the volume is written to.

import Decisions
import LinuxFiles
import RecordFormat

extension Volume {
  /// Runs what asks for the content of a file; once that is settled, where it was half replaced.
  ///
  /// EIO where nobody may settle it: on a volume that is not written to, and in a lower. The next mount for writing of the
  /// directory that the file is in does it.
  func settling<R: ~Copyable>(
    _ node: Node, _ operation: () throws(Errno) -> R
  ) throws(Errno) -> R {
    do throws(Errno) {
      return try operation()
    } catch {
      guard error == .unsupported, node.kind == .regular else { throw error }
      if node.layer == 0, try settleContent(of: node) { return try operation() }
      guard isHalfReplaced(node) else { throw error }
      Log.damage(
        "inode \(node.number.value): its content was being replaced; a mount for writing of its upper directory finishes that"
      )
      throw .inputOutput
    }
  }

  private func isHalfReplaced(_ node: Node) -> Bool {
    // What cannot be looked at was refused for another reason.
    let found = try? locks.holding(.shared(node.stripe)) { () throws(Errno) -> Bool in
      try facts(of: node).record.isReplacing
    }
    return found ?? false
  }

  /// Leaves the operation to begin anew once content that was half replaced is settled; under its lock, after everything is
  /// decided.
  ///
  /// To settle it gives back the mode, the capability and the time of modification that the file had, and would take away
  /// those that it is given now.
  func requireSettled(_ facts: Facts) throws(Errno) {
    guard facts.status.kind == .regular, facts.record.isReplacing else { return }
    throw .stillCompressed
  }
}
