// Keys in words, for people: what a failure means for a user who unlocks a volume or changes its keyslots, and classes.

package import Ciphers
import Decisions
import JSONForm
import LinuxFiles
import SealedFormat

extension KeyFailure {
  /// A sentence about the volume.
  package var sentence: String {
    switch self {
    case .noKeybag:
      "has no keybag (ENOKEY), so no keyfile opens it; if it had one, bring back .varve, or name an export of the keybag "
        + "with 'varve unlock --keybag'; if it never had one, 'varve key slot add' without --with makes it"
    case .encryptedFiles(let path):
      "has no keybag (ENOKEY), but encrypted files, such as \(KeyFailure.shown(path)): bring back .varve, or name an export of "
        + "the keybag with 'varve unlock --keybag'. A new keybag would not open these files, and the old one would then be "
        + "refused; 'varve key slot add --new-keybag' makes one all the same"
    case .keybagLost:
      "its keybag (.varve/keybag) is lost, and no other one opens its encrypted files (ENOKEY); bring it back from a "
        + "backup of .varve, or name an export of it with 'varve unlock --keybag', and leave .varve/sessions as it is. "
        + "Without either nobody can read these files again; the others can be copied to a new volume"
    case .wrongKey: "does not open with this keyfile: no keyslot is for it (EKEYREJECTED)"
    case .damaged(.format(.unknown)):
      "its keybag was made by a later version, which is needed to read it (EBADMSG)"
    case .damaged(.slot):
      "the keyslot of this keyfile is damaged (EBADMSG); take another keyfile, or a copy of .varve/keybag"
    case .damaged:
      "its keybag is damaged, and no copy beside it opens (EBADMSG); bring back a copy of .varve/keybag, or "
        + "name an export of it: 'varve unlock --keybag'"
    case .foreignKeybag:
      "the exported keybag is one of another volume (EBADMSG); if this volume's own was made by mistake, unmount it, move "
        + "keybag, keybag.copy and sessions out of .varve, keep them until all files open, mount it and try again"
    case .keybagOfAnother:
      "its keybag (.varve/keybag) is that of another volume, and does not open the encrypted files that were written here "
        + "(EBADMSG); bring back the right one, or name an export of it with 'varve unlock --keybag'. If the keybag is "
        + "right and .varve/sessions is that of another volume, unmount it, move .varve/sessions away, and keep it until "
        + "all files open"
    case .keybagsDiffer:
      "its two keybags, .varve/keybag and .varve/keybag.copy, are of different volumes, and nothing tells which one opens the "
        + "encrypted files that are here (EBADMSG); unmount it, move the wrong one away, and keep it until all files open"
    case .keybagsDamaged:
      "its two keybags, .varve/keybag and .varve/keybag.copy, are damaged, and no session log tells whose encrypted files are "
        + "here (EBADMSG); put a copy or an export of the right one in place as .varve/keybag, or move both away if nothing "
        + "was ever encrypted"
    case .keyNeeded: "has a keybag already: a keyfile that opens it is needed (ENOKEY); name it with --with"
    case .slotExists: "this keyfile has a keyslot already (EEXIST)"
    case .slots(.full): "all of its keyslots are taken (ENOSPC); remove one first"
    case .slots(.noMoreGenerations): "its keybag cannot be changed any more (ENOSPC)"
    case .slots(.lastSlot):
      "this is its last keyslot, without which nobody could open it (EBUSY); add another one first"
    case .slots(.noSuchSlot):
      "no keyslot is for this keyfile; 'varve key slot list' shows which there are"
    case .busy: "it is being locked just now (EBUSY)"
    case .locked: "is locked (ENOKEY)"
    case .foreignVolume, .damagedHeader: "\(number)"
    case .ciphers(let failure): failure.sentence
    case .system(.readOnly):
      "is mounted read-only, and its keybag cannot be changed (EROFS); 'varve remount -o rw' may change that"
    case .system(let error): "its keybag cannot be read or written: \(error)"
    }
  }
}

extension KeyFailure {
  /// The same about a volume that is not mounted, where 'varve unlock' is of no help.
  package var sentenceUnmounted: String {
    let inPlace = "put a copy or an export of it in place as .varve/keybag"
    let mounting = "mount the volume without 'keyfile' and give an export to 'varve unlock --keybag'"
    return switch self {
    case .noKeybag:
      "has no keybag (ENOKEY), so no keyfile opens it; if it had one, bring back .varve, or \(mounting); if it never had one, "
        + "mount it without 'keyfile', and 'varve key slot add' makes it"
    case .keybagLost:
      "its keybag (.varve/keybag) is lost, and no other one opens its encrypted files (ENOKEY); \(inPlace), or \(mounting), "
        + "and leave .varve/sessions as it is. Without either nobody can read these files again; the others can be copied to "
        + "a new volume"
    case .damaged(.format(.unknown)), .damaged(.slot): sentence
    case .damaged:
      "its keybag is damaged, and no copy beside it opens (EBADMSG); \(inPlace), or \(mounting)"
    case .keybagOfAnother:
      "its keybag (.varve/keybag) is that of another volume, and does not open the encrypted files that were written here "
        + "(EBADMSG); \(inPlace), or \(mounting). If the keybag is right and .varve/sessions is that of another volume, "
        + "move .varve/sessions away, and keep it until all files open"
    default: sentence
    }
  }

  /// A path in a line of text.
  private static func shown(_ path: [UInt8]) -> String {
    String(decoding: path.map { $0 < 0x20 || $0 == 0x7F ? UInt8(ascii: "?") : $0 }, as: UTF8.self)
  }
}

extension CipherFailure {
  /// A sentence about this machine.
  package var sentence: String {
    switch self {
    case .libraryMissing:
      "keys need libcrypto of OpenSSL 3, which is not installed; on Debian it is in the package libssl3"
    case .libraryInUse: "keys need libcrypto for themselves, and something else uses it already"
    case .memoryNotLocked(let limit):
      "keys need \(SecureHeap.size >> 10) KiB of locked memory, and the limit is \(limit >> 10) KiB (RLIMIT_MEMLOCK); "
        + "'ulimit -l \(SecureHeap.size >> 10)' raises it, or LimitMEMLOCK= of a systemd unit"
    case .noMemory, .unusable:
      "there is not enough memory for the key (ENOMEM); a passphrase takes 129 MiB, or what its keyfile says"
    case .notAuthentic, .weakPublicKey: "\(Errno.inputOutput)"
    case .system(let error): "\(error)"
    }
  }
}

extension StaticSector.ProtectionClass {
  /// As the attribute system.varve.class has it.
  package var word: String { Decisions.ProtectionClass(self).word }
}

extension Keyring {
  /// Which classes are open.
  var classMembers: [JSON.Member] {
    StaticSector.ProtectionClass.allCases.map { JSON.Member($0.word, .string("\(state(of: $0))")) }
  }
}

extension ClassSet {
  /// The classes, one by one.
  package var words: [String] {
    StaticSector.ProtectionClass.allCases.filter { contains(ClassSet($0)) }.map(\.word)
  }
}
