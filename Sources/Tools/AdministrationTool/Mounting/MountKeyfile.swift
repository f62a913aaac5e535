// `-o keyfile=SRC`, and `passphrase_file=SRC` beside it: the keyfile is read here, and its secret handed to the daemon through a pipe. The daemon never sees
// the word, so that no table of mounts shows it.

import Arguments
import Ciphers
import LinuxFiles
import LinuxPrograms
import TextForms

/// The keyfile that a mount is unlocked with.
struct MountKeyfile {
  private let source: SecretSource
  private let passphrase: SecretSource?

  /// Takes the words from the options, the last ones if there are several; nil if there is no keyfile.
  init?(takenFrom options: inout [MountOption]) throws(Refusal) {
    let source = try MountKeyfile.take("keyfile", from: &options)
    passphrase = try MountKeyfile.take("passphrase_file", from: &options)
    guard let source else {
      if passphrase != nil { throw Refusal("'passphrase_file' needs 'keyfile'") }
      return nil
    }
    if source.path == nil, source == passphrase {
      throw Refusal("the keyfile and its passphrase cannot both come from \(shown(source.word))")
    }
    self.source = source
  }

  /// Whether an option is about a keyfile, or was meant to be.
  static func isTold(_ option: MountOption) -> Bool {
    ["keyfile", "passphrase_file"].contains(option.name)
  }

  private static func take(
    _ name: String, from options: inout [MountOption]
  ) throws(Refusal) -> SecretSource? {
    guard let option = options.last(where: { $0.name == name }) else { return nil }
    options.removeAll { $0.name == name }
    guard let value = option.value, !value.isEmpty else { throw Refusal("'\(name)' needs a value") }
    return try SecretSource(MountOption.unescaped(value))
  }

  /// Refuses a keyfile that would not be read, or is none; its secret is not asked for.
  func check(for upper: Word) throws(Refusal) {
    let keyfile = try found(upper)
    try named { () throws(Refusal) in try keyfile.requireSound() }
  }

  /// The end of a pipe with the secret in it, all of it.
  func pipe(for upper: Word) throws(Refusal) -> Descriptor {
    let keyfile = try found(upper)
    let secret = try named { () throws(Refusal) in try self.secret(of: try keyfile.read()) }
    let pipe = try attempt(Pipe()) { Refusal("\($0)") }
    do throws(CipherFailure) {
      try secret.write(to: pipe.writing)
    } catch {
      throw Refusal.ciphers(error)
    }
    return pipe.intoReadingEnd()
  }

  /// A source of passphrases is only opened for a keyfile that has one.
  private func secret(of keyfile: consuming ReadKeyfile) throws(Refusal) -> HandedSecret {
    guard keyfile.hasPassphrase, let passphrase else {
      return try keyfile.secret(.terminalOfMount, source.word)
    }
    return try keyfile.secret(try PassphraseInput(passphrase), source.word)
  }

  private func found(_ upper: Word) throws(Refusal) -> GivenKeyfile {
    try named { () throws(Refusal) in
      let keyfile = try GivenKeyfile(source)
      // What is not there is refused in other words.
      try keyfile.requireOutside(upper: (try? realPath(upper)) ?? upper)
      return keyfile
    }
  }

  /// What is said about a mount names the keyfile.
  private func named<Value: ~Copyable>(_ work: () throws(Refusal) -> Value) throws(Refusal) -> Value {
    do throws(Refusal) {
      return try work()
    } catch {
      throw Refusal("the keyfile \(shown(source.word)): \(error.sentence)")
    }
  }
}
