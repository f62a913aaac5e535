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
  let check = KeyfileCheck(path, invocation)
  do throws(Refusal) {
    let input = try source.map { (source) throws(Refusal) in try PassphraseInput(source) }
    try check.run(input, upper: invocation.operands.dropFirst().first)
  } catch {
    check.complain(error)
  }
  return check.finish()
}

private final class KeyfileCheck {
  private let path: Word
  private let console: Console
  private let isJSON: Bool
  /// What a complaint is about: the keyfile, or the volume.
  private var subject: Word
  private var facts: [JSON.Member]

  init(_ path: Word, _ invocation: Invocation) {
    self.path = path
    subject = path
    console = Console(invocation)
    isJSON = invocation.has(.json)
    facts = JSON.nameMembers("path", path)
  }

  func run(_ input: PassphraseInput?, upper: Word?) throws(Refusal) {
    let found = try FoundKeyfile(path)
    // A keyfile that the volume would refuse is not read either.
    let volume = try upper.map { word throws(Refusal) in try self.volume(word, found) }
    let keyfile = try ReadKeyfile(try found.read())
    facts.add("keyfile", keyfile.header.id.hexadecimal)
    facts.add("passphrase", keyfile.hasPassphrase)
    if !keyfile.hasPassphrase, input != nil {
      console.note(path, "has no passphrase; the one that was given is not needed")
    }
    let secret = try keyfile.secret(input ?? .terminal, path)
    facts.add("sound", true)
    say(
      path,
      "a sound keyfile \(keyfile.hasPassphrase ? "with" : "without") a passphrase, id "
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
    facts += JSON.nameMembers("upper", word)
    let typed = try attemptAbout(word) { () throws(Refusal) in try TypedPath(word, try volumeTable()) }
    if typed.mount.isOurs {
      let volume = try attemptAbout(word) { () throws(Refusal) in
        try KeyedVolume(word, to: "check keyfiles with it; name its upper directory")
      }
      try keyfile.requireOutside(upper: volume.mount.source, device: volume.mount.device)
      return .mounted(volume)
    }
    let root = try attemptAbout(word) { () throws(Refusal) in try upperDirectory(word) }
    try keyfile.requireOutside(upper: root.path)
    return .unmounted(
      try attemptAbout(word) { () throws(Refusal) in
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
    facts.add("opens", false)
    let opening = try opening(of: volume, upper, secret)
    facts[facts.count - 1] = JSON.Member("opens", .bool(true))
    facts.add("slots", opening.slots)
    facts.add("whole", opening.isWhole)
    let slots = opening.slots == 1 ? "its only keyslot" : "one of its \(opening.slots) keyslots"
    say(upper, "opens with this keyfile, by \(slots)")
    if !opening.isWhole {
      console.note(
        upper,
        ".varve/keybag and .varve/keybag.copy are not alike; one of them opens, and the other is missing, "
          + "damaged or older")
    }
  }

  private func opening(
    of volume: Volume, _ upper: Word, _ secret: consuming HandedSecret
  ) throws(Refusal) -> (slots: Int, isWhole: Bool) {
    switch volume {
    case .unmounted(let inspection):
      do throws(KeyFailure) {
        let opening = try inspection.open(with: secret)
        return (opening.slots, opening.isWhole)
      } catch {
        throw about(upper, Refusal.keybag(error, path))
      }
    case .mounted(let mounted):
      let attachments = Attachments(secret)
      do throws(Refusal) {
        let answer = try mounted.ask("keys", [JSON.Member("do", .string("check"))], sending: attachments)
        guard let slots = answer["slots"]?.integer else {
          throw Refusal("the daemon's answer is not understood")
        }
        return (slots, answer["whole"] == .bool(true))
      } catch {
        throw about(upper, error)
      }
    }
  }

  /// Does something of which a failure is about a path.
  private func attemptAbout<Value>(_ path: Word, _ work: () throws(Refusal) -> Value) throws(Refusal) -> Value
  {
    do throws(Refusal) { return try work() } catch { throw about(path, error) }
  }

  private func about(_ upper: Word, _ refusal: Refusal) -> Refusal {
    subject = upper
    return refusal
  }

  private func say(_ path: Word, _ sentence: String) {
    if !isJSON { console.printPath(path, ": \(sentence)") }
  }

  func complain(_ refusal: Refusal) {
    facts.add("error", refusal.sentence)
    console.complain(subject, refusal.sentence)
  }

  func finish() -> Int32 {
    if isJSON { console.print(JSON.object(facts).text + "\n") }
    return console.finish()
  }
}
