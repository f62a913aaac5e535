// `varve key check`: whether a keyfile is sound, and whether it opens a volume. Nothing is changed.

import Arguments
import Ciphers
import JSONForm
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import SealedFormat
import TextForms

func checkKeyfile(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let path = try keyfileOperand(invocation)
  let source = try SecretSource.given(.passphraseFile, invocation)
  // Nothing is changed, so results are all that is wanted.
  let run = KeyRun(invocation, about: path, outputLoss: .endsProgram)
  do throws(Refusal) {
    let input = try source.map { (source) throws(Refusal) in try PassphraseInput(source) }
    try KeyfileCheck(path: path, run: run).check(input, upper: invocation.operands.dropFirst().first)
  } catch {
    run.complain(error)
  }
  return run.finish()
}

private struct KeyfileCheck {
  let path: Word
  let run: KeyRun

  func check(_ input: PassphraseInput?, upper: Word?) throws(Refusal) {
    let found = try FoundKeyfile(path)
    // A keyfile that the volume would refuse is not read either.
    let volume = try upper.map { word throws(Refusal) in try self.volume(word, found) }
    let keyfile = try ReadKeyfile(try found.read())
    run.take([
      JSON.Member("keyfile", .string(keyfile.header.id.hexadecimal)),
      JSON.Member("passphrase", .bool(keyfile.hasPassphrase)),
    ])
    if !keyfile.hasPassphrase, input != nil {
      run.console.note(path, "has no passphrase; the one that was given is not needed")
    }
    let secret = try keyfile.secret(input ?? .terminal, path)
    run.take([JSON.Member("sound", .bool(true))])
    run.say(
      path,
      ": a sound keyfile \(keyfile.hasPassphrase ? "with" : "without") a passphrase, id "
        + keyfile.header.id.hexadecimal)
    if let upper, let volume { try open(volume, upper, consume secret) }
  }

  /// Where the keybag is that the keyfile may open.
  private enum Volume {
    case unmounted(KeybagInspection)
    /// Its daemon is asked.
    case mounted(KeyedVolume)
  }

  /// The volume of an upper directory or a mount, if the keyfile is not kept on it.
  private func volume(_ word: Word, _ keyfile: FoundKeyfile) throws(Refusal) -> Volume {
    run.take(JSON.nameMembers("upper", word))
    let typed = try run.about(word) { () throws(Refusal) in try TypedPath(word, try volumeTable()) }
    if typed.mount.isOurs {
      let volume = try run.about(word) { () throws(Refusal) in
        try KeyedVolume(word, to: "check keyfiles with it; name its upper directory")
      }
      try keyfile.requireOutside(upper: volume.mount.source, device: volume.mount.device)
      return .mounted(volume)
    }
    let root = try run.about(word) { () throws(Refusal) in try upperDirectory(word) }
    try keyfile.requireOutside(upper: root.path)
    return .unmounted(
      try run.about(word) { () throws(Refusal) in
        do {
          return try KeybagInspection(of: SharedDescriptor(try root.held.descriptor.listing()))
        } catch let failure as VolumeFailure {
          throw Refusal(failure.message)
        } catch {
          throw Refusal("\(error)")
        }
      })
  }

  private func upperDirectory(_ word: Word) throws(Refusal) -> UpperDirectory {
    let found = try attempt(FollowedPath(word)) { Refusal($0, at: word) }
    guard let root = found.upper else { throw Refusal("is not the upper directory of a Varve volume") }
    guard root.path == found.path else {
      throw Refusal("is inside the upper directory \(shown(root.path)); name that")
    }
    return root
  }

  private func open(
    _ volume: Volume, _ upper: Word, _ secret: consuming HandedSecret
  ) throws(Refusal) {
    let opening: (slots: Int, isWhole: Bool)
    do throws(Refusal) {
      opening = try self.opening(of: volume, secret)
    } catch {
      run.take([JSON.Member("opens", .bool(false))])
      throw run.failure(about: upper, error)
    }
    run.take([
      JSON.Member("opens", .bool(true)), JSON.Member("slots", .number(opening.slots)),
      JSON.Member("whole", .bool(opening.isWhole)),
    ])
    let slots = opening.slots == 1 ? "its only keyslot" : "one of its \(opening.slots) keyslots"
    run.say(upper, ": opens with this keyfile, by \(slots)")
    if !opening.isWhole {
      run.console.note(
        upper,
        ".varve/keybag and .varve/keybag.copy are not alike; one of them opens, and the other is missing, damaged, "
          + "older or of another volume: the next unlock makes it like the first")
    }
  }

  private func opening(
    of volume: Volume, _ secret: consuming HandedSecret
  ) throws(Refusal) -> (slots: Int, isWhole: Bool) {
    switch volume {
    case .unmounted(let inspection):
      do throws(KeyFailure) {
        let opening = try inspection.open(with: secret)
        return (opening.slots, opening.isWhole)
      } catch {
        throw Refusal.keybag(error, path, otherwise: error.sentence)
      }
    case .mounted(let mounted):
      let attachments = Attachments(secret)
      let answer = try mounted.ask("keys", [JSON.Member("do", .string("check"))], sending: attachments)
      guard let slots = answer["slots"]?.integer else {
        throw Refusal("the daemon's answer is not understood")
      }
      return (slots, answer["whole"] == .bool(true))
    }
  }
}
