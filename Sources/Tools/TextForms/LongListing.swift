// The long form of `ls`, as macOS prints it, from plain values.

/// What the long form shows of one item.
package struct ListedItem: Equatable, Sendable {
  /// An extended attribute of the item.
  package struct Attribute: Equatable, Sendable {
    package let name: [UInt8]
    package let size: Int

    package init(name: [UInt8], size: Int) {
      self.name = name
      self.size = size
    }
  }

  package var name: [UInt8]
  package var mode: UInt32 = 0
  package var inode: UInt64 = 0
  package var links: UInt64 = 0
  package var owner: String = ""
  package var group: String = ""
  /// The keywords of the flags, with commas; empty: none.
  package var flags: String = ""
  /// The size, or the numbers of a device.
  package var size: String = ""
  package var date: String = ""
  package var linkTarget: [UInt8]?
  /// The size on disk, in blocks of 512 bytes.
  package var blocks: UInt64 = 0
  /// What stands behind the name for its kind.
  package var kindMark = ""
  package var attributes: [Attribute] = []
  /// What the access list as a whole is marked with, in words.
  package var listFlags: String?
  /// The entries of the access list, without their numbers.
  package var entries: [String] = []
  /// Codes of colours, as a terminal has them behind an escape; empty: none.
  package var nameColor = ""
  package var flagsColor = ""
  /// One for each entry, or none at all.
  package var entryColors: [String] = []

  package init(name: [UInt8]) {
    self.name = name
  }

  /// What follows the mode: attributes hide the mark of an access list, as on macOS.
  var mark: String {
    attributes.isEmpty ? entries.isEmpty && listFlags == nil ? " " : "+" : "@"
  }
}

/// How the long form is printed.
package struct LongListing: Sendable {
  package var showsInodes = false
  package var showsFlags = false
  package var showsAttributes = false
  package var showsEntries = false
  /// How many bytes a block has that is counted in front of each item; nil: none is.
  package var shownBlocks: UInt64?
  package var showsOwner = true
  package var showsGroup = true
  /// Control characters in names become question marks, so that a name cannot steer the terminal.
  package var isForTerminal = false

  package init() {}

  /// The lines for items that are listed together: their columns are of one width.
  package func lines(_ items: [ListedItem]) -> [UInt8] {
    let links = width(items) { String($0.links) }
    let owners = width(items, \.owner)
    let groups = width(items, \.group)
    let flags = width(items) { flagText($0) }
    let sizes = width(items, \.size)
    let inodes = width(items) { String($0.inode) }
    let blocks = width(items) { blockText($0) }
    var text: [UInt8] = []
    for item in items {
      var line = showsInodes ? right(String(item.inode), inodes) + " " : ""
      if shownBlocks != nil { line += right(blockText(item), blocks) + " " }
      line += modeText(item.mode) + item.mark + " " + right(String(item.links), links)
      line += " "
      if showsOwner { line += filled(item.owner, owners) + "  " }
      if showsGroup { line += filled(item.group, groups) + "  " }
      if showsFlags { line += painted(filled(flagText(item), flags), item.flagsColor) + " " }
      line += right(item.size, sizes) + " " + item.date + " "
      text += line.utf8
      text += shownName(item) + Array(item.kindMark.utf8)
      if let target = item.linkTarget { text += Array(" -> ".utf8) + shown(target) }
      text.append(UInt8(ascii: "\n"))
      text += details(item)
    }
    return text
  }

  /// The line above a directory's items.
  package func total(_ items: [ListedItem]) -> String {
    let blocks = items.reduce(0) { $0 &+ $1.blocks }
    return "total \(blocks &* 512 / (shownBlocks ?? 512))\n"
  }

  /// The size on disk, rounded up.
  private func blockText(_ item: ListedItem) -> String {
    let size = shownBlocks ?? 512
    return String((item.blocks &* 512 &+ size - 1) / size)
  }

  /// Names in the short form, with what stands around each.
  package func cells(_ items: [ListedItem]) -> [NameCell] {
    let inodes = showsInodes ? width(items) { String($0.inode) } : 0
    let blocks = shownBlocks == nil ? 0 : width(items) { blockText($0) }
    return items.map { item in
      var start = showsInodes ? right(String(item.inode), inodes) + " " : ""
      if shownBlocks != nil { start += right(blockText(item), blocks) + " " }
      let name = String(decoding: shown(item.name), as: UTF8.self)
      return NameCell(
        bytes: Array(start.utf8) + shownName(item) + Array(item.kindMark.utf8),
        width: start.count + name.count + item.kindMark.count)
    }
  }

  /// A name as it may be printed.
  package func shown(_ name: [UInt8]) -> [UInt8] {
    guard isForTerminal else { return name }
    return PathText.forTerminal(name)
  }

  /// An item's name as it may be printed, in its colour.
  package func shownName(_ item: ListedItem) -> [UInt8] {
    guard !item.nameColor.isEmpty else { return shown(item.name) }
    return Array("\u{1B}[\(item.nameColor)m".utf8) + shown(item.name) + Array("\u{1B}[0m".utf8)
  }

  private func painted(_ text: String, _ color: String) -> String {
    color.isEmpty ? text : "\u{1B}[\(color)m\(text)\u{1B}[0m"
  }

  private func details(_ item: ListedItem) -> [UInt8] {
    var text: [UInt8] = []
    if showsAttributes {
      for attribute in item.attributes {
        text += Array("\t".utf8) + shown(attribute.name) + Array("\t\(attribute.size)\n".utf8)
      }
    }
    if showsEntries {
      if let flags = item.listFlags { text += Array(" \(flags)\n".utf8) }
      for (number, entry) in item.entries.enumerated() {
        let color = item.entryColors.indices.contains(number) ? item.entryColors[number] : ""
        text += Array(" \(number): \(painted(entry, color))\n".utf8)
      }
    }
    return text
  }

  private func flagText(_ item: ListedItem) -> String {
    item.flags.isEmpty ? "-" : item.flags
  }

  private func width(_ items: [ListedItem], _ column: (ListedItem) -> String) -> Int {
    items.reduce(0) { max($0, column($1).count) }
  }
}

private func right(_ text: String, _ width: Int) -> String {
  String(repeating: " ", count: max(0, width - text.count)) + text
}
