// What a failure of keys means to the user, and what helps.

import Arguments
import Ciphers
import LayeredVolume
import LinuxFiles
import SealedFormat

/// Does something with a keyfile, and puts its failure into words.
func keyed<Value: ~Copyable>(
  _ work: () throws(KeyFailure) -> Value
) throws(Refusal) -> Value {
  do throws(KeyFailure) {
    return try work()
  } catch {
    throw Refusal.keyfile(error)
  }
}

/// Memory for a secret.
func secretRoom(_ count: Int) throws(Refusal) -> SecretBytes {
  do throws(CipherFailure) {
    return try SecretBytes(count: count)
  } catch {
    throw Refusal.ciphers(error)
  }
}

extension Refusal {
  /// The sentence about a keyfile.
  static func keyfile(_ failure: KeyFailure) -> Refusal {
    switch failure {
    case .wrongKey:
      Refusal(
        "the passphrase is wrong, or the keyfile is damaged, which cannot be told apart (EKEYREJECTED); try again, "
          + "or take a copy of the keyfile")
    case .damaged(.format(.magic)):
      Refusal("is not a keyfile: it does not begin like one (EBADMSG)")
    case .damaged(.format):
      Refusal("is damaged, or was made by a later version (EBADMSG); take a copy of it")
    case .damaged: Refusal("is damaged: its checksum does not fit (EBADMSG); take a copy of it")
    case .ciphers(let failure): .ciphers(failure)
    default: Refusal("\(failure.number)")
    }
  }

  /// The sentence about the keybag of a volume that a keyfile does not open.
  static func keybag(_ failure: KeyFailure, _ keyfile: Word) -> Refusal {
    switch failure {
    case .noKeybag:
      Refusal("has no keybag (ENOKEY), so no keyfile opens it, and it has no encrypted files")
    case .wrongKey:
      Refusal("does not open with \(shown(keyfile)): no keyslot is for this keyfile (EKEYREJECTED)")
    case .damaged(.format(.unknown)):
      Refusal("its keybag was made by a later version, which is needed to read it (EBADMSG)")
    case .damaged(.slot):
      Refusal(
        "the keyslot of \(shown(keyfile)) is damaged (EBADMSG); take another keyfile, or a copy of .varve/keybag"
      )
    case .damaged:
      Refusal(
        "its keybag is damaged, and no copy beside it opens (EBADMSG); bring back a copy of .varve/keybag")
    case .ciphers(let failure): .ciphers(failure)
    case .system(let error): Refusal("its keybag cannot be read: \(error)")
    default: Refusal("\(failure.number)")
    }
  }

  fileprivate static func ciphers(_ failure: CipherFailure) -> Refusal {
    switch failure {
    case .libraryMissing:
      Refusal(
        "keys need libcrypto of OpenSSL 3, which is not installed; on Debian it is in the package libssl3")
    case .libraryInUse: Refusal("keys need libcrypto for themselves, and something else uses it already")
    case .memoryNotLocked(let limit):
      Refusal(
        "keys need \(SecureHeap.size >> 10) KiB of locked memory, and the limit is \(limit >> 10) KiB (RLIMIT_MEMLOCK); "
          + "'ulimit -l \(SecureHeap.size >> 10)' raises it, or LimitMEMLOCK= of a systemd unit")
    case .noMemory, .unusable:
      Refusal(
        "there is not enough memory for the key (ENOMEM); a passphrase takes 129 MiB, or what its keyfile says"
      )
    case .notAuthentic, .weakPublicKey: Refusal("\(Errno.inputOutput)")
    case .system(let error): Refusal("\(error)")
    }
  }
}
