// The verbs `unlock` and `lock`.

import Ciphers
import ControlDoor
import JSONForm
import LayeredVolume
import LinuxFiles
import SealedFormat

extension ControlVerbs {
  /// `{"verb": "unlock", "secrets": 1, "keybag": 256, "after": 600}`, then a secret, then an exported keybag if the line
  /// has its length.
  static func unlock(_ volume: Volume, _ autoLock: AutoLock) -> Verb {
    { request throws(ControlRefusal) in
      try request.requireOwner(to: "unlock it")
      let after = try request.seconds("after", in: 1...AutoLock.longest)
      let length = try request.keybagLength()
      _ = try request.requireSecrets(1...1)
      let reader = SecretReader(request.connection)
      let secret = try reader.secret()
      let exported = try length.map { (length) throws(ControlRefusal) in try reader.keybag(length) }
      try reader.requireEnd()
      autoLock.takeTurn()
      defer { autoLock.endTurn() }
      let wasOpen = volume.openClasses == .all
      let outcome: Keyring.Unlocking
      do throws(KeyFailure) {
        outcome = try volume.unlock(with: secret, exported: exported, for: request.peer.user)
      } catch {
        Log.notice("user \(request.peer.user) could not unlock the volume: \(error.number.name)")
        throw ControlRefusal(exported == nil ? error.sentence : error.sentenceAboutExport)
      }
      if !wasOpen { Log.notice("user \(request.peer.user) unlocked the volume") }
      outcome.tell()
      var members = outcome.members
      members.add("wasOpen", wasOpen)
      let unmarked = volume.unmarkedFiles
      if unmarked > 0 { members.add("unmarked", unmarked) }
      do throws(Errno) {
        try autoLock.set(after)
        if let after { members.add("after", after) }
      } catch {
        // It stays open: the asker is told, and can lock it.
        members.add("afterError", "\(error)")
      }
      return members
    }
  }

  /// `{"verb": "lock", "now": false, "all": false}`; with `after` the volume is locked later, with 0 not by itself any more.
  ///
  /// The answer has `"keybag": false` if the volume has none.
  static func lock(_ volume: Volume, _ autoLock: AutoLock) -> Verb {
    { request throws(ControlRefusal) in
      try request.requireOwner(to: "lock it")
      let after = try request.seconds("after", in: 0...AutoLock.longest)
      let isHurried = try request.flag("now")
      let classes: ClassSet = try request.flag("all") ? .all : .locking
      _ = try request.requireSecrets(0...0)
      guard after == nil || !isHurried && classes == .locking else {
        throw ControlRefusal("'after' goes neither with 'now' nor with 'all'")
      }
      autoLock.takeTurn()
      defer { autoLock.endTurn() }
      if let after { return try lockLater(after, volume, autoLock) }
      // Ending it needs no thread, and cannot fail.
      try? autoLock.set(nil)
      let outcome = volume.lock(classes, isHurried: isHurried, for: request.peer.user)
      if !outcome.closed.isEmpty {
        Log.notice(
          "user \(request.peer.user) locked the volume (\(outcome.closed.words.joined(separator: ", ")))")
      }
      var members = outcome.members
      members.add("stillOpen", .array(volume.openClasses.words.map { .string($0) }))
      return members + volume.keybagMembers
    }
  }

  private static func lockLater(
    _ after: Int, _ volume: Volume, _ autoLock: AutoLock
  ) throws(ControlRefusal) -> [JSON.Member] {
    // What is locked is not locked again later.
    let isOpen = !volume.openClasses.isDisjoint(with: .locking)
    do throws(Errno) {
      try autoLock.set(after > 0 && isOpen ? after : nil)
    } catch {
      throw ControlRefusal("it cannot be locked later: \(error)")
    }
    return [
      JSON.Member("closed", .array([])), JSON.Member("after", .number(isOpen ? after : 0)),
      JSON.Member("open", .bool(isOpen)),
    ] + volume.keybagMembers
  }
}

extension Volume {
  /// What a user is told who locks a volume that has nothing to lock.
  fileprivate var keybagMembers: [JSON.Member] {
    keyring.hasKeybag ? [] : [JSON.Member("keybag", .bool(false))]
  }

  /// The classes whose files can be read.
  var openClasses: ClassSet {
    StaticSector.ProtectionClass.allCases.reduce(into: []) { open, protection in
      if keyring.state(of: protection) == .open { open.insert(ClassSet(protection)) }
    }
  }
}

extension KeyFailure {
  /// What it means if the keybag was an exported one.
  fileprivate var sentenceAboutExport: String {
    switch self {
    case .damaged(.slot): sentence
    case .damaged: "the exported keybag is damaged, or none, or made by a later version (EBADMSG)"
    default: sentence
    }
  }
}

extension Keyring.Unlocking {
  /// What the user who unlocked it is told.
  var members: [JSON.Member] {
    var members: [JSON.Member] = []
    members.add("healed", healed)
    if let healingFailure { members.add("healingError", healingFailure.sentence) }
    members.add("lostSessions", lostSessions)
    if isOlderKeybag { members.add("olderKeybag", true) }
    if ownLacksKeyslot { members.add("lacksKeyslot", true) }
    return members
  }

  /// The same for the log.
  func tell() {
    if healed { Log.notice("one of the two files of the keybag was made anew") }
    if let healingFailure {
      Log.notice("one of the two files of the keybag is not sound, and stays so: \(healingFailure.sentence)")
    }
    if isOlderKeybag || ownLacksKeyslot {
      let age = isOlderKeybag ? " that is older than the volume's own" : ""
      let slot = ownLacksKeyslot ? "; the volume's own has no keyslot for the keyfile" : ""
      Log.notice("unlocked with an exported keybag\(age)\(slot)")
    }
    if lostSessions {
      Log.notice(
        "the session log was lost: every encrypted file is in doubt, as after a crash, until 'varve fsck --repair --keyfile' "
          + "on the unmounted volume has looked at it")
    }
  }
}

extension LayeredVolume.LockOutcome {
  var members: [JSON.Member] {
    var members: [JSON.Member] = []
    members.add("closed", .array(closed.words.map { .string($0) }))
    members.add("purged", purged)
    members.add("unwritten", list: unwritten)
    members.add("kept", list: kept)
    members.add("cached", list: cached)
    return members
  }
}
