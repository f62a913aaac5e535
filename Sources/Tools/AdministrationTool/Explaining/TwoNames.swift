// The two names of a rename or a link. One of them may be on another file system: then it cannot be done, whatever the
// rules say, but the kernel walks to both names first.

import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// A name as it was typed.
private enum TypedName {
  case onVolume(VolumePath)
  /// Elsewhere, in a directory that is there; absolute.
  case elsewhere([UInt8])

  /// The last name need not be there, and is not followed if it is a link.
  init(_ typed: [UInt8], _ table: [MountedVolume]) throws(Refusal) {
    do throws(Refusal) {
      self = .onVolume(try VolumePath(typed, table))
    } catch {
      // On a volume it is another mistake than a name elsewhere.
      guard !typed.isEmpty, !(try TypedPath(typed.withoutLastName, table).mount.isOurs) else { throw error }
      self = .elsewhere(try fromRoot(typed))
    }
  }

  var path: VolumePath? {
    if case .onVolume(let path) = self { path } else { nil }
  }

  /// As the sentence about both names shows it.
  var shown: [UInt8] {
    switch self {
    case .onVolume(let path): path.named.absolute(path.path)
    case .elsewhere(let path): path
    }
  }
}

/// Answers about two names, and a path on the volume that answers; `asked` becomes the word a refusal is about.
func askTwoNames(
  _ operation: String, _ words: [[UInt8]], _ other: AskedUser?, wantsAll: Bool = false,
  about asked: inout [UInt8]
) throws(Refusal) -> (VolumePath, JSON) {
  let table = try volumeTable()
  var names: [TypedName] = []
  for word in words {
    asked = word
    names.append(try TypedName(word, table))
  }
  if let path = names[0].path, let newPath = names[1].path {
    try newPath.requireMount(of: path)
    asked = words[0]
    let question = WhyQuestion(operation: operation, path: path, newPath: newPath, wantsAll: wantsAll)
    return (path, try askWhy([question], other)[0])
  }
  asked = words[0]
  guard let path = names[0].path ?? names[1].path else {
    throw Refusal("not on a Varve volume; 'varve status' lists the volumes", status: 2)
  }
  return (path, try acrossFileSystems(operation, names, path, other))
}

/// What the kernel says of two file systems, once it has found the directory on the volume.
private func acrossFileSystems(
  _ operation: String, _ names: [TypedName], _ path: VolumePath, _ other: AskedUser?
) throws(Refusal) -> JSON {
  let answer = try askWhy([WhyQuestion(operation: "search", path: path.directory)], other)[0].with(
    [JSON.Member("operation", .string(operation))] + JSON.nameMembers("path", names[0].shown)
      + JSON.nameMembers("newPath", names[1].shown)
  ).without(["directory"])
  guard answer["outcome"]?.string == "allowed", case .array(let steps)? = answer["steps"] else {
    return answer
  }
  let elsewhere = names[0].path == nil ? names[0] : names[1]
  let step = JSON.object(
    JSON.nameMembers("path", elsewhere.shown) + [
      JSON.Member("asked", .string(operation)), JSON.Member("allowed", .bool(false)),
      JSON.Member("error", .string("EXDEV")), JSON.Member("reason", .string("fact")),
      JSON.Member("because", .string("is on another file system; only a copy can be made there")),
    ])
  return answer.with([
    JSON.Member("outcome", .string("impossible")), JSON.Member("error", .string("EXDEV")),
    JSON.Member("steps", .array(steps + [step])),
  ])
}

private func fromRoot(_ typed: [UInt8]) throws(Refusal) -> [UInt8] {
  typed.first == slash ? typed : joined(try attempt(realPath([UInt8(ascii: ".")])), typed)
}
