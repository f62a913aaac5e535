// What a directory lacks of its row, and how it gets it.

import AccessControl
import FlagRules
import LinuxFiles
import LinuxPrograms

/// Whose the directories of a layout are.
struct LayoutOwner: Sendable {
  let user: UInt32
  let group: UInt32
}

/// One change of a directory.
enum LayoutStep: Sendable {
  case owner(LayoutOwner)
  case mode(UInt16)
  case entry(AccessEntry, text: String)
  case marker
  case backup(withTag: Bool)
  case flags(FileFlags)

  static let markerName = Array(".localized".utf8)

  /// What was done, or would be.
  var text: String {
    switch self {
    case .owner(let owner): "owner \(owner.user):\(owner.group)"
    case .mode(let mode): "mode " + String(mode, radix: 8)
    case .entry(_, let text): text
    case .marker: ".localized in it"
    case .backup(let withTag): withTag ? "left out of backups, with CACHEDIR.TAG" : "left out of backups"
    case .flags(let flags): flags.text
    }
  }

  /// What a new directory needs.
  static func steps(of row: LayoutRow, _ owner: LayoutOwner) throws(Refusal) -> [LayoutStep] {
    var steps: [LayoutStep] = [.owner(owner), .mode(row.mode)]
    if let entry = try entry(of: row, owner) { steps.append(entry) }
    if row.hasMarker { steps.append(.marker) }
    if row.backup != .included { steps.append(.backup(withTag: row.backup == .tagged)) }
    if !row.flags.isEmpty { steps.append(.flags(row.flags)) }
    return steps
  }

  private static func entry(of row: LayoutRow, _ owner: LayoutOwner) throws(Refusal) -> LayoutStep? {
    let text: String
    switch row.list {
    case .none: return nil
    case .denyDelete: text = "everyone deny delete"
    case .dropBox:
      // By number, because a name can belong to a user and to a group. What is dropped belongs to who dropped it, so that
      // owner@ would be the wrong one.
      text =
        "user:\(owner.user) allow list,add_file,search,delete,add_subdirectory,delete_child,readattr,writeattr,"
        + "readextattr,writeextattr,readsecurity,file_inherit,directory_inherit"
    }
    do throws(ParseFailure) {
      let short = row.list == .dropBox ? "its owner may read what is put in" : text
      return .entry(try AccessListText.readEntry(text, names: .machine), text: short)
    } catch {
      throw Refusal("\(error)")
    }
  }

  /// Whether the directory has it already.
  func isDone(_ held: borrowing Descriptor, _ status: FileStatus) throws(Refusal) -> Bool {
    switch self {
    case .owner(let owner): return status.user == owner.user && status.group == owner.group
    case .mode(let mode): return status.mode & 0o7777 == mode
    case .entry(let wanted, _):
      return try held.accessList()?.entries.contains { entry in
        entry.kind == wanted.kind && entry.identity == wanted.identity && !entry.isInherited
          && entry.rights.isSuperset(of: wanted.rights)
          && entry.inheritance.isSuperset(of: wanted.inheritance)
      } ?? false
    case .marker:
      do throws(Errno) {
        _ = try held.item(named: LayoutStep.markerName, .held)
        return true
      } catch .noSuchFile {
        return false
      } catch {
        throw Refusal(error)
      }
    case .backup(let withTag):
      let marks = try attempt(held.exclusionMarks(.directory))
      return marks.contains(
        withTag ? [.timeMachine, .robots, .noDump, .tag] : [.timeMachine, .robots, .noDump])
    case .flags(let flags):
      return try attempt(held.fileFlags())?.contains(flags) ?? false
    }
  }

  /// The call it consists of, as the daemon is asked about it; nil where something is made.
  func asked(_ held: borrowing Descriptor) throws(Refusal) -> AskedChange? {
    switch self {
    case .owner(let owner): return .owner(owner.user, group: owner.group)
    case .mode(let mode): return .mode(UInt32(mode))
    case .entry: return .list(isRemoved: false)
    case .marker: return nil
    case .backup: return .flags(try attempt(held.fileFlags())?.union(.noDump) ?? .noDump)
    case .flags(let flags): return .flags(try attempt(held.fileFlags())?.union(flags) ?? flags)
    }
  }

  func perform(on path: [UInt8], _ held: SharedDescriptor) throws(Refusal) {
    switch self {
    case .backup(let withTag):
      var change = ExclusionChange(path, held, .directory)
      _ = try change.set(withTag: withTag)
    case .entry(let entry, _): try add(entry, to: path, held)
    default:
      do throws(Errno) { try call(held.descriptor) } catch {
        throw Refusal.change(error, path, held.descriptor, needs: right)
      }
    }
  }

  private var right: String {
    switch self {
    case .owner: "chown"
    case .marker: "add_file"
    default: "writesecurity"
    }
  }

  private func call(_ held: borrowing Descriptor) throws(Errno) {
    switch self {
    case .owner(let owner): try held.changeOwner(user: owner.user, group: owner.group)
    case .mode(let mode): try held.changeMode(mode)
    case .marker:
      let status = try held.knownStatus()
      let file = try FileName.with(LayoutStep.markerName) { name throws(Errno) in
        try held.createFile(name, mode: 0o644)
      }
      // The owner of the directory must be able to remove the marker.
      if try file.status().user != status.user {
        try file.changeOwner(user: status.user, group: status.group)
      }
    case .flags(let flags):
      guard let present = try held.fileFlags() else { throw .unsupported }
      try held.setFileFlags(present.union(flags))
    case .entry, .backup: break
    }
  }

  private func add(_ entry: AccessEntry, to path: [UInt8], _ held: SharedDescriptor) throws(Refusal) {
    let before = try held.descriptor.accessList()
    let list: AccessList?
    do throws(EditFailure) { list = try AccessListEdit.add(entry).applied(to: before) } catch {
      throw Refusal("\(error)")
    }
    do throws(Errno) {
      try held.descriptor.setAccessListText(storedText(list, .directory))
    } catch {
      throw Refusal.change(error, path, held.descriptor, needs: "writesecurity")
    }
  }
}
