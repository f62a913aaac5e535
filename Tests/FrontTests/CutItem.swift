import Foundation
import Glibc
import MountSupport

/// Something in a lower, what is done to it, and what it may be after a power cut.
struct CutItem: Sendable {
  enum Deed: String, CaseIterable {
    case append, appendAndSync, mode, move, remove, removeAndSync, cut, names, directory, replace, instead,
      emptied
  }

  enum State {
    case old
    case new
    case wrong(String)
  }

  let deed: Deed
  let size: Int
  var name: String { "\(deed.rawValue)-\(size)" }

  private static let sizes = [100, 5_000, 300_000]
  static let all = Deed.allCases.enumerated().flatMap { number, deed in
    sizes.indices.filter { $0 != number % 3 }.map { CutItem(deed: deed, size: sizes[$0]) }
  }

  /// Without zeros but for a hole, so that what was lost shows.
  private static let contents = Dictionary(
    uniqueKeysWithValues: sizes.map { size in
      var bytes = Data((0..<size).map { UInt8(truncatingIfNeeded: ($0 &* 31 &+ size) >> 3) | 1 })
      if let hole = hole(of: size) { bytes.resetBytes(in: hole) }
      return (size, bytes)
    })

  private var content: Data { CutItem.contents[size] ?? Data() }

  private static func hole(of size: Int) -> Range<Int>? { size > 100_000 ? 65_536..<196_608 : nil }

  private static let more = Data("MORE".utf8)

  func make(in lower: String) throws {
    let path = "\(lower)/\(name)"
    func file(_ path: String) throws {
      let file = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL, 0o644)
      guard file >= 0 else { throw TestFailure("\(path): \(errno)") }
      defer { close(file) }
      fchmod(file, 0o644)
      let content = content
      let hole = CutItem.hole(of: size)
      for part in hole.map({ [0..<$0.lowerBound, $0.upperBound..<size] }) ?? [0..<size] {
        guard pwrite(file, Array(content[part]), part.count, off_t(part.lowerBound)) == part.count else {
          throw TestFailure("\(path): \(errno)")
        }
      }
    }
    switch deed {
    case .directory, .emptied:
      guard mkdir(path, 0o755) == 0 else { throw TestFailure("\(path): \(errno)") }
      for name in ["x", "y"] { try file("\(path)/\(name)") }
    default: try file(path)
    }
    if deed == .names { for other in ["b", "c"] { Glibc.link(path, "\(path)-\(other)") } }
  }

  /// Lines of a shell; nothing that fails ends it.
  var script: String {
    let path = "mount/\(name)"
    func noted(_ line: String) -> String { "\(line) && echo \(name) >> synced" }
    return switch deed {
    case .append, .names: "printf MORE >> \(path)"
    case .appendAndSync: noted("printf MORE >> \(path) && sync \(path)")
    case .mode: "chmod 600 \(path)"
    case .move, .directory: "mv \(path) \(path)-moved"
    case .remove: "rm \(path)"
    case .removeAndSync: noted("rm \(path) && sync mount")
    case .cut: "truncate -s \(size / 2) \(path)"
    case .replace:
      noted("printf MORE > \(path)-new && sync \(path)-new && mv \(path)-new \(path) && sync mount")
    case .instead: "rm \(path) && mkdir \(path) && mkdir \(path)/in"
    case .emptied: "rm -r \(path) && mkdir \(path) && mkdir \(path)/in"
    }
  }

  private enum Found: Equatable {
    case missing
    case file(Data, mode: mode_t, inode: ino_t, links: nlink_t)
    case directory([String])
    case error(CInt)

    init(_ path: String) {
      var status = stat()
      guard lstat(path, &status) == 0 else {
        self = errno == ENOENT ? .missing : .error(errno)
        return
      }
      if status.st_mode & S_IFMT == S_IFDIR {
        self =
          (try? FileManager.default.contentsOfDirectory(atPath: path)).map { .directory($0.sorted()) }
          ?? .error(errno)
      } else if let data = try? Data(contentsOf: URL(fileURLWithPath: path)) {
        self = .file(
          data, mode: status.st_mode & 0o7777, inode: status.st_ino, links: status.st_nlink)
      } else {
        self = .error(errno)
      }
    }

    var bytes: Data? { if case .file(let bytes, _, _, _) = self { bytes } else { nil } }

    var summary: String {
      guard case .file(let bytes, let mode, let inode, let links) = self else { return "\(self)" }
      let zeros = bytes.count { $0 == 0 }
      return
        "\(bytes.count) bytes, \(zeros) of them 0, mode \(String(mode, radix: 8)), \(inode), \(links) links"
    }
  }

  /// What is there under a mount; `isSynced`: a sync has said that the change is on the disk; `isOrdered`: what took a name away
  /// is there if what got it is.
  func state(in mount: String, isSynced: Bool, isOrdered: Bool) -> State {
    let path = "\(mount)/\(name)"
    let found = Found(path)
    let isOld = found.bytes == content
    let moved = Found(path + "-moved")
    func wrong() -> State {
      let others = deed == .names ? ", \(Found(path + "-b").summary), \(Found(path + "-c").summary)" : ""
      return .wrong("\(found.summary), moved: \(moved.summary)\(others)\(isSynced ? ", synced" : "")")
    }
    let state: State? =
      switch deed {
      case .append, .appendAndSync: appended(found)
      case .names:
        // Names of one file, of which the count may be one too high.
        if case .file(_, _, _, let links) = found, 3...4 ~= links,
          found == Found(path + "-b"), found == Found(path + "-c")
        {
          appended(found)
        } else {
          nil
        }
      case .mode:
        if case .file(content, let mode, _, _) = found, [0o644, 0o600].contains(mode) {
          mode == 0o644 ? .old : .new
        } else {
          nil
        }
      case .move:
        isOld && moved == .missing
          ? .old
          : (found == .missing || isOld && !isOrdered) && moved.bytes == content ? .new : nil
      case .remove, .removeAndSync: isOld ? .old : found == .missing ? .new : nil
      case .cut: isOld ? .old : found.bytes.map { $0 == content[..<(size / 2)] } == true ? .new : nil
      case .replace: isOld ? .old : found.bytes == CutItem.more ? .new : nil
      case .directory:
        isFull(found, path) && moved == .missing
          ? .old
          : (found == .missing || isFull(found, path) && !isOrdered) && isFull(moved, path + "-moved")
            ? .new : nil
      case .instead:
        isOld
          ? .old : found == .missing || found == .directory([]) || found == .directory(["in"]) ? .new : nil
      case .emptied:
        isFull(found, path)
          ? .old : found == .missing || found == .directory(["in"]) || holdsWhole(found, path) ? .new : nil
      }
    guard let state else { return wrong() }
    if isSynced, case .old = state { return wrong() }
    if isSynced, deed == .appendAndSync, found.bytes != content + CutItem.more { return wrong() }
    return state
  }

  /// What is appended and not synced may be shorter, or not yet written, as in a plain file.
  private func appended(_ found: Found) -> State? {
    guard case .file(let bytes, 0o644, _, _) = found, bytes.prefix(size) == content, bytes.count <= size + 4,
      zip(bytes.dropFirst(size), CutItem.more).allSatisfy({ $0 == $1 || $0 == 0 })
    else { return nil }
    return bytes.count == size ? .old : .new
  }

  private func holdsWhole(_ found: Found, _ path: String) -> Bool {
    guard case .directory(let names) = found else { return false }
    return names.allSatisfy { ["x", "y"].contains($0) && Found("\(path)/\($0)").bytes == content }
  }

  private func isFull(_ found: Found, _ path: String) -> Bool {
    found == .directory(["x", "y"]) && holdsWhole(found, path)
  }
}
