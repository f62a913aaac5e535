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

/// A source of passphrases that is open.
struct PassphraseInput {
  private let stream: SharedDescriptor?
  private let name: String
  /// What helps where there is no terminal.
  private var remedy = "name a source with --passphrase-file"

  /// The terminal this program was started on.
  static let terminal = PassphraseInput(nil, "the terminal")

  /// The same for a mount.
  static let terminalOfMount: PassphraseInput = {
    var input = terminal
    input.remedy = "name a source with 'passphrase_file', or mount without 'keyfile' and use 'varve unlock'"
    return input
  }()

  private init(_ stream: SharedDescriptor?, _ name: String) {
    self.stream = stream
    self.name = name
  }

  /// Opens a source, the value of `--passphrase-file`.
  init(_ source: SecretSource) throws(Refusal) {
    let stream = try source.open(as: "the passphrase file")
    if let path = source.path { try PassphraseInput.requireClosed(stream.descriptor, path) }
    self.init(stream, shown(source.word))
  }

  /// Refuses a file that others may read or choose, as of a keyfile.
  private static func requireClosed(_ file: borrowing Descriptor, _ path: Word) throws(Refusal) {
    guard let status = try? file.status(), status.kind == .regular, status.mode & 0o066 != 0 else { return }
    throw Refusal(
      "others than its owner may read or write the passphrase file \(shown(path)) (mode 0"
        + "\(String(status.mode & 0o7777, radix: 8))); 'chmod 400 \(shellWord(path))' closes it")
  }

  /// The source, or where none was named with `option` the terminal.
  static func named(
    _ source: SecretSource?, by option: String = "--passphrase-file"
  ) throws(Refusal) -> PassphraseInput {
    guard let source else {
      var input = terminal
      input.remedy = "name a source with \(option)"
      return input
    }
    return try PassphraseInput(source)
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

  /// Whether it is typed.
  private var isAsked: Bool { stream.map { $0.descriptor.isTerminal } ?? true }

  private func read(_ prompt: String) throws(Refusal) -> Passphrase {
    guard let stream else {
      let terminal = try attempt(Terminal.controlling()) {
        Refusal(
          "there is no terminal to ask for the passphrase on (\($0.name)); \(remedy)"
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
