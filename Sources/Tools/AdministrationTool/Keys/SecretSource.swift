// Where a passphrase or a keyfile comes from, if not from a terminal: a path, a descriptor or a credential.

import Arguments
import LinuxFiles
import LinuxPrograms

/// A word such as `-`, `fd:3`, `cred:team` or a path.
struct SecretSource {
  private enum Kind {
    case path
    case descriptor(SharedDescriptor?)
    case credential(Word)
  }

  /// As it was typed.
  let word: Word
  private let kind: Kind

  /// Takes over a descriptor that is named, which comes before anything is opened: a number of this program's own must
  /// not be taken for the caller's.
  init(_ word: Word) throws(Refusal) {
    self.word = word
    if word == [UInt8(ascii: "-")] {
      kind = .descriptor(SecretSource.inherited(0))
    } else if word.starts(with: "fd:".utf8) {
      guard let number = SecretSource.descriptor(word) else {
        throw Refusal("\(shown(word)) does not name a descriptor; 'fd:3' does")
      }
      kind = .descriptor(SecretSource.inherited(number))
    } else if word.starts(with: "cred:".utf8) {
      guard let name = SecretSource.credential(word) else {
        throw Refusal("\(shown(word)) does not name a credential; 'cred:passphrase' does")
      }
      kind = .credential(name)
    } else {
      kind = .path
    }
  }

  /// Whether a word names a descriptor or a credential, of which nothing is taken over or opened.
  static func isNoPath(_ word: Word) -> Bool {
    word == [UInt8(ascii: "-")] || descriptor(word) != nil || credential(word) != nil
  }

  private static func descriptor(_ word: Word) -> CInt? {
    guard word.starts(with: "fd:".utf8) else { return nil }
    return CInt(String(decoding: word.dropFirst(3), as: UTF8.self)).flatMap { $0 >= 0 ? $0 : nil }
  }

  private static func credential(_ word: Word) -> Word? {
    guard word.starts(with: "cred:".utf8) else { return nil }
    let name = Word(word.dropFirst(5))
    return name.isEmpty || name.contains(slash) || name.first == UInt8(ascii: ".") ? nil : name
  }

  private static func inherited(_ number: CInt) -> SharedDescriptor? {
    // That it is not open is said when it is wanted.
    guard let descriptor = try? SharedDescriptor(Descriptor.inherited(number)) else { return nil }
    // What `mount --foreground` becomes would keep the keyfile open for years.
    if number > 2 { try? ThisProgram.closeForNext(inherited: number) }
    return descriptor
  }

  /// The word of a command line.
  init(_ word: Word, _ invocation: Invocation) throws(UsageError) {
    do throws(Refusal) {
      self = try SecretSource(word)
    } catch {
      throw invocation.mistake(error.sentence)
    }
  }

  /// The value of an option; nil if it was not given.
  static func given(_ option: Option, _ invocation: Invocation) throws(UsageError) -> SecretSource? {
    guard let word = invocation.values(option).last else { return nil }
    return try SecretSource(word, invocation)
  }

  /// The path, if it is one.
  var path: Word? {
    if case .path = kind { word } else { nil }
  }

  /// Opens it for reading.
  ///
  /// `role` is what a sentence calls it; without one the sentence is about it, and the caller names it.
  func open(as role: String? = nil) throws(Refusal) -> SharedDescriptor {
    let name = role == nil ? "" : shown(word)
    let about = role == nil ? "" : "\(name): "
    switch kind {
    case .path:
      return SharedDescriptor(
        try attempt(Descriptor.reading(word)) {
          Refusal("\(role.map { "\($0) \(name) " } ?? "")cannot be opened: \($0)\($0.advice(about: word))")
        })
    case .descriptor(let descriptor):
      guard let descriptor else {
        let number = word == [UInt8(ascii: "-")] ? "0" : String(decoding: word.dropFirst(3), as: UTF8.self)
        throw Refusal(
          "\(role == nil ? "" : "\(name) ")is not open; the caller of this program opens it, in a shell with '\(number)<FILE'"
        )
      }
      return descriptor
    case .credential(let credential):
      guard let directory = environment("CREDENTIALS_DIRECTORY") else {
        throw Refusal(
          "\(about)this program was given no credentials ($CREDENTIALS_DIRECTORY is not set); LoadCredential= of a "
            + "systemd unit gives them")
      }
      return SharedDescriptor(
        try attempt(Descriptor.reading(joined(directory, credential))) {
          Refusal(
            "\(about)the credential cannot be opened: \($0); LoadCredential= of the systemd unit gives it")
        })
    }
  }
}

extension SecretSource: Equatable {
  /// Standard input has two names.
  private var identity: Word { word == [UInt8(ascii: "-")] ? Array("fd:0".utf8) : word }

  static func == (one: SecretSource, other: SecretSource) -> Bool { one.identity == other.identity }
}
