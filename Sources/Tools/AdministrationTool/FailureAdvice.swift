// What to do about a failure: an error number alone sends people searching.

import FlagRules
import LinuxFiles
import TextForms

extension Refusal {
  /// The sentence about a change that was refused.
  ///
  /// `path` is the item as it would be typed, `right` the right the change needs, as `chmod +a` has it.
  static func change(
    _ error: Errno, _ path: [UInt8], _ place: borrowing Descriptor, needs right: String
  ) -> Refusal {
    switch error {
    case .notPermitted, .accessDenied:
      if let locked = locked(path, place) { return Refusal("\(locked) (\(error.shortName))") }
      return Refusal(
        "\(error): this needs the right \(right), which the owner and root have; "
          + "'varve acl get' shows who else")
    case .inputOutput: return damaged(place)
    case .readOnly: return Refusal("the volume is read-only (EROFS)")
    default: return Refusal(error)
    }
  }

  /// The sentence about a list that could not be read.
  static func reading(_ error: Errno, _ place: borrowing Descriptor) -> Refusal {
    switch error {
    case .inputOutput: damaged(place)
    case .accessDenied: Refusal("\(error): this needs the right readsecurity and a way to the item")
    default: Refusal(error)
    }
  }

  /// The sentence about an item of which something stored is damaged; `place` is the item.
  private static func damaged(_ place: borrowing Descriptor) -> Refusal {
    // Flags live in the record, lists beside it: if flags can be read, it is the list.
    do throws(Errno) {
      _ = try place.fileFlags()
      return Refusal("its access list is damaged (EIO); as root, 'varve acl strip' removes it")
    } catch {
      return Refusal(
        "the record of its flags and owner is damaged (EIO); restore it from a backup, or unmount and let "
          + "'varve check --repair' of the upper directory lock it")
    }
  }

  /// Says which flags stand in the way, if any do.
  static func locked(_ path: [UInt8], _ place: borrowing Descriptor) -> String? {
    guard let flags = try? place.fileFlags() else { return nil }
    let locks = flags.intersection(FileFlags.immutable.union(.appendOnly))
    guard !locks.isEmpty else { return nil }
    let words = locks.text
    let clearing = locks.keywords.map { "no\($0)" }.joined(separator: ",")
    let isRoots = !locks.isDisjoint(with: [.systemImmutable, .systemAppendOnly])
    return "is locked by \(words); clear it first\(isRoots ? ", as root" : ""): "
      + "varve chflags \(clearing) \(shellWord(path))"
  }
}

/// A path as it can be copied into a shell.
func shellWord(_ path: [UInt8]) -> String {
  let isPlain = path.allSatisfy { byte in
    switch Unicode.Scalar(byte) {
    case "a"..."z", "A"..."Z", "0"..."9", "_", ".", "/", "+", "-", "@", "%", ",", ":", "=": true
    default: byte >= 0x80
    }
  }
  if isPlain, String(validating: path, as: UTF8.self) != nil, path.first != UInt8(ascii: "-") {
    return String(decoding: path, as: UTF8.self)
  }
  let quoted = String(decoding: path, as: UTF8.self)
  if quoted.utf8.elementsEqual(path),
    path.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "'") }),
    path.first != UInt8(ascii: "-")
  {
    return "'\(quoted)'"
  }
  // Bash and zsh read octal numbers in this kind of quotes.
  let name = path.first == UInt8(ascii: "-") ? Array("./".utf8) + path : path
  return "$'" + PathText.escaped(name).replacing("'", with: "\\'") + "'"
}

extension Errno {
  /// `EPERM`, without the words.
  var shortName: String {
    let text = "\(self)"
    guard let start = text.lastIndex(of: "("), text.hasSuffix(")") else { return text }
    return String(text[text.index(after: start)...].dropLast())
  }
}
