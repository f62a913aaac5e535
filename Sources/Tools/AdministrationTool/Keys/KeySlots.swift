// `varve key slot` and `varve key export`: which keyfiles open a mounted volume.

import Arguments
import Ciphers
import JSONForm
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import SealedFormat
import TextForms

/// What the daemon refuses to everybody else.
private let deed = "see or change its keyslots"

func addSlot(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let new = try SecretSource(invocation.operands[1], invocation)
  let newPassphrase = try SecretSource.given(.passphraseFile, invocation)
  let present = try presentKeyfile(invocation)
  try requireDifferent(new, newPassphrase, invocation)
  let makesAnew = invocation.has(.newKeybag)
  if makesAnew, present.source != nil {
    throw invocation.mistake("--new-keybag makes the first keyslot, and --with is for a further one")
  }
  if let source = present.source, source == new {
    throw invocation.mistake("NEW and OLD are the same keyfile; name with --with one that has a keyslot")
  }
  let run = KeyRun(invocation, about: invocation.operands[0])
  do throws(Refusal) {
    let volume = try KeyedVolume(beforeKeyfile: invocation, to: deed)
    if present.source == nil { try requireNoSlots(volume) }
    var attachments = Attachments()
    attachments.first = try run.secret(new, passphrase: newPassphrase, for: volume)
    if let source = present.source {
      attachments.second = try run.secret(
        source, passphrase: present.passphrase, by: "--with-passphrase-file", for: volume)
    }
    var members = [JSON.Member("do", .string("add"))]
    if makesAnew { members.add("newKeybag", true) }
    let answer = try volume.ask("keys", members, sending: attachments)
    run.take(answer)
    if answer["madeKeybag"] == .bool(true) { sayWhatIsNext(volume.path, new.word, run) }
  } catch {
    run.complain(error)
  }
  return run.finish()
}

/// Refuses, before anybody types a passphrase, a first keyslot where there are others.
private func requireNoSlots(_ volume: KeyedVolume) throws(Refusal) {
  let answer = try volume.ask("keys", [JSON.Member("do", .string("list"))])
  guard case .array(let slots)? = answer["slots"], !slots.isEmpty else { return }
  throw Refusal(KeyFailure.keyNeeded.sentence)
}

/// With one keyfile and one keybag, each of two accidents loses everything.
private func sayWhatIsNext(_ path: Word, _ keyfile: Word, _ run: KeyRun) {
  let (volume, key) = (shellWord(path), shellWord(keyfile))
  run.note("has a keybag now, and \(key) is the only keyfile; without either, its encrypted files are lost")
  run.note(
    "make a second keyfile: varve key create second.key && varve key slot add \(volume) second.key --with \(key)"
  )
  run.note(
    "then export the keybag: varve key export \(volume) FILE; and keep the keyfiles and the export in different places"
  )
}

func removeSlot(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let present = try presentKeyfile(invocation)
  guard let source = present.source else {
    throw UsageError(
      "--with is missing: a keyfile that opens the volume is needed", verb: invocation.verb)
  }
  let run = KeyRun(invocation, about: invocation.operands[0])
  do throws(Refusal) {
    let volume = try KeyedVolume(invocation.operands[0], to: deed)
    let word = invocation.operands[1]
    let keyfile = try run.about(word) { () throws(Refusal) in try identifier(word) }
    var attachments = Attachments()
    attachments.first = try run.secret(
      source, passphrase: present.passphrase, by: "--with-passphrase-file", for: volume)
    let members = [
      JSON.Member("do", .string("remove")), JSON.Member("keyfile", .string(keyfile.hexadecimal)),
    ]
    run.take(try volume.ask("keys", members, sending: attachments))
    sayWhatStillOpens(run)
  } catch {
    run.complain(error)
  }
  return run.finish()
}

/// Only on a terminal: it is advice for a person.
private func sayWhatStillOpens(_ run: KeyRun) {
  guard StandardStream.error.isTerminal else { return }
  run.note(
    "older exports and backups still open with the removed keyfile; make a new export, and destroy the older ones"
  )
}

/// The identifier that a word is, or that of the keyfile that it names.
private func identifier(_ word: Word) throws(Refusal) -> Bytes16 {
  if let identifier = Bytes16(hexadecimal: String(decoding: word, as: UTF8.self)) { return identifier }
  do throws(Errno) { _ = try Descriptor.item(atPath: word, .held) } catch {
    guard word.contains(slash) else {
      throw Refusal(
        "is neither a keyfile nor the identifier of one, 32 hexadecimal digits; 'varve key slot list' shows them"
      )
    }
    throw Refusal(
      "\(error); if the keyfile is lost, name its identifier, which 'varve key slot list' shows")
  }
  return try ReadKeyfile(try FoundKeyfile(word).read()).header.id
}

func listSlots(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let run = KeyRun(invocation, about: invocation.operands[0])
  do throws(Refusal) {
    let volume = try KeyedVolume(invocation.operands[0], to: deed)
    let answer = try volume.ask("keys", [JSON.Member("do", .string("list"))])
    run.take(answer)
    guard case .array(let slots)? = answer["slots"] else {
      throw Refusal("the daemon's answer is not understood")
    }
    if slots.isEmpty { run.note("has no keyslots; 'varve key slot add' makes the first") }
    for slot in slots.compactMap(\.string) { run.say(Array(slot.utf8), "") }
  } catch {
    run.complain(error)
  }
  return run.finish()
}

func exportKeybag(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let present = try presentKeyfile(invocation)
  let file = invocation.operands[1]
  let run = KeyRun(invocation, about: invocation.operands[0])
  do throws(Refusal) {
    let volume = try KeyedVolume(invocation.operands[0], to: deed)
    let destination = try run.about(file) { () throws(Refusal) in
      let destination = try KeyfileDestination(file, example: "team.keybag")
      try destination.requireFree()
      return destination
    }
    var attachments = Attachments()
    if let source = present.source {
      attachments.first = try run.secret(
        source, passphrase: present.passphrase, by: "--with-passphrase-file", for: volume)
    }
    let answer = try volume.ask("keys", [JSON.Member("do", .string("export"))], sending: attachments)
    guard let bytes = answer["keybag"]?.hexadecimalBytes, !bytes.isEmpty else {
      throw Refusal("the daemon's answer is not understood")
    }
    try run.about(file) { () throws(Refusal) in
      try write(bytes, destination)
      if destination.isOnVolume {
        run.note("made, but on a Varve volume, with which it is lost; move it elsewhere")
      }
    }
    run.take(JSON.nameMembers("file", file) + [JSON.Member("bytes", .number(bytes.count))])
  } catch {
    run.complain(error)
  }
  return run.finish()
}

/// Not secret, but as well kept as a keyfile: who has the one should not find the other beside it.
private func write(_ keybag: [UInt8], _ destination: KeyfileDestination) throws(Refusal) {
  var content = try secretRoom(keybag.count)
  content.withMutableBytes { bytes in
    for index in keybag.indices { bytes[index] = keybag[index] }
  }
  Interruption.watch()
  try destination.create(content)
  // A signal that came while the file was written waited for it.
  if Interruption.isRequested { Interruption.end() }
}

/// The keyfile of `--with`, and where its passphrase comes from.
private func presentKeyfile(
  _ invocation: Invocation
) throws(UsageError) -> (source: SecretSource?, passphrase: SecretSource?) {
  let source = try SecretSource.given(.presentKeyfile, invocation)
  let passphrase = try SecretSource.given(.presentPassphraseFile, invocation)
  guard let source else {
    if passphrase != nil {
      throw UsageError("--with-passphrase-file needs --with", verb: invocation.verb)
    }
    return (nil, nil)
  }
  try requireDifferent(source, passphrase, invocation)
  return (source, passphrase)
}
