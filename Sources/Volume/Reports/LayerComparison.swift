// One name of a directory, in the upper and in what the layers below show there.

import AccessControl
import Decisions
import FlagRules
import LayerRules
import LinuxFiles

/// Compares the names of one directory.
struct LayerComparison {
  private let volume: Volume
  private let stack: LayerStack
  private let judge: Judge
  private let parts: [LayerPart]
  /// Where the layers below have the directory.
  private let lowerPath: LowerPath?

  init(_ volume: Volume, _ stack: LayerStack, _ judge: Judge, _ spot: Spot) throws(Errno) {
    self.volume = volume
    self.stack = stack
    self.judge = judge
    parts = spot.parts
    lowerPath = try volume.lowerPath(of: spot, stack)
  }

  /// Nil where only lowers have the directory: then nothing in it was changed.
  var upper: LayerDirectory? {
    parts.first.flatMap { $0.layer == 0 ? LayerDirectory($0) : nil }
  }

  /// Nothing if it shows what the layers below have; two changes where something else took the place of what they have.
  func changes(of name: [UInt8]) throws(Errno) -> [LayerChange] {
    guard let upper else { return [] }
    return try FileName.with(name) { bytes throws(Errno) in
      guard let status = try upper.look(bytes) else { return [] }
      let below = try FoundName(bytes, in: parts.dropFirst())
      let removed = below.map { LayerChange(kind: .removed, isDirectory: $0.status.kind == .directory) }
      if status.isWhiteout { return [removed].compactMap { $0 } }
      if status.kind == .directory { return try changes(ofDirectory: bytes, removed) }
      let added = LayerChange(kind: .added, isDirectory: false)
      guard let below else { return [added] }
      guard below.status.kind == status.kind else { return [removed, added].compactMap { $0 } }
      let kind = try difference(FoundName(directory: upper, status: status), below, bytes)
      return kind.map { [LayerChange(kind: $0, isDirectory: false)] } ?? []
    }
  }

  // MARK: What a flag hides

  /// All names that these parts have, in order.
  func names(in parts: [LayerPart]) throws(Errno) -> [[UInt8]] {
    var names: Set<[UInt8]> = []
    for part in parts {
      let place = LayerDirectory(part)
      for name in try place.openListingAside().descriptor.descriptor.names()
      where !stack.isOwn(name, in: place) {
        names.insert(name)
      }
    }
    return names.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// A name that these parts would show, as one that is gone; nil if they would not.
  func hidden(_ name: [UInt8], in parts: [LayerPart]) throws(Errno) -> LayerChange? {
    try FileName.with(name) { bytes throws(Errno) in
      try FoundName(bytes, in: parts[...]).map {
        LayerChange(kind: .removed, isDirectory: $0.status.kind == .directory)
      }
    }
  }

  // MARK: Directories

  private func changes(
    ofDirectory name: borrowing FileName, _ removed: LayerChange?
  ) throws(Errno) -> [LayerChange] {
    let (found, all) = try volume.resolver.findHeld(name, in: parts)
    guard all.count > 1 else {
      return [removed, LayerChange(kind: .added, isDirectory: true)].compactMap { $0 }
    }
    guard let former = try formerPath(of: found.descriptor, name) else {
      // Its time of modification is that of its names.
      let kind = try differs(found.descriptor, 0, all[1].descriptor, all[1].layer)
      return [LayerChange(kind: kind ? .metadata : .same, isDirectory: true)]
    }
    let moved = LayerChange(kind: .moved, isDirectory: true, formerPath: former)
    return [removed, moved].compactMap { $0 }
  }

  /// Where the layers below have a directory, if that is not where it is.
  private func formerPath(
    of directory: SharedDescriptor, _ name: borrowing FileName
  ) throws(Errno) -> [UInt8]? {
    let natural = lowerPath?.appending(name.copy().span)
    guard case .says(let redirect?) = try stack.redirect(of: directory),
      let path = Redirect.lowerPath(of: name.copy().span, in: lowerPath, redirect), path != natural
    else { return nil }
    return Array(path.bytes.dropFirst())
  }

  // MARK: Objects of one kind

  private func difference(
    _ one: FoundName, _ other: FoundName, _ name: borrowing FileName
  ) throws(Errno) -> LayerChange.Kind? {
    let (mine, theirs) = (
      try volume.facts(one.status, of: name, in: one.directory),
      try volume.facts(other.status, of: name, in: other.directory)
    )
    // To those who may not stat it, it is an item of the upper and no more.
    guard judge.decide(.readAttributes, on: mine.item).isAllowed else { return .content }
    if try hasOtherContent(mine, theirs, one, other, name) { return .content }
    let isOther = try differs(
      try one.directory.hold(name), 0, try other.directory.hold(name), other.directory.layer)
    return isOther || mine.status.modification != theirs.status.modification ? .metadata : nil
  }

  private func hasOtherContent(
    _ mine: Facts, _ theirs: Facts, _ one: FoundName, _ other: FoundName, _ name: borrowing FileName
  ) throws(Errno) -> Bool {
    switch mine.status.kind {
    case .regular:
      mine.status.size != theirs.status.size || mine.status.modification != theirs.status.modification
    case .symbolicLink: try one.directory.target(of: name) != other.directory.target(of: name)
    default: mine.status.specialDevice != theirs.status.specialDevice
    }
  }

  /// Whether mode, owner, flags, list, class or attributes differ; also where the asker may not compare them.
  private func differs(
    _ one: SharedDescriptor, _ layer: UInt8, _ other: SharedDescriptor, _ otherLayer: UInt8
  ) throws(Errno) -> Bool {
    let (mine, theirs) = (
      try volume.facts(try one.descriptor.status(), of: one, knownBy: nil, in: layer).item,
      try volume.facts(try other.descriptor.status(), of: other, knownBy: nil, in: otherLayer).item
    )
    func may(_ operation: Operation) -> Bool { judge.decide(operation, on: mine).isAllowed }
    guard may(.readAttributes), mine.mode == theirs.mode, mine.user == theirs.user,
      mine.group == theirs.group,
      mine.flags.subtracting(.opaque) == theirs.flags.subtracting(.opaque),
      mine.ownerGroup == theirs.ownerGroup, mine.content.protection == theirs.content.protection
    else { return true }
    if mine.list != nil || theirs.list != nil {
      guard may(.readList), mine.list == theirs.list else { return true }
    }
    let (names, others) = (try attributeNames(of: one), try attributeNames(of: other))
    guard !names.isEmpty || !others.isEmpty else { return false }
    guard may(.readExtended), names == others else { return true }
    for name in names {
      let isOther = try AttributeName.with(name) { name throws(Errno) in
        try one.descriptor.attribute(name) != other.descriptor.attribute(name)
      }
      if isOther { return true }
    }
    return false
  }

  /// But for what the layers keep for themselves.
  private func attributeNames(of object: SharedDescriptor) throws(Errno) -> Set<[UInt8]> {
    let names: [[UInt8]]
    do throws(Errno) { names = try object.descriptor.attributeNames().copies } catch .unsupported {
      return []
    }
    return Set(
      names.filter { name in
        !Marks.isReserved(name.span)
          && !["trusted.varve.", "user.varve.", "system."].contains { name.starts(with: $0.utf8) }
      })
  }
}

extension Volume {
  /// Where the layers below have a directory; nil where that is too long to be a path.
  fileprivate func lowerPath(of spot: Spot, _ stack: LayerStack) throws(Errno) -> LowerPath? {
    var (here, path): (Spot, LowerPath?) = (rootSpot(), .root)
    for name in spot.path.split(separator: UInt8(ascii: "/")) {
      here = try step(to: Array(name), in: here)
      var redirect: Redirect?
      if here.layerFacts.layer == 0, here.isDirectory {
        guard case .says(let found) = try stack.redirect(of: here.descriptor) else { throw .inputOutput }
        redirect = found
      }
      path = Redirect.lowerPath(of: Array(name).span, in: path, redirect)
    }
    return path
  }
}
