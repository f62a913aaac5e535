// `varve fsck`: goes through the encrypted files of a volume that nobody has mounted.

import Arguments
import Ciphers
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import RecordFormat
import SealedFormat
import TextForms

func checkContents(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  if invocation.has(.mend) { console.surviveOutputLoss() }
  if invocation.has(.trustOwners), !invocation.has(.mend) {
    throw UsageError("--trust-owners needs --repair", verb: "fsck")
  }
  let keyfile = try SecretSource.given(.contentKeyfile, invocation)
  let passphrase = try SecretSource.given(.passphraseFile, invocation)
  if keyfile == nil, passphrase != nil {
    throw UsageError("--passphrase-file needs --keyfile", verb: "fsck")
  }
  let report = ContentReport(console, isJSON: invocation.has(.json))
  let upper = invocation.operands[0]
  do throws(Refusal) {
    let check = try ContentCheck(
      upper, repairs: invocation.has(.mend), trustsOwners: invocation.has(.trustOwners), console, report)
    if let keyfile {
      guard check.unlock(keyfile, passphrase) else { return report.finish(isInterrupted: false) }
    }
    try check.run(Array(invocation.operands.dropFirst()))
  } catch {
    console.complain(upper, error.sentence)
  }
  return report.finish(isInterrupted: Interruption.isRequested)
}

/// Does something with the keys of a volume, and puts its failure into words about the volume.
private func ofVolume<Value>(_ work: () throws(KeyFailure) -> Value) throws(Refusal) -> Value {
  do throws(KeyFailure) { return try work() } catch { throw Refusal(error.sentence) }
}

private final class ContentCheck {
  private let console: Console
  private let report: ContentReport
  private let repairs: Bool
  private let trustsOwners: Bool
  /// The upper directory, as it was typed.
  private let typed: Word
  private let upper: UpperDirectory
  private let inspection: VolumeInspection
  private let content: OfflineContent
  /// The one that its encrypted files name.
  private let volume: Bytes16?
  private let keybag: OfflineContent.KeybagState
  private let bookkeeping: FileStatus
  private let records: ContentRecords
  private var hasKey = false
  /// What was found is mended with a keyfile only.
  private var needsKey = false
  private var classes = DirectoryClasses()
  /// No file is in doubt any more, as far as was seen.
  private var allSettled = true

  init(
    _ typed: Word, repairs: Bool, trustsOwners: Bool, _ console: Console, _ report: ContentReport
  ) throws(Refusal) {
    (self.console, self.report, self.typed) = (console, report, typed)
    (self.repairs, self.trustsOwners) = (repairs, trustsOwners)
    let found = try attempt(FollowedPath(typed)) { Refusal($0, at: typed) }
    let isMounted = found.held.descriptor.isOnVolume()
    guard !isMounted, let upper = found.upper, upper.path == found.path else {
      throw Refusal(
        isMounted
          ? "is on a mounted volume; unmount it, and name its upper directory"
          : found.upper.map { "is inside a volume; name its upper directory, \(shown($0.path))" }
            ?? "has no .varve, so it is not the upper directory of a volume; where that was lost, mount it, give an export of its "
            + "keybag to 'varve unlock --keybag', and unmount it before this")
    }
    self.upper = upper
    do {
      let root = SharedDescriptor(try upper.held.descriptor.listing())
      inspection = try VolumeInspection(of: root, for: repairs ? .repairing : .looking)
      try inspection.requireTypes()
      bookkeeping = try inspection.directoryStatus()
      content = try OfflineContent(inspection, root: root)
    } catch let failure as VolumeFailure {
      throw Refusal(failure.message)
    } catch {
      throw Refusal("\(error)")
    }
    switch inspection.use {
    case .nobody: break
    case .mounted, .mountedForReading: throw Refusal("the volume is mounted; unmount it first")
    }
    if case .notForUs(let message) = inspection.header { throw Refusal(message) }
    let content = self.content
    (keybag, volume) = try ofVolume { () throws(KeyFailure) in try content.lookForKeybag() }
    records = ContentRecords(inspection)
  }

  /// What the caller of the daemon would do: the keyfile opens the keybag; whether it did.
  ///
  /// What is wrong with the keyfile is said of that.
  func unlock(_ source: SecretSource, _ passphrase: SecretSource?) -> Bool {
    var subject = typed
    do throws(Refusal) {
      subject = source.word
      let keyfile = try GivenKeyfile(source)
      try keyfile.requireOutside(upper: upper.path)
      let secret = try keyfile.secret(try PassphraseInput.named(passphrase))
      subject = typed
      try unlock(with: secret, of: source)
      return true
    } catch {
      console.complain(subject, error.sentence)
      return false
    }
  }

  private func unlock(with secret: consuming HandedSecret, of source: SecretSource) throws(Refusal) {
    let outcome: Keyring.Unlocking
    do throws(KeyFailure) {
      outcome = try content.unlock(with: secret)
    } catch {
      throw Refusal.keybag(error, source.word, otherwise: error.sentenceUnmounted)
    }
    hasKey = true
    if let sentence = keybagSentence(keybag) {
      report.add("keybag", sentence, keybagPath, outcome.healed ? .repaired : .mendable)
    }
    if outcome.lostSessions {
      report.add(
        "sessions", lostSessionsSentence, sessionsPath, repairs ? .repaired : .mendable)
    }
  }

  private var keybagPath: Word { joined(upper.path, Array(".varve/keybag".utf8)) }
  private var sessionsPath: Word { joined(upper.path, Array(".varve/sessions".utf8)) }

  func run(_ files: [Word]) throws(Refusal) {
    if !hasKey, let sentence = keybagSentence(keybag) {
      report.add("keybag", sentence, keybagPath, keybag == .differing ? .mendable : .stays)
    }
    let content = self.content
    if !hasKey, try ofVolume({ () throws(KeyFailure) in try content.lacksSessionLog() }) {
      report.add("sessions", lostSessionsSentence, sessionsPath, repairs ? .stays : .mendable)
      needsKey = true
    }
    for name in try attempt(inspection.interruptedReplacements()) {
      allSettled = false
      report.add(
        "leftover", "a change of class that a crash interrupted; the next mount continues it",
        joined(upper.path, Array(".varve/".utf8) + name), .harmless)
    }
    var walk = ItemWalk(isRecursive: files.isEmpty, order: .directoryFirst, console)
    walk.staysOnFileSystem = true
    walk.progress = console.progress()
    // What is not seen may be in doubt.
    walk.passingOver = { self.allSettled = false }
    for path in files.isEmpty ? [upper.path] : files where !Interruption.isRequested {
      do throws(Refusal) { if !files.isEmpty { try requireInside(path) } } catch {
        console.complain(path, error.sentence)
        continue
      }
      walk.go(path, leaf: nil) { item in
        guard !item.status.isSame(as: bookkeeping) else { return .past }
        if item.depth > 0, item.status.isMountRoot { allSettled = false }
        guard item.status.kind == .regular else {
          addDirectory(item)
          return .into
        }
        checkFile(item, isDoubted: !files.isEmpty)
        return .into
      }
    }
    if files.isEmpty, !Interruption.isRequested {
      walk.goThroughIndex(of: upper.path) { entry in
        if entry.status.linkCount == 1, entry.status.kind == .regular { checkFile(entry, isDoubted: false) }
      }
    }
    if files.isEmpty { tellBareDirectories(besides: giveClassesBack()) }
    report.tellRemedy(
      repairs ? nil : "varve fsck --repair\(hasKey || needsKey || keybag == .differing ? " --keyfile" : "")")
    report.tellDoubts()
    guard repairs, hasKey else { return }
    let isWhole = files.isEmpty && allSettled && console.failures == 0 && !Interruption.isRequested
    try ofVolume { () throws(KeyFailure) in try content.finish(isWhole: isWhole) }
  }

  private func requireInside(_ path: Word) throws(Refusal) {
    let inside = joined(typed, path)
    let found = try attempt(FollowedPath(path)) { error in
      // Both are named from here.
      error == .noSuchFile && path.first != slash && (try? FollowedPath(inside))?.upper != nil
        ? Refusal("does not exist here; name it as you named the volume: \(shown(inside))")
        : Refusal(error, at: path)
    }
    guard found.upper?.path == upper.path else { throw Refusal("is not below \(shown(typed))") }
  }

  private func checkFile(_ item: VisitedItem, isDoubted: Bool) {
    report.checked += 1
    do throws(Refusal) { try check(item, isDoubted: isDoubted) } catch {
      console.complain(item.path, error.sentence)
    }
  }

  private func check(_ item: VisitedItem, isDoubted: Bool) throws(Refusal) {
    let record = try records.record(of: item)
    if record?.isReplacing == true { return try addHalfReplaced(item) }
    let file = SharedDescriptor(try attempt(item.held.descriptor.reopen([.readOnly, .nonBlocking])))
    let start = try attempt(file.descriptor.read(upTo: SealedHead.length))
    let isMarked = record?.isEncrypted ?? false
    guard let head = SealedHead(start.span, of: volume), volume != nil else {
      if isMarked, item.status.size > 0 { complainAboutHeader(item, start) }
      if !isMarked, item.status.size > 0 { classes.add(nil, item, isLost: false) }
      if item.status.size == 0, volume != nil { addEmpty(item, record) }
      return
    }
    guard head.condition == .readable else {
      // Nobody knows of which class it is, so nothing is given back.
      classes.add(nil, item, isLost: false)
      let finding: HeaderFinding = head.condition == .unknownForm ? .unknownForm : .header
      return report.add("header", headerSentence(finding.rawValue), item.path)
    }
    let isRight = isMarked && record?.protectionClass.rawValue == head.protectionClass.rawValue
    // Others may have planted theirs: then neither the file nor its directory is what it seems to be.
    let mayMark = isMarked || trustsOwners || item.status.user == CurrentProcess.user
    classes.add(mayMark ? head.protectionClass : nil, item, isLost: !isMarked)
    if !isRight {
      let sentence =
        isMarked
        ? "its record has another class than its header, \(head.protectionClass.word)"
        : lostMarkSentence(head.protectionClass.word) + (mayMark ? "" : "; \(owner(of: item))")
      if repairs, mayMark { try records.mark(item, head.protectionClass) }
      report.add("marker", sentence, item.path, !mayMark ? .ofOthers : repairs ? .repaired : .mendable)
    }
    guard hasKey else { return checkForm(item, start) }
    try verify(item, file, isDoubted: isDoubted)
  }

  /// A file whose content was being replaced has bytes of both, and tells nothing of itself or of its directory.
  private func addHalfReplaced(_ item: VisitedItem) throws(Refusal) {
    allSettled = false
    classes.add(nil, item, isLost: false)
    // The new content is told already, and is continued.
    guard try !attempt(inspection.hasNewContent(of: item.held)) else { return }
    report.add(
      "content", "cannot be read: its content was being replaced, and the new content is missing or damaged",
      item.path)
  }

  private func owner(of item: VisitedItem) -> String {
    let user = item.status.user
    return UserDatabase.userName(user).map { "it belongs to \($0)" } ?? "it belongs to the user \(user)"
  }

  /// A file without bytes has no header: its record alone says what it is.
  private func addEmpty(_ item: VisitedItem, _ record: CoreRecord?) {
    guard let record else { return classes.addEmpty(item) }
    if record.isEncrypted, let named = StaticSector.ProtectionClass(rawValue: record.protectionClass.rawValue)
    {
      classes.add(named, item, isLost: false)
    }
  }

  private func complainAboutHeader(_ item: VisitedItem, _ start: [UInt8]) {
    let sentence =
      if SealedHead(start.span, of: nil) == nil {
        "its record says that it is encrypted, and it has no header: its content cannot be read"
      } else if volume == nil {
        "is encrypted, and the volume has no keybag; bring back .varve/keybag, or an export of it"
      } else {
        "belongs to the keybag of another volume; only a volume with that keybag can read it"
      }
    report.add("header", sentence, item.path)
  }

  /// What can be seen without a key.
  private func checkForm(_ item: VisitedItem, _ start: [UInt8]) {
    if item.status.size % UInt64(Page.size) != 0 {
      report.add("header", headerSentence(HeaderFinding.length.rawValue), item.path)
    }
    let sectors = Half.allCases.map {
      start[StaticSector.offset($0)..<StaticSector.offset($0) + StaticSector.size]
    }
    if !sectors[0].elementsEqual(sectors[1]) {
      report.add(
        "header", "the header and its copy are not alike; --keyfile tells which one is right", item.path)
    }
    let slots = Half.allCases.map { start[Slot.offset($0)..<Slot.offset($0) + Slot.size] }
    if slots.contains(where: { (try? Slot(decoding: $0.span)) == nil }) {
      report.add("header", "one of the two records of its size is damaged", item.path)
    }
  }

  private func verify(_ item: VisitedItem, _ file: SharedDescriptor, isDoubted: Bool) throws(Refusal) {
    var findings = try findings(file, isDoubted: isDoubted)
    let mendable: Set<HeaderFinding> = [.firstHeader, .headerCopy, .headersDiffer]
    // A file whose end is cut off takes no change, and none makes it better.
    let mayChange = findings.header.isDisjoint(with: [.header, .unknownForm, .slots, .slot, .shortened])
    if repairs, mayChange, findings.isDoubtful || !findings.header.isDisjoint(with: mendable) {
      try attempt(inspection.requireLock())
      try attempt(content.mend(file, isDoubted: isDoubted))
      if findings.isDoubtful {
        report.add(
          "doubt", "its writing did not end, as far as is known; what was not synced is as it was before",
          item.path, .harmless)
      }
      for word in findings.header.intersection(mendable).map(\.rawValue).sorted() {
        report.add("header", headerSentence(word), item.path, .repaired)
      }
      findings = try self.findings(file, isDoubted: false)
    } else if findings.isDoubtful {
      allSettled = false
      // Of a file that was named only the caller says that it is in doubt.
      if !isDoubted { report.doubtful += 1 }
    }
    for finding in findings.header.sorted(by: { $0.rawValue < $1.rawValue }) {
      let canBeMended = mayChange && mendable.contains(finding)
      report.add(
        "header", headerSentence(finding.rawValue), item.path,
        canBeMended ? .mendable : finding.isDamage ? .stays : .harmless)
    }
    for run in findings.runs {
      let range = ContentRange(
        kind: run.kind.word, offset: run.blocks.lowerBound * UInt64(Block.size),
        length: UInt64(run.blocks.count) * UInt64(Block.size))
      report.add("content", range.sentence, item.path, run.kind.isDamage ? .stays : .harmless)
    }
    for kind in ContentFindings.Kind.allCases {
      let named = findings.runs.filter { $0.kind == kind }.reduce(0) { $0 + UInt64($1.blocks.count) }
      guard findings.count(kind) > named else { continue }
      report.add(
        "content", ContentRange.further(findings.count(kind) - named, kind.word), item.path,
        kind.isDamage ? .stays : .harmless)
    }
  }

  private func findings(_ file: SharedDescriptor, isDoubted: Bool) throws(Refusal) -> ContentFindings {
    try attempt(content.verify(file, isDoubted: isDoubted) { Interruption.isRequested })
  }

  private func addDirectory(_ item: VisitedItem) {
    guard item.status.kind == .directory, item.depth > 0, volume != nil else { return }
    // What is wrong with a record is told by `varve check`.
    if let hasNone = try? records.record(of: item) == nil, hasNone { classes.addBare(item) }
  }

  /// Of directories without a record that hold nothing which would tell their class.
  private func tellBareDirectories(besides lost: [Word: StaticSector.ProtectionClass]) {
    for directory in classes.bare where lost[directory] == nil && !Interruption.isRequested {
      guard let end = directory.lastIndex(of: slash) else { continue }
      let above = Word(directory[..<end])
      guard let protection = (try? records.protectionClass(of: above)) ?? lost[above] else { continue }
      report.add(
        "class",
        "has none, and the directory that it is in is \(protection.word): new files are not encrypted; 'varve protect' gives "
          + "it one", directory, .harmless)
    }
  }

  /// Answers which were lost.
  private func giveClassesBack() -> [Word: StaticSector.ProtectionClass] {
    var given: [Word: StaticSector.ProtectionClass] = [:]
    for lost in classes.lost where !Interruption.isRequested {
      do throws(Refusal) {
        // One without a file of its own has lost its class only if it has lost all that it said.
        let directory = lost.directory
        guard try lost.holdsFiles ? records.needsClass(directory) : records.hasNone(directory) else {
          continue
        }
        given[directory] = lost.protection
        if repairs { try records.giveClass(directory, lost.protection) }
        report.add(
          "class",
          "all \(lost.holdsFiles ? "its files" : "files below it") are \(lost.protection.word), and new ones would not "
            + "be encrypted", directory, repairs ? .repaired : .mendable)
        for file in lost.empty where !Interruption.isRequested { try giveClassBack(file, of: lost) }
      } catch {
        console.complain(lost.directory, error.sentence)
      }
    }
    return given
  }

  /// Of a file without bytes, which has lost it with all that it said.
  private func giveClassBack(_ file: Word, of lost: DirectoryClasses.Lost) throws(Refusal) {
    if repairs { try records.markEmpty(file, lost.protection) }
    report.add(
      "marker",
      "is empty, and what is written to it would not be encrypted, as all files "
        + "\(lost.holdsFiles ? "beside it" : "below its directory") are", file,
      repairs ? .repaired : .mendable)
  }
}
