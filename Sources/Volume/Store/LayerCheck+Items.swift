// What can be wrong with a directory of the upper and with what is in it, and what mends it.

import Decisions
import LayerRules
import LinuxFiles
import RecordFormat

extension LayerCheck {
  /// Answers the names of the directories in it.
  mutating func checkDirectory(
    _ parts: DirectoryParts, _ path: [UInt8], _ found: (LayerFinding) -> Void,
    _ failed: ([UInt8], Errno) -> Void
  ) throws(Errno) -> [[UInt8]] {
    let top = parts.top
    guard top.layer == 0 else { return [] }
    let place = LayerDirectory(top)
    let closing = try stack.isClosedByMark(top.descriptor, in: top.layer)
    var directories: [[UInt8]] = []
    var hasCopies = false
    for name in try names(of: top, at: path) {
      let path = path.path(to: name)
      do throws(Errno) {
        try FileName.with(name) { bytes throws(Errno) in
          guard let status = try place.look(bytes) else { return }
          guard !status.isWhiteout else {
            if let words = try strayness(of: bytes, parts, closing) {
              found(strayWhiteout(name, in: place, path, words))
            }
            return
          }
          let object = try place.hold(bytes)
          if try checkOrigin(of: object, status, path, found) { hasCopies = true }
          if covered[status.inode] != nil { try noteCovered(bytes, status, parts, closing) }
          if status.kind == .directory {
            directories.append(name)
            try checkMarks(of: object, name, parts.all, path, found)
          } else {
            try checkWhole(object, status, path, found)
          }
        }
      } catch {
        // Whoever has the volume mounted may have removed it since the listing.
        if error != .noSuchFile { failed(path, error) }
      }
    }
    try checkImpure(top.descriptor, path, hasCopies, found)
    return directories
  }

  // MARK: Whiteouts

  /// Why a whiteout hides nothing; nil if it does, or nobody knows.
  private func strayness(
    of name: borrowing FileName, _ parts: DirectoryParts, _ closing: Mark<Bool>
  ) throws(Errno) -> String? {
    switch closing {
    case .unusable: return nil
    case .says(true): return "is in a directory in which nothing of the layers below shows"
    case .says(false): break
    }
    // A redirect that cannot be followed leaves its directory with one part.
    guard hasLowers, case .says = try stack.redirect(of: parts.top.descriptor) else { return nil }
    // What flags close can be opened again: then the whiteout counts.
    let below = parts.all.dropFirst() + parts.hidden
    return try FoundName(name, in: below) == nil ? "has a name that no lower has" : nil
  }

  private func strayWhiteout(
    _ name: [UInt8], in place: LayerDirectory, _ path: [UInt8], _ words: String
  ) -> LayerFinding {
    LayerFinding(
      kind: .whiteout, path: path, text: "a mark that a name was removed \(words)", remedy: "remove the mark"
    ) { () throws(Errno) in
      try FileName.with(name) { name throws(Errno) in
        guard try place.look(name)?.isWhiteout == true else { throw .stale }
        let before = try place.descriptor.descriptor.status()
        try place.remove(name, isDirectory: false)
        try place.descriptor.descriptor.changeTimes(access: .omit, modification: .set(before.modification))
      }
    }
  }

  // MARK: Origins

  /// Whether it was copied from a lower, so that the directory it is in has to say so.
  private mutating func checkOrigin(
    of object: SharedDescriptor, _ status: FileStatus, _ path: [UInt8], _ found: (LayerFinding) -> Void
  ) throws(Errno) -> Bool {
    let stored = try stack.record(of: object, in: 0)
    // A damaged record is the business of another part of the check.
    guard stored.soundness == .sound, let origin = stored.core.origin else { return false }
    if !origin.isOf(inode: status.inode, generation: status.generation) {
      guard inspection.isRestored else {
        found(
          strayOrigin(
            path, "says where another item was copied from: it is a copy that was made behind the mount"))
        return false
      }
      renewable += 1
      if renewsOrigins { try renewOrigin(of: object, status, stored.core, origin) }
    }
    if stored.core.links?.base == .upper, covered[status.inode] == nil { covered[status.inode] = [] }
    let source = Source(tag: origin.fileSystemTag, inode: origin.inode, generation: origin.generation)
    if let other = claims[source] {
      if other.inode == status.inode { return true }
      found(strayOrigin(path, "was copied from the same item of a lower as \(shown(other.path))"))
      return false
    }
    let number = stack.layer(0)?.store.numbers.flatMap { numbers in
      numbers.tags[origin.fileSystemTag].map { Numbering.number(inode: origin.inode, at: $0) }
    }
    claims[source] = Claim(inode: status.inode, path: path, number: number)
    if stored.core.links?.base == .upper { linked[source] = claims[source] }
    if let number { claimedNumbers[number] = path }
    return true
  }

  func renewOrigin(
    of object: SharedDescriptor, _ status: FileStatus, _ record: CoreRecord, _ origin: CoreRecord.Origin
  ) throws(Errno) {
    var record = record
    record.origin?.ownInode = status.inode
    record.origin?.ownGeneration = status.generation
    try write(record, to: object)
  }

  /// An item that is not what its record says: without its origin it has a number of its own.
  func strayOrigin(_ path: [UInt8], _ words: String) -> LayerFinding {
    let check = self
    return LayerFinding(
      kind: .origin, path: path, text: words, remedy: "give it a number of its own"
    ) { () throws(Errno) in
      let object = try check.object(at: path)
      var record = try check.stack.record(of: object, in: 0).core
      record.origin = nil
      try check.write(record, to: object)
    }
  }

  private mutating func checkImpure(
    _ directory: SharedDescriptor, _ path: [UInt8], _ hasCopies: Bool, _ found: (LayerFinding) -> Void
  ) throws(Errno) {
    let stored = try stack.record(of: directory, in: 0)
    guard hasCopies, stored.soundness == .sound, !stored.core.isImpure else { return }
    let check = self
    found(
      LayerFinding(
        kind: .impure, path: path,
        text:
          "does not say that items in it were copied from lowers, so listings show other numbers than stat",
        remedy: "let it say so"
      ) { () throws(Errno) in
        var record = try check.stack.record(of: directory, in: 0).core
        record.isImpure = true
        try check.write(record, to: directory)
      })
  }

  // MARK: Marks

  private mutating func checkMarks(
    of directory: SharedDescriptor, _ name: [UInt8], _ parts: [LayerPart], _ path: [UInt8],
    _ found: (LayerFinding) -> Void
  ) throws(Errno) {
    let closing = try stack.isClosedByMark(directory, in: 0)
    if case .unusable = closing {
      let words = "the mark that closes it to the layers below says something unknown"
      return found(try closed(.opaque, directory, path, words, stack.opaqueName))
    }
    let redirect = try stack.redirect(of: directory)
    if case .unusable = redirect {
      let words = "where the layers below have it is not a path"
      return found(try closed(.redirect, directory, path, words, stack.redirectName))
    }
    if case .says(true) = closing { return }
    if try stack.isClosedByFlag(directory, in: 0) { return }
    guard case .says(let target) = redirect else { return }
    guard hasLowers else { return checkTarget(target, path, found) }
    guard let all = try stack.parts(of: name, in: parts) else {
      return found(
        LayerFinding(
          kind: .redirect, path: path,
          text: "a mark of a lower on the way to what it shows cannot be followed",
          remedy: nil
        ) { () throws(Errno) in throw .unsupported })
    }
    guard all.count > 1 else {
      guard let target else { return }
      return found(vanished(directory, name, parts, path, target))
    }
    let identity = ObjectIdentity(try all[1].descriptor.descriptor.status())
    let slot = BackingSlot(identity, in: all[1].layer)
    guard let other = targets[slot] else {
      targets[slot] = path
      return
    }
    found(shared(path, with: other))
  }

  /// Without lowers only equal redirects can be found.
  private mutating func checkTarget(_ target: Redirect?, _ path: [UInt8], _ found: (LayerFinding) -> Void) {
    guard case .absolute(let lower)? = target else { return }
    guard let other = redirects[lower.bytes] else {
      redirects[lower.bytes] = path
      return
    }
    found(shared(path, with: other))
  }

  /// Which of the two is meant, nobody but the owner knows.
  private func shared(_ path: [UInt8], with other: [UInt8]) -> LayerFinding {
    LayerFinding(
      kind: .redirect, path: path,
      text:
        "shows the same directory of a lower as \(shown(other)); one of them is a copy that was made behind the mount",
      remedy: nil
    ) { () throws(Errno) in throw .unsupported }
  }

  /// What the upper has in the directory is kept, and nothing else shows in it any more.
  private func closed(
    _ kind: LayerFinding.Kind, _ directory: SharedDescriptor, _ path: [UInt8], _ words: String,
    _ name: [UInt8]
  ) throws(Errno) -> LayerFinding {
    let check = self
    var finding = LayerFinding(
      kind: kind, path: path, text: words,
      remedy: "show in it what the upper directory has, and nothing of lowers"
    ) { () throws(Errno) in try check.close(directory) }
    finding.damaged = try attribute(name, of: directory).map { (String(decoding: name, as: UTF8.self), $0) }
    return finding
  }

  private func vanished(
    _ directory: SharedDescriptor, _ name: [UInt8], _ parts: [LayerPart], _ path: [UInt8], _ target: Redirect
  ) -> LayerFinding {
    let check = self
    return LayerFinding(
      kind: .redirect, path: path,
      text: "the layers below no longer have it under the path \(shown(target.stored))",
      remedy: "forget the path"
    ) { () throws(Errno) in
      // Without the path what has its name below would show in it.
      let isTaken = try FileName.with(name) { name throws(Errno) in
        try FoundName(name, in: parts.dropFirst())?.status.kind == .directory
      }
      if isTaken { return try check.close(directory) }
      try check.removeAttribute(check.stack.redirectName, of: directory)
    }
  }

  private func checkWhole(
    _ object: SharedDescriptor, _ status: FileStatus, _ path: [UInt8], _ found: (LayerFinding) -> Void
  ) throws(Errno) {
    guard status.kind == .regular, Marks.mayBeHollow(size: status.size, blocksOf512: status.blocks),
      try attribute(stack.metacopyName, of: object) != nil
    else { return }
    found(
      LayerFinding(
        kind: .hollow, path: path,
        text: "its data is in a lower, as overlayfs leaves it with 'metacopy'; it cannot be opened here",
        remedy: nil
      ) { () throws(Errno) in throw .unsupported })
  }

  // MARK: Writing

  private func close(_ directory: SharedDescriptor) throws(Errno) {
    try AttributeName.with(stack.opaqueName) { name throws(Errno) in
      try directory.descriptor.setAttribute(name, to: [Marks.opaqueValue])
    }
    try removeAttribute(stack.redirectName, of: directory)
  }

  private func attribute(_ name: [UInt8], of object: SharedDescriptor) throws(Errno) -> [UInt8]? {
    try AttributeName.with(name) { name throws(Errno) in try object.descriptor.attribute(name) }
  }

  private func removeAttribute(_ name: [UInt8], of object: SharedDescriptor) throws(Errno) {
    guard try attribute(name, of: object) != nil else { return }
    try AttributeName.with(name) { name throws(Errno) in try object.descriptor.removeAttribute(name) }
  }

  /// Without a list's being touched.
  func write(_ record: CoreRecord, to object: SharedDescriptor) throws(Errno) {
    let name = Array("\(inspection.directory.namespace.rawValue).varve.m".utf8)
    guard !record.isVoid else { return try removeAttribute(name, of: object) }
    let bytes = record.encoded()
    try AttributeName.with(name) { name throws(Errno) in
      try object.descriptor.setAttribute(name, to: bytes)
    }
  }

  /// What the upper has at a path, without following links.
  func object(at path: [UInt8]) throws(Errno) -> SharedDescriptor {
    let names = path.split(separator: UInt8(ascii: "/")).map { Array($0) }
    guard let top = stack.layers.first?.root, let last = names.last else { throw .invalid }
    let above = Array(names.dropLast().joined(separator: [UInt8(ascii: "/")]))
    let directory = above.isEmpty ? top : try top.descend(beneath: above.span)
    return try FileName.with(last) { name throws(Errno) in try directory.hold(name) }
  }
}
