// The two directories that a mount is about, and what is said of one that is none.

import Arguments
import LinuxFiles
import LinuxPrograms
import TextForms

enum MountPlace: String {
  case source = "the source"
  case mountPoint = "the mount point"

  /// The absolute path of an existing directory: the daemon works in another directory.
  func directory(_ path: Word) throws(Refusal) -> Word {
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
      throw .mounting(path, words(about: path, error), status: 32)
    }
  }

  private func words(about path: Word, _ error: Errno) -> String {
    let advice = error.advice(about: path)
    switch error {
    case .noSuchFile:
      let sentence = "\(rawValue) does not exist (ENOENT)\(advice)"
      // A link leads to what is to be made, and that may be anywhere.
      if advice.hasPrefix("; it is a link to ") || advice.hasSuffix(" is a link to nowhere") { return sentence }
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
