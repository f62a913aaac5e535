// `handdown` over the control socket: a directory's list is handed down to many files in it. The peer names the
// directory by a descriptor of its own, so it can reach it, and the mount of that descriptor says whether it may write there.

import AccessControl
import ControlDoor
import JSONForm
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import TextForms

extension ControlVerbs {
  /// More than a request has room for.
  private static var mostNames: Int { 512 }
  /// For the lists of one answer, in bytes: they come back with the change, in a request.
  private static var mostText: Int { 16_384 }

  /// `{"verb": "handdown", "directory": 5, "names": ["a", "b"]}` answers with `"outcomes"` one letter for each name
  /// (``HandedDown``).
  ///
  /// With `"replace": true` entries of a file's own go. With `"look": true` nothing is changed, and `"former"` says for each name which of `"lists"` it has; the lists are in
  /// numbers, and empty where there is none. A request with both changes only files that still have these lists.
  static func handDown(_ volume: Volume) -> Verb {
    { request throws(ControlRefusal) in
      guard let number = request.body["directory"]?.integer.flatMap({ Int32(exactly: $0) }),
        let names = request.body.nameListBytes("names"), (1...mostNames).contains(names.count)
      else { throw ControlRefusal("the request has no directory, or no names or more than \(mostNames)") }
      let isLook = request.body["look"] == .bool(true)
      let former = try request.body["former"].map { indices throws(ControlRefusal) in
        try lists(indices, request.body["lists"], names.count)
      }
      do throws(Errno) {
        let files = try volume.handDown(
          names, in: node(number, request), isLook ? .look : former.map(HandingDown.changeFrom) ?? .change,
          replacing: request.body["replace"] == .bool(true), for: request.peer,
          while: { request.connection.isWaiting })
        return isLook
          ? told(files) : [JSON.Member("outcomes", .string(String(files.map(\.outcome.rawValue))))]
      } catch {
        throw ControlRefusal("the directory's list cannot be handed down: \(error)", status: 2)
      }
    }
  }

  /// The directory's number, if the peer could change it by its descriptor: no file system is asked.
  ///
  /// The peer's table has the mount, also where the peer is in another namespace. What is not in there is refused.
  private static func node(_ number: Int32, _ request: ControlRequest) throws(Errno) -> NodeID {
    let table = try Descriptor.reading(Array("/proc/\(request.peer.process)/mountinfo".utf8)).readToEnd()
    return try request.connection.held(number) { number throws(Errno) in
      let mount = MountedVolume.table(table).first { $0.number == number }
      guard let mount, mount.device == request.device else { throw .crossDevice }
      guard !mount.isClosed(to: request.peer.user) else { throw .accessDenied }
      guard !mount.isReadOnly else { throw .readOnly }
    }.fuseNode()
  }

  /// The list that each file is said to have.
  private static func lists(
    _ indices: JSON, _ texts: JSON?, _ count: Int
  ) throws(ControlRefusal) -> [AccessList?] {
    guard case .array(let indices) = indices, indices.count == count, case .array(let texts)? = texts else {
      throw ControlRefusal("'former' and 'lists' do not fit the names")
    }
    var lists: [AccessList?] = []
    for text in texts {
      guard let text = text.string, let list = try? AccessListText.readList(text, names: .numeric) else {
        throw ControlRefusal("one of the lists is not a list")
      }
      lists.append(text.isEmpty ? nil : list)
    }
    var former: [AccessList?] = []
    for index in indices {
      guard let index = index.integer, lists.indices.contains(index) else {
        throw ControlRefusal("'former' names a list that is not there")
      }
      former.append(lists[index])
    }
    return former
  }

  /// What a look tells; a file whose list has no room in the answer is left aside.
  private static func told(_ files: [HandedFile]) -> [JSON.Member] {
    var (outcomes, former, room) = ("", [JSON](), mostText)
    var known: [AccessList?: Int] = [:]
    var texts: [JSON] = []
    for file in files {
      var outcome = file.outcome
      if outcome == .changed, known[file.former] == nil {
        let text =
          file.former.map { AccessListText.print($0, for: .file, names: .numeric, detail: .complete) } ?? ""
        room -= text.utf8.count
        if room >= 0 {
          known[file.former] = texts.count
          texts.append(.string(text))
        } else {
          outcome = .aside
        }
      }
      outcomes.append(outcome.rawValue)
      former.append(.number(known[file.former] ?? 0))
    }
    return [
      JSON.Member("outcomes", .string(outcomes)), JSON.Member("former", .array(former)),
      JSON.Member("lists", .array(texts)),
    ]
  }
}
