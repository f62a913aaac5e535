// `varve layer diff`: what the upper does to the layers below it, a directory at a time.
//
// Only directories are looked at that the upper has, so it costs what the upper holds.

package import AccessControl
import Decisions
package import JSONForm
import LayerRules
package import LinuxFiles

/// Which directory is compared, and from where on.
package struct LayerQuestion: Sendable {
  package var path: [UInt8]
  /// What an answer that was not the last one said.
  package var offset: Int64
  /// Whether the directory is told of as well, as its parent would tell of it.
  package var tellsItself: Bool

  package init(_ path: [UInt8], from offset: Int64 = 0, tellsItself: Bool = false) {
    self.path = path
    self.offset = offset
    self.tellsItself = tellsItself
  }
}

/// What became of a name of the layers below.
struct LayerChange {
  enum Kind: String {
    case added = "A"
    /// Size, time of modification, or where a link leads.
    case content = "M"
    case metadata = "m"
    case removed = "D"
    /// A directory that the layers below have under another path.
    case moved = "R"
    /// A directory that is what it is below; in it there may be changes.
    case same = "="
  }

  let kind: Kind
  let isDirectory: Bool
  /// From the root of the volume.
  var formerPath: [UInt8]?
}

extension Volume {
  /// More names are in the next answer.
  private static let mostNames = 1_000

  /// What the upper changes in a directory, to someone who may list and search it; ENODATA without lowers.
  package func layerChanges(
    _ question: LayerQuestion, as subject: Subject, within limits: WalkLimits
  ) throws(Errno) -> [JSON.Member] {
    guard let stack = resolver.stack else { throw .noData }
    let judge = Judge(rules: gate.rules, subject: subject)
    let view = View(judge: judge, asker: nil, askerIsRoot: subject.readsAllRules, tellsAll: false)
    var walk = Walk(self, view, limits)
    let spot: Spot
    let parent: Spot?
    do throws(Stop) {
      guard case .found(let found, let above) = try walk.go(question.path, .held) else { throw .blocked }
      (spot, parent) = (found, above)
    } catch {
      throw walk.steps.lazy.compactMap(\.failure).first ?? (error == .tooMuch ? .tooBig : .noSuchFile)
    }
    var answer = LayerAnswer()
    if question.tellsItself, let parent {
      try requireListing(parent, judge)
      let name = Array(spot.path.split(separator: UInt8(ascii: "/")).last ?? [])
      try tell(name, in: LayerComparison(self, stack, judge, parent), parent, &answer)
      answer.closeItself()
    }
    guard spot.isDirectory else { return answer.members }
    try requireListing(spot, judge)
    try compare(spot, LayerComparison(self, stack, judge, spot), question, limits, &answer)
    return answer.members
  }

  private func requireListing(_ spot: Spot, _ judge: Judge) throws(Errno) {
    try locks.holding(.shared(spot.stripe)) { () throws(Errno) in
      let item = try facts(at: spot).item
      for operation in [Operation.list, .search] {
        let verdict = judge.decide(operation, on: item)
        guard verdict.isAllowed else { throw Errno(verdict) }
      }
    }
  }

  private func compare(
    _ spot: Spot, _ comparison: LayerComparison, _ question: LayerQuestion, _ limits: WalkLimits,
    _ answer: inout LayerAnswer
  ) throws(Errno) {
    guard let upper = comparison.upper else { return }
    if question.offset < 0, spot.path.isEmpty {
      return try tellHidden(from: -1 - question.offset, in: comparison, spot, limits, &answer)
    }
    let listing = try upper.openListingAside()
    try listing.seekListing(to: question.offset)
    var page = EntryBuffer()
    var left = Volume.mostNames
    while try listing.readNames(into: &page) > 0 {
      while let entry = try page.next() {
        guard entry.role == .child else { continue }
        let name = try page.nameBytes(of: entry)
        if spot.path.isEmpty, name == OwnDirectory.bytes { continue }
        try tell(name, in: comparison, spot, &answer)
        left -= 1
        if left == 0 || answer.bytes > 1 << 19 || Clock.monotonicNanoseconds > limits.deadline {
          answer.next = entry.nextOffset
          return
        }
      }
    }
    try tellHidden(from: 0, in: comparison, spot, limits, &answer)
  }

  /// What the flag `opaque` of the root hides; of any other directory that is told by the directory above.
  ///
  /// `first`: of the names in order. An offset below 0 says in the next question how many were told.
  private func tellHidden(
    from first: Int64, in comparison: LayerComparison, _ spot: Spot, _ limits: WalkLimits,
    _ answer: inout LayerAnswer
  ) throws(Errno) {
    guard spot.path.isEmpty else { return }
    let parts = try resolver.parts(root).hidden
    guard !parts.isEmpty else { return }
    let names = try comparison.names(in: parts)
    var told = Int(clamping: first)
    while told < names.count {
      let name = names[told]
      do throws(Errno) {
        if let change = try comparison.hidden(name, in: parts) { answer.add(name, change) }
      } catch {
        answer.add(name, error)
      }
      told += 1
      let isFull = told - Int(clamping: first) == Volume.mostNames || answer.bytes > 1 << 19
      if told < names.count, isFull || Clock.monotonicNanoseconds > limits.deadline {
        answer.next = -1 - Int64(told)
        return
      }
    }
  }

  /// Under the directory's lock, so that no half of a change is seen.
  private func tell(
    _ name: [UInt8], in comparison: LayerComparison, _ spot: Spot, _ answer: inout LayerAnswer
  ) throws(Errno) {
    do throws(Errno) {
      let changes = try locks.holding(.shared(spot.stripe)) { () throws(Errno) in
        try comparison.changes(of: name)
      }
      for change in changes { answer.add(name, change) }
    } catch {
      answer.add(name, error)
    }
  }
}

/// One answer as it is put together.
private struct LayerAnswer {
  private var changes: [JSON] = []
  private var failures: [JSON] = []
  private var itself: [JSON]?
  private(set) var bytes = 0
  var next: Int64?

  mutating func add(_ name: [UInt8], _ change: LayerChange) {
    var members: [JSON.Member] = []
    members.add("change", change.kind.rawValue)
    members.add("name", bytes: name)
    members.add("directory", change.isDirectory)
    if let path = change.formerPath { members.add("from", bytes: path) }
    bytes += 64 + 3 * name.count + 3 * (change.formerPath?.count ?? 0)
    changes.append(.object(members))
  }

  mutating func add(_ name: [UInt8], _ error: Errno) {
    var members: [JSON.Member] = []
    members.add("name", bytes: name)
    members.add("error", error.name)
    bytes += 64 + 3 * name.count
    failures.append(.object(members))
  }

  /// What was told until now is about the directory or file that was named.
  mutating func closeItself() {
    itself = changes
    changes = []
  }

  var members: [JSON.Member] {
    var members: [JSON.Member] = []
    if let itself { members.add("itself", .array(itself)) }
    members.add("changes", .array(changes))
    if !failures.isEmpty { members.add("failures", .array(failures)) }
    if let next { members.add("next", .number(next)) }
    return members
  }
}
