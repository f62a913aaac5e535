// `varve verify`: reads all of encrypted files through a mount and holds it against its tags.

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

func verifyContents(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let paths = try PathOperands(invocation)
  let run = VerifyRun(invocation, console)
  paths.forEach(console) { path in
    var walk = ItemWalk.ofLists(isRecursive: invocation.has(.recursive), console)
    walk.links = .named
    walk.go(path, leaf: nil) { run.visit($0) }
  }
  return run.finish()
}

private final class VerifyRun {
  private let console: Console
  private let json: JSONStream?
  private let isRecursive: Bool
  private let refusals = ClassRefusals(to: "none")
  private var (files, damaged, plain) = (0, 0, 0)
  private var blocks: UInt64 = 0
  private var losses = LostMarks()
  private var shownAt = Clock.monotonicNanoseconds

  init(_ invocation: Invocation, _ console: Console) {
    self.console = console
    json = invocation.has(.json) ? JSONStream("files", console) : nil
    isRecursive = invocation.has(.recursive)
  }

  func visit(_ item: VisitedItem) -> ItemWalk.Descent {
    switch item.status.kind {
    case .regular:
      do throws(Refusal) { return try verify(item) } catch { console.complain(item.path, error.sentence) }
    case .directory:
      if item.depth == 0, let refusal = Refusal.stored(item, for: .verifying) {
        console.complain(item.path, refusal.sentence)
        return .past
      }
      if !isRecursive { console.complain(item.path, "is a directory; -R verifies the files below it") }
      losses.enter(item)
    default:
      if item.depth == 0 { console.complain(item.path, "is not a regular file") }
    }
    return .into
  }

  private func verify(_ item: VisitedItem) throws(Refusal) -> ItemWalk.Descent {
    var findings = FileFindings()
    var next: UInt64? = 0
    while let start = next {
      // Of a file that another one replaces meanwhile nothing is told.
      guard let answer = try ask(item, from: start) else { return .again }
      if answer["class"] == .string("none") {
        // Nothing tells whether an empty one was to be encrypted.
        if item.status.size > 0 { losses.addPlain(item) }
        guard let directory = answer["directory"]?.string else {
          // Below a directory that is named there may be many.
          if item.depth == 0, json == nil, !console.isQuiet { console.note(item.path, "is not encrypted") }
          return .into
        }
        plain += 1
        tell(item.path, "is not encrypted, and its directory has the class \(directory)", plainIn: directory)
        return .into
      }
      findings.add(answer)
      next = answer["next"]?.integer.flatMap { UInt64(exactly: $0) }
      guard next.map({ $0 > start }) ?? true else { throw Refusal("the answer is not understood") }
      showProgress(start, findings.size)
      guard next == nil || !Interruption.isRequested else {
        throw Refusal("interrupted; not verified to its end")
      }
    }
    files += 1
    blocks &+= findings.verified
    if findings.isDamaged { damaged += 1 }
    losses.add(item, isUnmarked: findings.isUnmarked)
    tell(item.path, findings)
    return .into
  }

  /// Nil for a file that is not under its name any more.
  private func ask(_ item: VisitedItem, from start: UInt64) throws(Refusal) -> JSON? {
    let name = "system.varve.verify" + (start == 0 ? "" : ".\(start)")
    let bytes: [UInt8]?
    do throws(Errno) {
      bytes = try AttributeName.with(Array(name.utf8)) { (name) throws(Errno) in
        try item.held.descriptor.attribute(name)
      }
    } catch {
      if error == .stale { return nil }
      if error == .notConnected { console.noteLostDaemon() }
      if error == .unsupported, item.depth == 0, let stored = Refusal.stored(item, for: .verifying) {
        throw stored
      }
      guard error == .noKey else { throw Refusal(error) }
      throw refusals.refusalToVerify(item)
    }
    guard let bytes, let answer = JSON(bytes) else { throw Refusal("the answer is not understood") }
    return answer
  }

  private func showProgress(_ start: UInt64, _ size: UInt64) {
    let now = Clock.monotonicNanoseconds
    guard !console.isQuiet, now &- shownAt > 200_000_000 else { return }
    shownAt = now
    let share = size == 0 ? 100 : Int(min(100, Double(start) / Double(size) * 100))
    console.showProgress(
      "\(console.name): \(grouped(files)) files, \(grouped(Int(clamping: blocks))) blocks; \(share) %")
  }

  private func tell(_ path: Word, _ sentence: String, plainIn directory: String) {
    if let json {
      json.add(
        JSON.nameMembers("path", path) + [
          JSON.Member("class", .string("none")), JSON.Member("directory", .string(directory)),
        ])
    } else if !console.isQuiet {
      console.printPath(path, ": \(sentence)")
    }
  }

  private func tell(_ path: Word, _ findings: FileFindings) {
    guard !findings.isClean else { return }
    if let json { return json.add(JSON.nameMembers("path", path) + findings.members) }
    for sentence in findings.sentences { console.printPath(path, ": \(sentence)") }
  }

  private var verdict: String {
    if damaged > 0 { return "\(grouped(damaged)) damaged" }
    let isWhole = console.failures == 0 && !Interruption.isRequested
    return isWhole ? "no damage" : "no damage found, but not everything was verified"
  }

  func finish() -> Int32 {
    if let json {
      json.end([
        JSON.Member("verified", .number(files)), JSON.Member("blocks", .number(blocks)),
        JSON.Member("damaged", .number(damaged)), JSON.Member("plain", .number(plain)),
        JSON.Member("unmarked", .number(losses.unmarked)),
        JSON.Member(
          "withoutClass", .array(losses.directories.map { .string(String(decoding: $0, as: UTF8.self)) })),
        JSON.Member("failed", .number(console.failures)),
      ])
    } else if !console.isQuiet {
      console.print(
        "\(grouped(files)) encrypted \(files == 1 ? "file" : "files"), \(grouped(Int(clamping: blocks))) "
          + "\(blocks == 1 ? "block" : "blocks"): \(verdict)\n")
      losses.tell(console)
    }
    if console.finish() != 0 || Interruption.isRequested { return 2 }
    return damaged > 0 || losses.unmarked > 0 ? 1 : 0
  }
}

/// What the answers about one file say together.
private struct FileFindings {
  private var protection = ""
  private var isDoubtful = false
  private(set) var isUnmarked = false
  private var header: [String] = []
  private var ranges: [ContentRange] = []
  private var counts: [(kind: String, blocks: UInt64)] = []
  private(set) var verified: UInt64 = 0
  private(set) var size: UInt64 = 0

  /// Ranges that are printed of one file.
  private static let mostRanges = 100

  mutating func add(_ answer: JSON) {
    protection = answer["class"]?.string ?? protection
    isDoubtful = isDoubtful || answer["doubtful"] == .bool(true)
    isUnmarked = isUnmarked || answer["unmarked"] == .bool(true)
    verified &+= number(answer["verified"])
    size = max(size, number(answer["size"]))
    if case .array(let words)? = answer["header"] { header += words.compactMap(\.string) }
    for kind in ["damaged", "index", "lost", "torn"] where number(answer[kind]) > 0 {
      if let index = counts.firstIndex(where: { $0.kind == kind }) {
        counts[index].blocks &+= number(answer[kind])
      } else {
        counts.append((kind, number(answer[kind])))
      }
    }
    guard case .array(let found)? = answer["ranges"] else { return }
    for range in found where ranges.count < FileFindings.mostRanges {
      guard case .array(let parts) = range, parts.count == 3, let kind = parts[0].string else { continue }
      ranges.append(ContentRange(kind: kind, offset: number(parts[1]), length: number(parts[2])))
    }
  }

  private func number(_ value: JSON?) -> UInt64 { value?.integer.flatMap { UInt64(exactly: $0) } ?? 0 }

  var isClean: Bool { header.isEmpty && counts.isEmpty && !isUnmarked }

  var isDamaged: Bool {
    header.contains { !isHarmless(header: $0) } || counts.contains { ContentRange.isDamage($0.kind) }
  }

  var sentences: [String] {
    let further = counts.compactMap { (kind, blocks) -> String? in
      let named = ranges.filter { $0.kind == kind }.reduce(0) { $0 + $1.length / 4096 }
      return blocks > named ? ContentRange.further(blocks - named, kind) : nil
    }
    let lost = isUnmarked ? [lostMarkSentence(protection)] : []
    return lost + header.map { headerSentence($0) + headerRemedy($0) } + ranges.map(\.sentence) + further
  }

  var members: [JSON.Member] {
    var members = [
      JSON.Member("class", .string(protection)), JSON.Member("doubtful", .bool(isDoubtful)),
      JSON.Member("damage", .bool(isDamaged)),
      JSON.Member("header", .array(header.map { .string($0) })),
    ]
    if isUnmarked { members.append(JSON.Member("unmarked", .bool(true))) }
    for (kind, blocks) in counts { members.append(JSON.Member(kind, .number(blocks))) }
    let listed = ranges.map { range in
      JSON.object([
        JSON.Member("kind", .string(range.kind)), JSON.Member("offset", .number(range.offset)),
        JSON.Member("length", .number(range.length)),
      ])
    }
    members.append(JSON.Member("ranges", .array(listed)))
    return members
  }
}
