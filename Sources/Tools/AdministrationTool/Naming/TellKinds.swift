// `varve kind`: what an item is, by its name and what is known of it.

import Arguments
import ItemKinds
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

func tellKinds(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  var objects: [JSON] = []
  for path in invocation.operands where !Interruption.isRequested {
    do throws(Refusal) {
      let kind = try KindOfItem(path)
      if invocation.has(.json) {
        objects.append(kind.json)
      } else {
        console.printPath(path, ": \(kind.text)")
      }
    } catch {
      console.complain(path, error.sentence)
    }
  }
  if invocation.has(.json) { console.print(JSON.array(objects).indentedText() + "\n") }
  return console.finish()
}

/// What one item is.
private struct KindOfItem {
  private let path: Word
  private let type: String
  private let mime: String
  private let icon: String
  private let package: String
  /// In words, where there are any.
  private let description: String?
  private let codes: FinderFacts

  init(_ path: Word) throws(Refusal) {
    self.path = path
    do throws(Errno) {
      let held = try Descriptor.item(atPath: path, .held)
      func fact(_ name: StaticString) throws(Errno) -> String {
        guard let value = try held.attribute(AttributeName(name)) else { throw .noData }
        return String(decoding: value, as: UTF8.self)
      }
      type = try fact("system.varve.uti")
      let known = try fact("system.varve.mime")
      icon = try fact("system.varve.icon")
      package = try fact("system.varve.package")
      let status = try held.knownStatus()
      // What Varve has no type for, the desktop's table may know by the extension, which a view may not show.
      let isUnknown = status.kind == .regular && type == "public.data"
      let name = isUnknown ? Array(try fact("system.varve.realname").utf8) : []
      mime = isUnknown ? SharedMimeInfo.type(of: name) ?? known : known
      // The desktop's table calls every directory a folder.
      let isDirectory = status.kind == .directory
      description =
        (isDirectory ? TypeTree.word(forDirectory: type) : nil) ?? SharedMimeInfo.comment(of: mime)
      let info = try? held.attribute(AttributeName("user.com.apple.FinderInfo"))
      codes =
        (info ?? nil).flatMap { FinderFacts($0, isDirectory: isDirectory) } ?? FinderFacts()
    } catch {
      throw Refusal(error, at: path)
    }
  }

  var text: String {
    var words = [description, type, mime, icon].compactMap { $0 }
    if let code = codes.type { words.append("type \(KindOfItem.text(code))") }
    if let code = codes.creator { words.append("creator \(KindOfItem.text(code))") }
    if package == "2" { words.append("package and bundle") }
    if package == "1", description != "package" { words.append("package") }
    return words.joined(separator: ", ")
  }

  var json: JSON {
    var members = JSON.nameMembers("path", path)
    members.append(JSON.Member("type", .string(type)))
    members.append(
      JSON.Member("conformsTo", .array(TypeTree.ancestors(of: type).map { .string($0) })))
    members.append(JSON.Member("mime", .string(mime)))
    members.append(JSON.Member("icon", .string(icon)))
    members.append(JSON.Member("package", .bool(package != "0")))
    members.append(JSON.Member("bundle", .bool(package == "2")))
    if let description { members.append(JSON.Member("description", .string(description))) }
    if let code = codes.type { members.append(JSON.Member("typeCode", .string(KindOfItem.text(code)))) }
    if let code = codes.creator { members.append(JSON.Member("creatorCode", .string(KindOfItem.text(code)))) }
    return .object(members)
  }

  /// Four characters of Mac OS; what is none of ASCII is a question mark.
  private static func text(_ code: UInt32) -> String {
    let bytes = (0..<4).reversed().map { UInt8(truncatingIfNeeded: code >> ($0 * 8)) }
    return String(bytes.map { (0x20...0x7E).contains($0) ? Character(Unicode.Scalar($0)) : "?" })
  }
}

/// What shared-mime-info knows, where it is installed; read when it is asked.
private enum SharedMimeInfo {
  private static let folder = "/usr/share/mime"

  /// The MIME type of an extension, by `globs2`: WEIGHT:TYPE:GLOB.
  static func type(of name: [UInt8]) -> String? {
    guard let dot = FileExtension.dot(in: name.span) else { return nil }
    let wanted = "*" + String(decoding: name[dot...], as: UTF8.self).lowercased()
    guard let text = try? Descriptor.reading(Array("\(folder)/globs2".utf8)).readToEnd() else { return nil }
    for line in String(decoding: text, as: UTF8.self).split(separator: "\n") where line.hasSuffix(wanted) {
      let fields = line.split(separator: ":")
      if fields.count == 3, fields[2] == wanted { return String(fields[1]) }
    }
    return nil
  }

  /// What a type is called in the language of the environment, else in English.
  static func comment(of type: String) -> String? {
    guard !type.contains(".."),
      let bytes = try? Descriptor.reading(Array("\(folder)/\(type).xml".utf8)).readToEnd()
    else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    for language in languages {
      if let found = element("<comment xml:lang=\"\(language)\">", in: text) { return found }
    }
    return element("<comment>", in: text)
  }

  private static func element(_ start: String, in text: String) -> String? {
    guard let begin = text.firstRange(of: start), let end = text[begin.upperBound...].firstRange(of: "</")
    else {
      return nil
    }
    return String(text[begin.upperBound..<end.lowerBound])
  }

  private static var languages: [String] {
    let all = ["LC_ALL", "LC_MESSAGES", "LANG"] as [StaticString]
    guard let first = all.lazy.compactMap({ environment($0) }).first(where: { !$0.isEmpty }) else {
      return []
    }
    let locale = String(decoding: first, as: UTF8.self).split(separator: ".").first.map { String($0) } ?? ""
    return locale == "C" || locale == "POSIX"
      ? [] : [locale, locale.split(separator: "_").first.map { String($0) } ?? locale]
  }
}
