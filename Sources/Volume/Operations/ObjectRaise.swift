// The copy of one object while it is made: nobody sees it.

import LayerRules
import LinuxFiles
import Synchronization

/// A copy that has its bytes, and neither its metadata nor its name.
final class ObjectRaise {
  let kind: CopyUp.Kind
  let work = Workshop.nextName()
  private let object: FileKind
  /// The source when it was copied.
  private let status: FileStatus
  /// Of a file, complete but for metadata and name.
  private let file: SharedDescriptor?
  let source: SharedDescriptor
  /// How many bytes of it there are in the copy, and whether that is less than all.
  let size: UInt64
  let isCut: Bool
  private var isMade = false
  var isPublished = false

  /// Copies the bytes of a file, with no lock held; nil if the node is in the upper by now.
  ///
  /// `cut`: how much of it is wanted, if that is decided already.
  init?(
    of node: Node, in volume: Volume, below parent: Node?, for caller: Caller, _ cut: CutOnTheWay? = nil
  ) throws(Errno) {
    guard node.layer != 0 else { return nil }
    (source, status) = try volume.resolver.hold(node)
    object = node.kind
    // Refused before anything is copied.
    if !node.isDirectory, !node.isNameless, status.linkCount > 1 {
      let facts = try volume.facts(status, of: source, knownBy: node)
      _ = try volume.linkTrace(of: HeldObject(descriptor: source, facts: facts), in: node)
    }
    var length: UInt64?
    if let cut { length = try cut.length(of: try volume.facts(status, of: source, knownBy: node)) }
    (size, isCut) = (length ?? status.size, length != nil)
    guard node.kind == .regular else {
      kind = node.isDirectory ? .directory : .other
      file = nil
      return
    }
    // Refused before anything is copied.
    try volume.requireNotHandedOver(node)
    try volume.requireUnusedContent(node)
    let reading = try LayerDirectory.openForALook(source)
    // Where its directory is in the upper, for its file system may place files by that; a user's may be closed to its owner.
    let part = try parent.map { parent throws(Errno) in try volume.requireUpperPart(of: parent) }
    guard
      let place = part.flatMap({ volume.isPrivileged ? $0 : nil })
        ?? volume.directory.workshop.map({ LayerDirectory($0) })
    else { throw .belowUpper }
    volume.actAsOwner(FileOwner(status))
    // Without privilege records are written only to what its owner may write to.
    let copy = try place.makeUnnamedFile(mode: volume.isPrivileged ? status.mode & 0o777 : 0o600)
    if size > 0 {
      try ObjectRaise.fill(copy, from: reading, status, size, of: node, in: volume, for: caller)
      // Shared blocks as well: btrfs writes the name of a new file to its log without what it has not synced of it.
      try copy.descriptor.sync(dataOnly: true)
    }
    kind = .file(size == 0 ? .none : .copied)
    file = copy
  }

  private static func fill(
    _ copy: SharedDescriptor, from source: borrowing Descriptor, _ status: FileStatus, _ size: UInt64,
    of node: Node, in volume: Volume, for caller: Caller
  ) throws(Errno) {
    if volume.copyUps.mayShare(node.layer) {
      switch try ObjectCopy.share(source, with: copy.descriptor) {
      case .shared:
        if size < status.size { try copy.descriptor.truncate(to: size) }
        return
      case .impossible: volume.copyUps.noteUnshared(node.layer)
      case .refused: break
      }
    }
    // What has one block has it, or is a hole.
    try ObjectCopy.bytes(
      of: source, size: size, isDense: status.size <= 4096 && status.blocks > 0, to: copy.descriptor
    ) { () throws(Errno) in try volume.copyUps.requireWanted(caller) }
  }

  /// Whether the source is what it was.
  func isOf(_ present: FileStatus) -> Bool {
    ObjectIdentity(present) == ObjectIdentity(status)
      && (object != .regular
        || present.change == status.change && present.modification == status.modification)
  }

  /// The copy: of anything but a file, made in the workshop now.
  func made(in volume: Volume) throws(Errno) -> SharedDescriptor {
    if let file { return file }
    guard let workshop = volume.directory.workshop.map({ LayerDirectory($0) }) else { throw .readOnly }
    let target = object == .symbolicLink ? try source.descriptor.readLink() : []
    let (object, status) = (object, status)
    isMade = true
    return try FileName.with(work) { name throws(Errno) in
      switch object {
      case .directory: try workshop.makeDirectory(name, mode: 0o700)
      case .symbolicLink: try workshop.makeSymbolicLink(name, target: target)
      default:
        try workshop.makeNode(name, kind: object, mode: 0o600, device: status.specialDevice)
      }
      return try workshop.hold(name)
    }
  }

  /// Takes away what has no use.
  func discard(in volume: Volume) {
    guard isMade, !isPublished, let workshop = volume.directory.workshop else { return }
    try? FileName.with(work) { name throws(Errno) in
      try LayerDirectory(workshop).remove(name, isDirectory: object == .directory)
    }
  }
}
