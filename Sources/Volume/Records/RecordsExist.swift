// Whether any object of the volume has a record: while none has, no lookup asks for one.

import LinuxFiles
import Synchronization

/// The volume's promise that lookups may skip the attribute; withdrawn, durably, before the first record.
final class RecordsExist: Sendable {
  private let known: Atomic<Bool>
  private let withdraw: @Sendable () throws -> Void
  private let turn = Mutex(())

  /// `withdraw`: makes the volume's own file say that records exist, and waits for the disk.
  init(_ exist: Bool, withdraw: @escaping @Sendable () throws -> Void) {
    known = Atomic(exist)
    self.withdraw = withdraw
  }

  var exist: Bool { known.load(ordering: .acquiring) }

  /// Takes over what the volume's own file says, as soon as nobody else can change that.
  ///
  /// Also if it says that there are none: a volume that only supposed them must announce the first one.
  func settle(_ exist: Bool) {
    known.store(exist, ordering: .releasing)
  }

  /// Called before a record is written.
  func announce() throws(Errno) {
    guard !exist else { return }
    do {
      try turn.withLock { _ in
        guard !exist else { return }
        try withdraw()
        known.store(true, ordering: .releasing)
      }
    } catch let error as Errno {
      throw error
    } catch {
      throw .inputOutput
    }
  }
}
