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
  let source = try PassphraseSource.given(.passphraseFile, invocation)
  let check = KeyfileCheck(path, invocation)
  do throws(Refusal) {
    let input = try source?.open()
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
    let volume = try upper.map { word throws(Refusal) in try self.volume(word) }
    let keyfile = try ReadKeyfile(found)
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
    if let upper, let volume { try open(volume, upper, secret) }
  }

  /// The keybag of an upper directory, if the keyfile is not kept on that volume.
  private func volume(_ upper: Word) throws(Refusal) -> KeybagInspection {
    facts += JSON.nameMembers("upper", upper)
    let found: FollowedPath
    let isMounted: Bool
    do throws(Errno) {
      found = try FollowedPath(upper)
      isMounted = try found.place.descriptor.fileFlags() != nil
    } catch {
      throw about(upper, Refusal(error, at: upper))
    }
    guard !isMounted else {
      throw about(
        upper, Refusal("is on a mounted volume; name its upper directory, which 'varve status' tells"))
    }
    guard let root = found.upper else {
      throw about(upper, Refusal("is not the upper directory of a Varve volume"))
    }
    guard root.path == found.path else {
      throw about(upper, Refusal("is inside the upper directory \(shown(root.path)); name that"))
    }
    try requireElsewhere(root.path)
    do {
      return try KeybagInspection(of: SharedDescriptor(try root.place.descriptor.listing()))
    } catch let failure as VolumeFailure {
      throw about(upper, Refusal(failure.message))
    } catch {
      throw about(upper, Refusal("\(error)"))
    }
  }

  /// Refuses a keyfile that lies with what it protects: whoever copies that would have both.
  private func requireElsewhere(_ upper: Word) throws(Refusal) {
    let real = try attempt(realPath(path)) { Refusal($0, at: path) }
    let remedy = "whoever copies the volume would have its key, too; keep it elsewhere"
    guard !real.starts(with: upper == [slash] ? upper : upper + [slash]) else {
      throw Refusal("is inside the upper directory \(shown(upper)): \(remedy)")
    }
    let mount = MountedVolume.serving(real, in: try volumeTable())
    guard let mount, mount.isOurs, mount.source == upper else { return }
    throw Refusal("is on the volume \(shown(upper)) itself: \(remedy)")
  }

  private func open(
    _ volume: KeybagInspection, _ upper: Word, _ secret: borrowing HandedSecret
  ) throws(Refusal) {
    let opening: KeybagInspection.Opening
    do throws(KeyFailure) {
      opening = try volume.open(with: secret)
    } catch {
      facts.add("opens", false)
      throw about(upper, Refusal.keybag(error, path))
    }
    facts.add("opens", true)
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
