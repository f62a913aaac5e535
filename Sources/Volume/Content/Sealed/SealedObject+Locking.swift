// The end of a key: what a lock does with the content of an encrypted file.

import Decisions
import LinuxFiles
import SealedFormat
import Synchronization

extension SealedObject {
  /// Writes what is pending and forgets the key; false if something is lost by that.
  ///
  /// Within ``ending(_:)``, when the class is closed and nobody is at work, or never will be again. `mayBeLate`: the lock
  /// may have gone on without us, and the class may be open again; then the key stays with those who use the file.
  /// `restoring`: called if the backing file was touched, so that its times can be given back.
  func lockDown(mayBeLate: Bool = false, restoring: () -> Void = {}) -> Bool {
    let (file, isUsed) = state.withLock { ($0.file, $0.users > 0) }
    guard let file, !isOpenUnlessOpen else { return true }
    var isWhole = !file.owesAfterFailure
    // What rests has its last slot, if that could be written, and is synced before it is changed again.
    if isUsed || file.mustStay, isWhole, file.isChanged {
      var isTouched = true
      do throws(Errno) {
        let isCleared = try file.commit()
        isTouched = try file.close() || isCleared
      } catch {
        isWhole = false
      }
      if isTouched { restoring() }
    }
    if !isWhole || file.owesAnnouncement { context.noteForgotten() }
    state.withLock { state in
      // Who has opened it meanwhile keeps what they have.
      let staysOpen = context.protection == .completeUnlessOpen && state.users > 0
      let isLate = mayBeLate && context.keeper.keyring.state(of: context.format) == .open
      if !staysOpen, !isLate { state.file = nil }
      if !isWhole { state.lose() }
    }
    return isWhole
  }

  /// The same, if it waits for nobody and for no disk; whether it was done.
  func lockDownAtOnce() -> Bool {
    endings.withLockIfAvailable { _ in
      // It was opened after the lock had looked for those that are not.
      if isOpenUnlessOpen { return true }
      guard !isBusy else { return false }
      let (file, isUsed) = state.withLock { ($0.file, $0.users > 0) }
      if let file, file.isChanged, isUsed || file.mustStay || file.owesFinish { return false }
      _ = lockDown()
      return true
    } ?? false
  }

  /// Forgets what was read if another mount may have given the file another class since; whether it may have.
  func forgetIfOfAnotherClass() -> Bool {
    let (readAt, way) = state.withLock { ($0.readAt, $0.way) }
    guard context.mayBeWrittenElsewhere || readAt != nil else { return false }
    if let readAt, let change = readAt, (try? way?.descriptor.status().change) == change { return false }
    var outdated: SealedFile<BackingStore>?
    state.withLock { state in
      if state.file?.mustStay != true { (outdated, state.file) = (state.file, nil) }
    }
    _ = outdated
    return true
  }

  /// Forgets the key without writing anything: a request is at work that does not end.
  func abandon() {
    context.noteForgotten()
    let file: SealedFile<BackingStore>? = state.withLock { state in
      state.lose()
      defer { state.file = nil }
      if state.file != nil { state.abandoned = state.file }
      return state.file
    }
    _ = file
  }
}
