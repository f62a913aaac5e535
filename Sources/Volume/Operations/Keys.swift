// Unlocking and locking the encrypted files of a mounted volume.
//
// A lock goes in steps. Draining: nothing new begins, but what programs wrote through mappings is still taken. Then the
// kernel is told to bring all that and to drop its pages. Locked: nothing is taken any more, every file gets its last
// slot and is let go of with its key, and the kernel drops what was read meanwhile. Whatever waits for a disk does so in
// threads of its own, each for a limited time: a lock always ends.

package import Ciphers
import LinuxFiles
import Synchronization

/// What came of a lock.
package struct LockOutcome: Equatable, Sendable {
  /// The classes that were open until now.
  package var closed: ClassSet = []
  /// How many files' pages were dropped.
  package var purged = 0
  /// Files, by their last known paths, of which something written could not be brought to the disk.
  package var unwritten: [[UInt8]] = []
  /// Files whose keys are still in memory, because a request is at work on them that does not end.
  package var kept: [[UInt8]] = []
  /// Files of which the kernel may still have pages, because it did not drop them in time.
  package var cached: [[UInt8]] = []
}

extension Volume {
  /// `call` is called in a lock, each time that it refuses more than before, by the thread that locks: it waits for nobody.
  package func whenClosed(_ call: @escaping @Sendable () -> Void) { closedClasses.listen(call) }

  /// When the content of a protected file was asked for last, on the monotonic clock in nanoseconds.
  package var lastKeyUse: UInt64 { sealed.lastUse }

  /// After how many seconds without use the daemon locks the volume; nil: not by itself.
  ///
  /// `status` tells it.
  package var lockAfter: UInt64? {
    get { sealed.lockAfter }
    set { sealed.lockAfter = newValue }
  }

  /// Opens all classes with a keyfile's secret.
  ///
  /// `exported`: a keybag to use in place of the volume's own. `user`: who asked, for the audit log.
  package func unlock(
    with secret: consuming HandedSecret, exported: [UInt8]? = nil, for user: UInt32 = CurrentProcess.user
  ) throws(KeyFailure) -> Keyring.Unlocking {
    sealed.noteUse()
    let outcome: Keyring.Unlocking
    do throws(KeyFailure) { outcome = try keyring.unlock(with: secret, exported: exported) } catch {
      audit?.add(.keys(KeyChange(user: user, deed: .refused, error: error.number)))
      throw error
    }
    audit?.add(.keys(KeyChange(user: user, deed: .unlocked, classes: ClassSet.all.words)))
    // What is shown of them may be corrected now.
    for (node, _) in sealed.registered(in: .all) { link?.expireAttributes(node) }
    return outcome
  }

  /// Closes classes: brings to the disk what was written, wipes the keys, and makes the kernel drop what it keeps.
  ///
  /// `isHurried`: what the kernel has not written yet is lost. `patience`: how many nanoseconds each step may take that
  /// waits for a disk. Called from a thread that serves no requests.
  package func lock(
    _ classes: ClassSet, isHurried: Bool, for user: UInt32 = CurrentProcess.user,
    patience: UInt64 = 10_000_000_000
  ) -> LockOutcome {
    defer { endSessionInTime() }
    let closed = keyring.beginLocking(classes)
    guard !closed.isEmpty else { return LockOutcome() }
    defer { audit?.add(.keys(KeyChange(user: user, deed: .locked, classes: closed.words))) }
    closedClasses.tell()
    // What it does not drop now it is told to drop again when nothing can be read any more.
    if !isHurried { _ = dropPages(of: filesToClose(in: closed).map(\.node), atMost: patience) }
    keyring.beginLettingGo()
    keyring.finishLocking(closed)
    closedClasses.tell()
    // Asked again: an open that was let before the class was closed may have come to its key since.
    let files = filesToClose(in: closed)
    let nodes = files.map(\.node)
    let owing = sealed.owing(in: closed)
    let kept = letGo(of: files, and: owing, atMost: patience)
    // Contexts that were used to write the last slots.
    keyring.contexts.drain()
    keyring.endLettingGo()
    let cached = dropPages(of: nodes, atMost: patience)
    var outcome = LockOutcome(closed: closed, purged: files.count - cached.count)
    outcome.kept = sealed.converting
    for file in kept where file.node == nil {
      outcome.kept.append(Array("inode \(file.object.context.inode)".utf8))
    }
    for object in owing where object.takeLossReport() && !kept.contains(where: { $0.object === object }) {
      outcome.unwritten.append(Array("inode \(object.context.inode)".utf8))
    }
    let keptNodes = Set(kept.compactMap(\.node))
    for (node, content) in files {
      if cached.contains(node) { outcome.cached.append(path(of: node)) }
      if keptNodes.contains(node) {
        outcome.kept.append(path(of: node))
      } else if content.object?.takeLossReport() ?? false {
        outcome.unwritten.append(path(of: node))
      }
    }
    return outcome
  }

  private func filesToClose(in classes: ClassSet) -> [(node: NodeID, content: RegisteredContent)] {
    sealed.registered(in: .all).filter { file in
      let isOfClasses = classes.contains(ClassSet(file.content.protection))
      guard let object = file.content.object else { return isOfClasses || live.forbidsChanges }
      return object.forgetIfOfAnotherClass() || isOfClasses && !object.isOpenUnlessOpen
    }
  }

  /// Makes the kernel drop the pages of a file that is locked, or of which a write was refused that its copy has.
  func dropPagesAside(of node: NodeID) {
    guard let link else { return }
    do throws(Errno) {
      try pageDrops.drop(node, by: link)
    } catch {
      Log.error("what the kernel keeps of a file could not be dropped: \(error)")
    }
  }

  /// Has the kernel drop the pages of all encrypted files; whether it has none of them any more.
  ///
  /// Called from a thread that serves no requests.
  func dropEncryptedPages() -> Bool {
    dropPages(of: sealed.registered(in: .all).map(\.node), atMost: 10_000_000_000).isEmpty
  }

  /// Has the kernel drop the pages of files; those of which it may still have some.
  private func dropPages(of nodes: [NodeID], atMost patience: UInt64) -> Set<NodeID> {
    guard let link, !nodes.isEmpty else { return [] }
    return PageDropRound(nodes).run(by: link, atMost: patience)
  }

  /// Lets go of files and their keys, each when nobody is at work on it; those that could not be let go of in time.
  ///
  /// `owing`: files that the kernel has forgotten.
  private func letGo(
    of files: [(node: NodeID, content: RegisteredContent)], and owing: [SealedObject], atMost patience: UInt64
  ) -> [KeyRelease.File] {
    let all =
      owing.map { KeyRelease.File(node: nil, object: $0) }
      + files.compactMap { file in
        file.content.object.map { KeyRelease.File(node: file.node, object: $0) }
      }
    let release = KeyRelease(of: all) { [self] file in
      guard let node = file.node else {
        return _ = file.object.ending { file.object.lockDown(mayBeLate: true) }
      }
      letGo(of: file.object, node, mayBeLate: true)
    }
    let left = release.run(atMost: patience) { !sealed.converting.isEmpty }
    sealed.dropSettled()
    return left
  }

  /// `mayBeLate`: whoever asked for it may have stopped waiting.
  func letGo(of object: SealedObject, _ id: NodeID, mayBeLate: Bool = false) {
    guard let node = try? node(id) else { return _ = object.ending { object.lockDown(mayBeLate: mayBeLate) } }
    do throws(Errno) {
      // So that its times are given back.
      try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
        object.ending {
          complete(object, of: node)
          lockDown(object, of: node, mayBeLate: mayBeLate)
        }
      }
    } catch {
      _ = object.ending { object.lockDown(mayBeLate: mayBeLate) }
    }
  }

  private func path(of id: NodeID) -> [UInt8] {
    guard let node = try? node(id) else { return Array("?".utf8) }
    return lastKnownPath(of: node)
  }
}
