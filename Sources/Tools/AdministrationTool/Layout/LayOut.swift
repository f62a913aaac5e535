// `varve layout home` and `varve layout volume`: the standard directories, with their modes, lists and flags.
//
// What is missing is made. What is there keeps its content always, and everything else unless --repair is given. Nothing is
// made where something is not permitted (`LayoutRights`).
//
// For administrators who set up homes and shared volumes: one run makes all of it, and a second one says what is different
// by now (`LayoutVerbTests`).

import AccessControl
import Arguments
import FlagRules
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

func layOutHome(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let owner = try invocation.values(.homeOwner).last.map { (word) throws(UsageError) in
    try homeOwner(word, invocation)
  }
  let run = LayoutRun(invocation)
  run.go(LayoutRow.home(withEverything: invocation.has(.everyDirectory))) { status in
    owner ?? status.map { LayoutOwner(user: $0.user, group: $0.group) }
  }
  if invocation.has(.userDirectories) { run.writeUserDirectories() }
  return run.finish()
}

func layOutVolume(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let group = try invocation.values(.administrators).last.map { (word) throws(UsageError) in
    try administrators(word, invocation)
  }
  let run = LayoutRun(invocation, administrators: group ?? knownAdministrators(invocation.operands[0]))
  run.go(LayoutRow.volume) { _ in LayoutOwner(user: 0, group: 0) }
  return run.finish()
}

/// A user, and the group that the account has.
private func homeOwner(_ word: Word, _ invocation: Invocation) throws(UsageError) -> LayoutOwner {
  let name = String(decoding: word, as: UTF8.self)
  let isNumber = !name.isEmpty && name.allSatisfy { $0.isASCII && $0.isWholeNumber }
  guard let user = isNumber ? UInt32(name) : NameBook.machine.user(name) else {
    throw invocation.mistake("there is no user '\(name)'")
  }
  guard let group = UserDatabase.groups(ofUser: user)?.first else {
    throw invocation.mistake("user \(name) has no account, and so no group")
  }
  return LayoutOwner(user: user, group: group)
}

private func administrators(_ word: Word, _ invocation: Invocation) throws(UsageError) -> UInt32 {
  let name = String(decoding: word, as: UTF8.self)
  let isNumber = !name.isEmpty && name.allSatisfy { $0.isASCII && $0.isWholeNumber }
  guard let group = isNumber ? UInt32(name) : NameBook.machine.group(name) else {
    throw invocation.mistake("there is no group '\(name)'")
  }
  return group
}

/// The administrators that the volume knows; nil if it knows none or does not tell.
private func knownAdministrators(_ path: Word) -> UInt32? {
  // Without them Applications belongs to root alone, which is said.
  guard let table = try? volumeTable(), let volume = try? VolumePath(path, table).mount,
    let status = try? volumeStatus(volume), let group = status["adminGroup"]?.integer
  else { return nil }
  return UInt32(exactly: group)
}

/// One run of such a verb.
private final class LayoutRun {
  private let console: Console
  private let root: Word
  private let isDryRun: Bool
  private let repairs: Bool
  private let administrators: UInt32?
  private let json: JSONStream?
  private var owner: LayoutOwner?
  /// Whether the directory was empty or was made: then it is laid out like any other that is made.
  private var isFresh = false

  init(_ invocation: Invocation, administrators: UInt32? = nil) {
    console = Console(invocation)
    root = LayoutRun.realPath(invocation.operands[0])
    isDryRun = invocation.has(.dryRun)
    repairs = invocation.has(.mendLayout)
    self.administrators = administrators
    json = invocation.has(.json) ? JSONStream("changes", console) : nil
    if !isDryRun { console.surviveOutputLoss() }
  }

  func finish() -> Int32 {
    json?.end([
      JSON.Member("dryRun", .bool(isDryRun)), JSON.Member("failed", .number(console.failures)),
    ])
    return console.finish()
  }

  /// `owner` says whose everything is, of the directory as it is.
  func go(_ rows: [LayoutRow], _ owner: (FileStatus?) -> LayoutOwner?) {
    do throws(Refusal) {
      let status = try lookAtRoot()
      guard let owner = owner(status) else {
        throw Refusal("does not exist; with --user it is made (ENOENT)")
      }
      if status == nil { try requirePlace(rows) }
      let isPermitted = isPermitted(rows, owner)
      if !isPermitted, !isDryRun {
        if !console.isQuiet { console.note(root, "nothing was made or changed") }
        return
      }
      self.owner = owner
      for row in rows where !Interruption.isRequested {
        // The others do not depend on it, unless they are below it, which they find out.
        do throws(Refusal) { try settle(row, owner) } catch {
          console.complain(path(row.path), error.sentence)
        }
      }
    } catch {
      console.complain(root, error.sentence)
    }
  }

  /// Refuses at once what every row would end with: a directory that is not there and that no row makes, or cannot be made.
  private func requirePlace(_ rows: [LayoutRow]) throws(Refusal) {
    guard rows.contains(where: \.path.isEmpty) else {
      throw Refusal("does not exist; make it first (ENOENT)")
    }
    _ = try above("")
  }

  /// Nil if it is not there yet.
  private func lookAtRoot() throws(Refusal) -> FileStatus? {
    do throws(Errno) {
      let held = try Descriptor.item(atPath: root, .followed)
      let status = try held.knownStatus()
      guard status.kind == .directory else { throw .notDirectory }
      guard held.isOnVolume() else { throw .unsupported }
      var page = EntryBuffer()
      let listing = try held.listing()
      isFresh = true
      while isFresh, try listing.readEntries(into: &page) > 0 {
        while let entry = try page.next() {
          if entry.role == .child || entry.role == .unusable { isFresh = false }
        }
      }
      return status
    } catch .noSuchFile {
      isFresh = true
      return nil
    } catch {
      throw Refusal(error, at: root)
    }
  }

  private func path(_ below: String) -> [UInt8] {
    below.isEmpty ? root : joined(root, Array(below.utf8))
  }

  /// What a row says of what is there, or is to be made.
  private struct Demand {
    /// Nil: it is to be made.
    var found: SharedDescriptor?
    var steps: [LayoutStep]
    /// Whether what is there already may change.
    var isAsked = true
  }

  /// Nil where nothing is to be done.
  private func demand(_ row: LayoutRow, _ owner: LayoutOwner) throws(Refusal) -> Demand? {
    var owner = owner
    if row.isOfAdministrators, let administrators {
      owner = LayoutOwner(user: owner.user, group: administrators)
    }
    let found = try hold(row.path)
    if row.isOnlyHidden { return found.map { Demand(found: $0, steps: [.flags(row.flags)]) } }
    var steps = try LayoutStep.steps(of: row, owner)
    guard let found else { return Demand(steps: steps) }
    // Nobody said which group it is.
    if row.isOfAdministrators, administrators == nil { steps.removeFirst() }
    guard try attempt(found.descriptor.knownStatus()).kind == .directory else {
      throw Refusal("is not a directory; left alone")
    }
    return Demand(found: found, steps: steps, isAsked: repairs || isFresh && row.path.isEmpty)
  }

  /// Complains about what the caller is not permitted; nothing is made before.
  private func isPermitted(_ rows: [LayoutRow], _ owner: LayoutOwner) -> Bool {
    let rights = LayoutRights(console, root: root)
    for row in rows {
      // What is wrong with a row itself is told when its turn comes, and keeps no other from being made.
      do throws(Refusal) {
        guard let demand = try demand(row, owner) else { continue }
        if let found = demand.found {
          let status = try attempt(found.descriptor.status())
          guard demand.isAsked else { continue }
          var missing: [LayoutStep] = []
          for step in demand.steps where try !step.isDone(found.descriptor, status) { missing.append(step) }
          try rights.change(path(row.path), found, missing)
        } else {
          rights.make(row.path.isEmpty ? PathText.escaped(root) : row.path, demand.steps)
          let (above, abovePath) = try above(row.path)
          if let above { rights.make(path(row.path), isDirectory: true, in: above, at: abovePath) }
        }
      } catch {}
    }
    return rights.settle()
  }

  /// Makes what a row says of what is there.
  private func settle(_ row: LayoutRow, _ owner: LayoutOwner) throws(Refusal) {
    guard let demand = try demand(row, owner) else { return }
    let path = path(row.path)
    if let found = demand.found {
      return try perform(demand.steps, on: path, found, isMade: false, isAsked: demand.isAsked)
    }
    guard !isDryRun else { return tell(path, ["made"] + demand.steps.map(\.text)) }
    try perform(demand.steps, on: path, try make(row.path), isMade: true, isAsked: true)
  }

  /// `isAsked`: whether what is there already may change.
  private func perform(
    _ steps: [LayoutStep], on path: [UInt8], _ held: SharedDescriptor, isMade: Bool, isAsked: Bool
  ) throws(Refusal) {
    let status = try attempt(held.descriptor.status())
    var changes = isMade ? ["made"] : []
    var differences: [String] = []
    // What was done before a step failed is done, and told.
    defer { if !changes.isEmpty { tell(path, changes) } }
    for step in steps {
      guard try !step.isDone(held.descriptor, status) else {
        // Of what is new everything is told.
        if isMade { changes.append(step.text) }
        continue
      }
      guard isAsked else {
        differences.append(step.text)
        continue
      }
      if !isDryRun { try step.perform(on: path, held) }
      changes.append(step.text)
    }
    if !differences.isEmpty, !console.isQuiet {
      console.note(
        path,
        "is there already and is left as it is; --repair would change: \(differences.joined(separator: "; "))"
      )
    }
  }

  private func tell(_ path: [UInt8], _ changes: [String]) {
    if let json {
      json.add(JSON.nameMembers("path", path) + [JSON.Member("changes", .array(changes.map { .string($0) }))])
    } else if !console.isQuiet {
      console.printPath(path, ": \(changes.joined(separator: "; "))")
    }
  }

  // MARK: - Directories

  /// What is at a path below the root, never through a link; nil if it is not there.
  private func hold(_ below: String) throws(Refusal) -> SharedDescriptor? {
    do throws(Errno) {
      var held = SharedDescriptor(try Descriptor.item(atPath: root, .followed))
      for name in below.split(separator: "/") {
        guard try held.descriptor.knownStatus().kind == .directory else { throw .notDirectory }
        held = SharedDescriptor(try held.descriptor.item(named: Array(name.utf8), .held))
      }
      return held
    } catch .noSuchFile {
      return nil
    } catch {
      throw Refusal(error, at: path(below))
    }
  }

  /// The directory that something is in, and its path; nil if it is not there either.
  private func above(_ below: String) throws(Refusal) -> (SharedDescriptor?, [UInt8]) {
    guard below.isEmpty else {
      let names = below.split(separator: "/").dropLast().joined(separator: "/")
      return (try hold(names), path(names))
    }
    // Of the root itself it is where that was typed.
    let cut = LayoutRun.withoutLastName(root)
    let held = try attempt(Descriptor.item(atPath: cut, .followed)) { Refusal($0, at: root) }
    return (SharedDescriptor(held), cut)
  }

  private func make(_ below: String) throws(Refusal) -> SharedDescriptor {
    let full = path(below)
    let name = below.isEmpty ? LayoutRun.lastName(root) : Array((below.split(separator: "/").last ?? "").utf8)
    let (above, _) = try above(below)
    guard let above else { throw Refusal("its directory does not exist (ENOENT)") }
    guard above.descriptor.isOnVolume() else { throw Refusal(.unsupported) }
    do throws(Errno) {
      try FileName.with(name) { name throws(Errno) in
        // Nobody else looks in before it has its list.
        try above.descriptor.makeDirectory(name, mode: 0o700)
      }
      return SharedDescriptor(try above.descriptor.item(named: name, .held))
    } catch {
      throw Refusal.change(error, full, above.descriptor, needs: "add_subdirectory")
    }
  }

  /// Directories are made under their real names, as a view takes none.
  private static func realPath(_ typed: Word) -> Word {
    let path = ordinaryPath(typed)
    guard path == typed else { return path }
    // What is to be made is in no view yet.
    let above = withoutLastName(typed)
    let real = ordinaryPath(above)
    return real == above ? typed : joined(real, lastName(typed))
  }

  private static func lastName(_ path: Word) -> [UInt8] {
    path.split(separator: slash).last.map { Array($0) } ?? []
  }

  private static func withoutLastName(_ path: Word) -> Word {
    let start: Word = path.first == slash ? [slash] : [UInt8(ascii: ".")]
    return path.split(separator: slash).dropLast().reduce(start) { joined($0, Array($1)) }
  }

  // MARK: - user-dirs.dirs

  /// Tells programs of freedesktop where these directories are.
  func writeUserDirectories() {
    guard let owner else { return }
    let folder = LayoutRow(UserDirectories.folder, 0o700)
    let file = path("\(UserDirectories.folder)/\(UserDirectories.name)")
    do throws(Refusal) {
      if try hold(folder.path) == nil { try settle(folder, owner) }
      guard let held = try hold(folder.path) else {
        // Only a dry run gets here.
        return tell(file, ["made"])
      }
      if let found = try self.hold("\(folder.path)/\(UserDirectories.name)") {
        let isOurs = try attempt(isOurs(found.descriptor))
        if !isOurs, !console.isQuiet { console.note(file, "is there already and is left as it is") }
        return
      }
      if !isDryRun {
        do throws(Errno) { try write(UserDirectories.text, in: held.descriptor, owner) } catch {
          throw Refusal.change(error, file, held.descriptor, needs: "add_file")
        }
      }
      tell(file, ["made"])
    } catch {
      console.complain(file, error.sentence)
    }
  }

  private func isOurs(_ file: borrowing Descriptor) throws(Errno) -> Bool {
    guard try file.knownStatus().kind == .regular else { return false }
    return try file.reopen(.readOnly).read(upTo: UserDirectories.text.count + 1) == UserDirectories.text
  }

  private func write(
    _ text: [UInt8], in directory: borrowing Descriptor, _ owner: LayoutOwner
  ) throws(Errno) {
    try FileName.with(Array(UserDirectories.name.utf8)) { name throws(Errno) in
      let file = try directory.createFile(name, mode: 0o600)
      do throws(Errno) {
        try file.writeAll(text, at: 0)
        if try file.status().user != owner.user { try file.changeOwner(user: owner.user, group: owner.group) }
      } catch {
        // Half a file would be believed; the first error is the one to tell.
        try? directory.removeFile(name)
        throw error
      }
    }
  }
}
