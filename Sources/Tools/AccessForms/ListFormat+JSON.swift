// Lists as JSON: one object, with the words of the macOS form.

package import AccessControl
package import JSONForm

extension ListFormat {
  private static let inheritanceWords: Set<String> = [
    "file_inherit", "directory_inherit", "limit_inherit", "only_inherit", "audit_success", "audit_failure",
  ]

  /// The entries of a list, or null for an item without one.
  package static func json(_ list: AccessList?, for kind: ObjectKind, names: NameBook) -> JSON {
    guard let list else { return .null }
    return .array(list.entries.map { json($0, for: kind, names: names) })
  }

  private static func json(_ entry: AccessEntry, for kind: ObjectKind, names: NameBook) -> JSON {
    // The words as the text form has them: the last of its parts.
    let text = AccessListText.print(entry, for: kind, names: .numeric, numeric: true, detail: .complete)
    let parts = text.split(separator: " ").map { String($0) }
    let words = parts.last?.split(separator: ",").map { String($0) } ?? []
    var members = [
      JSON.Member("who", .string(AccessListText.print(entry.identity, names: names)))
    ]
    switch entry.identity {
    case .user(let number), .group(let number): members.append(JSON.Member("id", .number(number)))
    default: break
    }
    members += [
      JSON.Member("type", .string(parts.dropLast().last ?? "")),
      JSON.Member("inherited", .bool(entry.isInherited)),
      JSON.Member(
        "rights",
        .array(words.filter { !inheritanceWords.contains($0) && $0 != "none" }.map { .string($0) })),
      JSON.Member(
        "inheritance", .array(words.filter { inheritanceWords.contains($0) }.map { .string($0) })),
    ]
    return .object(members)
  }

  /// Reads an array of entries, or an object with the member `acl`; null and an empty array are an empty list.
  static func list(_ value: JSON, names: NameBook) throws(FormatFailure) -> AccessList {
    switch value {
    case .null: return AccessList()
    case .array(let values):
      // What `acl get --json` prints of one item can be handed to `acl set` as it is.
      if values.count == 1, let inner = values[0]["acl"] { return try list(inner, names: names) }
      guard values.count <= AccessList.entryLimit else {
        throw FormatFailure("\(ParseFailure(.tooManyEntries))")
      }
      var entries: [AccessEntry] = []
      for (number, value) in values.enumerated() {
        do throws(FormatFailure) {
          entries.append(try entry(value, names: names))
        } catch {
          throw FormatFailure("entry \(number): \(error.problem)")
        }
      }
      return AccessList(entries)
    case .object:
      guard let inner = value["acl"] else { throw FormatFailure("the member 'acl' is missing") }
      return try list(inner, names: names)
    default: throw FormatFailure("an array of entries was expected")
    }
  }

  static func entry(_ value: JSON, names: NameBook) throws(FormatFailure) -> AccessEntry {
    guard let who = value["who"]?.string, let type = value["type"]?.string else {
      throw FormatFailure("an entry needs 'who' and 'type'")
    }
    let words = try self.words(value["rights"]) + self.words(value["inheritance"])
    let mark = value["inherited"] == .bool(true) ? "inherited " : ""
    // A name with blanks ends at a colon, as in the text form.
    let text =
      "\(who)\(who.contains(" ") ? ":" : " ")\(mark)\(type) \(words.isEmpty ? "none" : words.joined(separator: ","))"
    do throws(ParseFailure) {
      // As a list of one line, because a list may hold audit entries, which nobody types.
      guard let entry = try AccessListText.readList(text, names: names).entries.first else {
        throw ParseFailure(.emptyEntry)
      }
      return entry
    } catch {
      throw FormatFailure(FormatFailure(error).problem)
    }
  }

  private static func words(_ value: JSON?) throws(FormatFailure) -> [String] {
    switch value {
    case nil, .null: return []
    case .array(let values):
      let words = values.compactMap(\.string)
      guard words.count == values.count else { throw FormatFailure("rights are words in quotes") }
      return words
    default: throw FormatFailure("'rights' and 'inheritance' are arrays of words")
    }
  }
}
