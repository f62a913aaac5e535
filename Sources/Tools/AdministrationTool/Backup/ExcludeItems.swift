// `varve exclude`: what backups leave out.
//
// For users of backup programs, each of which has a mark or a list of its own: one verb sets and shows them all
// (`ExcludeVerbTests`).

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms

func excludeItems(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let forms: [Option] = [.includeAgain, .checkExcluded, .listExcluded]
  let given = forms.filter { invocation.has($0) }
  guard given.count <= 1 else {
    throw UsageError("--remove, --check and --list do not go together", verb: "exclude")
  }
  let isChange = given.isEmpty || given == [.includeAgain]
  guard isChange || !invocation.has(.cacheTag) else {
    throw UsageError("--tag is for setting and removing marks", verb: "exclude")
  }
  guard given == [.listExcluded] || !invocation.has(.endedByNull) else {
    throw UsageError("-0 needs --list", verb: "exclude")
  }
  guard !isChange || !invocation.has(.json) else {
    throw UsageError("--json needs --check or --list", verb: "exclude")
  }
  let console = Console(invocation)
  switch given.first {
  case .some(.checkExcluded): return checkExclusion(invocation, console)
  case .some(.listExcluded): return listExcluded(invocation, console)
  default: break
  }
  console.surviveOutputLoss()
  for path in invocation.operands where !Interruption.isRequested {
    do throws(Refusal) {
      // A view takes no names, and a tag is one.
      let (held, kind) = try heldItem(ordinaryPath(path))
      var change = ExclusionChange(path, held, kind)
      let marks =
        given.isEmpty
        ? try change.set(withTag: invocation.has(.cacheTag))
        : try change.remove(withTag: invocation.has(.cacheTag))
      if invocation.has(.listChanged), !marks.isEmpty {
        let verb = given.isEmpty ? "set" : "removed"
        console.printPath(path, ": \(verb) \(marks.names.joined(separator: ", "))")
      }
      if !given.isEmpty { try noteOtherReasons(path, held, kind, console) }
    } catch {
      console.complain(path, error.sentence)
    }
  }
  return console.finish()
}

/// The item that a path names, a link itself.
private func heldItem(_ path: Word) throws(Refusal) -> (held: SharedDescriptor, kind: FileKind) {
  do throws(Errno) {
    let held = SharedDescriptor(try Descriptor.item(atPath: path, .held))
    return (held, try held.descriptor.knownStatus().kind)
  } catch {
    throw Refusal(error, at: path)
  }
}

/// Says what excludes an item all the same.
private func noteOtherReasons(
  _ path: Word, _ held: SharedDescriptor, _ kind: FileKind, _ console: Console
) throws(Refusal) {
  guard !console.isQuiet, let found = try attempt(Exclusion.effective(of: held, kind)) else { return }
  if found.isOwn {
    console.note(path, "its CACHEDIR.TAG was made by another program and still excludes it; --tag removes it")
  } else {
    console.note(path, "still excluded by \(shown(found.path)): \(found.marks.names.joined(separator: ", "))")
  }
}

/// Why an item is excluded.
private struct Exclusion {
  /// The item with the marks: the one that was asked about, or the nearest directory above it.
  let path: [UInt8]
  let isOwn: Bool
  let marks: ExclusionMarks

  /// Nil if neither the item nor a directory above it on its volume has a mark.
  static func effective(of held: SharedDescriptor, _ kind: FileKind) throws(Errno) -> Exclusion? {
    var path = try held.descriptor.heldPath()
    let marks = try held.descriptor.exclusionMarks(kind)
    if !marks.isEmpty { return Exclusion(path: path, isOwn: true, marks: marks) }
    let device = try held.descriptor.knownStatus().device
    while let end = path.lastIndex(of: slash), end > 0 {
      path.removeSubrange(end...)
      let above = try Descriptor.item(atPath: path, .held)
      let status = try above.knownStatus()
      guard status.device == device else { break }
      do throws(Errno) {
        let marks = try above.exclusionMarks(status.kind)
        if !marks.isEmpty { return Exclusion(path: path, isOwn: false, marks: marks) }
      } catch {
        // The directories above the root of a view have no marks.
        guard error == .notPermitted || error == .noData || error == .unsupported else { throw error }
      }
    }
    return nil
  }
}

private func checkExclusion(_ invocation: Invocation, _ console: Console) -> Int32 {
  var areAllExcluded = true
  var objects: [JSON] = []
  for path in invocation.operands where !Interruption.isRequested {
    do throws(Refusal) {
      let (held, kind) = try heldItem(path)
      let found = try attempt(Exclusion.effective(of: held, kind))
      areAllExcluded = areAllExcluded && found != nil
      guard !invocation.has(.json) else {
        var members = JSON.nameMembers("path", path) + [JSON.Member("excluded", .bool(found != nil))]
        if let found {
          members += JSON.nameMembers("by", found.path) + [marksMember(found.marks)]
        }
        objects.append(.object(members))
        continue
      }
      guard !console.isQuiet else { continue }
      guard let found else {
        console.printPath(path, ": not excluded")
        continue
      }
      let by = found.isOwn ? "" : " by \(shown(found.path))"
      console.printPath(path, ": excluded\(by): \(found.marks.names.joined(separator: ", "))")
    } catch {
      console.complain(path, error.sentence)
    }
  }
  if invocation.has(.json) { console.print(JSON.array(objects).indentedText() + "\n") }
  return console.finish() == 0 ? (areAllExcluded ? 0 : 1) : 2
}

private func marksMember(_ marks: ExclusionMarks) -> JSON.Member {
  JSON.Member("marks", .array(marks.names.map { .string($0) }))
}

/// Lists what has marks, for the lists of patterns that rsync and tar read; nothing below what has one.
private func listExcluded(_ invocation: Invocation, _ console: Console) -> Int32 {
  var walk = ItemWalk(isRecursive: true, order: .directoryFirst, console)
  walk.links = .named
  walk.actsOnLinks = true
  walk.staysOnFileSystem = true
  let json = invocation.has(.json) ? JSONStream(nil, console) : nil
  for root in invocation.operands where !Interruption.isRequested {
    // A backup is made of the ordinary tree.
    let ordinary = ordinaryPath(root)
    if ordinary != root, !console.isQuiet {
      console.note(root, "the list is for a copy of \(shown(ordinary)), whose names a view translates")
    }
    walk.go(ordinary, leaf: nil) { item in
      let marks: ExclusionMarks
      do throws(Errno) { marks = try item.held.descriptor.exclusionMarks(item.status.kind) } catch {
        console.complain(item.path, Refusal(error, at: item.path).sentence)
        return item.depth == 0 ? .past : .into
      }
      guard !marks.isEmpty else { return .into }
      let path = item.location.relative
      guard !path.isEmpty else {
        console.note(item.path, "is itself excluded: \(marks.names.joined(separator: ", "))")
        return .into
      }
      if let json {
        json.add(JSON.nameMembers("path", path) + [marksMember(marks)])
      } else if invocation.has(.endedByNull) {
        console.print(ExcludePattern.rsync(path, endsWithNull: true) + [0])
      } else {
        console.print(ExcludePattern.rsync(path, endsWithNull: false) + [0x0A])
        console.print(ExcludePattern.tar(path) + [0x0A])
      }
      return .past
    }
  }
  json?.end()
  return console.finish()
}
