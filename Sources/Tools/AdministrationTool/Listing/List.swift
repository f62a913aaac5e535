// `varve ls`: names, or the long form of macOS with flags, access lists and extended attributes.
//
// For users of `ls -leO` on macOS. What a listing of everything takes beside `ls -lR` is in docs/performance.md, "Whole trees".

import Arguments
import DisplayNames
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

func list(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  var lister = try Lister(invocation, console)
  var operands: [Word] = []
  if invocation.operands.isEmpty, !invocation.has(.fromInput) {
    operands = [Array(".".utf8)]
  } else {
    try PathOperands(invocation).forEach(console) { operands.append($0) }
  }
  lister.list(operands)
  return console.finish()
}

/// One run of `varve ls`.
private struct Lister {
  private let options: Invocation
  private let console: Console
  private let reader: ItemReader
  private var listing = LongListing()
  private let isLong: Bool
  private let layout: NameLayout
  /// The view that is listed, if one is, of paths that were not typed through another.
  private let view: ViewName?
  private var objects: [JSON] = []
  private var isFirstBlock = true

  init(_ options: Invocation, _ console: Console) throws(UsageError) {
    self.options = options
    self.console = console
    isLong = [.long, .entries, .flags, .attributes, .numeric, .noOwner, .noGroup].contains {
      options.has($0)
    }
    let isFreeBSD = options.has(.long) && options.has(.noGroup)
    listing.showsOwner = !options.has(.noOwner)
    listing.showsGroup = !options.has(.noGroup) || isFreeBSD
    if options.has(.blocks) { listing.shownBlocks = options.has(.kilobytes) ? 1_024 : 512 }
    layout =
      switch options.last(of: [.oneColumn, .columns, .rows, .stream]) {
      case .some(.columns): .columns
      case .some(.rows): .rows
      case .some(.stream): .stream
      default: .oneColumn
      }
    guard options.has(.displayNames) || options.values(.languages).isEmpty else {
      throw options.mistake("--as goes with --display")
    }
    let showsHidden = options.has(.all) || options.has(.almostAll) || options.has(.unsorted)
    view =
      options.has(.displayNames)
      ? ViewName(languages: try wantedLanguages(options), showsHidden: showsHidden) : nil
    let colors = try Colors(options)
    reader = ItemReader(options, isLong: isLong, colors)
    listing.showsInodes = options.has(.inodes)
    listing.showsFlags = options.has(.flags) || isFreeBSD
    listing.showsAttributes = options.has(.attributes)
    listing.showsEntries = options.has(.entries)
    listing.isForTerminal = StandardStream.output.isTerminal
  }

  /// Items first, then what the directories hold.
  mutating func list(_ operands: [Word]) {
    var items: [ReadItem] = []
    var directories: [(path: Word, held: SharedDescriptor)] = []
    for path in operands {
      var (named, name) = (path, path)
      do throws(Refusal) {
        if let view {
          let real = try RealPath(path)
          var shown = ownView(of: real, options) ?? view
          shown.showsHidden = shown.showsHidden || view.showsHidden
          (named, name) = (real.path(in: shown), real.shownPath(typed: path, in: shown))
        }
      } catch {
        console.complain(path, error.sentence)
        continue
      }
      do throws(Errno) {
        let held = SharedDescriptor(try open(named))
        let item = try reader.read(held, name: name, linkTarget: true)
        reportUnreadable(item, path, nil)
        if item.status.kind == .directory, !options.has(.directory) {
          directories.append((path, held))
        } else {
          items.append(item)
        }
      } catch {
        console.complain(path, error)
      }
    }
    if !items.isEmpty { show(items, in: nil) }
    let showsPath = operands.count > 1 || options.has(.recursive) || options.has(.fromInput)
    directories.sort { $0.path.lexicographicallyPrecedes($1.path) }
    for directory in directories {
      list(directory.path, directory.held, showsPath: showsPath)
    }
    if options.has(.json) { console.print(JSON.array(objects).indentedText() + "\n") }
  }

  /// A link named on the command line is followed, unless the long form is about the link itself.
  private func open(_ path: Word) throws(Errno) -> Descriptor {
    let isHeld =
      switch options.last(of: [.followNamed, .followAll, .followNone]) {
      case nil: isLong || options.has(.directory) || options.has(.kindMarks)
      case .some(.followNone): true
      default: false
      }
    if isHeld { return try Descriptor.item(atPath: path, .held) }
    do throws(Errno) {
      return try Descriptor.item(atPath: path, .followed)
    } catch .noSuchFile {
      return try Descriptor.item(atPath: path, .held)
    }
  }

  private mutating func list(_ path: Word, _ held: SharedDescriptor, showsPath: Bool) {
    // Directories wait by their names below this one: only those on the way to the one being listed are open, and
    // no path is too long.
    var waiting: [[[UInt8]]] = [[]]
    let chain = DirectoryChain(held, followingLinks: options.has(.followAll))
    while let names = waiting.popLast() {
      let path = names.reduce(path) { joined($0, $1) }
      do throws(Errno) {
        let items = try contents(of: try chain.directory(names), path: path)
        if !options.has(.json), showsPath {
          console.print(isFirstBlock ? [] : [0x0A])
          console.print(listing.shown(path) + Array(":\n".utf8))
        }
        show(items, in: path)
        guard options.has(.recursive) else { continue }
        let directory = try chain.directory(names)
        for item in items.reversed() where item.status.kind == .directory && !item.isDots {
          if options.has(.skipPackages), isPackage(item.fileName, in: directory) { continue }
          waiting.append(names + [item.fileName])
        }
      } catch {
        console.complain(path, error)
      }
    }
  }

  /// What a directory holds, in the order asked for.
  private func contents(of held: SharedDescriptor, path: Word) throws(Errno) -> [ReadItem] {
    let reader = reader
    let followsLinks = options.has(.followAll)
    let names = try names(in: held)
    let read = parallelMap(names) { name in
      Result { () throws(Errno) in try reader.read(name, in: held, followingLinks: followsLinks) }
    }
    var items: [ReadItem] = []
    items.reserveCapacity(read.count)
    for (name, result) in zip(names, read) {
      switch result {
      case .success(let item):
        reportUnreadable(item, path, name)
        items.append(item)
      // It was removed in the meantime.
      case .failure(.noSuchFile): break
      case .failure(let error): console.complain(joined(path, name), error)
      }
    }
    guard !options.has(.unsorted) else { return items }
    // A view has an order of its own.
    if view == nil || options.last(of: [.bySize, .byTime]) != nil { items.sort(by: isBefore) }
    if options.has(.reverse) { items.reverse() }
    return items
  }

  private func names(in held: SharedDescriptor) throws(Errno) -> [Word] {
    let directory = try held.descriptor.listing()
    var buffer = EntryBuffer()
    var names: [Word] = []
    while try directory.readEntries(into: &buffer) > 0 {
      while let entry = try buffer.next() {
        let name = try buffer.nameBytes(of: entry)
        if isShown(name, entry.role), !isSkipped(name, entry.role, in: held) { names.append(name) }
      }
    }
    return names
  }

  private func isShown(_ name: Word, _ role: EntryRole) -> Bool {
    if options.has(.all) || options.has(.unsorted) { return true }
    if role == .itself || role == .parent { return false }
    return options.has(.almostAll) || name.first != UInt8(ascii: ".")
  }

  /// Whether a view would leave an item out; what cannot be asked is listed.
  private func isSkipped(_ name: Word, _ role: EntryRole, in directory: SharedDescriptor) -> Bool {
    guard options.has(.skipHidden), view == nil, role == .child else { return false }
    return fact("system.varve.hidden", name, in: directory)?.isEmpty == false
  }

  private func isPackage(_ name: Word, in directory: SharedDescriptor) -> Bool {
    guard let state = fact("system.varve.package", name, in: directory) else { return false }
    return state != Array("0".utf8)
  }

  private func fact(_ attribute: StaticString, _ name: Word, in directory: SharedDescriptor) -> [UInt8]? {
    (try? directory.descriptor.item(named: name, .held).attribute(AttributeName(attribute))) ?? nil
  }

  private func isBefore(_ first: ReadItem, _ second: ReadItem) -> Bool {
    switch options.last(of: [.bySize, .byTime]) {
    case .some(.bySize) where first.status.size != second.status.size:
      return first.status.size > second.status.size
    case .some(.byTime) where first.time != second.time: return first.time > second.time
    default: return first.listed.name.lexicographicallyPrecedes(second.listed.name)
    }
  }

  private mutating func show(_ items: [ReadItem], in directory: Word?) {
    isFirstBlock = false
    if options.has(.json) {
      objects += items.filter { !$0.isDots }.map { $0.json(in: directory) }
    } else if isLong {
      let listed = items.map(\.listed)
      if directory != nil { console.print(listing.total(listed)) }
      console.print(listing.lines(listed))
    } else {
      let listed = items.map(\.listed)
      if directory != nil, options.has(.blocks) { console.print(listing.total(listed)) }
      let screen = StandardStream.output.columns ?? 80
      console.print(layout.lines(listing.cells(listed), screen: screen))
    }
  }

  private func reportUnreadable(_ item: ReadItem, _ path: Word, _ name: Word?) {
    for sentence in item.unreadable {
      console.complain(name.map { joined(path, $0) } ?? path, sentence)
    }
  }
}

/// A path and a name below it.
func joined(_ path: [UInt8], _ name: [UInt8]) -> [UInt8] {
  return path.last == slash ? path + name : path + [slash] + name
}
