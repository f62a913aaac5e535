// A keyfile as a command line, or the mount option `keyfile`, names it: a path, or a descriptor that the caller has opened.

import Arguments
import Ciphers
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import SealedFormat
import TextForms

/// A keyfile that was found in order, and not yet read.
enum GivenKeyfile {
  case file(FoundKeyfile)
  /// The process that opened it answers for it.
  case stream(SharedDescriptor, Word)

  init(_ source: SecretSource) throws(Refusal) {
    if let path = source.path {
      self = .file(try FoundKeyfile(path))
    } else {
      self = .stream(try source.open(), source.word)
    }
  }

  private var word: Word {
    switch self {
    case .file(let found): found.path
    case .stream(_, let word): word
    }
  }

  /// The secret; who gives the passphrase is asked only if there is one.
  func secret(_ input: PassphraseInput) throws(Refusal) -> HandedSecret {
    let keyfile = try read()
    return try keyfile.secret(input, word)
  }

  /// Refuses what is no keyfile, or a damaged one; of one with a passphrase only that tells the rest.
  func requireSound() throws(Refusal) {
    let keyfile = try read()
    guard !keyfile.hasPassphrase else { return }
    _ = try keyfile.secret(.terminalOfMount, word)
  }

  func read() throws(Refusal) -> ReadKeyfile {
    switch self {
    case .file(let found): return try ReadKeyfile(try found.read())
    case .stream(let stream, let word):
      return try ReadKeyfile(try GivenKeyfile.content(of: stream.descriptor, shown(word)))
    }
  }

  private static func content(
    of stream: borrowing Descriptor, _ name: String
  ) throws(Refusal) -> SecretBytes {
    guard !stream.isTerminal else {
      throw Refusal("a keyfile cannot be typed; name the file, or let a program write it to \(name)")
    }
    var content = try secretRoom(Keyfile.size)
    var more = try secretRoom(1)
    let count = try read(stream, into: &content) + (try read(stream, into: &more))
    guard count == Keyfile.size else {
      throw Refusal(
        "is not a keyfile, or a damaged one: \(count > Keyfile.size ? "more than \(Keyfile.size)" : "only \(count)") "
          + "bytes came, and a keyfile has \(Keyfile.size) (EBADMSG)")
    }
    return content
  }

  private static func read(
    _ stream: borrowing Descriptor, into bytes: inout SecretBytes
  ) throws(Refusal) -> Int {
    do throws(Errno) {
      return try bytes.withMutableBytes { (span) throws(Errno) in try stream.readToEnd(into: &span) }
    } catch {
      throw Refusal("cannot be read: \(error)")
    }
  }

  /// Refuses a keyfile that lies with what it protects: a copy of that would hold both.
  ///
  /// `upper`: the volume's upper directory, as far as it is known; `device`: that of its mount, if it has one.
  func requireOutside(upper: Word, device: String? = nil) throws(Refusal) {
    switch self {
    case .file(let found): try found.requireOutside(upper: upper, device: device)
    case .stream(let stream, _):
      // What a shell has opened may be a file, too; a pipe comes from nowhere.
      guard (try? stream.descriptor.knownStatus())?.kind == .regular,
        let path = try? stream.descriptor.heldPath()
      else { return }
      try FoundKeyfile.requireOutside(path, upper: upper, device: device)
    }
  }
}

extension FoundKeyfile {
  func requireOutside(upper: Word, device: String? = nil) throws(Refusal) {
    try FoundKeyfile.requireOutside(
      try attempt(realPath(path)) { Refusal($0, at: path) }, upper: upper, device: device)
  }

  /// `real` is absolute and free of links.
  static func requireOutside(_ real: Word, upper: Word, device: String?) throws(Refusal) {
    let remedy = "a copy of the volume would contain its key; keep it elsewhere"
    let table = try volumeTable()
    guard upper.first != slash || !isInside(real, upper, table) else {
      throw Refusal("is inside the upper directory \(shown(upper)): \(remedy)")
    }
    let mount = MountedVolume.serving(real, in: table)
    guard let mount, mount.isOurs, mount.device == device || mount.source == upper else { return }
    throw Refusal("is on the volume \(shown(upper)) itself: \(remedy)")
  }

  /// By its path, or where another mount of the file system gives it another path, by its position on that.
  private static func isInside(_ real: Word, _ upper: Word, _ table: [MountedVolume]) -> Bool {
    if real.starts(with: upper == [slash] ? upper : upper + [slash]) { return true }
    guard let position = MountedVolume.position(of: real, in: table),
      let others = MountedVolume.position(of: upper, in: table)
    else { return false }
    return position.path(below: others) != nil
  }
}
