// `varve compress` and `varve decompress`: whether files are stored compressed, set through the door
// `system.varve.compression`. The volume does the rest.

import Arguments
import JSONForm
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import TextForms
import Zstandard

func compress(_ invocation: Invocation) throws(UsageError) -> Int32 {
  try changeForm(invocation, level: try level(of: invocation))
}

func decompress(_ invocation: Invocation) throws(UsageError) -> Int32 {
  try changeForm(invocation, level: nil)
}

private func level(of invocation: Invocation) throws(UsageError) -> Int {
  guard let word = invocation.values(.level).last else { return FrameCompressor.usualLevel }
  let text = String(decoding: word, as: UTF8.self)
  guard let level = Int(text), FrameCompressor.levels.contains(level) else {
    throw UsageError("'\(text)' is not a level; they go from 1 to 19", verb: "compress", .value)
  }
  return level
}

private func changeForm(_ invocation: Invocation, level: Int?) throws(UsageError) -> Int32 {
  let change = ChangeOfForm(
    level: level, try FormRun(invocation, PathOperands(invocation), door: "system.varve.compression"))
  change.form.go(invocation) { item throws(Refusal) in try change.apply(to: item) }
  return change.finish()
}

/// How a file is stored.
private struct StoredForm {
  var isCompressed: Bool
  var stored: UInt64

  /// What the door says; nil where there is none.
  init?(_ door: [UInt8]?, _ status: FileStatus) {
    guard let door else { return nil }
    let words = String(decoding: door, as: UTF8.self).split(separator: " ")
    isCompressed = words.first == "zstd"
    stored = words.count == 3 ? UInt64(words[2]) ?? status.size : status.size
  }

  static func of(_ item: VisitedItem) throws(Errno) -> StoredForm? {
    StoredForm(
      try item.held.descriptor.attribute(AttributeName("system.varve.compression")), item.status)
  }
}

/// Gives files their form.
private final class ChangeOfForm {
  private static let shortest: UInt64 = 8192

  /// Nil: files are expanded.
  private let level: Int?
  let form: FormRun
  private var run: ItemRun { form.items }
  private let tally: CompressionTally
  private let users = FileUsers()

  init(level: Int?, _ form: FormRun) {
    (self.level, self.form) = (level, form)
    tally = CompressionTally(compresses: level != nil)
  }

  func apply(to item: VisitedItem) throws(Refusal) {
    let kind = item.status.kind
    guard kind == .regular else {
      run.ignore()
      guard item.depth == 0, kind != .directory || !form.isRecursive else { return }
      throw Refusal(
        kind == .directory
          ? "is a directory; -R goes through the files in it"
          : kind == .symbolicLink
            ? "is a symbolic link, which is not followed here; name what it leads to"
            : "is not a file; nothing of it can be compressed")
    }
    if form.wasMet(item) { return run.ignore() }
    let stored = try attempt(StoredForm.of(item)) { FormRun.unreadable($0, item) }
    guard let stored else { throw Refusal(.unsupported) }
    guard stored.isCompressed != (level != nil) else { return tally.standing() }
    do throws(Refusal) {
      if let level { try compress(item, level) } else { try expand(item, stored) }
    } catch {
      form.report(error, of: item, members("failed", item, nil))
      throw error
    }
  }

  // MARK: Compressing

  private func compress(_ item: VisitedItem, _ level: Int) throws(Refusal) {
    if try isInLower(item) { return leave(item, .lower) }
    if try attempt(item.held.descriptor.protectionWord()) != nil { return leave(item, .encrypted) }
    if item.status.size < ChangeOfForm.shortest { return leave(item, .short) }
    guard !run.ledger.isDryRun else { return try plan(item, level) }
    run.progress?.begin(item.path, bytes: item.status.size)
    do throws(Errno) {
      try form.set(item, "zstd:\(level)")
    } catch {
      switch error {
      case .canceled: return leave(item, .gain)
      case .busy: return leave(item, .open)
      case .interrupted where Interruption.isRequested: return run.ignore()
      default: throw refusal(error, item)
      }
    }
    run.progress?.add(bytes: item.status.size)
    let after = try attempt(StoredForm.of(item))?.stored ?? item.status.size
    tally.add(before: item.status.size, after: after)
    try tell(item, after, result: "compressed")
  }

  private func plan(_ item: VisitedItem, _ level: Int) throws(Refusal) {
    let estimate = try attempt(SampleEstimate.stored(item, level)) { self.refusal($0, item) }
    guard let estimate, let most = FrameWriting.mostWorthwhile(item.status), estimate <= most else {
      return leave(item, .gain)
    }
    try tell(item, estimate, result: "would compress") { [tally] in
      tally.add(before: item.status.size, after: estimate)
    }
  }

  /// Where nobody tells of layers, there is one.
  private func isInLower(_ item: VisitedItem) throws(Refusal) -> Bool {
    do throws(Errno) {
      let word = try item.held.descriptor.attribute(AttributeName("system.varve.layer"))
      return word?.starts(with: "lower".utf8) ?? false
    } catch {
      guard error == .unsupported else { throw Refusal(error) }
      return false
    }
  }

  private func leave(_ item: VisitedItem, _ reason: LeftAlone) {
    run.ignore()
    run.ledger.count { $0.left += 1 }
    tally.leave(reason)
    guard !run.ledger.tellsCounts else {
      return run.ledger.report(
        failureOf: item.path,
        members("left alone", item, nil) + [JSON.Member("reason", .string(reason.rawValue))])
    }
    guard run.ledger.tells || item.depth == 0, !run.console.isQuiet else { return }
    let who = reason == .open ? ": \(users.sentence(about: item))" : ""
    run.console.note(item.path, "left alone: \(reason.sentence)\(who)")
  }

  // MARK: Expanding

  private func expand(_ item: VisitedItem, _ before: StoredForm) throws(Refusal) {
    let size = item.status.size
    guard !run.ledger.isDryRun else {
      return try tell(item, size, result: "would expand") { [tally] in
        tally.add(before: before.stored, after: size)
      }
    }
    run.progress?.begin(item.path, bytes: size)
    do throws(Errno) { try form.set(item, "none") } catch {
      if error == .interrupted, Interruption.isRequested { return run.ignore() }
      throw refusal(error, item)
    }
    run.progress?.add(bytes: size)
    tally.add(before: before.stored, after: size)
    try tell(item, size, result: "expanded")
  }

  // MARK: Both

  private func refusal(_ error: Errno, _ item: VisitedItem) -> Refusal {
    switch error {
    case .noSpace, .quotaExceeded:
      return Refusal(
        "\(error): there is no room for a second copy of it, which is needed meanwhile; it is as it was")
    case .fileTooBig: return Refusal("is longer than 64 GiB (EFBIG), and is left as it is")
    case .busy: return Refusal("is in use (EBUSY) and stays as it is: \(users.sentence(about: item))")
    case .inputOutput:
      return Refusal("\(error): it is damaged, or the disk fails; the log of its daemon says more")
    case .notPermitted where !item.isLocked:
      return FormRun.refusalOfCapability(error, item)
        ?? Refusal.change(error, item.path, item.held.descriptor, needs: "write")
    default: return Refusal.change(error, item.path, item.held.descriptor, needs: "write")
    }
  }

  /// Counts and tells a change, which was made already; in a dry run, asks whether it would be refused.
  private func tell(
    _ item: VisitedItem, _ after: UInt64, result: String, _ planned: @escaping @Sendable () -> Void = {}
  ) throws(Refusal) {
    let (console, location) = (run.console, item.location)
    let (before, told) = (item.status.size, members(result, item, after))
    let refused = members("refused", item, nil)
    let line =
      level == nil
      ? ": \(result), \(sizeText(after))" : ": \(result), \(sizeText(before)) to \(sizeText(after))"
    try run.change(item, changes: [.compression(level != nil)]) {
      [path = item.path, held = item.held] error in
      Refusal.change(error, path, held.descriptor, needs: "write")
    } tell: { prospect in
      let isRefused = prospect.refusal != nil
      if !isRefused { planned() }
      return ToldChange {
        isRefused ? refused : told
      } line: {
        console.printPath(location.path, line)
      }
    } _: { () throws(Errno) in
    }
  }

  private func members(_ result: String, _ item: VisitedItem, _ after: UInt64?) -> [JSON.Member] {
    [JSON.Member("size", .number(item.status.size))]
      + (after.map { [JSON.Member(level == nil ? "after" : "stored", .number($0))] } ?? [])
      + [JSON.Member("result", .string(result))]
  }

  func finish() -> Int32 { form.finish(tally, tells: run.ledger.tellsHow || form.isRecursive) }
}

/// How short a file would get, by a few of its pieces.
private enum SampleEstimate {
  private static let piece = FrameWriting.frameSize
  private static let mostPieces: UInt64 = 32

  /// How much would be stored; nil if libzstd is missing.
  static func stored(_ item: VisitedItem, _ level: Int) throws(Errno) -> UInt64? {
    let file = try item.held.descriptor.reopen([.readOnly, .nonBlocking])
    guard let compressor = FrameCompressor(level: level) else { return nil }
    let pieces = (item.status.size + UInt64(piece) - 1) / UInt64(piece)
    let count = min(pieces, mostPieces)
    var (raw, stored): (UInt64, UInt64) = (0, 0)
    var room = [UInt8](repeating: 0, count: 2 * piece)
    for sample in 0..<count where !Interruption.isRequested {
      let offset = sample * pieces / count * UInt64(piece)
      let bytes = try file.read(upTo: piece, at: Int64(clamping: offset))
      var space = room.mutableSpan
      guard !bytes.isEmpty, let made = compressor.compress(bytes.span, into: &space) else { continue }
      raw += UInt64(bytes.count)
      stored += UInt64(made) + 8
    }
    guard raw > 0 else { return item.status.size }
    return UInt64(Double(item.status.size) * Double(stored) / Double(raw)) + 17
  }

}
