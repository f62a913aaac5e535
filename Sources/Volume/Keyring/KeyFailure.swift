// Why a key cannot be had.

package import Ciphers
package import LinuxFiles
package import SealedFormat

/// What went wrong with keys, for a sentence or for an error number.
package enum KeyFailure: Error, Equatable, Sendable {
  /// The class is locked, or the volume was not unlocked since it was mounted.
  case locked
  /// The file belongs to the keybag of another volume.
  case foreignVolume
  /// The volume has no keybag.
  case noKeybag
  /// No slot opens with this keyfile, or the passphrase is wrong.
  case wrongKey
  /// There is no keybag, but an encrypted file, at this path in the upper directory.
  case encryptedFiles([UInt8])
  /// There is no keybag, but a log of sessions that wrote encrypted files.
  case keybagLost
  /// A keybag or keyfile that is damaged, or was made by a version that knows more.
  case damaged(Damage)
  /// The header of a file.
  case damagedHeader(Damage)
  /// A keybag of another volume was given to be used here.
  case foreignKeybag
  /// The keybag that is there belongs to another volume than the log of sessions.
  case keybagOfAnother
  /// The two files of the keybag belong to different volumes, and no log of sessions tells which one is right.
  case keybagsDiffer
  /// Both files of the keybag are damaged, and no log of sessions tells whose files are here.
  case keybagsDamaged
  /// There is a keybag, so a keyfile that opens it is needed.
  case keyNeeded
  /// This keyfile has a slot.
  case slotExists
  case slots(Keybag.Refusal)
  /// Another lock is under way.
  case busy
  case ciphers(CipherFailure)
  case system(Errno)

  /// What is wrong with stored bytes.
  package enum Damage: Equatable, Sendable {
    case format(FormatDamage)
    /// A slot that names this keyfile does not open with it.
    case slot
    /// The slot opens, but what it holds is not the key of this keybag.
    case checkValue
    /// The code over the whole does not fit.
    case code
    /// The tag of a wrapped key does not fit.
    case tag
    /// The file could not be read.
    case unreadable(Errno)
  }

  /// What a program is told that made a call.
  package var number: Errno {
    switch self {
    case .locked, .foreignVolume, .noKeybag, .keybagLost, .encryptedFiles, .keyNeeded: .noKey
    case .wrongKey: .keyRejected
    case .damaged, .foreignKeybag, .keybagOfAnother, .keybagsDiffer, .keybagsDamaged: .badMessage
    case .damagedHeader: .inputOutput
    case .slotExists: .exists
    case .slots(.full), .slots(.noMoreGenerations): .noSpace
    case .slots(.lastSlot), .busy: .busy
    case .slots(.noSuchSlot): .noSuchFile
    case .ciphers(let failure): KeyFailure.number(of: failure)
    case .system(let number): number
    }
  }

  private static func number(of failure: CipherFailure) -> Errno {
    switch failure {
    case .libraryMissing, .libraryInUse: .unsupported
    case .memoryNotLocked, .noMemory: .noMemory
    case .notAuthentic, .weakPublicKey, .unusable: .inputOutput
    case .system(let number): number
    }
  }
}

/// Makes a failure of ciphers one of keys.
func ciphering<Value: ~Copyable>(
  _ work: () throws(CipherFailure) -> Value
) throws(KeyFailure) -> Value {
  do throws(CipherFailure) {
    return try work()
  } catch {
    throw .ciphers(error)
  }
}

/// Makes a failure of a system call one of keys.
func calling<Value: ~Copyable>(_ work: () throws(Errno) -> Value) throws(KeyFailure) -> Value {
  do throws(Errno) {
    return try work()
  } catch {
    throw .system(error)
  }
}
