// The layers of a volume that has lowers.

import FlagRules
import LayerRules
import LinuxFiles
import RecordFormat
import Synchronization

/// One layer.
struct Layer: Sendable {
  let root: LayerDirectory
  let store: MetadataStore
  /// What origins and entries of the index call its file system; nil where there was no tag left.
  let tag: UInt32?
  /// Nil where nothing was ever written over lowers.
  var index: LinkIndex?
}

/// All layers, the upper first.
final class LayerStack: Sendable {
  let layers: [Layer]
  private let generation = Atomic<UInt64>(0)

  init(_ layers: [Layer], namespace: MetadataStore.Namespace) {
    self.layers = layers
    let prefix = namespace.rawValue
    opaqueName = Array("\(prefix).\(Marks.opaque)".utf8)
    redirectName = Array("\(prefix).\(Marks.redirect)".utf8)
    metacopyName = Array("\(prefix).\(Marks.metacopy)".utf8)
  }

  func layer(_ number: UInt8) -> Layer? {
    layers.indices.contains(Int(number)) ? layers[Int(number)] : nil
  }

  /// Whether this is the bookkeeping at the root of a layer, which nobody sees.
  func isOwn(_ name: [UInt8], in directory: LayerDirectory) -> Bool {
    name == OwnDirectory.bytes && isRoot(directory.descriptor, of: directory.layer)
  }

  func isRoot(_ directory: SharedDescriptor, of layer: UInt8) -> Bool {
    self.layer(layer)?.root.descriptor === directory
  }

  // MARK: Shape

  /// Rises when a directory is closed or opened by its flag: then parts are made anew.
  var shape: UInt64 { generation.load(ordering: .acquiring) }

  func changeShape() { generation.add(1, ordering: .acquiringAndReleasing) }

  // MARK: Marks

  /// The marks of overlayfs, in the namespace of the volume.
  let opaqueName: [UInt8]
  let redirectName: [UInt8]
  let metacopyName: [UInt8]

  /// Where the layers below are asked for a directory.
  func redirect(of directory: SharedDescriptor) throws(Errno) -> Mark<Redirect?> {
    guard let value = try attribute(redirectName, of: directory) else { return .says(nil) }
    return Redirect(value.span).map { .says($0) } ?? .unusable
  }

  /// Whether the layers below are asked for a directory under another name at all.
  func hasRedirect(_ name: borrowing FileName, in directory: LayerDirectory) throws(Errno) -> Bool {
    try AttributeName.with(redirectName) { redirect throws(Errno) in
      do throws(Errno) {
        return try directory.attribute(redirect, of: name) != nil
      } catch .unsupported {
        return false
      }
    }
  }

  /// Whether the mark closes a directory; that of a root counts for nothing, as overlayfs has it.
  func isClosedByMark(_ directory: SharedDescriptor, in layer: UInt8) throws(Errno) -> Mark<Bool> {
    guard !isRoot(directory, of: layer) else { return .says(false) }
    let value = try attribute(opaqueName, of: directory)
    guard let value else { return .says(false) }
    return Marks.isClosed(byMark: value.span).map { .says($0) } ?? .unusable
  }

  /// Whether the user's own switch closes it.
  func isClosedByFlag(_ directory: SharedDescriptor, in layer: UInt8) throws(Errno) -> Bool {
    try record(of: directory, in: layer).core.flags.contains(.opaque)
  }

  func record(of object: SharedDescriptor, in layer: UInt8) throws(Errno) -> StoredRecord {
    try record(of: object, try object.descriptor.status(), in: layer)
  }

  func record(
    of object: SharedDescriptor, _ status: FileStatus, in layer: UInt8
  ) throws(Errno) -> StoredRecord {
    guard let layer = self.layer(layer) else { return .none }
    return try layer.store.record(of: status) { name throws(Errno) in
      try object.descriptor.attribute(name)
    }
  }

  private func attribute(_ name: [UInt8], of object: SharedDescriptor) throws(Errno) -> [UInt8]? {
    try AttributeName.with(name) { name throws(Errno) in
      do throws(Errno) {
        return try object.descriptor.attribute(name)
      } catch .unsupported {
        // A file system without attributes has no marks.
        return nil
      }
    }
  }
}

extension LayerStack {
  /// What the root is made of; nil where a mark of it cannot be followed.
  func rootParts(shape: UInt64) throws(Errno) -> DirectoryParts? {
    let view = LayerView(stack: self)
    var shown: [LayerPart] = []
    var hidden: [LayerPart] = []
    var isHiding = false
    search: for (number, layer) in layers.enumerated() {
      if isHiding { hidden.append(layer.root.part) } else { shown.append(layer.root.part) }
      switch try view.closing(of: Part(layer: number, layer.root.descriptor)) {
      case .says(.open): break
      case .says(.byFlag) where number == 0: isHiding = true
      case .says(.byMark), .says(.byFlag): break search
      case .unusable:
        guard isHiding else { return nil }
        break search
      }
    }
    return DirectoryParts(shown, hidden: hidden, shape: shape)
  }

  /// The directories of the layers that make what has this name in a directory with these parts; nil where a mark on the
  /// way cannot be followed.
  ///
  /// `known`: one that was found there already.
  func parts(
    of name: [UInt8], in above: [LayerPart], known: (directory: SharedDescriptor, part: Int)? = nil
  ) throws(Errno) -> [LayerPart]? {
    try allParts(of: name, in: above, known: known)?.shown
  }

  /// The same, with those that would show without flags of the upper; `hidden` are such ones of the directory above.
  func allParts(
    of name: [UInt8], in above: [LayerPart], hidden: [LayerPart] = [],
    known: (directory: SharedDescriptor, part: Int)? = nil
  ) throws(Errno) -> (shown: [LayerPart], hidden: [LayerPart])? {
    func engineParts(_ parts: [LayerPart]) -> [Part<SharedDescriptor>] {
      parts.map { Part(layer: Int($0.layer), $0.descriptor) }
    }
    func layerParts(_ parts: [Part<SharedDescriptor>]) -> [LayerPart] {
      parts.map { LayerPart(layer: UInt8(truncatingIfNeeded: $0.layer), descriptor: $0.directory) }
    }
    var walk = PartsWalk(LayerView(stack: self))
    let found = try walk.parts(of: name, in: engineParts(above), hidden: engineParts(hidden), known: known)
    guard case .parts(let shown, let hidden) = found else { return nil }
    return (layerParts(shown), layerParts(hidden))
  }
}

/// How the engine looks at the layers, for one walk.
final class LayerView: LayerAccess {
  private let stack: LayerStack
  /// The names of the attributes of the directory that was asked last: most have none of those that matter, and one call tells
  /// that of all.
  private var known: (directory: SharedDescriptor, attributes: AttributeNames)?

  init(stack: LayerStack) { self.stack = stack }

  var roots: [SharedDescriptor] { stack.layers.map(\.root.descriptor) }

  func look(
    _ name: [UInt8], in directory: Part<SharedDescriptor>
  ) throws(Errno) -> Sighting<SharedDescriptor> {
    let place = LayerDirectory(directory.directory, layer: UInt8(truncatingIfNeeded: directory.layer))
    // A forged redirect could lead into it.
    if stack.isOwn(name, in: place) { return .absent }
    return try FileName.with(name) { name throws(Errno) in
      do throws(Errno) {
        return .directory(try place.descend(name).descriptor)
      } catch .noSuchFile {
        return .absent
      } catch {
        guard error == .notDirectory || error == .tooManySymbolicLinks else { throw error }
        guard let status = try place.look(name) else { return .absent }
        return status.isWhiteout ? .whiteout : .file(place.descriptor)
      }
    }
  }

  func redirect(of directory: Part<SharedDescriptor>) throws(Errno) -> Mark<Redirect?> {
    guard mayHave(stack.redirectName, directory.directory) else { return .says(nil) }
    return try stack.redirect(of: directory.directory)
  }

  /// What the daemon may not enter, and what is mounted in a lower.
  func isLasting(_ failure: Errno) -> Bool { failure == .accessDenied || failure == .crossDevice }

  func closing(of directory: Part<SharedDescriptor>) throws(Errno) -> Mark<Closing> {
    let layer = UInt8(truncatingIfNeeded: directory.layer)
    if mayHave(stack.opaqueName, directory.directory) {
      switch try stack.isClosedByMark(directory.directory, in: layer) {
      case .says(false): break
      case .says(true): return .says(.byMark)
      case .unusable: return .unusable
      }
    }
    guard let record = stack.layer(layer)?.store.coreName, mayHave(record, directory.directory) else {
      return .says(.open)
    }
    return .says(try stack.isClosedByFlag(directory.directory, in: layer) ? .byFlag : .open)
  }

  /// Whether it pays to ask for an attribute; true where the names cannot be had.
  private func mayHave(_ attribute: [UInt8], _ directory: SharedDescriptor) -> Bool {
    if known?.directory !== directory {
      known = (try? directory.descriptor.attributeNames()).map { (directory, $0) }
    }
    return known?.attributes.contains(attribute) ?? true
  }
}
