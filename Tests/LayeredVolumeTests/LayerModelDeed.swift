// The deeds of random histories, in the layers and in a plain directory.

import Foundation
import LinuxFiles

@testable import LayeredVolume

enum LayerModelDeed: CaseIterable {
  case create, write, truncate, makeDirectory, symbolicLink, remove, removeDirectory, rename, noReplace
  case exchange, link, mode

  var isAboutTwo: Bool { self == .rename || self == .noReplace || self == .exchange }

  func inLayers(
    _ tree: LayeredTree, _ path: String, _ other: String, _ word: String
  ) -> Errno? {
    do {
      switch self {
      case .create: try tree.create(path, word)
      case .write, .truncate, .mode:
        guard try [.regular, .directory].contains(tree.attributes(path).kind) else {
          throw Errno.tooManySymbolicLinks
        }
        if self == .mode {
          try tree.change(path) { $0.mode = UInt16(word.utf8.count.isMultiple(of: 2) ? 0o700 : 0o755) }
        }
        guard try tree.attributes(path).kind == .regular || self == .mode else { throw Errno.isDirectory }
        if self == .write { try tree.write(path, word, at: 1) }
        if self == .truncate { try tree.change(path) { $0.size = UInt64(word.utf8.count) } }
      case .makeDirectory: try tree.makeDirectory(path)
      case .symbolicLink: try tree.makeSymbolicLink(path, to: word)
      case .remove: try tree.remove(path)
      case .removeDirectory: try tree.removeDirectory(path)
      case .rename: try tree.rename(path, to: other)
      case .noReplace: try tree.rename(path, to: other, .noReplace)
      case .exchange: try tree.rename(path, to: other, .exchange)
      case .link: try tree.link(path, as: other)
      }
      return nil
    } catch {
      return (error as? Errno).map(LayerModelDeed.plainer)
    }
  }

  /// Walking through a file is refused by the kernel above, which says another word; nobody but root calls here.
  private static func plainer(_ error: Errno) -> Errno {
    [.notDirectory, .tooManySymbolicLinks, .accessDenied].contains(error) ? .noSuchFile : error
  }

  func inPlain(
    _ model: String, _ path: String, _ other: String, _ word: String
  ) -> Errno? {
    let (path, other) = ("\(model)/\(path)", "\(model)/\(other)")
    func fails(_ result: CInt) -> Errno? { result < 0 ? LayerModelDeed.plainer(Errno(rawValue: errno)) : nil }
    func written(_ flags: CInt, at offset: off_t) -> Errno? {
      let file = Glibc.open(path, flags | O_NOFOLLOW, 0o644)
      if file < 0 { return fails(file) }
      defer { close(file) }
      return fails(CInt(pwrite(file, word, word.utf8.count, offset)))
    }
    switch self {
    case .create: return written(O_WRONLY | O_CREAT | O_EXCL, at: 0)
    case .write: return written(O_WRONLY, at: 1)
    case .truncate:
      let file = Glibc.open(path, O_WRONLY | O_NOFOLLOW)
      if file < 0 { return fails(file) }
      defer { close(file) }
      return fails(ftruncate(file, off_t(word.utf8.count)))
    case .mode:
      guard LayerModelTrees.kind(path) != S_IFLNK else {
        return LayerModelDeed.plainer(.tooManySymbolicLinks)
      }
      return fails(chmod(path, word.utf8.count.isMultiple(of: 2) ? 0o700 : 0o755))
    case .makeDirectory: return fails(mkdir(path, 0o755))
    case .symbolicLink: return fails(symlink(word, path))
    case .remove: return fails(unlink(path))
    case .removeDirectory: return fails(rmdir(path))
    case .rename: return fails(Glibc.rename(path, other))
    case .noReplace: return renamePlain(path, to: other, .noReplace).map(LayerModelDeed.plainer)
    case .exchange: return renamePlain(path, to: other, .exchange).map(LayerModelDeed.plainer)
    case .link: return fails(Glibc.link(path, other))
    }
  }
}
