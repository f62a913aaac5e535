// What users do, as plain values, so that a run can be written down, cut short and done again.

import AccessControl
import FlagRules

/// One call by one user.
struct Operation: Sendable, CustomStringConvertible {
  /// The place of the user in ``Cast/users``.
  var user: Int
  var call: Call

  var description: String {
    let who = Cast.names[user]
    switch call {
    case .setList(let path, let list):
      let lines = AccessListText.lines(list, for: .file, names: .numeric, detail: .complete)
      return "\(who): setList(\"\(path)\", [\(lines.joined(separator: "; "))])"
    case .setFlags(let path, let flags): return "\(who): setFlags(\"\(path)\", \(flags.text))"
    case .changeMode(let path, let mode):
      return "\(who): changeMode(\"\(path)\", 0\(String(mode, radix: 8)))"
    default: return "\(who): \(call)"
    }
  }
}

/// How open(2) is called.
struct OpenWish: Sendable, CustomStringConvertible {
  var reads = false
  var writes = false
  var creates = false
  var excludes = false
  var truncates = false
  var appends = false
  var stopsAtLink = false

  /// Whether the handle could map the file for writing.
  var maps: Bool { reads && writes }

  var description: String {
    let words: [(Bool, String)] = [
      (reads, "read"), (writes, "write"), (creates, "create"), (excludes, "exclusive"),
      (truncates, "truncate"), (appends, "append"), (stopsAtLink, "nofollow"),
    ]
    return words.filter(\.0).map(\.1).joined(separator: "+")
  }
}

/// What a rename does about a target: the flags of renameat2(2).
enum Replacing: UInt32, Sendable {
  case replace = 0
  case noReplace = 1
  case exchange = 2
  /// Which no system allows.
  case both = 3
}

enum TimeWish: Sendable {
  case now
  case omit
  case seconds(Int64)
}

/// The calls; paths are relative to the root of the mount, slots are open files.
enum Call: Sendable {
  case open(slot: Int, String, OpenWish, mode: UInt16)
  case openUnnamed(slot: Int, String, mode: UInt16)
  case linkOpen(slot: Int, String)
  case close(slot: Int)
  case read(slot: Int, count: Int)
  case readAt(slot: Int, offset: Int, count: Int)
  case write(slot: Int, byte: UInt8, count: Int)
  case writeAt(slot: Int, offset: Int, byte: UInt8, count: Int)
  case cutOpen(slot: Int, size: Int)
  case statusOfOpen(slot: Int)
  /// Shared; of the file in a slot, and it outlives that.
  case map(Int, slot: Int, writes: Bool)
  case readMapped(Int, offset: Int, count: Int)
  /// `syncs`: msync(2) follows.
  case writeMapped(Int, offset: Int, byte: UInt8, count: Int, syncs: Bool)
  case unmap(Int)
  case truncate(String, size: Int)
  case makeDirectory(String, mode: UInt16)
  case removeDirectory(String)
  case unlink(String)
  case rename(String, String, Replacing)
  case link(String, String)
  case makeLink(String, target: String)
  case readLink(String)
  case makeFIFO(String, mode: UInt16)
  case changeMode(String, UInt16)
  case changeOwner(String, user: UInt32?, group: UInt32?, follows: Bool)
  case changeTimes(String, access: TimeWish, modification: TimeWish)
  case setFlags(String, FileFlags)
  case setFlagsText(String, String)
  case removeFlags(String)
  case getFlags(String)
  case setList(String, AccessList)
  case setListText(String, String)
  case removeList(String)
  case getList(String)
  case setAttribute(String, String, value: UInt8, mode: Int32)
  case getAttribute(String, String)
  case removeAttribute(String, String)
  case listAttributes(String)
  case access(String, mode: UInt8)
  case status(String, follows: Bool)
  case list(String)
  /// All files are closed, and what there is becomes the topmost lower of an empty upper.
  case makeLower
}
