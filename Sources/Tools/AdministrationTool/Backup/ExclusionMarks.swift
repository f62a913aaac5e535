// The marks by which backup programs know what to leave out, and how they are read.

import FlagRules
import LinuxFiles
import LinuxPrograms

/// The marks of an item.
struct ExclusionMarks: OptionSet, Sendable {
  let rawValue: UInt8

  /// Time Machine, of an item that was copied to a Mac; it means everything below, too.
  static let timeMachine = ExclusionMarks(rawValue: 1 << 0)
  /// The attribute of freedesktop.
  static let robots = ExclusionMarks(rawValue: 1 << 1)
  /// The flag: dump, borg with `--exclude-nodump`, bsdtar with `--nodump`.
  static let noDump = ExclusionMarks(rawValue: 1 << 2)
  /// A file in the directory: GNU tar with `--exclude-caches`, borg, restic.
  static let tag = ExclusionMarks(rawValue: 1 << 3)

  /// In the order in which they are set: what is refused most easily comes first.
  static let all: [ExclusionMarks] = [.timeMachine, .robots, .noDump, .tag]

  /// What people call them.
  var names: [String] {
    let words = [
      (ExclusionMarks.timeMachine, "Time Machine"), (.robots, "robots"), (.noDump, "nodump"),
      (.tag, "CACHEDIR.TAG"),
    ]
    return words.filter { contains($0.0) }.map(\.1)
  }

  /// Those that an item of this kind can have without a file being made.
  static func possible(for kind: FileKind) -> ExclusionMarks {
    // Linux keeps `user.` attributes of files and directories only.
    kind == .regular || kind == .directory ? [.timeMachine, .robots, .noDump] : .noDump
  }
}

/// What the marks are stored as.
enum ExclusionForm {
  static let timeMachine = Array("user.com.apple.metadata:com_apple_backup_excludeItem".utf8)
  static let robots = Array("user.xdg.robots.backup".utf8)
  static let robotsValue = Array("false".utf8)
  static let tag = Array("CACHEDIR.TAG".utf8)

  /// A binary property list of one string, `com.apple.backupd`.
  static let timeMachineValue: [UInt8] = {
    let text = Array("com.apple.backupd".utf8)
    let object: [UInt8] = [0x5F, 0x10, UInt8(text.count)] + text
    var bytes = Array("bplist00".utf8) + object
    let table = UInt8(bytes.count)
    bytes += [8]
    // Six unused bytes, the size of an offset and of a reference; then three numbers of eight bytes: objects, the top
    // one, where the table of offsets begins.
    bytes += [0, 0, 0, 0, 0, 0, 1, 1]
    for number in [1, 0, table] { bytes += [0, 0, 0, 0, 0, 0, 0, number] }
    return bytes
  }()

  private static let signature = Array("Signature: 8a477f597d28d172789f06886806bc55".utf8)

  /// The tag that Varve makes.
  static let ownTag =
    signature
    + Array(
      """

      # Backup programs leave out the directory with this file.
      # Made by 'varve exclude --tag'; see https://bford.info/cachedir/

      """.utf8)

  static func isTag(_ content: [UInt8]) -> Bool { content.starts(with: signature) }
}

/// A file CACHEDIR.TAG as it was found.
enum FoundTag {
  case none
  /// It marks the directory; byte for byte what Varve makes, or not.
  case tag(isOwn: Bool)
  /// Something else has that name.
  case somethingElse
}

extension Descriptor {
  /// The marks of an item that is held; `kind` is its own.
  borrowing func exclusionMarks(_ kind: FileKind) throws(Errno) -> ExclusionMarks {
    var marks: ExclusionMarks = []
    guard let flags = try fileFlags() else { throw .unsupported }
    if flags.contains(.noDump) { marks.insert(.noDump) }
    guard ExclusionMarks.possible(for: kind).contains(.robots) else { return marks }
    if try userAttribute(ExclusionForm.timeMachine) != nil { marks.insert(.timeMachine) }
    if try userAttribute(ExclusionForm.robots) == ExclusionForm.robotsValue { marks.insert(.robots) }
    if kind == .directory, case .tag = try exclusionTag() { marks.insert(.tag) }
    return marks
  }

  borrowing func userAttribute(_ name: [UInt8]) throws(Errno) -> [UInt8]? {
    try AttributeName.with(name) { name throws(Errno) in try attribute(name) }
  }

  /// What is called CACHEDIR.TAG in this directory; what may not be looked at is none.
  borrowing func exclusionTag() throws(Errno) -> FoundTag {
    do throws(Errno) {
      let file = try item(named: ExclusionForm.tag, .held)
      // Anything but a file could keep us waiting.
      guard try file.knownStatus().kind == .regular else { return .somethingElse }
      let content = try file.reopen(.readOnly).read(upTo: ExclusionForm.ownTag.count + 1)
      return ExclusionForm.isTag(content) ? .tag(isOwn: content == ExclusionForm.ownTag) : .somethingElse
    } catch .noSuchFile {
      return .none
    } catch .accessDenied {
      return .none
    }
  }
}
