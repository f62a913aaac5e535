// `varve`: reads the command line and hands over to the verb.

import Arguments
import LayeredVolume
import LinuxPrograms

ThisProgram.prepareStreams()
Log.goToPeople()

let words = lineWithVerb(ThisProgram.words)
if let mountPoint = mountPointOfMountFuse(words) {
  ThisProgram.exit(refuseMountFuse(mountPoint))
}
do throws(UsageError) {
  switch try Program.varve.parse(words) {
  case .run(let invocation): ThisProgram.exit(try run(invocation))
  case .help(let topic): ThisProgram.exit(printed(Program.varve.help(about: topic)))
  case .version:
    ThisProgram.exit(printed("\(Program.varve.name) \(ThisProgram.versionText(Program.varve.version))\n"))
  }
} catch {
  ThisProgram.exit(explained(error))
}

/// The words behind the program's name; in front of them the verb, if the program goes by its name.
///
/// So a script written for macOS finds `chmod +a` where links of these names come first in its PATH.
func lineWithVerb(_ words: [Word]) -> [Word] {
  guard let program = words.first?.split(separator: UInt8(ascii: "/")).last.map(Array.init),
    ["chflags", "chmod", "chown", "ls"].contains(where: { Array($0.utf8) == program })
  else { return Array(words.dropFirst()) }
  return [program] + words.dropFirst()
}

/// The mount point, if the line is mount.fuse3's: SOURCE DIR -o OPTIONS.
///
/// mount(8) goes to that helper of libfuse where it finds none for `fuse.varve`. With `upperdir=` the source is any
/// word.
func mountPointOfMountFuse(_ words: [Word]) -> Word? {
  guard words.count == 4, words[1].first == slash, words[2] == Array("-o".utf8) else { return nil }
  // It says both, for every user who mounts.
  let options = Set(words[3].split(separator: UInt8(ascii: ",")).map { Array($0) })
  guard ["suid", "nosuid"].contains(where: { options.contains(Array($0.utf8)) }),
    ["dev", "nodev"].contains(where: { options.contains(Array($0.utf8)) }),
    !Program.varve.firstWords.contains(where: { Array($0.name.utf8) == words[0] })
  else { return nil }
  return words[1]
}

/// Nothing is mounted: mount.fuse3 leaves out what was only to be tried (`-f`) and adds `dev` and `suid` unasked.
func refuseMountFuse(_ mountPoint: Word) -> Int32 {
  Console("varve").complain(
    mountPoint,
    "mount(8) did not find /sbin/mount.fuse.varve, which comes with Varve; install it, or use 'varve mount'")
  return 32
}

/// Runs a verb and answers the exit status.
func run(_ invocation: Invocation) throws(UsageError) -> Int32 {
  switch invocation.verb {
  case "mount": try mount(invocation)
  case "remount": try remount(invocation)
  case "umount": try unmount(invocation)
  case "status": try showStatus(invocation)
  case "chflags": try changeFlags(invocation)
  case "chmod": try changeMode(invocation)
  case "chown": try changeOwner(invocation)
  case "protect": try protect(invocation)
  case "compress": try compress(invocation)
  case "decompress": try decompress(invocation)
  case "ls": try list(invocation)
  case "find": try findItems(invocation)
  case "layer list": try listLayers(invocation)
  case "layer origin": try tellOrigins(invocation)
  case "layer diff": try diffLayers(invocation)
  case "name": try nameItems(invocation)
  case "kind": try tellKinds(invocation)
  case "exclude": try excludeItems(invocation)
  case "layout home": try layOutHome(invocation)
  case "layout volume": try layOutVolume(invocation)
  case "acl get": try getLists(invocation)
  case "acl edit": try editLists(invocation)
  case "acl check": try checkLists(invocation)
  case "acl dump": try dumpLists(invocation)
  case "acl restore": try restoreLists(invocation)
  case "acl propagate", "acl inherit": try inheritLists(invocation)
  case "acl import": try importLists(invocation)
  case "acl set", "acl explicit", "acl strip", "acl copy", "acl sort": try changeLists(invocation)
  case "why": try explain(invocation)
  case "access": try showAccess(invocation)
  case "check": try checkVolumes(invocation)
  case "verify": try verifyContents(invocation)
  case "fsck": try checkContents(invocation)
  case "unlock": try unlock(invocation)
  case "lock": try lock(invocation)
  case "key slot add": try addSlot(invocation)
  case "key slot remove": try removeSlot(invocation)
  case "key slot list": try listSlots(invocation)
  case "key export": try exportKeybag(invocation)
  case "key create": try createKeyfile(invocation)
  case "key passphrase": try changePassphrase(invocation)
  case "key check": try checkKeyfile(invocation)
  case "completion": try printCompletion(invocation)
  default: throw UsageError("the verb is not there yet", verb: invocation.verb)
  }
}

func printed(_ text: String) -> Int32 {
  let console = Console("varve")
  console.print(text)
  return console.finish()
}

/// Says what is wrong with a command line, and where help is.
func explained(_ error: UsageError) -> Int32 {
  let name = (["varve"] + [error.verb].compactMap { $0 }).joined(separator: " ")
  let console = Console(name)
  console.complain(error.message)
  if error.kind == .form {
    if let verb = error.verb.flatMap({ Program.varve.verb(named: $0) }) {
      console.explain(Program.varve.usage(verb).joined(separator: "\n"))
    }
    console.explain("'varve help\(error.verb.map { " \($0)" } ?? "")' tells more.")
  }
  // mount(8) has its own numbers: 1 is what others call 2.
  return ["mount", "remount"].contains(error.verb) ? 1 : 2
}
