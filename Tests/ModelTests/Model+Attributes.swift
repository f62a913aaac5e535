// Extended attributes, and the doors to flags and lists that look like some.

import AccessControl
import Decisions
import FlagRules
import LinuxFiles

extension Model {
  func answerOnAttribute(_ call: Call) throws(Errno) -> Outcome {
    switch call {
    case .setFlags(let path, let flags): try changeFlags(of: try find(path, follows: false), to: flags)
    case .removeFlags(let path): try changeFlags(of: try find(path, follows: false), to: [])
    // SEMANTICS 4.6: what is not even valid is refused first; only the walk comes before.
    case .setFlagsText(let path, _), .setListText(let path, _):
      _ = try find(path, follows: false)
      throw .invalid
    case .getFlags(let path):
      let thing = try find(path, follows: false)
      try require(judge.decide(.readAttributes, on: thing.item))
      return .bytes(Array(thing.flags.text.utf8))
    case .setList(let path, let list):
      try changeList(of: try find(path, follows: false), to: list.isEmpty ? nil : list)
    case .removeList(let path): try changeList(of: try find(path, follows: false), to: nil)
    case .getList(let path):
      let thing = try find(path, follows: false)
      try require(judge.decide(.readAttributes, on: thing.item))
      guard let text = listText(thing) else { throw .noData }
      return .bytes(text)
    case .setAttribute(let path, let name, let value, let mode):
      let bytes = [UInt8](repeating: value, count: Int(value % 7))
      try setAttribute(name, of: try find(path, follows: false), bytes, mode)
    case .getAttribute(let path, let name):
      return .bytes(try attribute(name, of: try find(path, follows: false)))
    case .removeAttribute(let path, let name):
      try removeAttribute(name, of: try find(path, follows: false))
    case .listAttributes(let path):
      let thing = try find(path, follows: false)
      try require(judge.decide(.readExtended, on: thing.item))
      return .names((thing.attributes.keys + doorsListed(of: thing)).sorted())
    default: return .skipped
    }
    return .done
  }

  /// The list as its door prints it.
  func listText(_ thing: Thing) -> [UInt8]? {
    guard let list = thing.list else { return nil }
    let text = AccessListText.print(
      list, for: thing.isDirectory ? .directory : .file, names: .account, detail: .complete)
    return Array(text.utf8)
  }

  /// The doors that are listed because something is behind them.
  private func doorsListed(of thing: Thing) -> [String] {
    let isPlain = thing.kind == .file || thing.isDirectory
    // Whoever may not look at it is not told that it has a list, or is hidden.
    guard judge.decide(.readAttributes, on: thing.item).isAllowed else { return [] }
    return (thing.list != nil ? ["system.nfs4_acl"] : [])
      + (thing.flags.contains(.hidden) && isPlain ? ["user.com.apple.FinderInfo"] : [])
  }

  private func changeFlags(of thing: Thing, to wanted: FileFlags) throws(Errno) {
    try require(judge.decide(.setFlags(wanted), scene(thing)))
    // SEMANTICS 2.8: nobody sets `compressed` and `dataless`; the rest of the system's bits is kept by mask.
    let untouchable: FileFlags = [.compressed, .dataless]
    let stored = FileFlags(rawValue: 0x009F_FFFF)
    thing.flags = wanted.intersection(stored).subtracting(untouchable)
      .union(thing.flags.intersection(untouchable))
  }

  private func changeList(of thing: Thing, to list: AccessList?) throws(Errno) {
    // SEMANTICS 1.16: none can be set, and there was none when the volume was mounted.
    if list != nil, !rules.usesLists { throw .unsupported }
    try require(judge.decide(.setList(list), scene(thing)))
    thing.list = list
  }

  // MARK: Attributes that are stored

  /// The kernel's rule about `user.*`, and the names this volume keeps for itself.
  private func requireUsable(
    _ name: String, on thing: Thing, otherwise error: Errno
  ) throws(Errno) {
    let isPlain = thing.kind == .file || thing.isDirectory
    if name.hasPrefix("user."), !isPlain { throw error }
    // Root's attributes are for root, says the kernel; ours are for nobody.
    if name.hasPrefix("trusted.") || name.hasPrefix("user.varve.") { throw error }
  }

  /// `com.apple.*` passes the kernel on every object, but is `user.com.apple.*` where it is stored.
  private func requireStorable(on thing: Thing, otherwise error: Errno) throws(Errno) {
    guard thing.kind == .file || thing.isDirectory else { throw error }
  }

  /// One attribute under two spellings.
  private func stored(_ name: String) -> String {
    name.hasPrefix("com.apple.") ? "user.\(name)" : name
  }

  private func setAttribute(
    _ name: String, of thing: Thing, _ value: [UInt8], _ mode: Int32
  ) throws(Errno) {
    try requireUsable(name, on: thing, otherwise: .notPermitted)
    try require(judge.decide(.writeExtended, on: thing.item))
    try requireStorable(on: thing, otherwise: .notPermitted)
    let isThere = thing.attributes[stored(name)] != nil
    if mode == 1, isThere { throw .exists }
    if mode == 2, !isThere { throw .noData }
    thing.attributes[stored(name)] = value
  }

  private func attribute(_ name: String, of thing: Thing) throws(Errno) -> [UInt8] {
    try requireUsable(name, on: thing, otherwise: .noData)
    try require(judge.decide(.readExtended, on: thing.item))
    guard let value = thing.attributes[stored(name)] else { throw .noData }
    return value
  }

  private func removeAttribute(_ name: String, of thing: Thing) throws(Errno) {
    try requireUsable(name, on: thing, otherwise: .notPermitted)
    try require(judge.decide(.writeExtended, on: thing.item))
    try requireStorable(on: thing, otherwise: .notPermitted)
    guard thing.attributes.removeValue(forKey: stored(name)) != nil else { throw .noData }
  }
}

extension NameBook {
  /// The accounts of this machine, as the daemon knows them.
  static let account = NameBook(
    user: { UserDatabase.user(named: $0) }, group: { UserDatabase.group(named: $0) },
    userName: { UserDatabase.userName($0) }, groupName: { UserDatabase.groupName($0) })
}
