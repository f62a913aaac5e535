// How other options take effect while the volume is mounted: all at once, between two requests.

package import LinuxFiles
import Synchronization

extension LiveSettings {
  /// Whether the kernel may remember names for longer than by `other` settings.
  ///
  /// Which names it may remember is the same by all rules (`PublicAnswers`); for how long is the one thing that
  /// an option decides about.
  fileprivate func remembersLonger(than other: LiveSettings) -> Bool {
    switch cache {
    case .exclusive: other.cache != .exclusive
    case .shared: other.cache == .none
    case .none: false
    }
  }
}

/// Why options were not changed.
package enum ChangeRefusal: Error, Sendable {
  /// Files are open for writing, and a volume with such files does not become read-only.
  case openForWriting(files: Int)
  case volume(VolumeFailure)
  case system(Errno)
}

extension Volume {
  /// Puts other options in force.
  ///
  /// When this returns, no request is at work that was decided by the former ones, and nothing the kernel
  /// remembers from then lets anybody through who is refused now. Files that are open stay open, with what they were
  /// opened for.
  package func change(to wanted: LiveSettings) throws(ChangeRefusal) {
    if let failure = changing.withLock({ _ in changed(to: wanted) }) { throw failure }
  }

  /// Notes which words of `-o` are in force from now on, and in the audit log who changed them.
  package func note(words wanted: [[UInt8]], changedBy user: UInt32) {
    let former = words
    words = wanted
    audit?.add(.options(OptionsChange(user: user, before: former, after: wanted)))
  }

  /// Whether the kernel may keep pages of encrypted files until it is told to drop them: not while another mount may write
  /// them, of which nobody tells this one.
  package var mayKeepPages: Bool { keyring.hasKeybag && !live.forbidsChanges }

  private func changed(to wanted: LiveSettings) -> ChangeRefusal? {
    let present = live.wanted
    let hadLock = directory.isLocked
    if present.isReadOnly, !wanted.isReadOnly {
      if let failure = becomeWritable() { return failure }
      // Now nobody else writes, and nobody here: a mapping that is written to must not bring back what was there before.
      guard dropEncryptedPages() else { return .system(.busy) }
    }
    do throws(Errno) {
      let writers = try put(wanted, over: present, hadLock: hadLock)
      guard writers == 0 else { return .openForWriting(files: writers) }
    } catch {
      return .system(error)
    }
    // Not with the locks held: the kernel may be about to drop a node, and to write its pages back first. That is
    // a request, and a thread that tells the kernel about the node waits for it.
    for node in [Volume.rootNode] + nodes.identifiers { link?.expireAttributes(node) }
    toldAttributes.expireAll()
    return nil
  }

  /// Changes the word with nobody else at work; answers how many files stand in the way.
  private func put(
    _ wanted: LiveSettings, over present: LiveSettings, hadLock: Bool
  ) throws(Errno) -> Int {
    let closes = wanted.isReadOnly && !present.isReadOnly
    // The kernel tells us of a close when it has returned already: an open file may be on its way out.
    var attempts = 20
    while true {
      let writers = try locks.holdingAll { () throws(Errno) -> Int in
        let writers = closes ? handles.writers + replacements.writing.load(ordering: .acquiring) : 0
        guard writers == 0 else { return writers }
        // The mount that had the lock until now may have changed anything, and what is remembered need not ever grow old.
        if present.isReadOnly, !wanted.isReadOnly { forgetAllFacts() }
        live.set(wanted)
        if present.isReadOnly, !wanted.isReadOnly { takeBackLowers() }
        // Only where names may be wrong now, or are kept too long: the kernel takes away whatever is mounted
        // on or below a name that is made stale.
        if !hadLock || present.remembersLonger(than: wanted) { link?.expireNames() }
        return 0
      }
      attempts -= 1
      if writers == 0 || attempts == 0 { return writers }
      Clock.pause(milliseconds: 10)
    }
  }

  private func forgetAllFacts() {
    forgetFacts(of: root)
    for identifier in nodes.identifiers {
      if let node = nodes.node(identifier) { forgetFacts(of: node) }
    }
  }

  private func becomeWritable() -> ChangeRefusal? {
    do {
      try directory.refuseLostLock()
      _ = try directory.becomeWritable { exist in
        // Nothing is changed before.
        try directory.beginLease(live)
        store.settleRecords(exist)
        if let workshop = directory.workshop { features.probe(workshop) }
        try replacements.recover(beneath: directory.root)
        try beginLayers()
      }
      return nil
    } catch let failure as VolumeFailure {
      return .volume(failure)
    } catch {
      return .system(error as? Errno ?? .inputOutput)
    }
  }
}
