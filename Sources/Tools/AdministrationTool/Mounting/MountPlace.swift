// The two directories that a mount is about, and what is said of one that is none.

import Arguments
import LinuxFiles
import LinuxPrograms
import TextForms

enum MountPlace: String {
  case source = "the source"
  case mountPoint = "the mount point"

  /// The absolute path of an existing directory: the daemon works in another directory.
  ///
  /// One that `mayBeMade` is told with the command for that.
  func directory(_ path: Word, mayBeMade: Bool = true) throws(Refusal) -> Word {
    guard !path.isEmpty else {
      throw .mounting(
        path, "\(rawValue) has no name; a variable may be empty that should hold it", status: 1)
    }
    do throws(Errno) {
      guard try Descriptor.item(atPath: path, .followed).status().kind == .directory else {
        throw .notDirectory
      }
      return try realPath(path)
    } catch {
      throw .mounting(path, words(about: path, error, mayBeMade: mayBeMade), status: 32)
    }
  }

  private func words(about path: Word, _ error: Errno, mayBeMade: Bool) -> String {
    let advice = error.advice(about: path)
    switch error {
    case .noSuchFile:
      let sentence = "\(rawValue) does not exist (ENOENT)\(advice)"
      // A link leads to what is to be made, and that may be anywhere.
      let isLink = advice.hasPrefix("; it is a link to ") || advice.hasSuffix(" is a link to nowhere")
      guard mayBeMade, !isLink else { return sentence }
      return sentence + "; make it with: mkdir \(advice.isEmpty ? "" : "-p ")\(shellWord(path))"
    case .notDirectory: return "\(rawValue) is not a directory (ENOTDIR)\(advice)"
    default: return "\(rawValue) cannot be reached: \(error)\(advice)"
    }
  }
}

extension Refusal {
  /// About the mount point or the source, which is named: `mount -a` is about many.
  static func mounting(_ path: Word, _ sentence: String, status: Int32) -> Refusal {
    Refusal("\(path.isEmpty ? "''" : PathText.escaped(path)): \(sentence)", status: status)
  }
}
