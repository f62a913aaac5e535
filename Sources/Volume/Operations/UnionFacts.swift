// What a plan of several steps is made of: a name in the upper and in the layers below.

import Decisions
import LayerRules
import LinuxFiles
import RecordFormat

/// A name in a directory, in the upper and below it.
struct NameSight {
  /// What the upper itself has, whiteouts as well.
  var upper: FileStatus?
  /// What the layers below show, and what they have under a name of the upper that flags hide.
  var lower: LowerEntry
}

extension Volume {
  /// Where new names of a directory go: its part in the upper.
  func upperPart(of directory: Node) throws(Errno) -> LayerDirectory? {
    let top = try resolver.directory(directory)
    return top.layer == 0 ? top : nil
  }

  /// The same for an operation that has been decided about: what is missing is brought up first.
  func requireUpperPart(of directory: Node) throws(Errno) -> LayerDirectory {
    guard let part = try upperPart(of: directory) else { throw .belowUpper }
    return part
  }

  /// `found`: what shows, which need not be looked at again.
  func sight(
    _ name: borrowing FileName, in directory: Node, _ found: FoundName? = nil
  ) throws(Errno) -> NameSight {
    if let found, found.directory.layer > 0 {
      return NameSight(upper: nil, lower: found.status.kind == .directory ? .directory : .file)
    }
    let parts = try resolver.parts(directory)
    var below = parts.all[...]
    var upper: FileStatus?
    if let top = below.first, top.layer == 0 {
      if let found { upper = found.status } else { upper = try LayerDirectory(top).look(name) }
      below.removeFirst()
      // Without the name there is nothing to take away, and what flags hide does not show.
      if upper != nil { below += parts.hidden }
    }
    return NameSight(upper: upper, lower: try Found.find(name, in: below).entry)
  }

  /// The facts of a plan about one name; ESTALE if it does not show what was decided about.
  ///
  /// Under the locks of the decision only a change behind the mount does that. `shown`: what was found; nil if the name
  /// was free.
  ///
  /// `losesDirectory`: whether a directory that shows is to be removed or replaced, so that what is in it counts.
  func nameFacts(
    _ name: borrowing FileName, in directory: Node, _ shown: Facts?, losesDirectory: Bool = false,
    found: FoundName? = nil
  ) throws(Errno) -> NameFacts {
    let sight = try sight(name, in: directory, found)
    var facts = NameFacts(upper: .absent, lower: sight.lower)
    if let status = sight.upper {
      if status.isWhiteout {
        facts.upper = .whiteout
      } else if status.kind == .directory {
        facts.upper = .directory(try upperDirectory(name, in: directory))
      } else {
        facts.upper = .file
      }
    }
    let decided: Shown = shown.map { $0.item.isDirectory ? .directory : .file } ?? .nothing
    guard facts.shown == decided else { throw .stale }
    if let shown {
      facts.hasOrigin = hasOrigin(shown)
      facts.links = links(shown, found)
      if losesDirectory, shown.item.isDirectory {
        facts.contents = try contents(ofDirectory: name, in: directory)
      }
    }
    return facts
  }

  /// How a name takes part in the count of hard links.
  func links(_ shown: Facts, _ found: FoundName?) -> Links {
    if found?.links != nil { return .lowerName }
    guard shown.layerFacts.layer == 0, shown.record.links?.base == .upper, hasOrigin(shown) else {
      return .single
    }
    return .upperName
  }

  /// Whether an object's number is that of something else.
  func hasOrigin(_ facts: Facts) -> Bool {
    guard facts.layerFacts.layer == 0 else { return true }
    return store.numbers?.countingOrigin(of: facts.status, facts.record) != nil
  }

  private func upperDirectory(
    _ name: borrowing FileName, in directory: Node
  ) throws(Errno) -> UpperDirectory {
    guard let stack = resolver.stack else { return UpperDirectory(.pure) }
    let parts = try resolver.parts(directory).all
    guard let top = parts.first, top.layer == 0 else { throw .stale }
    let found = try LayerDirectory(top).hold(name)
    let redirection: UpperDirectory.Redirection
    switch try stack.redirect(of: found) {
    case .unusable: return UpperDirectory(.unusable)
    case .says(nil): redirection = .none
    case .says(.oneName): redirection = .oneName
    case .says(.absolute): redirection = .absolute
    }
    switch try stack.isClosedByMark(found, in: 0) {
    case .unusable: return UpperDirectory(.unusable, redirection)
    case .says(true): return UpperDirectory(.closedByMark, redirection)
    case .says(false): break
    }
    if try stack.isClosedByFlag(found, in: 0) { return UpperDirectory(.closedByFlag, redirection) }
    guard let all = try stack.parts(of: name.copy(), in: parts, known: (found, 0)) else {
      return UpperDirectory(.unusable, redirection)
    }
    return UpperDirectory(all.count > 1 ? .merged : .pure, redirection)
  }

  /// What the directory of this name shows; what vanishes behind the mount meanwhile does not count.
  func contents(ofDirectory name: borrowing FileName, in directory: Node) throws(Errno) -> Contents {
    let (_, parts) = try resolver.findHeld(name, in: try resolver.parts(directory).all)
    var removed: Set<[UInt8]> = []
    var hasWhiteouts = false
    var page = EntryBuffer()
    for part in parts {
      let listing = try LayerDirectory(part).openListingAside()
      while try listing.readNamesLeft(into: &page) > 0 {
        while let entry = try page.next() {
          switch entry.role {
          case .itself, .parent: continue
          case .unusable: return .names
          case .child: break
          }
          let bytes = try page.nameBytes(of: entry)
          if removed.contains(bytes) { continue }
          switch try listing.standing(entry, on: page) {
          case .nothing: continue
          case .name: return .names
          case .whiteout: break
          }
          removed.insert(bytes)
          if part.layer == 0 { hasWhiteouts = true }
        }
      }
    }
    return hasWhiteouts ? .whiteouts : .empty
  }

  // MARK: Running plans

  /// Carries out plans about a name in the upper.
  func planRunner(_ name: borrowing FileName, in directory: LayerDirectory) throws(Errno) -> PlanRunner {
    guard let workshop = self.directory.workshop.map({ LayerDirectory($0) }) else { throw .readOnly }
    let space = store.namespace.rawValue
    let bookkeeping = self.directory
    return PlanRunner(
      whiteouts: whiteouts, workshop: workshop,
      setAside: { name throws(Errno) in try bookkeeping.rescue(name, from: workshop) },
      exchangesNames: features.exchangesNames,
      opaqueName: Array("\(space).\(Marks.opaque)".utf8),
      redirectName: Array("\(space).\(Marks.redirect)".utf8),
      name: UpperName(directory: directory, name: name.copy()), opensDirectories: !isPrivileged)
  }

  /// The steps of an answer: refusals become error numbers, and what is missing is brought up by the caller.
  func steps(_ answer: Answer) throws(Errno) -> [PlanStep] {
    if let refusal = answer.refusal { throw Errno(refusal) }
    guard let steps = answer.steps else { throw .belowUpper }
    return steps
  }

  /// Says in a directory's record that some of its children have their numbers from elsewhere; under its exclusive lock.
  func markImpure(_ directory: Node, _ part: LayerDirectory) throws(Errno) {
    let facts = try facts(of: directory)
    guard !facts.record.isImpure else { return }
    var record = facts.record
    record.isImpure = true
    forgetFacts(of: directory)
    try store.write(record, list: .keep, over: facts.stored, to: part.descriptor.descriptor)
  }
}

extension Errno {
  fileprivate init(_ refusal: Refusal) {
    self =
      switch refusal {
      case .notEmpty: .notEmpty
      case .unusable: .inputOutput
      }
  }
}
