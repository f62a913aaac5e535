// `varve acl set`, `explicit`, `strip`, `copy` and `sort`: one rule for every item that is named.

import AccessControl
import AccessForms
import Arguments
import LinuxFiles
import LinuxPrograms

func changeLists(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let isCopy = invocation.verb == "acl copy"
  let paths = try PathOperands(invocation, from: isCopy ? 1 : 0)
  let rule = try rule(invocation)
  let changer = try ListChanger(invocation, console)
  let run = ListRun(changer)
  paths.forEach(console) { path in
    run.go(path, isRecursive: invocation.has(.recursive), by: rule)
  }
  return changer.finish()
}

private func rule(_ invocation: Invocation) throws(UsageError) -> ListRule {
  switch invocation.verb {
  case "acl set": return try replacement(invocation)
  case "acl copy": return try copy(invocation)
  case "acl strip":
    guard invocation.has(.onlyInherited) else {
      return ListRule(replacesDamage: true) { list, _ in list == nil ? .unchanged : .store(nil) }
    }
    return ListRule { list, _ in
      guard let list, list.entries.contains(where: \.isInherited) else { return .unchanged }
      return .store(list.withoutInherited)
    }
  case "acl explicit":
    let marks = invocation.has(.markNoInherit)
    return ListRule { list, _ in
      var new = list?.withEverythingExplicit ?? AccessList()
      if marks { new.flags.insert(.noInherit) }
      return new.unlessVoid == list ? .unchanged : .store(new)
    }
  default:
    return ListRule { list, _ in
      guard let list else { return .unchanged }
      let sorted = list.canonicallySorted()
      return sorted == list ? .unchanged : .store(sorted)
    }
  }
}

// MARK: - set

private func replacement(_ invocation: Invocation) throws(UsageError) -> ListRule {
  let format = try listFormat(invocation)
  let entries = invocation.values(.entry)
  let files = invocation.values(.listFile)
  guard entries.isEmpty != files.isEmpty, files.count < 2 else {
    throw UsageError(
      "give the new list either with -e ENTRY, once for each entry, or with -F FILE", verb: invocation.verb)
  }
  var list = AccessList()
  do throws(FormatFailure) {
    for entry in entries {
      list.entries.append(try format.entry(String(decoding: entry, as: UTF8.self), names: .machine))
    }
    if let file = files.first {
      let text = try listText(of: file)
      try requireOneList(text)
      list = try format.list(text, names: .machine)
    }
  } catch {
    let prefix = files.first.map { "\(shown($0)): " } ?? ""
    let words = entries.map { String(decoding: $0, as: UTF8.self) }
    let advice = format == .macos ? words.map(adviceOnPosixEntry).first { !$0.isEmpty } : nil
    throw invocation.mistake("\(prefix)\(error.sentence)\(advice ?? "")")
  }
  guard list.entries.count <= AccessList.entryLimit else {
    throw invocation.mistake("an access list holds at most \(AccessList.entryLimit) entries")
  }
  let new = list.unlessVoid
  return ListRule(replacesDamage: true) { before, _ in before == new ? .unchanged : .store(new) }
}

/// Refuses what `acl get` and its like print of several items: it would become one list of all their entries.
private func requireOneList(_ text: [UInt8]) throws(FormatFailure) {
  let heads = text.split(separator: UInt8(ascii: "\n")).filter { $0.starts(with: "# file:".utf8) }
  guard heads.count < 2 else {
    throw FormatFailure(
      "it holds the lists of \(heads.count) items; 'varve acl dump' and 'varve acl restore' keep the lists of many"
    )
  }
}

/// The notation the options name.
func listFormat(_ invocation: Invocation) throws(UsageError) -> ListFormat {
  guard let word = invocation.values(.format).last else { return .macos }
  let name = String(decoding: word, as: UTF8.self)
  guard let format = ListFormat(rawValue: name) else {
    throw invocation.mistake("'\(name)' is not a format: macos, nfs4, zfs and json are")
  }
  return format
}

/// Far more than 128 entries need.
private let inputLimit = 1 << 20

/// The text of a list from a file, or from standard input for `-`.
func listText(of path: Word) throws(FormatFailure) -> [UInt8] {
  do throws(Errno) {
    let bytes =
      try path == Word("-".utf8)
      ? StandardStream.input.readToEnd(limit: inputLimit + 1)
      : Descriptor.reading(path).readToEnd(limit: inputLimit + 1)
    guard bytes.count <= inputLimit else { throw .tooBig }
    return bytes
  } catch {
    throw FormatFailure("\(error)\(error.advice(about: path))")
  }
}

// MARK: - copy

private func copy(_ invocation: Invocation) throws(UsageError) -> ListRule {
  let source = invocation.operands[0]
  let list: AccessList?
  do throws(Refusal) {
    let held = try attempt(Descriptor.item(atPath: source, .followed)) { Refusal($0, at: source) }
    list = try held.accessList()
  } catch {
    throw invocation.mistake("\(shown(source)): \(error.sentence)")
  }
  if invocation.has(.whole) {
    return ListRule(replacesDamage: true) { before, kind in
      let new = list.flatMap { fitted($0, to: kind) }
      return before == new ? .unchanged : .store(new)
    }
  }
  let explicit = list?.withoutInherited
  return ListRule { before, kind in
    let copied = explicit.flatMap { fitted($0, to: kind) }?.entries ?? []
    let inherited = before?.entries.filter(\.isInherited) ?? []
    guard copied.count + inherited.count <= AccessList.entryLimit else {
      return .refused("\(EditFailure.tooManyEntries)")
    }
    let new = AccessList(copied + inherited, flags: before?.flags ?? []).unlessVoid
    return before == new ? .unchanged : .store(new)
  }
}

/// A list as an item of this kind can use it: nothing is ever made in a file.
private func fitted(_ list: AccessList, to kind: ObjectKind) -> AccessList? {
  guard kind == .file else { return list }
  let entries = list.entries.compactMap { entry -> AccessEntry? in
    guard !entry.inheritance.contains(.onlyInherit) else { return nil }
    var entry = entry
    entry.inheritance.subtract(.propagation)
    return entry
  }
  return AccessList(entries, flags: list.flags).unlessVoid
}
