// `varve layer diff`: asks the daemon for the changes of one directory after the other.

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

func diffLayers(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let path = invocation.operands.first ?? Array(".".utf8)
  do throws(Refusal) {
    let table = try attempt(mountTable()) { Refusal("/proc/self/mountinfo: \($0)") }
    let here = try VolumePath(path, table)
    let difference = LayerDifference(try ControlAddress(here.mount), console, isJSON: invocation.has(.json))
    try difference.tell(here.path, shownAs: path)
    difference.end()
  } catch {
    console.complain(path, error.sentence)
  }
  return console.finish()
}

/// Goes through the directories that the upper has, each in the order of its names.
private struct LayerDifference {
  private struct Change {
    let name: [UInt8]
    let letter: String
    let isDirectory: Bool
    let formerPath: [UInt8]?

    init?(_ json: JSON) {
      guard let name = json.nameBytes("name"), let letter = json["change"]?.string else { return nil }
      self.name = name
      self.letter = letter
      isDirectory = json["directory"] == .bool(true)
      formerPath = json.nameBytes("from")
    }

    /// Whether the upper has a directory, in which there may be more.
    var leadsOn: Bool { isDirectory && letter != "D" }
  }

  /// A path of the volume, and the same as it was typed.
  private struct ShownPath {
    let path: [UInt8]
    let shown: [UInt8]

    func appending(_ name: [UInt8]) -> ShownPath {
      ShownPath(path: path.isEmpty ? name : joined(path, name), shown: joined(shown, name))
    }
  }

  private let daemon: ControlAddress
  private let console: Console
  private let json: JSONStream?

  init(_ daemon: ControlAddress, _ console: Console, isJSON: Bool) {
    self.daemon = daemon
    self.console = console
    json = isJSON ? JSONStream(nil, console) : nil
  }

  func end() { json?.end() }

  /// `shown`: the path as it was typed.
  func tell(_ path: [UInt8], shownAs shown: [UInt8]) throws(Refusal) {
    let whole = Array(path.split(separator: slash).joined(separator: [slash]))
    // A slash at the end belongs to the mark of directories.
    let trimmed = shown.count > 1 ? shown.dropLast(shown.reversed().prefix { $0 == slash }.count) : shown[...]
    let here = ShownPath(path: whole, shown: trimmed.isEmpty ? [slash] : Array(trimmed))
    var pending = waiting(try changes(in: here, isNamed: true), in: here)
    while let (change, here) = pending.popLast(), !Interruption.isRequested {
      print(change, here)
      guard change.leadsOn else { continue }
      do throws(Refusal) {
        pending += waiting(try changes(in: here), in: here)
      } catch {
        console.complain(here.shown, error.sentence)
      }
    }
  }

  /// The next one last.
  private func waiting(_ changes: [Change], in here: ShownPath) -> [(Change, ShownPath)] {
    changes.sorted {
      $1.name.lexicographicallyPrecedes($0.name) || $0.name == $1.name && $0.letter < $1.letter
    }
    .map { ($0, here.appending($0.name)) }
  }

  /// `isNamed`: then what is said of the item itself is printed.
  private func changes(in here: ShownPath, isNamed: Bool = false) throws(Refusal) -> [Change] {
    var found: [Change] = []
    var offset: Int?
    repeat {
      var request = JSON.nameMembers("path", here.path)
      if let offset { request.append(JSON.Member("from", .number(offset))) }
      if isNamed, offset == nil { request.append(JSON.Member("itself", .bool(true))) }
      let answer = try daemon.ask("layerdiff", request)
      for change in list(answer["itself"]).compactMap({ Change($0) }) { print(change, here) }
      found += list(answer["changes"]).compactMap { Change($0) }
      for failure in list(answer["failures"]) {
        console.complain(
          joined(here.shown, failure.nameBytes("name") ?? []),
          "cannot be compared (\(failure["error"]?.string ?? "EIO"))")
      }
      offset = answer["next"]?.integer
    } while offset != nil && !Interruption.isRequested
    return found
  }

  private func list(_ value: JSON?) -> [JSON] {
    if case .array(let values)? = value { values } else { [] }
  }

  private func print(_ change: Change, _ here: ShownPath) {
    guard change.letter != "=" else { return }
    guard let json else {
      let former = change.formerPath.map { "\(PathText.escaped($0)) -> " } ?? ""
      let mark = change.isDirectory ? "/" : ""
      return console.printLines("\(change.letter) \(former)\(PathText.escaped(here.shown))\(mark)\n")
    }
    var members = JSON.nameMembers("path", here.shown)
    members.append(JSON.Member("change", .string(change.letter)))
    members.append(JSON.Member("directory", .bool(change.isDirectory)))
    if let former = change.formerPath { members += JSON.nameMembers("from", former) }
    json.add(members)
  }
}
