// Files that names come from, read as the owner of the item they name would read them.
//
// The daemon makes names for everybody, so no caller's rights decide about what is in them. The owner's do, and where root
// is the owner those of a stranger: nobody learns from a name what was in a file that a user moved or linked into their
// directory. What takes a key is never read: a name neither changes when a class is locked nor keeps a text alive.

import AccessControl
import Decisions
import LinuxFiles

/// Looks below one item with the rights of its owner.
struct OwnersEyes {
  /// Stands for root, for the user of an item that a group owns, and for every group: of this number there is none, so
  /// nothing is this stranger's.
  private static let stranger = UInt32.max

  private let volume: Volume
  private let judge: Judge

  init(_ volume: Volume, ownerOf item: Item) {
    self.volume = volume
    let user = item.user == 0 || item.ownerGroup != nil ? OwnersEyes.stranger : item.user
    // Not a member of any group, not even of the item's.
    let group = item.ownerGroup ?? OwnersEyes.stranger
    judge = Judge(
      rules: volume.gate.rules,
      subject: Subject(user: user, group: group, groups: .listed([]), capabilities: []))
  }

  func maySearch(_ item: Item) -> Bool { judge.decide(.search, on: item).isAllowed }

  /// A directory in another, if the owner may search it.
  func directory(_ name: [UInt8], in above: DirectoryParts) -> DirectoryParts? {
    // The object that was judged.
    guard let found = volume.held(name, in: above), maySearch(found.facts.item) else { return nil }
    return found.parts
  }

  /// The bytes of a regular file of at most `limit` bytes, if the owner may read it and it takes no key.
  func bytes(of name: [UInt8], in directory: DirectoryParts, upTo limit: Int) -> [UInt8]? {
    volume.held(name, in: directory).flatMap { bytes(of: $0, upTo: limit) }
  }

  /// The same of an item that is held.
  func bytes(of found: HeldItem, upTo limit: Int) -> [UInt8]? {
    guard found.facts.status.kind == .regular,
      found.facts.item.content == .plain || found.facts.item.content == .compressed,
      found.facts.status.size <= UInt64(limit),
      judge.decide(.open(OpenRequest(reads: true)), on: found.facts.item).isAllowed
    else { return nil }
    let size = Int(clamping: found.facts.status.size)
    if found.facts.item.content == .compressed {
      return volume.expandedBytes(of: found.descriptor, size)
    }
    // What has grown since is read when the name is made again.
    return volume.plainBytes(of: found.descriptor, upTo: size)
  }
}

extension Volume {
  /// The content of a compressed file, which the caller has seen to be short; nil if it cannot be read.
  fileprivate func expandedBytes(of object: SharedDescriptor, _ size: Int) -> [UInt8]? {
    do throws(Errno) {
      let file = try LayerDirectory.openForALook(object)
      let frames = try FrameFile(file, logicalSize: UInt64(size), compressed)
      var bytes = [UInt8](repeating: 0, count: size)
      var space = bytes.mutableSpan
      return try frames.read(file, at: 0, into: &space) == size ? bytes : nil
    } catch {
      return nil
    }
  }

  /// The content of a file that is stored as it is; nil if there is more than `limit`, or it cannot be read.
  fileprivate func plainBytes(of object: SharedDescriptor, upTo limit: Int) -> [UInt8]? {
    do throws(Errno) {
      let bytes = try LayerDirectory.openForALook(object).read(upTo: limit + 1)
      return bytes.count <= limit ? bytes : nil
    } catch {
      return nil
    }
  }
}
