// What is wrong with the content of encrypted files, in words: the same for `varve verify` and `varve fsck`.

import LayeredVolume
import TextForms

/// A range of bytes of a file and what is wrong with it.
struct ContentRange {
  let kind: Word
  let offset: UInt64
  let length: UInt64

  typealias Word = String

  /// Readers get EIO for it.
  var isDamage: Bool { ContentRange.isDamage(kind) }

  static func isDamage(_ kind: Word) -> Bool { kind == "damaged" || kind == "index" }

  var sentence: String {
    let bytes = "bytes \(offset)-\(offset + length - 1)"
    return switch kind {
    case "damaged": "\(bytes): damaged"
    case "index": "\(bytes): damaged: their index is not as it was written"
    case "lost": "\(bytes): a crash took what was written last and never synced"
    case "torn": "\(bytes): a crash left their index half written; nothing of it is lost"
    default: "\(bytes): \(kind)"
    }
  }

  /// Blocks of a kind that were counted, and are in no range.
  static func further(_ count: UInt64, _ kind: Word) -> String {
    "\(grouped(Int(clamping: count))) more blocks of 4096 bytes: \(kind)"
  }
}

/// What is wrong with a header, by the word that the volume has for it.
func headerSentence(_ word: String) -> String {
  switch word {
  case "header": "the header is damaged, and its copy is too: the content is lost"
  case "header-unknown":
    "it is encrypted in a form that this version of Varve does not know; a newer one may read it"
  case "header-first": "the header is damaged; its copy is whole"
  case "header-copy": "the copy of the header is damaged; the header is whole"
  case "header-differs":
    "the header and its copy are not alike, as a crash leaves them; both can be read, and nothing is lost"
  case "slots": "what the file says of its size is damaged, and so is the copy: the content is lost"
  case "slot": "one of the two records of its size is damaged: the content cannot be read"
  case "slot-torn": "a crash left one of the two records of its size half written; the other one counts"
  case "shortened": "its end is cut off"
  case "length":
    "it ends inside a page: cut it to a multiple of 4096 bytes if something was added, restore it if its end is gone"
  default: word
  }
}

/// Whether what is wrong with a header, by its word, loses nothing.
func isHarmless(header word: String) -> Bool { HeaderFinding(rawValue: word)?.isDamage == false }

/// How a header is mended that a mount may leave as it is.
func headerRemedy(_ word: String) -> String {
  word == HeaderFinding.headersDiffer.rawValue
    ? "; 'varve fsck --repair --keyfile' on the unmounted volume makes them alike" : ""
}

/// What is wrong with a file whose record has lost that it is encrypted.
func lostMarkSentence(_ protection: String) -> String {
  "is encrypted (\(protection)), and its record does not say so"
}

/// What is wrong where the session log is lost.
let lostSessionsSentence =
  "the session log is missing or damaged, so every file counts as one that was being written at a crash"

/// What is wrong with the keybag; nil where nothing is, as far as is known without a keyfile.
func keybagSentence(_ state: OfflineContent.KeybagState) -> String? {
  let remedy = "bring one back, or mount the volume and give an export to 'varve unlock --keybag'"
  return switch state {
  case .none, .whole: nil
  case .differing: "the keybag and its copy are not alike"
  case .lost:
    "the keybag and its copy are lost, and without them no keyfile opens the encrypted files; \(remedy)"
  case .unusable:
    "the keybag and its copy are both damaged, or of another volume, and no keyfile opens the encrypted files; "
      + remedy
  }
}
