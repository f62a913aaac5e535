// What a restore without attributes has taken: the marks of encrypted files, and the classes of their directories.

import Arguments
import LinuxFiles
import TextForms

/// Collected while files are verified through the mount.
struct LostMarks {
  /// A directory that has no class, by what was met in it.
  private struct Plain {
    var encrypted = 0
    var plain = 0
  }

  private(set) var unmarked = 0
  private var plain: [Word: Plain] = [:]

  /// Before what is in it.
  mutating func enter(_ directory: VisitedItem) {
    // Whose class cannot be read, nothing is said of.
    do throws(Errno) {
      let word = try directory.held.descriptor.protectionWord() ?? "none"
      if word == "none" { plain[directory.path] = Plain() }
    } catch {
      return
    }
  }

  mutating func add(_ file: VisitedItem, isUnmarked: Bool) {
    if isUnmarked { unmarked += 1 }
    if let directory = LostMarks.directory(of: file) { plain[directory]?.encrypted += 1 }
  }

  mutating func addPlain(_ file: VisitedItem) {
    if let directory = LostMarks.directory(of: file) { plain[directory]?.plain += 1 }
  }

  private static func directory(of file: VisitedItem) -> Word? {
    guard file.depth > 0, let end = file.path.lastIndex(of: slash) else { return nil }
    return end == 0 ? [slash] : Word(file.path[..<end])
  }

  /// Those all of whose files are encrypted: new ones are not.
  var directories: [Word] {
    plain.filter { $0.value.encrypted > 0 && $0.value.plain == 0 }.map(\.key)
      .sorted { $0.lexicographicallyPrecedes($1) }
  }

  func tell(_ console: Console) {
    if unmarked > 0 {
      let files =
        unmarked == 1
        ? "1 encrypted file has lost its mark" : "\(grouped(unmarked)) encrypted files have lost their mark"
      console.note(
        "\(files), as in a copy made without attributes; unmount the volume, and run 'varve fsck --repair'")
    }
    let directories = directories
    guard let first = directories.first else { return }
    let others = directories.count > 1 ? ", as well as \(grouped(directories.count - 1)) more" : ""
    console.note(
      first,
      "is without a class although all its files are encrypted\(others): new files are not; 'varve protect CLASS DIR' "
        + "gives it one")
  }
}
