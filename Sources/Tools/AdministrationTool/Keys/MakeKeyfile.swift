// `varve key create` and `varve key passphrase`: keyfiles are written.

import Arguments
import Ciphers
import JSONForm
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import SealedFormat
import TextForms

func createKeyfile(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let path = try keyfileOperand(invocation)
  let source = try SecretSource.given(.passphraseFile, invocation)
  if source != nil, invocation.has(.passphrase) {
    throw UsageError(
      "--passphrase asks on the terminal, and --passphrase-file does not; give one of them",
      verb: invocation.verb)
  }
  return report(invocation, path) { console throws(Refusal) in
    let input =
      try source.map { (source) throws(Refusal) in try PassphraseInput(source) }
      ?? (invocation.has(.passphrase) ? .terminal : nil)
    let destination = try KeyfileDestination(path, example: "team.key")
    try destination.requireFree()
    let secret = try keyed { () throws(KeyFailure) in try KeyfileContent.fresh() }
    let content = try keyfileContent(of: secret, path, passphraseFrom: input)
    Interruption.watch()
    try destination.create(content)
    if destination.isOnVolume {
      console.note(
        path,
        "made, but on a Varve volume: it cannot unlock that volume from there, and is lost with it; move it elsewhere"
      )
    }
    return KeyfileFacts(id: Bytes16(secret.keyfile.span, at: 0), hasPassphrase: input != nil)
  }
}

func changePassphrase(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let path = try keyfileOperand(invocation)
  let removes = invocation.has(.removePassphrase)
  let source = try SecretSource.given(.passphraseFile, invocation)
  let newSource = try SecretSource.given(.newPassphraseFile, invocation)
  if removes, newSource != nil {
    throw UsageError(
      "--remove leaves no passphrase, so --new-passphrase-file is of no use", verb: invocation.verb)
  }
  if let newSource, newSource == source {
    throw invocation.mistake(
      "both passphrases cannot come from one source; name another one for the new passphrase")
  }
  return report(invocation, path) { console throws(Refusal) in
    let input = try source.map { (source) throws(Refusal) in try PassphraseInput(source) }
    let newInput = try newSource.map { (source) throws(Refusal) in try PassphraseInput(source) }
    let found = try FoundKeyfile(path)
    let destination = try KeyfileDestination(path, example: "team.key")
    let keyfile = try ReadKeyfile(try found.read())
    guard keyfile.hasPassphrase || !removes else {
      throw Refusal("has no passphrase to remove; nothing was changed")
    }
    let secret = try keyfile.secret(input ?? .terminal, path)
    // A keyfile without a passphrase has no present one that a source could be for.
    let wanted = newInput ?? (keyfile.hasPassphrase ? nil : input) ?? .terminal
    if !keyfile.hasPassphrase, input != nil, newInput != nil {
      console.note(path, "has no passphrase yet; the one from --passphrase-file was not needed")
    }
    let content = try keyfileContent(of: secret, path, passphraseFrom: removes ? nil : wanted)
    Interruption.watch()
    try destination.replace(found.status, by: content)
    return KeyfileFacts(id: keyfile.header.id, hasPassphrase: !removes)
  }
}

/// What is told of a keyfile that was made.
private struct KeyfileFacts {
  let id: Bytes16
  let hasPassphrase: Bool
}

/// Does the work, and says what went wrong, or as JSON what was made; else nothing is said, as by cp(1).
private func report(
  _ invocation: Invocation, _ path: Word, _ work: (Console) throws(Refusal) -> KeyfileFacts
) -> Int32 {
  let console = Console(invocation, outputLoss: .isSurvived)
  do throws(Refusal) {
    let facts = try work(console)
    // A signal that came while the keyfile was written waited for it.
    if Interruption.isRequested { Interruption.end() }
    guard invocation.has(.json) else { return console.finish() }
    var members = JSON.nameMembers("path", path)
    members.add("keyfile", facts.id.hexadecimal)
    members.add("passphrase", facts.hasPassphrase)
    console.print(JSON.object(members).text + "\n")
  } catch {
    console.complain(path, error.sentence)
  }
  return console.finish()
}

/// The operand FILE: a keyfile has a name, and never goes through standard input or output.
func keyfileOperand(_ invocation: Invocation) throws(UsageError) -> Word {
  let path = invocation.operands[0]
  guard path != [UInt8(ascii: "-")] else {
    throw invocation.mistake("a keyfile is a file, not a standard stream; './-' is a file of this name")
  }
  return path
}
