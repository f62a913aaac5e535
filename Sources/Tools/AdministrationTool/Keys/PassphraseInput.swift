// Where a passphrase comes from: a terminal, or a source that is named on the command line. On its way it lies in the
// secure heap and nowhere else.

import Arguments
import Ciphers
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import TextForms

/// A passphrase in the secure heap.
struct Passphrase: ~Copyable {
  /// What a terminal takes in one line is about four times as long.
  static let longest = 1024

  let bytes: SecretBytes
  /// How many of the bytes are the passphrase, from the first.
  let count: Int

  /// Takes what `fill` puts into memory that has room for one byte more than a newline.
  init(
    from source: String, fill: (inout MutableSpan<UInt8>) throws(Refusal) -> Int
  ) throws(Refusal) {
    var bytes = try secretRoom(Passphrase.longest + 2)
    let read = try bytes.withMutableBytes { span throws(Refusal) in try fill(&span) }
    guard let count = KeyfileContent.passphraseLength(bytes, read: read) else {
      throw Refusal("the passphrase from \(source) is empty; a passphrase has at least one byte")
    }
    guard count <= Passphrase.longest else {
      throw Refusal(
        "the passphrase from \(source) is too long; it has \(grouped(Passphrase.longest)) bytes at most")
    }
    self.bytes = bytes
    self.count = count
  }

  /// In a time that does not tell where they differ.
  borrowing func equals(_ other: borrowing Passphrase) -> Bool {
    bytes.withBytes { own in
      other.bytes.withBytes { others in
        SHA256.areEqual(own.extracting(first: count), others.extracting(first: other.count))
      }
    }
  }
}

/// The word behind `--passphrase-file`.
enum PassphraseSource: Equatable {
  case path(Word)
  case descriptor(CInt)
  case credential(Word)

  init(_ word: Word, _ invocation: Invocation) throws(UsageError) {
    if word == [UInt8(ascii: "-")] {
      self = .descriptor(0)
    } else if word.starts(with: "fd:".utf8) {
      guard let number = CInt(String(decoding: word.dropFirst(3), as: UTF8.self)), number >= 0 else {
        throw invocation.mistake("\(shown(word)) does not name a descriptor; 'fd:3' does")
      }
      self = .descriptor(number)
    } else if word.starts(with: "cred:".utf8) {
      let name = Word(word.dropFirst(5))
      guard !name.isEmpty, !name.contains(slash), name.first != UInt8(ascii: ".") else {
        throw invocation.mistake("\(shown(word)) does not name a credential; 'cred:passphrase' does")
      }
      self = .credential(name)
    } else {
      self = .path(word)
    }
  }

  /// The value of an option; nil if it was not given.
  static func given(
    _ option: Option, _ invocation: Invocation
  ) throws(UsageError) -> PassphraseSource? {
    guard let word = invocation.values(option).last else { return nil }
    return try PassphraseSource(word, invocation)
  }

  /// As it is typed.
  private var word: Word {
    switch self {
    case .path(let path): path
    case .descriptor(0): Array("-".utf8)
    case .descriptor(let number): Array("fd:\(number)".utf8)
    case .credential(let name): Array("cred:".utf8) + name
    }
  }

  /// Opens it, which comes before anything else is opened: a number of this program's must not be taken for the caller's.
  func open() throws(Refusal) -> PassphraseInput {
    let name = shown(word)
    let opened: Descriptor
    switch self {
    case .path(let path):
      opened = try attempt(Descriptor.reading(path)) {
        Refusal("the passphrase file \(name) cannot be opened: \($0)\($0.advice(about: path))")
      }
    case .descriptor(let number):
      opened = try attempt(Descriptor.inherited(number)) { _ in
        Refusal("\(name) is not open; the caller of this program opens it, in a shell with '\(number)<FILE'")
      }
    case .credential(let credential):
      guard let directory = environment("CREDENTIALS_DIRECTORY") else {
        throw Refusal(
          "\(name): this program was given no credentials ($CREDENTIALS_DIRECTORY is not set); LoadCredential= of a "
            + "systemd unit gives them")
      }
      opened = try attempt(Descriptor.reading(joined(directory, credential))) {
        Refusal(
          "\(name): the credential cannot be opened: \($0); LoadCredential= of the systemd unit gives it")
      }
    }
    return PassphraseInput(SharedDescriptor(opened), name)
  }
}

/// A source of passphrases that is open.
struct PassphraseInput {
  private let stream: SharedDescriptor?
  private let name: String

  /// The terminal this program was started on.
  static let terminal = PassphraseInput(nil, "the terminal")

  fileprivate init(_ stream: SharedDescriptor?, _ name: String) {
    self.stream = stream
    self.name = name
  }

  /// The passphrase that a keyfile has.
  func present(of path: Word) throws(Refusal) -> Passphrase {
    try read("Passphrase of \(PathText.escaped(path)): ")
  }

  /// The passphrase that a keyfile gets; a terminal is asked twice.
  func new(for path: Word) throws(Refusal) -> Passphrase {
    let first = try read("New passphrase of \(PathText.escaped(path)): ")
    guard isAsked else { return first }
    let second = try read("The same again: ")
    guard first.equals(second) else {
      throw Refusal("the two passphrases differ; nothing was written")
    }
    return first
  }

  /// Whether somebody types it.
  private var isAsked: Bool { stream.map { $0.descriptor.isTerminal } ?? true }

  private func read(_ prompt: String) throws(Refusal) -> Passphrase {
    guard let stream else {
      let terminal = try attempt(Terminal.controlling()) {
        Refusal(
          "there is no terminal to ask for the passphrase on (\($0.name)); name a source with --passphrase-file"
        )
      }
      return try ask(terminal, prompt)
    }
    guard !stream.descriptor.isTerminal else { return try ask(terminal(stream.descriptor), prompt) }
    return try Passphrase(from: name) { span throws(Refusal) in
      try attempt(stream.descriptor.readToEnd(into: &span)) {
        Refusal("the passphrase cannot be read from \(name): \($0)")
      }
    }
  }

  /// The terminal that a source leads to, to write to as well if that can be.
  private func terminal(_ source: borrowing Descriptor) throws(Refusal) -> Terminal {
    if let both = try? source.reopen(.readWrite) { return Terminal(both) }
    return Terminal(try attempt(source.duplicate()) { Refusal("\(name): \($0)") })
  }

  private func ask(_ terminal: borrowing Terminal, _ prompt: String) throws(Refusal) -> Passphrase {
    // A name must not steer the terminal.
    let prompt = PathText.forTerminal(Array(prompt.utf8))
    return try Passphrase(from: name) { span throws(Refusal) in
      try attempt(terminal.readHiddenLine(prompt: prompt, into: &span)) {
        Refusal("the passphrase cannot be read from \(name): \($0)")
      }
    }
  }
}
