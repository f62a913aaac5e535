// The order of the calls that bring something up. A power cut leaves a whole file only because the bytes are on the disk
// before a name leads to them.

import Faults
import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

/// Says what each call did, by what the upper directory and a directory in it show after it.
private final class CopyRecorder {
  private let upper: String
  private let directory: String
  private var names: Set<String>
  private var (record, modification): ([UInt8]?, Int)
  private(set) var steps: [String] = []
  /// What the first new name led to at once.
  private(set) var described = ""

  init(_ upper: String, _ directory: String) throws {
    (self.upper, self.directory) = (upper, "\(upper)/\(directory)")
    // Long ago, so that each change of the directory shows.
    let long = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)
    guard utimensat(AT_FDCWD, self.directory, [long, long], 0) == 0 else { throw Errno.current }
    names = CopyRecorder.names(in: upper)
    (record, modification) = CopyRecorder.look(self.directory)
  }

  private static func names(in upper: String) -> Set<String> {
    Set((try? FileManager.default.subpathsOfDirectory(atPath: upper)) ?? [])
  }

  private static func look(_ directory: String) -> ([UInt8]?, Int) {
    var status = stat()
    lstat(directory, &status)
    return (try? plainAttribute(directory, "trusted.varve.m"), status.st_mtim.tv_sec)
  }

  private static func isNameless(_ file: CInt) -> Bool {
    var status = stat()
    return fstat(file, &status) == 0 && status.st_nlink == 0
  }

  /// What a copy has of its source.
  static func describe(_ path: String) -> String {
    var status = stat()
    lstat(path, &status)
    let note = status.st_mode & S_IFMT == S_IFREG ? (try? plainAttribute(path, "user.note")) ?? [] : []
    return "\(String(status.st_mode, radix: 8)) \(status.st_uid) \(status.st_mtim.tv_sec) \(note)"
  }

  func note(_ kind: CallKinds, _ file: CInt) {
    let step = word(kind, file)
    if steps.last != step { steps.append(step) }
    names = CopyRecorder.names(in: upper)
    (record, modification) = CopyRecorder.look(directory)
  }

  private func word(_ kind: CallKinds, _ file: CInt) -> String {
    let present = CopyRecorder.look(directory)
    switch kind {
    case .make: return "made"
    case .write: return "bytes"
    case let kind where kind.contains(.sync):
      return CopyRecorder.isNameless(file) ? "synced" : "something else synced"
    case .name:
      let new = CopyRecorder.names(in: upper).subtracting(names).sorted()
      if described.isEmpty, let name = new.first { described = CopyRecorder.describe("\(upper)/\(name)") }
      return new.contains { $0.hasPrefix(".varve/index/") } ? "entry" : new.isEmpty ? "removed" : "name"
    case .attribute where present.0 != record: return "directory says that it has copies"
    case .times where present.1 != modification: return "times of the directory"
    default: return "metadata"
    }
  }
}

@Suite("The order in which something is brought up", .enabled(if: Tree.isRoot)) struct CopyOrderTests {
  struct Deed: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let item: String
    /// What comes before the directory is marked.
    let copy: [String]
    let names: [String]
    let make: @Sendable (LayeredTree) throws -> Void

    init(
      _ name: String, _ item: String, _ copy: [String], names: [String] = ["name"],
      _ make: @escaping @Sendable (LayeredTree) throws -> Void
    ) {
      (testDescription, self.item, self.copy, self.names, self.make) = (name, item, copy, names, make)
    }

    private static let whole = ["made", "bytes", "synced", "metadata"]
    private static let bare = ["made", "metadata"]

    static let all = [
      Deed("a write", "file", whole) { try $0.write("d/file", "F") },
      Deed("a write to a file of several pieces", "big", whole) { try $0.write("d/big", "B") },
      Deed("chmod", "file", whole) { try $0.change("d/file") { $0.mode = 0o600 } },
      Deed("a rename", "file", whole) { try $0.rename("d/file", to: "d/new") },
      Deed("a further name", "file", whole) { try $0.link("d/file", as: "d/new") },
      Deed("a truncation to a size", "big", whole) { try $0.change("d/big") { $0.size = 5_000 } },
      Deed("a truncation by an open", "file", bare) { try $0.open("d/file", [.write, .truncate]) { _ in } },
      Deed("a write to one of several names", "second", whole, names: ["entry", "name"]) {
        try $0.write("d/second", "S")
      },
      Deed("chmod of a directory", "inner", bare) { try $0.change("d/inner") { $0.mode = 0o700 } },
      Deed("a rename of a link", "link", bare) { try $0.rename("d/link", to: "d/new") },
      Deed("a rename of a FIFO", "fifo", bare) { try $0.rename("d/fifo", to: "d/new") },
    ]
  }

  /// A tree of which `d` is in the upper, and nothing in `d`; what is written once in a volume is there.
  private func tree() throws -> LayeredTree {
    let tree = try LayeredTree(making: { base in
      let big = String(repeating: "0123456789abcdef", count: 2_200_000)
      try LayeredTree.make(
        [
          directory("d") {
            file("file", "file", mode: 0o640, attributes: ["user.note": "kept"])
            file("big", big)
            file("first", "several")
            directory("inner", mode: 0o750)
            symbolicLink("link", to: "file")
          },
          file("other", "other"),
        ], at: base + "/l")
      let lower = base + "/l/"
      guard Glibc.link(lower + "d/first", lower + "d/second") == 0, mkfifo(lower + "d/fifo", 0o600) == 0,
        Glibc.link(lower + "other", lower + "another") == 0
      else { throw Errno.current }
      for item in ["file", "big", "first", "inner", "link", "fifo"] {
        let long = timespec(tv_sec: 1_100_000_000, tv_nsec: 0)
        utimensat(AT_FDCWD, "\(lower)d/\(item)", [long, long], AT_SYMLINK_NOFOLLOW)
      }
      return [base + "/l"]
    })
    try tree.change("d") { $0.mode = 0o755 }
    try tree.write("other", "O")
    return tree
  }

  /// Whether files here share their blocks: then there are no bytes to write.
  private func sharesBlocks(_ tree: LayeredTree) throws -> Bool {
    let source = try Descriptor.open(path: tree.lowers[0] + "/d/file", .readOnly)
    try Data().write(to: URL(fileURLWithPath: tree.base + "/probe"))
    let target = try Descriptor.open(path: tree.base + "/probe", .readWrite)
    do throws(Errno) { try source.clone(to: target) } catch { return false }
    return true
  }

  @Test(
    "Its bytes are on the disk before its metadata are written, and these before it has a name",
    arguments: Deed.all)
  func order(_ deed: Deed) throws {
    let tree = try tree()
    var copy = deed.copy
    if try sharesBlocks(tree) { copy.removeAll { $0 == "bytes" } }
    let source = CopyRecorder.describe("\(tree.lowers[0])/d/\(deed.item)")
    let recorder = try CopyRecorder(tree.upper, "d")
    try observing(recorder.note) { try deed.make(tree) }
    let steps = recorder.steps
    let wanted = copy + ["directory says that it has copies"] + deed.names + ["times of the directory"]
    #expect(Array(steps.prefix(wanted.count)) == wanted, "\(steps)")
    // A file that is cut has been changed just now.
    if !deed.testDescription.contains("truncation") { #expect(recorder.described == source) }
    // All that follows is the change itself, of what is up.
    #expect(!steps.dropFirst(wanted.count).contains("entry"), "\(steps)")
  }
}
