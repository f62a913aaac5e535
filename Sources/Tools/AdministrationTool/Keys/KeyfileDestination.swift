// Where a keyfile, or an exported keybag, is written: whole or not at all, on the disk when it is told to be there, and for its owner alone. Who is
// killed may leave `.varve-key-...` beside it.

import Arguments
import Ciphers
import LinuxFiles
import LinuxPrograms

/// The directory that a path leads to, and the name in it.
struct KeyfileDestination {
  private static let mode: UInt16 = 0o400

  private let directory: SharedDescriptor
  private let directoryPath: Word
  private let name: Word
  private let isDirectory: Refusal

  /// Finds out what can be found out before anybody types a passphrase.
  ///
  /// `example`: what such a file could be called.
  init(_ path: Word, example: String) throws(Refusal) {
    guard !path.isEmpty else { throw Refusal("is empty; name a new file, such as \(example)") }
    isDirectory = Refusal(
      "names a directory; name a new file in it, such as \(shellWord(joined(path, Word(example.utf8))))")
    let end = path.lastIndex(of: slash)
    name = Word(path[(end.map { $0 + 1 } ?? 0)...])
    let above = end.map { $0 == 0 ? [slash] : Word(path[..<$0]) } ?? Array(".".utf8)
    directoryPath = above
    guard ![[], Array(".".utf8), Array("..".utf8)].contains(name) else { throw isDirectory }
    directory = SharedDescriptor(
      try attempt(Descriptor.directory(atPath: above)) {
        switch $0 {
        case .noSuchFile:
          Refusal(
            "the directory \(shown(above)) does not exist (ENOENT); make it first: mkdir -m 700 \(shellWord(above))"
          )
        case .notDirectory: Refusal("\(shown(above)) is not a directory (ENOTDIR); name another one")
        default: Refusal("the directory \(shown(above)) cannot be opened: \($0)")
        }
      })
    try attempt(directory.descriptor.requireChangeable()) { failure(whileWriting: $0) }
  }

  private func failure(whileWriting error: Errno) -> Refusal {
    switch error {
    case .noSpace, .quotaExceeded:
      Refusal("there is no room left in \(shown(directoryPath)) (\(error.name)); nothing was changed")
    case .readOnly:
      Refusal("\(shown(directoryPath)) is read-only (EROFS); nothing was changed")
    default: Refusal("cannot be written in \(shown(directoryPath)): \(error); nothing was changed")
    }
  }

  private static let taken = Refusal(
    "already exists (EEXIST), and is not replaced; take another name")

  /// Whether it is on a volume, or in the upper directory of one.
  var isOnVolume: Bool {
    // Where that cannot be found out there is nothing to say.
    directory.descriptor.isOnVolume() || (try? FollowedPath(directoryPath))?.upper != nil
  }

  /// Refuses a name that is taken, if only by a link to nowhere.
  func requireFree() throws(Refusal) {
    let present: FileStatus
    do throws(Errno) {
      present = try FileName.with(name) { name throws(Errno) in try directory.descriptor.status(of: name) }
    } catch .noSuchFile {
      return
    } catch {
      throw failure(whileWriting: error)
    }
    throw present.kind == .directory ? isDirectory : KeyfileDestination.taken
  }

  /// Makes the keyfile, whole; a name that is taken stays as it is.
  func create(_ content: borrowing SecretBytes) throws(Refusal) {
    let temporary = KeyfileDestination.temporaryName()
    try make(temporary, content)
    do throws(Errno) {
      try rename(temporary, .noReplace)
    } catch {
      remove(temporary)
      if error == .exists { throw KeyfileDestination.taken }
      // Sticks with FAT, before Linux 6.0.
      guard [.invalid, .unsupported, .notImplemented].contains(error) else {
        throw failure(whileWriting: error)
      }
      try make(name, content)
    }
    do throws(Errno) {
      try directory.descriptor.sync()
    } catch {
      remove(name)
      throw failure(whileWriting: error)
    }
  }

  /// Puts new content in the place of a keyfile; a crash leaves the old one or the new one.
  func replace(_ present: FileStatus, by content: borrowing SecretBytes) throws(Refusal) {
    let temporary = KeyfileDestination.temporaryName()
    try make(temporary, content)
    do throws(Errno) {
      let isPresent = try FileName.with(name) { name throws(Errno) in
        try directory.descriptor.status(of: name).isSame(as: present)
      }
      guard isPresent else { throw Errno.stale }
      try rename(temporary, [])
    } catch {
      remove(temporary)
      throw error == .stale
        ? Refusal("was exchanged for another file meanwhile (ESTALE); nothing was changed")
        : failure(whileWriting: error)
    }
    try attempt(directory.descriptor.sync()) {
      Refusal("is changed, but a crash may bring the old one back: \($0)")
    }
  }

  private static func temporaryName() -> Word { Word(".varve-key-\(RandomIdentifier.make())".utf8) }

  private func rename(_ temporary: Word, _ flags: RenameFlags) throws(Errno) {
    try FileName.with(temporary) { temporary throws(Errno) in
      try FileName.with(name) { name throws(Errno) in
        try directory.descriptor.rename(temporary, to: directory.descriptor, as: name, flags)
      }
    }
  }

  /// Makes a file with the content and brings it to the disk; nothing is left of one that fails.
  private func make(_ name: Word, _ content: borrowing SecretBytes) throws(Refusal) {
    let file = try attempt(createFile(name)) {
      $0 == .exists ? KeyfileDestination.taken : failure(whileWriting: $0)
    }
    let isClosed: Bool
    do throws(Errno) {
      isClosed = try store(content, in: file)
    } catch {
      remove(name)
      throw failure(whileWriting: error)
    }
    guard isClosed else {
      remove(name)
      throw Refusal(
        "the file system lets others read or write what is made in \(shown(directoryPath)); nothing was changed. A "
          + "stick with FAT is mounted with fmask=0177")
    }
  }

  private func createFile(_ name: Word) throws(Errno) -> Descriptor {
    try FileName.with(name) { name throws(Errno) in
      try directory.descriptor.createFile(name, mode: KeyfileDestination.mode)
    }
  }

  /// Writes the content, unless others could read it: there are file systems without modes.
  private func store(
    _ content: borrowing SecretBytes, in file: borrowing Descriptor
  ) throws(Errno) -> Bool {
    guard try file.status().mode & 0o066 == 0 else { return false }
    try content.withBytes { bytes throws(Errno) in try file.writeAll(bytes, at: 0) }
    try file.sync()
    return true
  }

  /// After a failure, which counts for more than that of this.
  private func remove(_ name: Word) {
    try? FileName.with(name) { name throws(Errno) in try directory.descriptor.removeFile(name) }
  }
}
