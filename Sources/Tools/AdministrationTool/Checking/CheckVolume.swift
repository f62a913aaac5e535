// `varve check`: goes through what a volume stores, below the upper directory or through a mount.
//
// For administrators after a crash, a restore or a move: it changes nothing without `--repair`, and its memory does not grow
// with the tree (`ToolMemoryTests`).

import AccessControl
import Arguments
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import TextForms

func checkVolumes(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let check = try VolumeCheck(invocation, console)
  if invocation.has(.repair), !invocation.has(.yes), !StandardStream.input.isTerminal {
    throw UsageError("--repair asks before each change; where nobody can answer, it needs -y", verb: "check")
  }
  if invocation.has(.yes), !invocation.has(.repair) {
    throw UsageError("-y needs --repair", verb: "check")
  }
  let paths = invocation.operands.isEmpty ? [Array(".".utf8)] : invocation.operands
  for path in paths where !Interruption.isRequested {
    do throws(Refusal) {
      try check.check(path)
    } catch {
      console.complain(path, error.sentence)
    }
  }
  return check.finish()
}

final class VolumeCheck {
  let console: Console
  let report: CheckReport
  /// With which lowers volumes are checked.
  let lowers: LayerInspection.Lowers
  private let repairs: Bool
  private let asks: Bool
  private let readsContent: Bool
  /// Upper directories whose bookkeeping has been looked at.
  private var seen: [[UInt8]] = []

  init(_ invocation: Invocation, _ console: Console) throws(UsageError) {
    self.console = console
    lowers = try LayerInspection.Lowers(invocation)
    report = CheckReport(console, isJSON: invocation.has(.json))
    repairs = invocation.has(.repair)
    if repairs { console.surviveOutputLoss() }
    asks = !invocation.has(.yes)
    readsContent = invocation.has(.data)
  }

  func finish() -> Int32 { report.finish() }

  func check(_ path: [UInt8]) throws(Refusal) {
    let isMounted: Bool
    let found: FollowedPath
    do throws(Errno) {
      found = try FollowedPath(path)
      do throws(Errno) {
        isMounted = try found.held.descriptor.fileFlags() != nil
      } catch .inputOutput {
        isMounted = true
      }
    } catch {
      throw Refusal(error, at: path)
    }
    if isMounted {
      guard !repairs else {
        throw Refusal("is on a mounted volume; unmount it, and repair its upper directory")
      }
      return try checkThroughMount(path)
    }
    try checkBelow(found)
  }

  // MARK: - Through a mount

  /// All that is there, which a view may hide.
  private func checkThroughMount(_ typed: [UInt8]) throws(Refusal) {
    let path = ordinaryPath(typed)
    let held = try attempt(FollowedPath(path).held) { Refusal($0, at: path) }
    var walk = self.walk()
    walk.links = .named
    walk.go(path, at: held, leaf: nil) { item in
      report.checked += 1
      if let lists = try? item.held.descriptor.posixLists(), !lists.isEmpty {
        report.addPosixList(item.path)
      }
      do throws(Errno) {
        _ = try item.held.descriptor.fileFlags()
        if let text = try item.held.descriptor.accessListText(), !text.isEmpty {
          do throws(ParseFailure) {
            _ = try AccessListText.readList(bytes: text, names: .machine)
          } catch {
            report.add(
              Defect(.list, "the access list cannot be read: \(error)"), item.path, isRepaired: false)
          }
        }
        checkNames(item)
        try checkContent(item)
      } catch .inputOutput {
        let isList = (try? item.held.descriptor.fileFlags()) != nil
        report.add(
          Defect(
            isList ? .list : .record,
            "\(isList ? "the access list" : "the record of flags and owner") is damaged; 'varve check' of the upper "
              + "directory tells how"), item.path, isRepaired: false)
      } catch {
        console.complain(item.path, error)
      }
      return .into
    }
  }

  /// Only damage is told: what has no extension has no state of it either, and who may not read it looks for nothing.
  private func checkNames(_ item: VisitedItem) {
    do throws(Errno) {
      _ = try item.held.descriptor.attribute(AttributeName("system.varve.extension"))
    } catch {
      guard error == .inputOutput else { return }
      report.add(
        Defect(
          .names, "the names record is damaged or missing; 'varve check' of the upper directory tells how"),
        item.path, isRepaired: false)
    }
  }

  /// How a file is stored; nil where its content was half replaced and cannot be finished, which is told.
  ///
  /// Asking waits for a replacement that is under way, and finishes one that nobody goes on with.
  private func form(_ item: VisitedItem) throws(Errno) -> [UInt8]? {
    do throws(Errno) {
      return try item.held.descriptor.attribute(AttributeName("system.varve.compression"))
    } catch {
      let text: String
      switch error {
      // Its record and its list were read just now.
      case .inputOutput:
        text = "and that was not finished; 'varve check' of the directory that stores it tells more"
      case .busy: text = "which cannot be finished while a program has it open below the mount"
      default: throw error
      }
      if report.isFirstName(item.status) {
        report.add(
          Defect(.interrupted, "cannot be read: its content was being replaced, \(text)"), item.path,
          isRepaired: false)
      }
      return nil
    }
  }

  /// A compressed file is opened, which reads its table; and read, if that is wanted; by one of its names.
  private func checkContent(_ item: VisitedItem) throws(Errno) {
    guard item.status.kind == .regular, let form = try form(item), form.starts(with: "zstd".utf8),
      report.isFirstName(item.status)
    else { return }
    do throws(Errno) {
      let file = try item.held.descriptor.reopen([.readOnly, .nonBlocking])
      var position: Int64 = 0
      while readsContent, !Interruption.isRequested {
        let count = try file.read(upTo: 1 << 20, at: position).count
        guard count > 0 else { break }
        position += Int64(count)
      }
    } catch {
      // A user who may not read it does not look for damage.
      guard error == .inputOutput else { return console.complain(item.path, error) }
      report.add(
        Defect(
          .content,
          "its compressed content is damaged; 'varve check --data' of the upper directory tells where"),
        item.path, isRepaired: false)
    }
  }

  private func walk() -> ItemWalk {
    var walk = ItemWalk(isRecursive: true, order: .directoryFirst, console)
    walk.actsOnLinks = true
    walk.staysOnFileSystem = true
    walk.progress = console.progress()
    return walk
  }

  // MARK: - Below the upper directory

  private func checkBelow(_ found: FollowedPath) throws(Refusal) {
    guard let upper = found.upper else {
      throw Refusal(
        "is neither on a Varve volume nor in the upper directory of one: there is no .varve; mount an upper directory of "
          + "overlayfs, or one that has lost its .varve, for writing once before this")
    }
    let (root, real) = (upper.path, found.path)
    let inspection: VolumeInspection
    let bookkeeping: FileStatus
    let listing: SharedDescriptor
    do {
      listing = SharedDescriptor(try upper.held.descriptor.listing())
      inspection = try VolumeInspection(of: listing, for: repairs ? .repairing : .looking)
      bookkeeping = try inspection.directoryStatus()
    } catch let failure as VolumeFailure {
      throw Refusal(about(root, real, failure.message))
    } catch {
      throw Refusal(about(root, real, "\(error)"))
    }
    if repairs { try refuseMounted(inspection.use, root) }
    if case .notForUs(let message) = inspection.header { throw Refusal(about(root, real, message)) }
    if !seen.contains(root) {
      seen.append(root)
      try checkBookkeeping(inspection, root)
    }
    let items = ItemRecords(inspection, report, console, readsContent: readsContent)
    let failures = console.failures
    var isWhole = real == root
    var walk = self.walk()
    walk.passingOver = { isWhole = false }
    walk.go(real, at: found.held, leaf: nil) { item in
      guard !item.status.isSame(as: bookkeeping) else { return .past }
      // What is mounted there hides items of the volume.
      if item.depth > 0, item.status.isMountRoot { isWhole = false }
      report.checked += 1
      items.check(item) { defect in self.isWanted(defect, item.path) }
      return .into
    }
    if real == root, !Interruption.isRequested {
      walk.goThroughIndex(of: root) { entry in
        // Whoever leaves records out leaves the index out.
        isWhole = false
        guard entry.status.linkCount == 1 else { return }
        report.checked += 1
        items.check(entry) { defect in self.isWanted(defect, entry.path) }
      }
    }
    try heed(items, inspection, root)
    if real == root, !Interruption.isRequested { try checkLayers(inspection, listing, root) }
    guard isWhole, items.found == 0, console.failures == failures, !Interruption.isRequested else { return }
    try spare(inspection, root)
  }

  /// What is wrong with a volume, for a user who named a part of it.
  private func about(_ root: [UInt8], _ named: [UInt8], _ message: String) -> String {
    root == named ? message : "the volume \(shown(root)): \(message)"
  }

  private func refuseMounted(_ use: VolumeInspection.Use, _ root: [UInt8]) throws(Refusal) {
    switch use {
    case .nobody:
      // What was mounted before it had any bookkeeping shares nothing of it.
      guard (try? mountTable())?.contains(where: { $0.isOurs && $0.source == root }) ?? false else { return }
      throw Refusal("the volume is mounted; unmount it first")
    case .mounted(let holder):
      throw Refusal(
        "the volume is mounted, by \(VolumeUse.name(of: holder)); unmount it first")
    case .mountedForReading:
      throw Refusal(
        "the volume is mounted read-only, maybe in another mount namespace; unmount it first")
    }
  }

  private func checkBookkeeping(_ inspection: VolumeInspection, _ root: [UInt8]) throws(Refusal) {
    let file = joined(root, Array(".varve/volume".utf8))
    switch inspection.header {
    case .sound, .notForUs: break
    case .missing:
      let defect = Defect(.header, "is missing; the next mount makes a new one")
      try repair(defect, file) { () throws(Errno) in try inspection.letRecordsCount() }
    case .damaged(let message, let bytes):
      try repair(Defect(.header, message), file) { () throws(Errno) in
        try inspection.keepAside(CheckReport.line(for: bytes, of: "volume", file))
        try inspection.letRecordsCount()
      }
    }
    let misplaced = try attempt(inspection.misplaced()) { Refusal("\($0)") }
    for entry in misplaced { try settle(entry, inspection, root) }
    // While it is mounted, what is there is being worked on.
    let hasWorkshop = !misplaced.contains { $0.name == Array("work".utf8) && $0.isOfWrongType }
    guard case .nobody = inspection.use, hasWorkshop else { return }
    let leftovers = try attempt(inspection.leftovers()) { Refusal("\($0)") }
    guard let first = leftovers.first else { return }
    let more = leftovers.count > 1 ? " and \(leftovers.count - 1) more" : ""
    try repair(
      Defect(
        .leftover, "\(PathText.escaped(first))\(more): left by a crash, not finished and not used"),
      joined(root, OwnDirectory.bytes)
    ) { () throws(Errno) in try inspection.removeLeftovers() }
  }

  /// An entry of `.varve` that a mount would not have made so.
  private func settle(
    _ entry: MisplacedEntry, _ inspection: VolumeInspection, _ root: [UInt8]
  ) throws(Refusal) {
    let path = joined(root, Array(".varve/".utf8) + entry.name)
    switch entry.fault {
    case .type(let expected):
      report.add(
        Defect(.type, "is not \(expected); move it away, so that a new one can be made"), path,
        isRepaired: false)
    case .owner(let user):
      try repair(Defect(.owner, "belongs to the user \(user), not to the one whose volume this is"), path) {
        () throws(Errno) in
        try inspection.takeOver(entry)
      }
    }
  }

  /// Records that were found do not count while the volume file says that there are none.
  private func heed(_ items: ItemRecords, _ inspection: VolumeInspection, _ root: [UInt8]) throws(Refusal) {
    guard items.found > 0, case .sound(recordsExist: false) = inspection.header else { return }
    let file = joined(root, Array(".varve/volume".utf8))
    try repair(
      Defect(
        .unheeded,
        "says that no item has a record, but \(grouped(items.found)) of those checked do; they count for "
          + "nothing"), file
    ) { () throws(Errno) in try inspection.letRecordsCount() }
  }

  /// Every item was looked at and none has a record: then no look at an item has to ask for one.
  ///
  /// Nothing is wrong with a volume file that says otherwise, so without `--repair` nothing is said.
  private func spare(_ inspection: VolumeInspection, _ root: [UInt8]) throws(Refusal) {
    guard repairs, case .sound(recordsExist: true) = inspection.header else { return }
    let file = joined(root, Array(".varve/volume".utf8))
    let defect = Defect(
      .unused, "says that items may have records, but none has one; each first look at an item asks for it")
    guard isWanted(defect, file) else { return }
    try repair(defect, file, isAgreed: true) { () throws(Errno) in try inspection.letRecordsBeSkipped() }
  }

  private func repair(
    _ defect: Defect, _ path: [UInt8], isAgreed: Bool = false, _ body: () throws(Errno) -> Void
  ) throws(Refusal) {
    try report.settle(defect, path, isWanted: isAgreed || isWanted(defect, path), body)
  }

  /// Whether something is to be repaired: asks, unless told not to.
  func isWanted(_ defect: Defect, _ path: [UInt8]) -> Bool {
    guard repairs, let remedy = defect.remedy else { return false }
    guard asks else { return true }
    console.clearProgress()
    console.flush()
    console.note(path, "\(defect.kind.word): \(defect.text)")
    try? StandardStream.error.write(Array("\(remedy)? [y/N] ".utf8))
    // No answer is no.
    let answer = try? StandardStream.input.readLine(limit: 80)
    return answer?.first == UInt8(ascii: "y") || answer?.first == UInt8(ascii: "Y")
  }
}
