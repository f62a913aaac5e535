// `varve find`: items of trees by flag, by entry of their lists, by class, or by what a user may do with them.
//
// Found paths are printed as they are found: only what waits for an answer of the daemon is held, and of that the paths.

import AccessControl
import Arguments
import FlagRules
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

func findItems(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let test = try ItemTest(invocation)
  let permissions = try invocation.values(.canDo).map { word throws(UsageError) in
    try AskedPermission(word, invocation)
  }
  guard !test.isEmpty || !permissions.isEmpty else {
    throw UsageError("one of --flags, --locked, --entry, --class and --can is missing", verb: invocation.verb)
  }
  let output = FoundItems(invocation, console)
  for path in try PathOperands(invocation.operands[...], invocation).named where !Interruption.isRequested {
    var walk = ItemWalk.ofLists(isRecursive: true, console)
    walk.actsOnLinks = true
    let asker = PermissionAsker(permissions, output, console)
    walk.go(path, leaf: nil) { item in
      do throws(Refusal) {
        if let found = try test.find(item) {
          if permissions.isEmpty { output.add(found) } else { try asker.add(item, found) }
        }
        return .into
      } catch {
        console.complain(item.path, error.sentence)
        // The walk stays on one file system.
        return error.isAboutVolume ? .past : .into
      }
    }
    asker.ask()
  }
  output.end()
  return console.finish()
}

/// An item that is printed.
struct FoundItem {
  let path: [UInt8]
  let kind: FileKind
  /// Nil if no condition is about flags: then they are not read.
  let flags: FileFlags?
}

/// Prints what is found, in the order of the walk.
final class FoundItems {
  private let console: Console
  private let json: JSONStream?
  private let endsWithNul: Bool

  init(_ invocation: Invocation, _ console: Console) {
    self.console = console
    json = invocation.has(.json) ? JSONStream(nil, console) : nil
    endsWithNul = invocation.has(.endWithNul)
  }

  func add(_ item: FoundItem) {
    if let json {
      var members = JSON.nameMembers("path", item.path) + [JSON.Member("kind", .string("\(item.kind)"))]
      if let flags = item.flags { members.add("flags", .array(flags.keywords.map { .string($0) })) }
      json.add(members)
    } else if endsWithNul {
      console.print(item.path + [0])
    } else {
      console.printPath(item.path, "")
    }
  }

  func end() { json?.end() }
}

/// What an item shows of itself: its flags, its list and its class.
private struct ItemTest {
  /// An item has the flags that an instruction would not change.
  private var flags: [FileFlags.Instruction] = []
  private let isLocked: Bool
  private var identities: [Identity] = []
  /// A class, or `any`: an item has but one, so several conditions are met by none.
  private var classes: [String] = []

  var isEmpty: Bool { flags.isEmpty && !isLocked && identities.isEmpty && classes.isEmpty }

  init(_ invocation: Invocation) throws(UsageError) {
    isLocked = invocation.has(.lockedToFind)
    for word in invocation.values(.flagsToFind) {
      do throws(FileFlags.UnknownWord) {
        flags.append(try FileFlags.instruction(String(decoding: word, as: UTF8.self)))
      } catch {
        let words = Verb.flagWords.map { $0 == "nodump" ? "nodump, dump" : $0 }.joined(separator: ", ")
        let hint = suggestion(for: error.word, among: Verb.typedFlagWords)
        throw invocation.mistake(
          "there is no flag '\(error.word)'" + (hint.isEmpty ? "; the flags are \(words)" : hint))
      }
    }
    for word in invocation.values(.identityToFind) {
      do throws(ParseFailure) {
        identities.append(
          try AccessListText.readIdentity(String(decoding: word, as: UTF8.self), names: .machine))
      } catch {
        throw invocation.mistake(error.sentence)
      }
    }
    for word in invocation.values(.classToFind) {
      classes.append(word == Word("any".utf8) ? "any" : try classNamed(word, for: invocation.verb))
    }
  }

  /// Nil if the item does not meet all conditions.
  func find(_ item: VisitedItem) throws(Refusal) -> FoundItem? {
    var standing: FileFlags?
    if isLocked || !flags.isEmpty {
      do throws(Errno) { standing = try item.held.descriptor.fileFlags() } catch {
        throw Refusal.reading(error, item.held.descriptor)
      }
      guard let found = standing else { throw Refusal(.unsupported) }
      guard flags.allSatisfy({ $0.applied(to: found) == found }) else { return nil }
      guard !isLocked || found.areLocking else { return nil }
    }
    guard try isOfClasses(item), try isNamed(by: item) else { return nil }
    return FoundItem(path: item.path, kind: item.status.kind, flags: standing)
  }

  private func isNamed(by item: VisitedItem) throws(Refusal) -> Bool {
    guard !identities.isEmpty, item.status.kind != .symbolicLink else { return identities.isEmpty }
    let entries = try item.held.descriptor.accessList()?.entries ?? []
    return identities.allSatisfy { identity in entries.contains { $0.identity == identity } }
  }

  private func isOfClasses(_ item: VisitedItem) throws(Refusal) -> Bool {
    guard !classes.isEmpty else { return true }
    // Nothing else is encrypted.
    guard item.status.kind == .regular || item.status.kind == .directory else { return false }
    let found: String
    do throws(Errno) { found = try item.held.descriptor.protectionWord() ?? "none" } catch {
      throw Refusal.reading(error, item.held.descriptor)
    }
    return classes.allSatisfy { $0 == found || $0 == "any" && found != "none" }
  }
}
