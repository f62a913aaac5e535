// Flags and access lists, through the doors every item of a volume has.

import AccessControl
import FlagRules
import LinuxFiles
import LinuxPrograms

/// Why something cannot be read or changed, for a person.
struct Refusal: Error {
  let sentence: String
  /// What the program ends with, where a daemon named it; else 1.
  let status: Int32

  /// Whether it holds for the whole volume, so that saying it once of a tree is enough.
  let isAboutVolume: Bool
  /// Whether the same may be granted in a moment.
  let isMomentary: Bool

  init(_ sentence: String, status: Int32 = 1, isAboutVolume: Bool = false, isMomentary: Bool = false) {
    self.sentence = sentence
    self.status = status
    self.isAboutVolume = isAboutVolume
    self.isMomentary = isMomentary
  }

  /// Other file systems know neither attribute.
  init(_ error: Errno) {
    self.init(
      error == .unsupported
        ? "not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes"
        : "\(error)", isAboutVolume: error == .unsupported)
  }

  /// About a path that could not be got at.
  init(_ error: Errno, at path: [UInt8]) {
    self = error == .unsupported ? Refusal(error) : Refusal("\(error)\(error.advice(about: path))")
  }
}

/// Makes a call of the system about an item, and puts its error into words.
func attempt<Value: ~Copyable>(
  _ call: @autoclosure () throws(Errno) -> Value
) throws(Refusal) -> Value {
  try attempt(try call()) { Refusal($0) }
}

extension Descriptor {
  /// The flags; nil on a file system that has none.
  borrowing func fileFlags() throws(Errno) -> FileFlags? {
    let value: [UInt8]?
    do throws(Errno) { value = try attribute(AttributeName("system.varve.flags")) } catch .unsupported {
      return nil
    }
    guard let value else { return [] }
    do throws(FileFlags.UnknownWord) {
      return try FileFlags.instruction(String(decoding: value, as: UTF8.self)).applied(to: [])
    } catch {
      throw .badMessage
    }
  }

  /// Whether it is on a volume; of what cannot be asked, nothing is known.
  borrowing func isOnVolume() -> Bool {
    do throws(Errno) { return try fileFlags() != nil } catch { return false }
  }

  /// Sets all flags; as a number, because not every flag has a keyword.
  borrowing func setFileFlags(_ flags: FileFlags) throws(Errno) {
    try setAttribute(AttributeName("system.varve.flags"), to: Array(octal(flags).utf8).span)
  }

  /// The text of the access list; nil if there is none, also on a file system without any.
  borrowing func accessListText() throws(Errno) -> [UInt8]? {
    do throws(Errno) { return try storedAccessList() } catch .unsupported { return nil }
  }

  /// The access list, to be changed and written back.
  borrowing func accessList() throws(Refusal) -> AccessList? {
    let text: [UInt8]?
    do throws(Errno) { text = try storedAccessList() } catch { throw Refusal.reading(error, self) }
    return try readAccessList(text)
  }

  /// The text of the access list, empty or nil if there is none; ENOTSUP on a file system without any.
  borrowing func storedAccessList() throws(Errno) -> [UInt8]? {
    try attribute(AttributeName("system.varve.acl"))
  }

  /// The POSIX lists an item has below the volume; ENOTSUP on another file system.
  borrowing func posixLists() throws(Errno) -> PosixLists {
    guard let text = try attribute(AttributeName("system.varve.posix")) else { return PosixLists() }
    guard let lists = PosixLists(String(decoding: text, as: UTF8.self)) else { throw .badMessage }
    return lists
  }

  /// Sets them, or removes them; either sets the mode.
  borrowing func setPosixLists(_ lists: PosixLists) throws(Errno) {
    try setAttribute(AttributeName("system.varve.posix"), to: Array(lists.text.utf8).span)
  }

  /// Writes the text of an access list; an empty one removes it.
  borrowing func setAccessListText(_ text: [UInt8]) throws(Errno) {
    try setAttribute(AttributeName("system.varve.acl"), to: text.span)
  }
}

/// The text that stores a list; empty: it is removed.
///
/// Numbers, so that an account without a unique name arrives as itself; complete, so that nothing is lost.
func storedText(_ list: AccessList?, _ kind: ObjectKind) -> [UInt8] {
  guard let list else { return [] }
  return Array(AccessListText.print(list, for: kind, names: .machine, numeric: true, detail: .complete).utf8)
}

/// The list that a text stands for; nil if there is none.
func readAccessList(_ text: [UInt8]?) throws(Refusal) -> AccessList? {
  guard let text, !text.isEmpty else { return nil }
  do throws(ParseFailure) {
    return try AccessListText.readList(bytes: text, names: .machine)
  } catch {
    throw Refusal("the access list cannot be read: \(error)")
  }
}

/// The number `chflags` prints and reads: `0100002`.
func octal(_ flags: FileFlags) -> String {
  "0" + String(flags.rawValue, radix: 8)
}

extension NameBook {
  /// The accounts of this machine; each is looked up once, because a directory server may be slow.
  static let machine = NameBook(
    user: remembering { UserDatabase.user(named: $0) }, group: remembering { UserDatabase.group(named: $0) },
    userName: remembering { UserDatabase.userName($0) }, groupName: remembering { UserDatabase.groupName($0) }
  )
}
