// Everything `varve ls` shows of one item.

import AccessControl
import AccessForms
import Arguments
import FlagRules
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// An item with what was read of it.
struct ReadItem: Sendable {
  var listed: ListedItem
  let status: FileStatus
  /// The time that is shown, and sorted by.
  let time: Timestamp
  /// The name in the directory, whatever name is shown.
  let fileName: [UInt8]
  /// The word of the class by which it is encrypted, or what is made in it; nil where there is none.
  var protection: String?
  /// The group that owns the item; stat(2) shows `nobody` there.
  var ownerGroup: UInt32?
  /// What could not be read, and why; the item is listed without it.
  var unreadable: [String] = []

  /// `.` and `..`, which `-a` lists and nobody goes into.
  var isDots: Bool {
    listed.name == Array(".".utf8) || listed.name == Array("..".utf8)
  }

  /// The item for a script.
  func json(in directory: [UInt8]?) -> JSON {
    var members = JSON.nameMembers("name", listed.name)
    if let directory { members += JSON.nameMembers("directory", directory) }
    members += [
      JSON.Member("kind", .string("\(status.kind)")),
      JSON.Member("mode", .string("0" + String(UInt32(status.mode), radix: 8))),
      JSON.Member("inode", .number(status.inode)),
      JSON.Member("links", .number(status.linkCount)),
      JSON.Member("user", .number(status.user)),
    ]
    if let ownerGroup { members.append(JSON.Member("ownerGroup", .number(ownerGroup))) }
    members += [
      JSON.Member("group", .number(status.group)),
      JSON.Member("size", .number(status.size)),
      JSON.Member("blocks", .number(status.blocks)),
      JSON.Member("modified", .string(time(status.modification))),
      JSON.Member(
        "flags", .array(listed.flags.split(separator: ",").map { .string(String($0)) })),
      JSON.Member("acl", .array(listed.entries.map { .string($0) })),
      JSON.Member("xattrs", .array(listed.attributes.map { .object(self.json(of: $0)) })),
    ]
    if let flags = listed.listFlags {
      members.append(JSON.Member("aclFlags", .array(flags.split(separator: ",").map { .string(String($0)) })))
    }
    if let protection { members.append(JSON.Member("class", .string(protection))) }
    if let target = listed.linkTarget { members += JSON.nameMembers("target", target) }
    return .object(members)
  }

  private func json(of attribute: ListedItem.Attribute) -> [JSON.Member] {
    JSON.nameMembers("name", attribute.name) + [JSON.Member("size", .number(attribute.size))]
  }

  /// Seconds since 1970 with a fraction: no time zone to misread.
  private func time(_ time: Timestamp) -> String {
    "\(time.seconds).\(digits(time.nanoseconds, width: 9))"
  }
}

/// Reads items as deeply as the options ask.
struct ItemReader: Sendable {
  private let options: Invocation
  private let isDetailed: Bool
  private let colors: Colors
  private let now = Clock.realtime.seconds

  init(_ options: Invocation, isLong: Bool, _ colors: Colors) {
    self.options = options
    self.colors = colors
    isDetailed = isLong || options.has(.json)
  }

  /// Reads a name in a directory.
  func read(
    _ name: [UInt8], in directory: SharedDescriptor, followingLinks: Bool
  ) throws(Errno) -> ReadItem {
    guard followingLinks else {
      return try read(
        SharedDescriptor(try directory.descriptor.item(named: name, .held)), name: name, linkTarget: true)
    }
    do throws(Errno) {
      return try read(
        SharedDescriptor(try directory.descriptor.item(named: name, .followed)), name: name, linkTarget: false
      )
    } catch .noSuchFile {
      return try read(name, in: directory, followingLinks: false)
    }
  }

  /// Reads what a descriptor holds on to.
  func read(_ held: SharedDescriptor, name: [UInt8], linkTarget: Bool) throws(Errno) -> ReadItem {
    let status = try options.has(.birthTime) ? held.descriptor.status() : held.descriptor.knownStatus()
    var item = ReadItem(
      listed: ListedItem(name: name), status: status, time: time(status), fileName: name)
    item.listed.inode = status.inode
    item.listed.blocks = status.blocks
    item.listed.kindMark = kindMark(status)
    colors.paint(&item.listed, status, [])
    guard isDetailed else { return item }
    item.listed.mode = status.kind.modeBits | UInt32(status.mode)
    item.listed.links = UInt64(status.linkCount)
    item.listed.owner = account(status.user, NameBook.machine.userName)
    item.listed.group = account(status.group, NameBook.machine.groupName)
    item.listed.size = size(status)
    item.listed.date = date(item.time.seconds)
    // Only there can a group be the owner.
    if status.user == OwnerRequest.nobody {
      reading("owner", of: held, into: &item) { item throws(Errno) in
        let owner = try held.descriptor.owner(status)
        guard case .group(let group) = owner else { return }
        item.ownerGroup = group
        item.listed.owner = "group:" + account(group, NameBook.machine.groupName)
      }
    }
    var found: [AccessEntry] = []
    // Each of these is a question to the volume; nobody asks what is not shown.
    let isFreeBSD = options.has(.long) && options.has(.noGroup)
    if options.has(.flags) || isFreeBSD || options.has(.json) {
      reading("flags", of: held, into: &item) { item throws(Errno) in
        item.listed.flags = try held.descriptor.fileFlags()?.text ?? ""
      }
    }
    if options.has(.json), status.kind == .regular || status.kind == .directory {
      reading("class", of: held, into: &item) { item throws(Errno) in
        do throws(Errno) { item.protection = try held.descriptor.protectionWord() } catch .unsupported {
          // Another file system.
        }
      }
    }
    reading("access list", of: held, into: &item) { item throws(Errno) in
      (item.listed.listFlags, item.listed.entries, found) = try entries(of: held, status.kind)
    }
    colors.paint(&item.listed, status, found)
    reading("extended attributes", of: held, into: &item) { item throws(Errno) in
      item.listed.attributes = try attributes(of: held)
    }
    if linkTarget, status.kind == .symbolicLink { item.listed.linkTarget = try held.descriptor.readLink() }
    return item
  }

  /// The time that is asked for; where none is kept of the creation, that of the last modification.
  private func time(_ status: FileStatus) -> Timestamp {
    switch options.last(of: [.changeTime, .accessTime, .birthTime]) {
    case .some(.changeTime): status.change
    case .some(.accessTime): status.access
    case .some(.birthTime): status.birth ?? status.modification
    default: status.modification
    }
  }

  private func kindMark(_ status: FileStatus) -> String {
    if status.kind == .directory, options.has(.kindMarks) || options.has(.directoryMarks) { return "/" }
    guard options.has(.kindMarks) else { return "" }
    return switch status.kind {
    case .symbolicLink: "@"
    case .socket: "="
    case .fifo: "|"
    case .regular where status.mode & 0o111 != 0: "*"
    default: ""
    }
  }

  private func reading(
    _ what: String, of held: SharedDescriptor, into item: inout ReadItem,
    _ read: (inout ReadItem) throws(Errno) -> Void
  ) {
    do throws(Errno) {
      try read(&item)
    } catch {
      // Of lists and flags the place tells more: which of the two is damaged, and what helps.
      let sentence =
        error == .inputOutput ? Refusal.reading(error, held.descriptor).sentence : "\(what): \(error)"
      // A damaged record answers no question about the item, and is one thing to mend.
      if !item.unreadable.contains(sentence) { item.unreadable.append(sentence) }
    }
  }

  private func account(_ number: UInt32, _ name: (UInt32) -> String?) -> String {
    options.has(.numeric) ? "\(number)" : name(number) ?? "\(number)"
  }

  private func size(_ status: FileStatus) -> String {
    switch status.kind {
    case .blockDevice, .characterDevice: "\(status.specialDevice.major), \(status.specialDevice.minor)"
    default: options.has(.humanSizes) ? sizeText(status.size) : "\(status.size)"
    }
  }

  private func date(_ seconds: Int64) -> String {
    guard let moment = localTime(seconds) else { return "\(seconds)" }
    let time = LocalTime(
      year: moment.year, month: moment.month, day: moment.day, hour: moment.hour, minute: moment.minute,
      second: moment.second)
    return options.has(.fullTime) ? time.complete : time.listed(isRecent: isRecent(seconds, now: now))
  }

  private func entries(
    of held: SharedDescriptor, _ kind: FileKind
  ) throws(Errno) -> (flags: String?, lines: [String], entries: [AccessEntry]) {
    guard let text = try held.descriptor.accessListText() else { return (nil, [], []) }
    do throws(ParseFailure) {
      let list = try AccessListText.readList(bytes: text, names: .machine)
      let lines = AccessListText.lines(
        list, for: kind == .directory ? .directory : .file, names: .machine,
        numeric: options.has(.numeric))
      return (AccessListText.flagWords(list.flags), lines, list.entries)
    } catch {
      // A word of a later version: what the volume says is better than nothing.
      return (nil, text.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }, [])
    }
  }

  /// The attributes that are data; access lists of other systems are shown by the doors, not here.
  private func attributes(of held: SharedDescriptor) throws(Errno) -> [ListedItem.Attribute] {
    let names: [[UInt8]]
    do throws(Errno) {
      names = try held.descriptor.attributeNames().copies
    } catch {
      // Who may not read them is told so only where they asked for them; the mark `@` is no such question.
      guard error == .unsupported || (error == .accessDenied && !options.has(.attributes)) else {
        throw error
      }
      return []
    }
    var attributes: [ListedItem.Attribute] = []
    for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) })
    where !name.starts(with: "system.".utf8) {
      let size = try AttributeName.with(name) { name throws(Errno) in
        // Gone in the meantime is gone.
        try held.descriptor.attribute(name)?.count
      }
      if let size { attributes.append(ListedItem.Attribute(name: name, size: size)) }
    }
    return attributes
  }
}
