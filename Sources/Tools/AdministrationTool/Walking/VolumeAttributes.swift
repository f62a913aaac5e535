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

  init(_ sentence: String, status: Int32 = 1, isAboutVolume: Bool = false) {
    self.sentence = sentence
    self.status = status
    self.isAboutVolume = isAboutVolume
  }

  /// Other file systems know neither attribute.
  init(_ error: Errno) {
    self.init(
      error == .unsupported
        ? "not on a Varve volume, or the volume keeps none (ENOTSUP); 'varve status' lists the volumes"
        : "\(error)", isAboutVolume: error == .unsupported)
  }

  /// About a path that could not be got at.
  init(_ error: Errno, at path: [UInt8]) {
    self = error == .unsupported ? Refusal(error) : Refusal("\(error)\(error.advice(about: path))")
  }
}

extension Descriptor {
  /// The flags; nil on a file system that has none.
  borrowing func fileFlags() throws(Errno) -> FileFlags? {
    let value: [UInt8]?
    do throws(Errno) {
      value = try attribute(AttributeName("system.varve.flags"))
    } catch .unsupported {
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
    do throws(Errno) {
      return try attribute(AttributeName("system.varve.acl"))
    } catch .unsupported {
      return nil
    }
  }

  /// The access list, to be changed and written back.
  borrowing func accessList(_ names: NameBook) throws(Refusal) -> AccessList? {
    let text: [UInt8]?
    do throws(Errno) {
      text = try attribute(AttributeName("system.varve.acl"))
    } catch {
      throw Refusal.reading(error, self)
    }
    return try readAccessList(text, names)
  }

  /// Writes an access list, or removes it; `path` is for the sentence about a failure.
  borrowing func setAccessList(
    _ list: AccessList?, of kind: FileKind, _ names: NameBook, path: [UInt8]
  ) throws(Refusal) {
    do throws(Errno) { try setAccessList(list, of: kind, names) } catch {
      throw Refusal.change(error, path, self, needs: "writesecurity")
    }
  }

  /// The same with the bare error.
  borrowing func setAccessList(
    _ list: AccessList?, of kind: FileKind, _ names: NameBook
  ) throws(Errno) {
    try setAccessListText(storedText(list, kind == .directory ? .directory : .file, names))
  }

  /// Writes the text of an access list; an empty one removes it.
  borrowing func setAccessListText(_ text: [UInt8]) throws(Errno) {
    try setAttribute(AttributeName("system.varve.acl"), to: text.span)
  }
}

/// The text that stores a list; empty: it is removed.
///
/// Numbers, so that an account without a unique name arrives as itself; complete, so that nothing is lost.
func storedText(_ list: AccessList?, _ kind: ObjectKind, _ names: NameBook) -> [UInt8] {
  guard let list else { return [] }
  return Array(AccessListText.print(list, for: kind, names: names, numeric: true, detail: .complete).utf8)
}

/// The list that a text stands for; nil if there is none.
func readAccessList(_ text: [UInt8]?, _ names: NameBook) throws(Refusal) -> AccessList? {
  guard let text, !text.isEmpty else { return nil }
  do throws(ParseFailure) {
    return try AccessListText.readList(bytes: text, names: names)
  } catch {
    throw Refusal("the access list cannot be read: \(error)")
  }
}

/// The number `chflags` prints and reads: `0100002`.
func octal(_ flags: FileFlags) -> String {
  "0" + String(flags.rawValue, radix: 8)
}

extension NameBook {
  /// The accounts of this machine.
  static func machine(_ accounts: Accounts) -> NameBook {
    NameBook(
      user: { accounts.user($0) }, group: { accounts.group($0) },
      userName: { accounts.userName($0) }, groupName: { accounts.groupName($0) })
  }
}
