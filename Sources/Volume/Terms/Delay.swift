// Requests that cannot be answered yet because of something a user controls. No thread waits for it and no lock is
// held meanwhile: the request is given back to the door, which runs it again from its start.

package import LinuxFiles

/// What a request waits for.
package enum Delay: CInt, CaseIterable, Sendable {
  /// The file is open by a route that excludes the wanted one. The kernel tells of a close after it has returned.
  case inUse
  /// A program holds a lease on the file and is told to give it up.
  case leased
  /// The user database has been asked for names.
  case names
  /// As many directories are read to make the names of views as may be at a time.
  case building
}

extension Errno {
  /// Thrown in place of an error number when nothing has been changed and the request is to be run again.
  ///
  /// The numbers are above all that a reply may carry, so none of them can reach a program.
  package static func delayed(_ delay: Delay) -> Errno { Errno(rawValue: firstDelay + delay.rawValue) }

  /// What there is to wait for, if this is no error but a request to run the operation again.
  package var delay: Delay? { Delay(rawValue: rawValue - Errno.firstDelay) }

  private static let firstDelay: CInt = 1 << 16

  /// Thrown in place of an error number when nothing has been changed, and what is to be changed lies in a lower: it is
  /// brought up, and the operation begins anew (`Operations/BringUp.swift`).
  static let belowUpper = Errno(rawValue: 1 << 17)

  /// The same, where a compressed file is to be changed: it is expanded, and the operation begins anew
  /// (`Operations/Expand.swift`).
  static let stillCompressed = Errno(rawValue: 1 << 18)

  /// Runs an open that does not wait for a lease: EAGAIN means that its holder has been told to give it up.
  static func delayedByLease<R: ~Copyable>(_ open: () throws(Errno) -> R) throws(Errno) -> R {
    do throws(Errno) {
      return try open()
    } catch .again {
      throw .delayed(.leased)
    }
  }

  /// Runs what is refused (EBUSY) while a file is in use, and can begin anew.
  ///
  /// The kernel tells of a close when it has returned already: who is in the way may be gone. Directories that were brought up
  /// by then stay so.
  static func delayedByUse<R: ~Copyable>(_ work: () throws(Errno) -> R) throws(Errno) -> R {
    do throws(Errno) {
      return try work()
    } catch .busy {
      throw .delayed(.inUse)
    }
  }
}

extension Volume {
  /// `call` is called when something came that requests wait for.
  package func whenDelayEnds(_ call: @escaping @Sendable (Delay) -> Void) {
    names.whenAnswered { call(.names) }
    indexes.whenMade { call(.building) }
  }
}
