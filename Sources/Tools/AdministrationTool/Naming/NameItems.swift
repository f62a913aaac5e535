// `varve name`: display names of items, the way back from a view, and what names are to be.
//
// For scripts and users of views: the engine that makes the names of a view answers, so both say the same
// (`ViewVerbTests`).

import Arguments
import DisplayNames
import LinuxFiles
import LinuxPrograms
import TextForms

func nameItems(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let states: [Option] = [.hideExtension, .showExtension, .defaultExtension]
  let changes = states.filter { invocation.has($0) }
  let forms = [
    invocation.has(.realPath), !changes.isEmpty, invocation.has(.localize),
    invocation.has(.nameComponents) || invocation.has(.languages),
  ]
  guard forms.count(where: { $0 }) <= 1, changes.count <= 1 else {
    throw UsageError("these options do not go together", verb: "name")
  }
  guard !invocation.has(.renameToLocalize) || invocation.has(.localize) else {
    throw UsageError("--rename needs --localize", verb: "name")
  }
  if invocation.has(.localize) { return try localizeDirectory(invocation, console) }
  let wanted = try wantedLanguages(invocation)
  for path in invocation.operands where !Interruption.isRequested {
    let own = (try? RealPath(path)).flatMap { ownView(of: $0, invocation) }
    let languages = own.map { $0.languages } ?? wanted
    do throws(Refusal) {
      if let change = changes.first {
        try setExtension(of: path, change)
      } else if invocation.has(.realPath) {
        console.printPath(try RealPath(path).path, "")
      } else if invocation.has(.nameComponents) {
        console.printPath(try components(of: path, languages), "")
      } else {
        console.printPath(try displayName(of: path, languages), "")
      }
    } catch {
      console.complain(path, error.sentence)
    }
  }
  return console.finish()
}

private func displayName(of path: Word, _ languages: LanguageList?) throws(Refusal) -> [UInt8] {
  do throws(Errno) {
    return try displayName(of: try Descriptor.item(atPath: path, .held), languages)
  } catch .noData {
    throw Refusal("has no name of its own: it is the root of a volume")
  } catch {
    throw Refusal(error, at: path)
  }
}

/// The name that an item has alone; the root of a volume has none: `noData`.
func displayName(
  of held: borrowing Descriptor, _ languages: LanguageList?
) throws(Errno) -> [UInt8] {
  let name = try AttributeName.with(displayNameAttribute(languages)) { name throws(Errno) in
    try held.attribute(name)
  }
  guard let name else { throw .noData }
  return name
}

/// The names of a whole path; above the volume they are the real ones.
private func components(of path: Word, _ languages: LanguageList?) throws(Refusal) -> [UInt8] {
  let real = try RealPath(path)
  var names = real.mountPoint.split(separator: slash).map { Array($0) }
  var here = real.mountPoint
  for name in real.names {
    here = joined(here, name)
    names.append(try displayName(of: here, languages))
  }
  return Array(names.joined(separator: Array(" ▸ ".utf8)))
}

private func setExtension(of path: Word, _ option: Option) throws(Refusal) {
  let value: [UInt8] =
    switch option {
    case .hideExtension: Array("hide".utf8)
    case .showExtension: Array("show".utf8)
    default: []
    }
  do throws(Errno) {
    let held = try Descriptor.item(atPath: path, .held)
    try held.setAttribute(AttributeName("system.varve.extension"), to: value)
  } catch .unsupported {
    throw Refusal("not a file or package of a Varve volume, so it has no extension that views hide (ENOTSUP)")
  } catch {
    throw Refusal(error, at: path)
  }
}
