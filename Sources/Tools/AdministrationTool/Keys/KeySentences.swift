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
          + "or use another copy of it, or another keyfile that has a keyslot")
    case .damaged(.format(.magic)):
      Refusal("is not a keyfile: it does not begin like one (EBADMSG)")
    case .damaged(.format):
      Refusal("is damaged, or was made by a later version (EBADMSG); use another copy of it")
    case .damaged: Refusal("is damaged: its checksum does not fit (EBADMSG); use another copy of it")
    case .ciphers(let failure): .ciphers(failure)
    default: Refusal("\(failure.number)")
    }
  }

  /// The sentence about the keybag of a volume that a keyfile does not open; `sentence`: where that is not the keyfile's fault.
  static func keybag(_ failure: KeyFailure, _ keyfile: Word, otherwise sentence: String) -> Refusal {
    switch failure {
    case .wrongKey:
      Refusal("does not open with \(shown(keyfile)): no keyslot is for this keyfile (EKEYREJECTED)")
    case .damaged(.slot):
      Refusal(
        "the keyslot of \(shown(keyfile)) is damaged (EBADMSG); take another keyfile, or a copy of .varve/keybag"
      )
    default: Refusal(sentence)
    }
  }

  static func ciphers(_ failure: CipherFailure) -> Refusal {
    Refusal(failure.sentence)
  }
}
