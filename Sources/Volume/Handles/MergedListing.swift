// A listing of a directory that several layers have: part after part, the topmost first, each name once.
//
// Nothing is sorted and no name is kept. Of what the parts above the last have shown or hidden a hash is kept, which is
// long enough that no two names share one; and of each name that was handed out the position in its part, because no
// cookie has room for a layer beside the offset of a file system.

import LinuxFiles

/// Where a listing of several parts stands.
struct MergedListing {
  let parts: [LayerPart]
  /// The parts whose children may have their numbers from elsewhere.
  let impure: [Bool]
  /// The part that is being read.
  private(set) var part = 0
  private var listing: LayerDirectory?
  /// What each part has shown or hidden.
  private var seen: [ListedNames]
  /// How many names were handed out; the cookie of the last one.
  private(set) var position = 0
  /// Behind each name that was handed out, in its part.
  private var offsets = ListingOffsets()
  /// How many names were handed out before each part.
  private var starts = [0]
  /// Whether no access time is moved.
  private let isAside: Bool

  /// `isAside`: a look of the volume's own.
  init(_ parts: [LayerPart], impure: [Bool] = [], isAside: Bool = false) {
    self.parts = parts
    self.impure = impure
    self.isAside = isAside
    seen = parts.map { _ in ListedNames() }
  }

  func isOf(_ others: DirectoryParts) -> Bool {
    parts.elementsEqual(others.all) { $0.layer == $1.layer && $0.descriptor === $1.descriptor }
  }

  var layer: UInt8 { parts[part].layer }
  var isPartImpure: Bool { impure[part] }
  /// What is being read.
  var directory: LayerDirectory { LayerDirectory(parts[part]) }
  var cookie: Int64 { Int64(position) + 1 }

  /// Goes behind the name of a cookie; to the beginning with 0, and then nothing is remembered of what was shown.
  mutating func seek(to cookie: Int64) throws(Errno) {
    guard cookie > 0 else {
      let first = part == 0 ? listing : nil
      self = MergedListing(parts, impure: impure, isAside: isAside)
      try first?.seekListing(to: 0)
      listing = first
      return
    }
    guard cookie <= Int64(offsets.count) else { throw .invalid }
    position = Int(cookie)
    let wanted = starts.lastIndex { $0 < position } ?? 0
    if wanted != part { listing = nil }
    part = wanted
    for above in 0..<part { seen[above].finish() }
    try open().seekListing(to: offsets[position - 1])
  }

  /// The part that is being read, open for that.
  mutating func open() throws(Errno) -> LayerDirectory {
    if let listing { return listing }
    // A lower keeps its access times.
    let directory = LayerDirectory(parts[part])
    let opened =
      try parts[part].layer == 0 && !isAside ? directory.openListing() : directory.openListingAside()
    listing = opened
    return opened
  }

  /// Reads the next page; false at the end of the last part.
  ///
  /// A part of a lower that was removed behind the mount has none. With that of the upper its whiteouts are gone, so the listing
  /// ends (ENOENT), as that of any directory that is removed.
  mutating func readNames(into page: inout EntryBuffer) throws(Errno) -> Bool {
    while try readPart(into: &page) == 0 {
      guard part + 1 < parts.count else { return false }
      seen[part].finish()
      part += 1
      listing = nil
      if starts.count > part { position = starts[part] } else { starts.append(position) }
    }
    return true
  }

  private mutating func readPart(into page: inout EntryBuffer) throws(Errno) -> Int {
    let listing = try open()
    return try listing.layer > 0 ? listing.readNamesLeft(into: &page) : listing.readNames(into: &page)
  }

  /// Whether a part above has shown or hidden this name.
  func isHidden(_ name: [UInt8]) -> Bool {
    guard part > 0 else { return false }
    let name = ListedNames.name(name)
    return seen[..<part].contains { $0.contains(name) }
  }

  /// This name is shown or hidden by the part that is being read; parts below it show it no more.
  mutating func take(_ name: [UInt8]) {
    if part + 1 < parts.count { seen[part].insert(ListedNames.name(name)) }
  }

  /// A name was handed out; `offset` is behind it.
  mutating func handedOut(_ offset: Int64) {
    // The part has grown since it was read the first time: what comes after it gets other cookies.
    if starts.count > part + 1, position >= starts[part + 1] {
      starts.removeSubrange((part + 1)...)
      offsets.removeAll(from: position)
    }
    if position < offsets.count { offsets[position] = offset } else { offsets.append(offset) }
    position += 1
  }
}
