// What `varve check` says, and what it does to one item.

import AccessControl
import FlagRules
import JSONForm
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import RecordFormat
import TextForms

/// Counts and prints what was found.
final class CheckReport {
  private let console: Console
  private let json: JSONStream?
  var checked = 0
  private var found = 0
  private var repaired = 0
  /// Files with several names.
  private var linked: Set<ObjectKey> = []
  /// Items with POSIX lists, and the first of them: nothing is wrong with them, but they do not count.
  private var posixLists: (count: Int, first: [UInt8]) = (0, [])

  init(_ console: Console, isJSON: Bool) {
    self.console = console
    json = isJSON ? JSONStream("items", console) : nil
  }

  func add(_ defect: Defect, _ path: [UInt8], isRepaired: Bool) {
    found += 1
    if isRepaired { repaired += 1 }
    if let json {
      json.add(
        JSON.nameMembers("path", path) + [
          JSON.Member("kind", .string(defect.kind.word)), JSON.Member("text", .string(defect.text)),
          JSON.Member("repaired", .bool(isRepaired)),
        ])
    } else if !console.isQuiet {
      console.printPath(path, ": \(defect.kind.word): \(defect.text)\(isRepaired ? "; repaired" : "")")
    }
  }

  /// Whether the content of a file was not looked at by another of its names.
  func isFirstName(_ status: FileStatus) -> Bool {
    status.linkCount < 2 || linked.insert(ObjectKey(status)).inserted
  }

  /// Counts an item that has a POSIX list.
  func addPosixList(_ path: [UInt8]) {
    if posixLists.count == 0 { posixLists.first = path }
    posixLists.count += 1
  }

  private func tellPosixLists() {
    guard json == nil, !console.isQuiet, posixLists.count > 0 else { return }
    console.note(
      posixLists.first,
      "has a POSIX list\(posixLists.count > 1 ? ", as \(counted(posixLists.count)) do in all" : ""): its mask counts as "
        + "the rights of the group, and the rest of it does not count; 'varve acl import' makes entries of it"
    )
  }

  /// Repairs what is wrong, if that is wanted, and adds it; whether it was repaired.
  ///
  /// `reason`: why it was not.
  @discardableResult
  func settle(
    _ defect: Defect, _ path: [UInt8], isWanted: Bool, reason: (Errno) -> String = { "\($0)" },
    _ repair: () throws(Errno) -> Void
  ) throws(Refusal) -> Bool {
    guard isWanted else {
      add(defect, path, isRepaired: false)
      return false
    }
    do throws(Errno) {
      try repair()
      add(defect, path, isRepaired: true)
      return true
    } catch {
      add(defect, path, isRepaired: false)
      throw Refusal("not repaired: \(reason(error))")
    }
  }

  /// 0 if nothing is wrong any more, 1 if something is, 2 if not everything could be looked at.
  func finish() -> Int32 {
    tellPosixLists()
    json?.end([
      JSON.Member("checked", .number(checked)), JSON.Member("findings", .number(found)),
      JSON.Member("repaired", .number(repaired)), JSON.Member("posixLists", .number(posixLists.count)),
      JSON.Member("failed", .number(console.failures)),
    ])
    if console.finish() != 0 { return 2 }
    return found > repaired ? 1 : 0
  }

  /// A line of `.varve/damaged`: when, what, the bytes, and the path in a form that is one word.
  static func line(for bytes: [UInt8], of attribute: String, _ path: [UInt8]) -> [UInt8] {
    let text = bytes.map { digits($0, radix: 16, width: 2) }
    return Array(
      "\(Clock.realtime.seconds) \(attribute) 0x\(text.joined()) \(PathText.escaped(path))\n".utf8)
  }
}

/// Looks at the records of items, and repairs them.
final class ItemRecords {
  private let inspection: VolumeInspection
  private let report: CheckReport
  private let console: Console
  private let coreName: String
  private let listName: String
  private let namesName: String
  /// Items that carry a record.
  private(set) var found = 0
  private let compressed = CompressedCheck()
  /// Whether all of a compressed file is read, and not only its table.
  private let readsContent: Bool

  init(
    _ inspection: VolumeInspection, _ report: CheckReport, _ console: Console, readsContent: Bool
  ) {
    self.readsContent = readsContent
    self.inspection = inspection
    self.report = report
    self.console = console
    coreName = inspection.recordPrefix + ".m"
    listName = inspection.recordPrefix + ".acl"
    namesName = inspection.recordPrefix + ".names"
  }

  func check(_ item: VisitedItem, isWanted: (Defect) -> Bool) {
    let stored: StoredBytes
    do throws(Errno) {
      stored = StoredBytes(
        core: try read(coreName, item), list: try read(listName, item), names: try read(namesName, item))
    } catch {
      return console.complain(item.path, error)
    }
    if stored.core != nil { found += 1 }
    if hasPosixList(item) { report.addPosixList(item.path) }
    let ofRecord = stored.defect
    let ofContent = contentDefect(stored, item, ofRecord)
    var canBeRead = stored.record != nil
    if let ofRecord, settle(ofRecord, stored, item, isWanted: isWanted(ofRecord)) { canBeRead = true }
    // Without a record that can be read, nothing of the content can be finished.
    if let ofContent { settle(ofContent, stored, item, isWanted: canBeRead && isWanted(ofContent)) }
  }

  /// Whether it was repaired.
  @discardableResult
  private func settle(
    _ defect: Defect, _ stored: StoredBytes, _ item: VisitedItem, isWanted: Bool
  ) -> Bool {
    do throws(Refusal) {
      return try report.settle(
        defect, item.path, isWanted: isWanted, reason: { whyNotRepaired(defect, $0, item) }
      ) { () throws(Errno) in try repair(defect, stored, item) }
    } catch {
      console.complain(item.path, error.sentence)
      return false
    }
  }

  /// What cannot be read has none.
  private func hasPosixList(_ item: VisitedItem) -> Bool {
    guard item.status.kind != .symbolicLink else { return false }
    let names =
      ["system.posix_acl_access"] + (item.status.kind == .directory ? ["system.posix_acl_default"] : [])
    return names.contains { name in (try? read(name, item)) ?? nil != nil }
  }

  /// What is wrong with the content of a file that is compressed or was half replaced, told of the first of its names that is
  /// met; `ofRecord`: what is wrong with its record or list.
  private func contentDefect(
    _ stored: StoredBytes, _ item: VisitedItem, _ ofRecord: Defect?
  ) -> Defect? {
    guard item.status.kind == .regular, let core = stored.core else { return nil }
    do throws(Errno) {
      guard let record = stored.record else {
        // What a later version wrote is not for this one to judge.
        guard ofRecord?.kind == .own(.record) else { return nil }
        return try replacementDefect(item, damaged: core)
      }
      guard record.isReplacing || record.logicalSize != nil, report.isFirstName(item.status) else {
        return nil
      }
      guard !record.isReplacing, let size = record.logicalSize else { return try replacementDefect(item) }
      let file = try item.held.descriptor.reopen([.readOnly, .nonBlocking])
      return try compressed.damage(of: file, logicalSize: size, readsContent: readsContent) {
        Interruption.isRequested
      }?.defect
    } catch {
      console.complain(item.path, error)
      return nil
    }
  }

  /// What becomes of a file whose content was half replaced; of one that a present mount can finish, or is at work on, nothing
  /// is said.
  private func replacementDefect(_ item: VisitedItem) throws(Errno) -> Defect? {
    if try inspection.hasNewContent(of: item.held) {
      guard case .nobody = inspection.use else { return nil }
      return Defect(
        .interrupted,
        "replacing its content was interrupted, and it cannot be read until a repair or the next mount for writing finishes "
          + "that")
    }
    // A mount takes the new content away when it is done, and may be by now.
    guard let core = try read(coreName, item), let record = try? CoreRecord(decoding: core.span),
      record.isReplacing, try !inspection.hasNewContent(of: item.held)
    else { return nil }
    return Defect(
      .content, "cannot be read: its content was being replaced, and the new content is missing or damaged")
  }

  /// The same where the record is damaged: its mark counts for little, and a work file of this file for more.
  private func replacementDefect(_ item: VisitedItem, damaged core: [UInt8]) throws(Errno) -> Defect? {
    let hasNewContent = try inspection.hasNewContent(of: item.held)
    guard hasNewContent || CoreRecord.saysReplacing(core.span), report.isFirstName(item.status) else {
      return nil
    }
    return hasNewContent
      ? Defect(
        .interrupted,
        "replacing its content was interrupted; a repair of the record makes it possible to finish that")
      : Defect(
        .content,
        "may be half replaced: the damaged record says that its content was being replaced, and the new content is missing "
          + "or damaged; compare it with a backup")
  }

  private func repair(_ defect: Defect, _ stored: StoredBytes, _ item: VisitedItem) throws(Errno) {
    try inspection.requireLock()
    guard case .own(let kind) = defect.kind else { throw .invalid }
    if case .interrupted = kind { return try inspection.finishReplacement(of: item.held) }
    for (name, bytes) in [
      (coreName, stored.core), (listName, stored.list), (namesName, stored.names),
    ] {
      if let bytes { try inspection.keepAside(CheckReport.line(for: bytes, of: name, item.path)) }
    }
    let held = item.held
    switch kind {
    case .residue: try remove(listName, from: held)
    case .names:
      // The record first: what it announces must be there.
      try write(stored.recordWithoutNames, coreName, item)
      if stored.names != nil { try remove(namesName, from: held) }
    case .record:
      let content = item.status.kind == .regular ? try inspection.newContent(of: held) : nil
      // The list first: a record that announces one that is not there yet would be damage again.
      try write(StoredBytes.closedList.encoded, listName, item)
      let flag: FileFlags = inspection.recordPrefix.hasPrefix("trusted.") ? .systemImmutable : .userImmutable
      try write(StoredBytes.lockedRecord(flag, replacing: content), coreName, item)
    case .list:
      // The record first: nothing may promise for a moment that the closed list is an open one.
      try write(stored.record(announcing: StoredBytes.closedList), coreName, item)
      try write(StoredBytes.closedList.encoded, listName, item)
    case .contradiction:
      let list = stored.list.flatMap { try? AccessListBytes.decode($0.span) }
      try write(list.flatMap { stored.record(announcing: $0) }, coreName, item)
    case .header, .type, .owner, .leftover, .interrupted, .newer, .unheeded, .unused, .restored, .content:
      throw .invalid
    }
  }

  private func whyNotRepaired(_ defect: Defect, _ error: Errno, _ item: VisitedItem) -> String {
    // EBUSY is also what a lost lock is.
    guard case .own(.interrupted) = defect.kind, error == .busy, (try? inspection.requireLock()) != nil
    else { return "\(error)" }
    let who = FileUsers.named(storedAs: item.status) ?? "a program has it open or mapped; end it"
    return "it is in use (EBUSY): \(who), and repair again"
  }

  private func remove(_ name: String, from held: SharedDescriptor) throws(Errno) {
    try AttributeName.with(Array(name.utf8)) { name throws(Errno) in
      try held.descriptor.removeAttribute(name)
    }
  }

  private func read(_ name: String, _ item: VisitedItem) throws(Errno) -> [UInt8]? {
    try AttributeName.with(Array(name.utf8)) { name throws(Errno) in
      try item.held.descriptor.attribute(name)
    }
  }

  private func write(_ bytes: [UInt8]?, _ name: String, _ item: VisitedItem) throws(Errno) {
    guard let bytes else { throw .invalid }
    try AttributeName.with(Array(name.utf8)) { name throws(Errno) in
      try item.held.descriptor.setAttribute(name, to: bytes.span)
    }
  }
}

extension AccessList {
  fileprivate var encoded: [UInt8]? { try? AccessListBytes.encode(self) }
}
