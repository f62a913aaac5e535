// What is done by name in one directory of a layer.
//
// Nothing else in the volume calls the system by name, but for the bookkeeping: what a union of layers does to names, it
// does here.

import LinuxFiles
import SealedFormat

/// What was found under a name, with a descriptor that leads there.
struct FoundObject {
  let descriptor: SharedDescriptor
  let status: FileStatus

  var identity: ObjectIdentity { ObjectIdentity(status) }
}

/// What stands under a name of the volume, and in which layer.
struct FoundName {
  /// Where the name is.
  let directory: LayerDirectory
  /// Of the object that it leads to, which may be in a layer above.
  let status: FileStatus
  /// Of a name in a lower, where its object has more of them.
  var links: LinkTrace?

  /// The object, where the name itself leads to the one whose place it took.
  var successor: IndexEntry? { links?.object }
  /// Where the object is.
  var layer: UInt8 { successor?.layer ?? directory.layer }

  func hold(_ name: borrowing FileName) throws(Errno) -> SharedDescriptor {
    if let successor { return successor.object }
    return try directory.hold(name)
  }
}

extension FileStatus {
  /// The mark that says that a name is gone.
  var isWhiteout: Bool { kind == .characterDevice && specialDevice == .none }
}

extension DirectoryEntry {
  fileprivate var mayBeWhiteout: Bool { kind == nil || kind == .characterDevice }
}

/// A directory of a layer, open.
struct LayerDirectory: Sendable {
  let descriptor: SharedDescriptor
  /// 0 is the upper.
  let layer: UInt8

  init(_ descriptor: SharedDescriptor, layer: UInt8 = 0) {
    self.descriptor = descriptor
    self.layer = layer
  }

  init(_ descriptor: consuming Descriptor, layer: UInt8) {
    self.descriptor = SharedDescriptor(descriptor)
    self.layer = layer
  }

  init(_ part: LayerPart) {
    self.init(part.descriptor, layer: part.layer)
  }

  var part: LayerPart { LayerPart(layer: layer, descriptor: descriptor) }

  // MARK: Finding

  /// What stands under a name; nil if nothing does, or a whiteout.
  ///
  /// What is mounted there is not the volume's.
  func find(_ name: borrowing FileName) throws(Errno) -> FileStatus? {
    guard let status = try look(name), !status.isWhiteout else { return nil }
    return status
  }

  /// What stands under a name, whiteouts as well.
  func look(_ name: borrowing FileName) throws(Errno) -> FileStatus? {
    do throws(Errno) {
      let status = try descriptor.descriptor.status(of: name)
      guard !status.isMountRoot else { throw Errno.crossDevice }
      return status
    } catch .noSuchFile {
      return nil
    }
  }

  /// What an entry of a listing stands for when it is looked at, which is later than it was listed.
  enum Standing {
    /// It vanished behind the mount.
    case nothing
    case whiteout
    case name
  }

  func standing(_ entry: DirectoryEntry, on page: borrowing EntryBuffer) throws(Errno) -> Standing {
    try page.withName(of: entry) { name throws(Errno) in
      do throws(Errno) {
        guard let status = try look(name) else { return .nothing }
        return status.isWhiteout ? .whiteout : .name
      } catch {
        // What is mounted there has the name, and so has what cannot be a whiteout: it may be damaged, and a user may list a
        // directory and not look at what is in it.
        guard error == .crossDevice || !entry.mayBeWhiteout else { throw error }
        return .name
      }
    }
  }

  /// The same for who shows names: only what may be a whiteout is looked at, and what cannot be looked at is shown.
  func shownStanding(_ entry: DirectoryEntry, on page: borrowing EntryBuffer) -> Standing {
    entry.mayBeWhiteout ? (try? standing(entry, on: page)) ?? .name : .name
  }

  /// The same with a descriptor that leads there; ENOENT if nothing stands under the name.
  func findHeld(_ name: borrowing FileName) throws(Errno) -> FoundObject {
    let object = try hold(name)
    return FoundObject(descriptor: object, status: try object.descriptor.status())
  }

  /// Leads to what stands under a name, whatever that is; also to a symbolic link itself.
  func hold(_ name: borrowing FileName) throws(Errno) -> SharedDescriptor {
    SharedDescriptor(try descriptor.descriptor.openPath(name))
  }

  /// A directory in this one.
  func descend(_ name: borrowing FileName) throws(Errno) -> LayerDirectory {
    LayerDirectory(try descriptor.descriptor.openDirectoryPath(name), layer: layer)
  }

  /// A directory below this one, by a path without links.
  func descend(beneath path: Span<UInt8>) throws(Errno) -> LayerDirectory {
    LayerDirectory(try descriptor.descriptor.openDirectoryPath(beneath: path), layer: layer)
  }

  func open(_ name: borrowing FileName, _ flags: OpenFlags) throws(Errno) -> SharedDescriptor {
    SharedDescriptor(try descriptor.descriptor.open(name, flags))
  }

  func attribute(
    _ attribute: borrowing AttributeName, of name: borrowing FileName
  ) throws(Errno) -> [UInt8]? {
    try descriptor.descriptor.attribute(attribute, of: name)
  }

  /// The first bytes of a file: what an encrypted one says without its key.
  func head(of name: borrowing FileName) throws(Errno) -> [UInt8] {
    try Errno.delayedByLease { () throws(Errno) in
      try LayerDirectory.forALook.openLeniently { flags throws(Errno) in
        try descriptor.descriptor.open(name, flags)
      }
    }.read(upTo: SealedHead.length)
  }

  static func head(of object: SharedDescriptor) throws(Errno) -> [UInt8] {
    try openForALook(object).read(upTo: SealedHead.length)
  }

  /// Who looks into a file to show or to copy it leaves no trace, where that is possible (`openLeniently`).
  static let forALook: OpenFlags = [.readOnly, .nonBlocking, .noAccessTime]

  /// Opens for that a file which a descriptor leads to; delayed while a program holds a lease on it.
  static func openForALook(_ object: SharedDescriptor) throws(Errno) -> Descriptor {
    try Errno.delayedByLease { () throws(Errno) in
      try forALook.openLeniently { flags throws(Errno) in try object.descriptor.reopen(flags) }
    }
  }

  /// Where a symbolic link leads.
  func target(of name: borrowing FileName) throws(Errno) -> [UInt8] {
    try descriptor.descriptor.readLink(name)
  }

  // MARK: Listing

  /// The directory again, with a position of its own in its names.
  func openListing() throws(Errno) -> LayerDirectory {
    LayerDirectory(try descriptor.descriptor.reopen([.readOnly, .directory]), layer: layer)
  }

  /// The same for a look of the volume's own, which moves no access time where that can be had.
  func openListingAside() throws(Errno) -> LayerDirectory {
    let flags: OpenFlags = [.readOnly, .directory, .noAccessTime]
    let opened = try flags.openLeniently { flags throws(Errno) in try descriptor.descriptor.reopen(flags) }
    return LayerDirectory(opened, layer: layer)
  }

  /// Reads the next names of a listing; 0 at its end.
  func readNames(into page: inout EntryBuffer) throws(Errno) -> Int {
    try descriptor.descriptor.readEntries(into: &page)
  }

  /// The same of a directory that may be removed behind the mount meanwhile: then nothing is in it.
  func readNamesLeft(into page: inout EntryBuffer) throws(Errno) -> Int {
    do throws(Errno) { return try readNames(into: &page) } catch .noSuchFile { return 0 }
  }

  func seekListing(to offset: Int64) throws(Errno) {
    try descriptor.descriptor.seekDirectory(to: offset)
  }

  // MARK: Making

  func makeFile(_ name: borrowing FileName, mode: UInt16) throws(Errno) -> SharedDescriptor {
    SharedDescriptor(try descriptor.descriptor.createFile(name, mode: mode))
  }

  /// A file without a name, which `link` can give it later.
  func makeUnnamedFile(mode: UInt16) throws(Errno) -> SharedDescriptor {
    SharedDescriptor(try descriptor.descriptor.createUnnamed(mode: mode))
  }

  func makeNode(
    _ name: borrowing FileName, kind: FileKind, mode: UInt16, device: DeviceNumber
  ) throws(Errno) {
    try descriptor.descriptor.makeNode(name, kind: kind, mode: mode, device: device)
  }

  func makeDirectory(_ name: borrowing FileName, mode: UInt16) throws(Errno) {
    try descriptor.descriptor.makeDirectory(name, mode: mode)
  }

  func makeSymbolicLink(_ name: borrowing FileName, target: [UInt8]) throws(Errno) {
    try descriptor.descriptor.makeSymbolicLink(name, target: target)
  }

  /// Gives an object one more name, or its first.
  func link(_ object: SharedDescriptor, as name: borrowing FileName) throws(Errno) {
    try descriptor.descriptor.linkObject(object.descriptor, as: name)
  }

  // MARK: Marks

  /// The device that says that a name is gone.
  func makeWhiteout(_ name: borrowing FileName) throws(Errno) {
    try descriptor.descriptor.makeNode(name, kind: .characterDevice, mode: 0)
  }

  func setAttribute(_ attribute: [UInt8], to value: [UInt8], of name: borrowing FileName) throws(Errno) {
    let object = try hold(name)
    try AttributeName.with(attribute) { attribute throws(Errno) in
      try object.descriptor.setAttribute(attribute, to: value)
    }
  }

  func removeAttribute(_ attribute: [UInt8], of name: borrowing FileName) throws(Errno) {
    let object = try hold(name)
    try AttributeName.with(attribute) { attribute throws(Errno) in
      try object.descriptor.removeAttribute(attribute)
    }
  }

  // MARK: Removing and moving

  func remove(_ name: borrowing FileName, isDirectory: Bool) throws(Errno) {
    if isDirectory {
      try descriptor.descriptor.removeDirectory(name)
    } else {
      try descriptor.descriptor.removeFile(name)
    }
  }

  func rename(
    _ name: borrowing FileName, to directory: LayerDirectory, as newName: borrowing FileName,
    _ flags: RenameFlags
  ) throws(Errno) {
    try descriptor.descriptor.rename(name, to: directory.descriptor.descriptor, as: newName, flags)
  }
}
