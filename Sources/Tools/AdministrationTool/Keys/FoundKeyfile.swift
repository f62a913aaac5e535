// A keyfile that is to be read: nobody but its owner may have got at it, or may have chosen what is in it.

import Arguments
import Ciphers
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import SealedFormat

/// A keyfile that was found in order, and not yet read.
struct FoundKeyfile {
  let path: Word
  let status: FileStatus
  private let held: SharedDescriptor

  /// Refuses whatever nobody should trust; nothing is opened for that.
  init(_ path: Word) throws(Refusal) {
    self.path = path
    do throws(Errno) {
      held = SharedDescriptor(try Descriptor.item(atPath: path, .held))
      status = try held.descriptor.status()
    } catch {
      throw Refusal(error, at: path)
    }
    try requireFile()
    try requireOwner()
    try requireMode()
  }

  private func requireFile() throws(Refusal) {
    switch status.kind {
    case .regular: return
    case .symbolicLink:
      // Where it leads to helps, and is no reason to fail.
      let target = (try? held.descriptor.readLink()).map { " to \(shown($0))" } ?? ""
      throw Refusal("is a symbolic link\(target), which may be exchanged; name the keyfile itself (ELOOP)")
    default:
      throw Refusal(
        "is \(status.kind.words), and a keyfile is a regular file; copy the keyfile to a file, and name that")
    }
  }

  private func requireOwner() throws(Refusal) {
    guard status.user != CurrentProcess.user, status.user != 0 else { return }
    let owner = UserDatabase.userName(status.user) ?? "the user \(status.user)"
    let you = CurrentProcess.isRoot ? "root" : "you or to root"
    throw Refusal(
      "belongs to \(owner), and has to belong to \(you); root changes that with 'chown', and mounts a stick with FAT "
        + "with uid=\(CurrentProcess.user)")
  }

  private func requireMode() throws(Refusal) {
    let others = status.mode & 0o066
    guard others != 0 else { return }
    let words = [(others & 0o044, "read"), (others & 0o022, "write")].filter { $0.0 != 0 }.map { $0.1 }
    throw Refusal(
      "others than its owner may \(words.joined(separator: " and ")) it (mode 0\(String(status.mode, radix: 8))); "
        + "'chmod 400 \(shellWord(path))' closes it, and a stick with FAT is mounted with fmask=0177")
  }

  /// The content, straight into the secure heap.
  func read() throws(Refusal) -> SecretBytes {
    guard status.size == Keyfile.size else {
      throw Refusal(
        "is not a keyfile, or a damaged one: it has \(status.size) bytes, and a keyfile has \(Keyfile.size) (EBADMSG)"
      )
    }
    let file = try attempt(held.descriptor.reopen(.readOnly)) { Refusal("cannot be opened: \($0)") }
    var content = try secretRoom(Keyfile.size)
    let count = try content.withMutableBytes { bytes throws(Refusal) in
      try attempt(file.readFully(into: &bytes, at: 0)) { Refusal("cannot be read: \($0)") }
    }
    guard count == Keyfile.size else { throw Refusal("became shorter while it was read (EBADMSG)") }
    return content
  }
}

/// A keyfile that was read.
struct ReadKeyfile: ~Copyable {
  let header: Keyfile
  private let content: SecretBytes

  init(_ content: consuming SecretBytes) throws(Refusal) {
    let content = content
    header = try keyed { () throws(KeyFailure) in try KeyfileContent.header(of: content) }
    self.content = content
  }

  var hasPassphrase: Bool { header.kind != .raw }

  /// The secret; who gives the passphrase is asked only if there is one.
  borrowing func secret(_ input: PassphraseInput, _ path: Word) throws(Refusal) -> HandedSecret {
    guard hasPassphrase else {
      return try keyed { () throws(KeyFailure) in try KeyfileContent.secret(of: content) }
    }
    let passphrase = try input.present(of: path)
    return try keyed { () throws(KeyFailure) in
      try KeyfileContent.secret(of: content, passphrase: passphrase.bytes, count: passphrase.count)
    }
  }
}

/// What is stored for a secret: under a new passphrase, or without any.
func keyfileContent(
  of secret: borrowing HandedSecret, _ path: Word, passphraseFrom input: PassphraseInput?
) throws(Refusal) -> SecretBytes {
  guard let input else {
    return try keyed { () throws(KeyFailure) in try KeyfileContent.content(of: secret) }
  }
  let passphrase = try input.new(for: path)
  return try keyed { () throws(KeyFailure) in
    try KeyfileContent.content(
      of: secret, passphrase: passphrase.bytes, count: passphrase.count,
      cost: try KeyfileContent.defaultCost())
  }
}
