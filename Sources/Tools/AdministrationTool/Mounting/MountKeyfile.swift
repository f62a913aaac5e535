// `-o keyfile=SRC`: the keyfile is read here, and its secret handed to the daemon through a pipe. The daemon never sees
// the word, so that no table of mounts shows it.

import Arguments
import Ciphers
import LinuxFiles
import LinuxPrograms
import TextForms

/// The keyfile that a mount is unlocked with.
struct MountKeyfile {
  private let source: SecretSource

  /// Takes the word from the options, the last one if there are several; nil if there is none.
  init?(takenFrom options: inout [MountOption]) throws(Refusal) {
    guard let option = options.last(where: { $0.name == "keyfile" }) else { return nil }
    options.removeAll { $0.name == "keyfile" }
    guard let value = option.value, !value.isEmpty else { throw Refusal("'keyfile' needs a value") }
    source = try SecretSource(MountOption.unescaped(value))
  }

  /// Refuses a keyfile that would not be read, or is none; its secret is not asked for.
  func check(for upper: Word) throws(Refusal) {
    let keyfile = try found(upper)
    try named { () throws(Refusal) in try keyfile.requireSound() }
  }

  /// The end of a pipe with the secret in it, all of it.
  func pipe(for upper: Word) throws(Refusal) -> Descriptor {
    let keyfile = try found(upper)
    let secret = try named { () throws(Refusal) in try keyfile.secret(.terminalOfMount) }
    let pipe = try attempt(Pipe()) { Refusal("\($0)") }
    do throws(CipherFailure) {
      try secret.write(to: pipe.writing)
    } catch {
      throw Refusal.ciphers(error)
    }
    return pipe.intoReadingEnd()
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
