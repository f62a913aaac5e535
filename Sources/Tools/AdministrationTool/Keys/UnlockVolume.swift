// `varve unlock`: the secret of a keyfile goes to the daemon of a mounted volume.

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import SealedFormat
import TextForms

func unlock(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let keyfile = try SecretSource(invocation.operands[1], invocation)
  let passphrase = try SecretSource.given(.passphraseFile, invocation)
  try requireDifferent(keyfile, passphrase, invocation)
  let after = try seconds(in: 1...31_536_000, invocation)
  let run = KeyRun(invocation, about: invocation.operands[0])
  do throws(Refusal) {
    let volume = try KeyedVolume(beforeKeyfile: invocation, to: "unlock it")
    var attachments = Attachments()
    if let path = invocation.values(.exportedKeybag).last {
      attachments.keybag = try run.about(path) { () throws(Refusal) in try readKeybag(path) }
    }
    attachments.first = try run.secret(keyfile, passphrase: passphrase, for: volume)
    let members = after.map { [JSON.Member("after", .number($0))] } ?? []
    let answer = try volume.ask("unlock", members, sending: attachments)
    run.take(answer)
    tell(answer, run, hasExport: invocation.has(.exportedKeybag))
    if run.isVerbose {
      run.say(volume.path, answer["wasOpen"] == .bool(true) ? " was unlocked already" : " unlocked")
    }
  } catch {
    run.complain(error)
  }
  return run.finish()
}

/// What of an unlock is worth a word.
private func tell(_ answer: JSON, _ run: KeyRun, hasExport: Bool) {
  if answer["healed"] == .bool(true) {
    run.note(
      hasExport
        ? "has taken the exported keybag as its own, with all the keyslots that it had then; 'varve key slot list' shows them"
        : "one of the two files of its keybag was missing, damaged or older, and was made anew")
  }
  if hasExport, let sentence = differenceOfKeybags(answer) { run.note(sentence) }
  if let failure = answer["healingError"]?.string {
    run.note("unlocked, but one of the two files of its keybag is not sound and stays so: \(failure)")
  }
  if answer["lostSessions"] == .bool(true) {
    run.note(
      "its session log (.varve/sessions) was lost: every encrypted file counts as one that was being written when the "
        + "machine crashed, until 'varve fsck --repair --keyfile' on the unmounted volume has looked at it")
  }
  if let count = answer["unmarked"]?.integer {
    let files = count == 1 ? "1 encrypted file was" : "\(grouped(count)) encrypted files were"
    run.note(
      "\(files) met without a mark, as in a copy made without attributes, whose directories may have lost their class; "
        + "unmount it, and run 'varve fsck --repair'")
  }
  if let failure = answer["afterError"]?.string {
    run.complain(Refusal("unlocked, but it will not lock by itself: \(failure); 'varve lock' locks it"))
  }
}

/// What an exported keybag may let in that the volume's own does not, as after a keyslot was removed.
private func differenceOfKeybags(_ answer: JSON) -> String? {
  let isTaken = answer["healed"] == .bool(true)
  let own = isTaken ? "the damaged one that it replaces" : "its own"
  let lacks = "\(own), which \(isTaken ? "had" : "has") no keyslot for this keyfile"
  return switch (answer["olderKeybag"] == .bool(true), answer["lacksKeyslot"] == .bool(true)) {
  case (true, true): "opened with a keybag that is older than \(lacks) any more"
  case (true, false): "opened with a keybag that is older than \(own)"
  case (false, true): "opened with another keybag than \(lacks)"
  case (false, false): nil
  }
}

/// The value of `--after`.
func seconds(in range: ClosedRange<Int>, _ invocation: Invocation) throws(UsageError) -> Int? {
  guard let word = invocation.values(.lockAfter).last else { return nil }
  guard let number = Int(String(decoding: word, as: UTF8.self)), range.contains(number) else {
    throw invocation.mistake(
      "--after takes a number of seconds from \(range.lowerBound) to \(grouped(range.upperBound))")
  }
  return number
}

/// Refuses a stream that would have to give two things.
func requireDifferent(
  _ one: SecretSource, _ other: SecretSource?, _ invocation: Invocation
) throws(UsageError) {
  guard one.path == nil, one == other else { return }
  throw invocation.mistake(
    "the keyfile and its passphrase cannot both come from \(shown(one.word)); name another source for one of them"
  )
}

/// An exported keybag, which is no secret.
private func readKeybag(_ path: Word) throws(Refusal) -> [UInt8] {
  let kind = try attempt(Descriptor.item(atPath: path, .followed).status().kind) { Refusal($0, at: path) }
  // A FIFO could keep us waiting.
  guard kind == .regular else { throw Refusal("is not a regular file, and an exported keybag is one") }
  let bytes = try attempt(Descriptor.reading(path).readToEnd(limit: Keybag.longest + 1)) {
    Refusal("cannot be read: \($0)")
  }
  guard (1...Keybag.longest).contains(bytes.count) else {
    throw Refusal("is not a keybag: it has \(bytes.isEmpty ? "no" : "too many") bytes (EBADMSG)")
  }
  return bytes
}
