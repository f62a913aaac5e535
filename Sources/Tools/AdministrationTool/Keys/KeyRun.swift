// What the verbs about the keys of mounted volumes have in common.
//
// For owners of encrypted volumes: locking and opening by hand, after a while, and before the machine sleeps (SEMANTICS 15).

import Arguments
import Ciphers
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// A mounted volume whose keys are asked about or changed.
struct KeyedVolume {
  /// As it was typed; for what is on the volume, its mount point: it is not the item that is locked or unlocked.
  let path: Word
  let mount: MountedVolume

  /// Refuses whom its daemon would refuse, before anybody types a passphrase.
  init(_ typed: Word, to deed: String) throws(Refusal) {
    let place = try VolumePath(typed, try volumeTable())
    mount = place.mount
    try requireItem(typed)
    path = place.path.isEmpty ? typed : mount.mountPoint
    guard CurrentProcess.isRoot || mount.owner == nil || mount.owner == CurrentProcess.user else {
      throw Refusal("only root and the owner of the mount may \(deed)")
    }
  }

  /// The first of two operands; the second is a keyfile, and it is told if they are the other way round.
  init(beforeKeyfile invocation: Invocation, to deed: String) throws(Refusal) {
    let operands = invocation.operands
    do throws(Refusal) { try self.init(operands[0], to: deed) } catch {
      guard KeyedVolume.mayBeKeyfile(operands[0]), KeyedVolume.isMountPoint(operands[1]) else { throw error }
      let meant = invocation.meant([operands[1], operands[0]] + operands.dropFirst(2))
      throw Refusal("not on a Varve volume; \(meant)", status: error.status)
    }
  }

  private static func isMountPoint(_ word: Word) -> Bool {
    guard let path = typedPath(word) else { return false }
    return path.mount.isOurs && path.isMountPoint
  }

  /// Whether a word is a source of keyfiles that is not on a volume.
  private static func mayBeKeyfile(_ word: Word) -> Bool {
    if SecretSource.isNoPath(word) { return true }
    guard let path = typedPath(word), !path.mount.isOurs else { return false }
    let kind = try? Descriptor.item(atPath: word, .followed).status().kind
    return kind != nil && kind != .directory
  }

  private static func typedPath(_ word: Word) -> TypedPath? {
    guard let table = try? volumeTable() else { return nil }
    return try? TypedPath(word, table)
  }

  /// Asks its daemon.
  func ask(
    _ verb: String, _ members: [JSON.Member] = [], sending attachments: consuming Attachments = Attachments()
  ) throws(Refusal) -> JSON {
    try ControlAddress(mount).ask(verb, members, sending: attachments)
  }
}

/// A verb that says what went wrong, about the volume or about a keyfile, and with `--json` prints what was answered.
final class KeyRun {
  let console: Console
  let isVerbose: Bool
  private let isJSON: Bool
  /// What a complaint is about.
  private var subject: Word
  private var facts: [JSON.Member]

  init(_ invocation: Invocation, about path: Word, outputLoss: Console.OutputLoss = .isSurvived) {
    console = Console(invocation, outputLoss: outputLoss)
    isVerbose = invocation.has(.verbose)
    isJSON = invocation.has(.json)
    subject = path
    facts = JSON.nameMembers("path", path)
  }

  /// The secret of a keyfile that is not kept on the volume; `option`: what names the source of its passphrase.
  func secret(
    _ source: SecretSource, passphrase: SecretSource?, by option: String = "--passphrase-file",
    for volume: KeyedVolume
  ) throws(Refusal) -> HandedSecret {
    let former = subject
    subject = source.word
    let input = try PassphraseInput.named(passphrase, by: option)
    let keyfile = try GivenKeyfile(source)
    try keyfile.requireOutside(upper: volume.mount.source, device: volume.mount.device)
    let secret = try keyfile.secret(input)
    subject = former
    return secret
  }

  /// Does something about another path.
  func about<Value>(_ path: Word, _ work: () throws(Refusal) -> Value) throws(Refusal) -> Value {
    let former = subject
    subject = path
    let value = try work()
    subject = former
    return value
  }

  /// Says of a failure that it is about another path.
  func failure(about path: Word, _ refusal: Refusal) -> Refusal {
    subject = path
    return refusal
  }

  /// Prints a line, unless it is JSON that is wanted.
  func say(_ path: Word, _ sentence: String) {
    if !isJSON { console.printPath(path, sentence) }
  }

  func note(_ sentence: String) { console.note(subject, sentence) }

  /// Keeps what the daemon answered, for JSON.
  func take(_ answer: JSON) {
    if case .object(let members) = answer { facts += members.filter { $0.name != "ok" } }
  }

  func take(_ members: [JSON.Member]) { facts += members }

  func complain(_ refusal: Refusal) {
    facts.add("error", refusal.sentence)
    console.complain(subject, refusal.sentence)
  }

  func finish() -> Int32 {
    if isJSON { console.print(JSON.object(facts).text + "\n") }
    return console.finish()
  }
}
