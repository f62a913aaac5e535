// The session of writing ends when all that was written under its number is on the disk: at unmount, after a lock, and once
// a day. A crash then leaves in doubt only what was written since.
//
// While the mount goes on, the number is first taken away, so that a file that is written begins another session. Then
// every request is waited for that could have got it; files that nobody uses are let go of; and only if no file is left that
// is changed under it is the file system synced, and the number taken out of the log.

import LinuxFiles

extension Volume {
  /// The volume is unmounted: what was written to encrypted files is completed, and its sessions end if all of it is.
  ///
  /// Called when no request is at work any more.
  package func endSessions() {
    for (node, object) in sealed.present { letGo(of: object, node) }
    for object in sealed.owing(in: .all) { _ = object.ending { object.lockDown() } }
    let sessions = keyring.sessions.running
    guard !sessions.isEmpty else { return }
    guard !sealed.hasUnfinished, !sealed.isOwed else {
      return Log.error(
        "not everything written to encrypted files could be completed; the next mount does that")
    }
    _ = syncAndEnd(sessions)
  }

  /// After a lock, which does not wait for a slow disk: then the end comes when it comes.
  func endSessionInTime() {
    guard !keyring.sessions.running.isEmpty else { return }
    _ = LimitedTime.run(atMost: 1_000_000_000) { self.endSession() }
  }

  /// After the last close of a changed file, in a session that has run for long.
  func endSessionAside() {
    guard !sealed.hasTriedToEnd() else { return }
    // Without a thread the session runs on until the next close.
    _ = try? PlainThread(name: "session") { self.endSession() }
  }

  /// Ends the sessions of this mount, unless a file is being written or something could not be; whether it did.
  ///
  /// Called without a lock, and from a thread that serves no requests.
  @discardableResult
  func endSession() -> Bool {
    guard sealed.beginEnding() else { return false }
    defer { sealed.finishEnding() }
    // Writers do not begin another session for nothing.
    guard !sealed.hasUnfinished, !sealed.isOwed, !isWriting(in: keyring.sessions.running) else {
      return false
    }
    let sessions = keyring.sessions.retire()
    guard !sessions.isEmpty, letGoOfUnused(in: sessions), syncAndEnd(sessions) else {
      keyring.sessions.goOn()
      return false
    }
    return true
  }

  private func isWriting(in sessions: Set<UInt64>) -> Bool {
    sealed.present.contains { $0.object.hasUsers && $0.object.writes(in: sessions) }
  }

  /// Lets go of all files that were changed under these numbers; false if one is in use, or stays unfinished.
  ///
  /// A request that got one of the numbers was counted as at work before they were taken away. So a file that is seen at
  /// rest once, and is not changed under one of them then, never will be.
  private func letGoOfUnused(in sessions: Set<UInt64>) -> Bool {
    let end = Clock.monotonicNanoseconds + 2_000_000_000
    let (files, isOwed) = sealed.allAndOwed()
    guard !isOwed else { return false }
    for (node, object) in files {
      while object.isBusy {
        guard Clock.monotonicNanoseconds < end else { return false }
        Clock.pause(milliseconds: 1)
      }
      guard !object.writes(in: sessions) || letGoOfUnused(object, node, in: sessions) else { return false }
    }
    return true
  }

  private func letGoOfUnused(_ object: SealedObject, _ id: NodeID, in sessions: Set<UInt64>) -> Bool {
    guard let node = try? node(id) else { return !object.writes(in: sessions) }
    let owedFinish = object.owesFinish
    defer { if owedFinish { link?.expireAttributes(id) } }
    do throws(Errno) {
      // So that a last close under way has ended, and times are given back.
      return try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
        object.ending {
          guard !object.hasUsers else { return false }
          complete(object, of: node)
          object.noteSeen()
          guard !object.owesFinish else { return false }
          return object.forgetUnused() && !object.writes(in: sessions)
        }
      }
    } catch {
      return false
    }
  }

  private func syncAndEnd(_ sessions: Set<UInt64>) -> Bool {
    guard !live.forbidsChanges else { return false }
    do {
      try resolver.top.descriptor.descriptor.reopen([.readOnly, .directory]).syncFileSystem()
    } catch {
      // The kernel takes the pages for written now, and the next sync would succeed.
      sealed.noteUnfinished()
      Log.error(
        "what was written to encrypted files may not be on the disk; the next mount settles that: \(error)")
      return false
    }
    // Another thread may have failed meanwhile with a file that the kernel forgot.
    guard !sealed.hasUnfinished else { return false }
    do {
      try keyring.sessions.end(sessions)
      return true
    } catch {
      Log.error("the end of the session could not be written down: \(error)")
      return false
    }
  }
}
