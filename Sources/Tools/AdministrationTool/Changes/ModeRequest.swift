// What the words after `varve chmod` ask for. Everything is understood before a file is touched.

import AccessControl
import AccessForms
import Arguments
import LinuxFiles
import LinuxPrograms
import TextForms

/// One change, and the files it is for.
struct ModeRequest {
  enum Action {
    case mode(FileModeChange)
    case edit(AccessListEdit)
    case checkOrder

    /// Whether it changes what it has changed already, where it is done again.
    var changesAgain: Bool {
      switch self {
      case .edit(.insert), .edit(.removeEntry), .edit(.replaceEntry): true
      default: false
      }
    }
  }

  let action: Action
  let paths: PathOperands

  init(_ invocation: Invocation) throws(UsageError) {
    let forms: [Option] = [.removeList, .replaceList, .checkOrder, .dropInherited, .adoptInherited]
    let given = forms.filter { invocation.has($0) }
    guard given.count < 2 else {
      throw UsageError("\(given[0].spelling) and \(given[1].spelling) exclude each other", verb: "chmod")
    }
    if let form = given.first {
      if form == .replaceList, invocation.has(.fromInput) {
        throw UsageError("-E and -0 both read standard input", verb: "chmod")
      }
      if form == .checkOrder, invocation.has(.undo) {
        throw UsageError("-C changes nothing, so there is nothing to undo", verb: "chmod")
      }
      paths = try PathOperands(invocation)
      action = try ModeRequest.action(form)
      return
    }
    var rest = invocation.operands[...]
    guard let first = rest.popFirst() else { throw UsageError("MODE is missing", verb: "chmod") }
    do throws(UsageError) { action = try ModeRequest.action(first, &rest) } catch {
      throw ModeRequest.meant(invocation) ?? error
    }
    paths = try PathOperands(rest, invocation)
  }

  /// The error for operands that make sense in another order, or with `+a` in front; nil if they do not.
  private static func meant(_ invocation: Invocation) -> UsageError? {
    let operands = invocation.operands
    guard operands.count > 1, !invocation.has(.fromInput), let first = operands.first,
      let last = operands.last
    else { return nil }
    let add = Word("+a".utf8)
    if isMeant([add] + operands) {
      return invocation.mistake("+a comes before an entry; \(invocation.meant([add] + operands))")
    }
    let form = operands.firstIndex {
      ["+a", "+ai", "+a#", "+ai#", "-a", "-ai", "-a#", "-ai#", "=a#", "=ai#"].contains(text($0))
    }
    var orders = [[last] + operands.dropLast(), [add, last] + operands.dropLast()]
    if let form {
      orders.insert(Array(operands[form...] + operands[..<form]), at: 0)
      orders.append([first, last] + operands.dropFirst().dropLast())
    }
    guard let order = orders.first(where: isMeant) else { return nil }
    return invocation.mistake("the path comes last; \(invocation.meant(order))")
  }

  /// Whether words are a change, none of which is a file, and what comes behind it is there.
  private static func isMeant(_ words: [Word]) -> Bool {
    var rest = words[...]
    guard let first = rest.popFirst(), (try? action(first, &rest)) != nil else { return false }
    return !rest.isEmpty && rest.allSatisfy(isItem) && !words.dropLast(rest.count).contains(where: isItem)
  }

  private static func action(_ form: Option) throws(UsageError) -> Action {
    switch form {
    case .removeList: .edit(.removeList)
    case .checkOrder: .checkOrder
    case .dropInherited: .edit(.dropInherited)
    case .adoptInherited: .edit(.makeExplicit)
    default: .edit(.replaceList(try listFromInput()))
    }
  }

  private static func action(
    _ first: Word, _ rest: inout ArraySlice<Word>
  ) throws(UsageError) -> Action {
    switch text(first) {
    case "+a": return .edit(.add(try entry(&rest)))
    case "+ai": return .edit(.add(inherited(try entry(&rest))))
    case "+a#":
      let position = try position(&rest)
      return .edit(.insert(try entry(&rest), at: position))
    case "+ai#":
      let position = try position(&rest)
      return .edit(.insert(inherited(try entry(&rest)), at: position))
    case "-a", "-ai": return .edit(.remove(try entry(&rest)))
    case "-a#", "-ai#": return .edit(.removeEntry(at: try position(&rest)))
    case "=a#":
      let position = try position(&rest)
      return .edit(.replaceEntry(at: position, with: try entry(&rest)))
    case "=ai#":
      let position = try position(&rest)
      return .edit(.replaceEntry(at: position, with: inherited(try entry(&rest))))
    case "=a", "=ai": throw UsageError("=a needs the number of an entry: =a# N ENTRY", verb: "chmod")
    default:
      guard let change = FileModeChange(first) else {
        throw UsageError("'\(text(first))' is neither a mode nor a form such as +a", verb: "chmod", .value)
      }
      return .mode(change)
    }
  }

  private static func entry(
    _ rest: inout ArraySlice<Word>
  ) throws(UsageError) -> AccessEntry {
    guard let word = rest.popFirst() else { throw UsageError("ENTRY is missing", verb: "chmod") }
    do throws(FormatFailure) {
      return try ListFormat.macos.entry(text(word), names: .machine)
    } catch {
      // `+a user:ann allow read FILE`: the entry has to be one word.
      let verbs = ["allow", "deny", "inherited"]
      let isUnquoted = rest.first.map { verbs.contains(text($0)) } ?? false
      throw UsageError(
        error.sentence
          + (isUnquoted ? "; put the entry in quotes, it is one word" : adviceOnPosixEntry(text(word))),
        verb: "chmod", .value)
    }
  }

  private static func inherited(_ entry: AccessEntry) -> AccessEntry {
    var entry = entry
    entry.inheritance.insert(.inherited)
    return entry
  }

  /// A number in the notation of C, from 0 to 128.
  private static func position(_ rest: inout ArraySlice<Word>) throws(UsageError) -> Int {
    guard let word = rest.popFirst() else {
      throw UsageError("the number of an entry is missing", verb: "chmod")
    }
    let digits = text(word).lowercased()
    let number =
      if digits.hasPrefix("0x") {
        Int(digits.dropFirst(2), radix: 16)
      } else {
        Int(digits, radix: digits.hasPrefix("0") ? 8 : 10)
      }
    guard let number, (0...AccessList.entryLimit).contains(number) else {
      throw UsageError(
        "'\(text(word))' is not the number of an entry (0 to \(AccessList.entryLimit))", verb: "chmod", .value
      )
    }
    return number
  }

  private static func listFromInput() throws(UsageError) -> AccessList {
    do throws(FormatFailure) {
      return try ListFormat.macos.list(try listText(of: Word("-".utf8)), names: .machine)
    } catch {
      throw UsageError("standard input: \(error.sentence)", verb: "chmod", .value)
    }
  }

  private static func text(_ word: Word) -> String {
    String(decoding: word, as: UTF8.self)
  }
}
