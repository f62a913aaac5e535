// What nobody specifies, so that nothing can be compared; and looks at the model that ask for no right.

import Decisions
import FlagRules
import LinuxFiles
import MountSupport

extension Model {
  /// Whether the outcome turns on something nobody specifies, so that nothing can be compared.
  func leavesOpen(_ operation: Operation) -> Bool {
    if leavesOpenOfMapping(operation.call) { return true }
    let member = rules.adminGroup.map { Cast.users[operation.user].groups.contains($0) } ?? false
    switch operation.call {
    case .changeMode(let path, _), .changeOwner(let path, nil, nil, _):
      // Whether a closed handle still counts as open for writing depends on when the kernel tells.
      return (try? peek(path))?.lostWriter ?? false
    case .link(let path, _):
      // The kernel protects other people's files, and whose they are differs from caller to caller.
      guard operation.user != 0, let thing = try? peek(path) else { return false }
      if thing.wasStrippedUnseen { return true }
      guard rules.ignoresOwnership else { return false }
      return thing.kind != .file || thing.mode & 0o6000 != 0
    case .linkOpen(let slot, _):
      guard operation.user != 0, let thing = slots[slot]?.thing else { return false }
      if thing.wasStrippedUnseen { return true }
      return rules.ignoresOwnership && thing.mode & 0o6000 != 0
    case .open(_, let path, let wish, let mode):
      if let thing = peekBehindLink(path), mayRefuseMapper(thing, wish) { return true }
      return mode & 0o2000 != 0 && (rules.ignoresOwnership || member)
    case .write(let slot, _, _), .writeAt(let slot, _, _, _):
      // Whether such a handle meets a flag that was set later depends on the same.
      guard let file = slots[slot] else { return false }
      if file.route == .unclear, file.thing.flags.isAppendOnly { return true }
      // Whether the kernel looks at it before it writes: by the route, or by bits it does not know to be gone.
      let mayLook = file.isDirect == nil && file.thing.mode & 0o6000 != 0
      return kernelStrips && operation.user != 0 && (mayLook || file.thing.wasStrippedUnseen)
    case .truncate(let path, _):
      return kernelStrips && operation.user != 0 && (peekBehindLink(path)?.wasStrippedUnseen ?? false)
    case .openUnnamed(_, _, let mode), .makeDirectory(_, let mode), .makeFIFO(_, let mode):
      // The kernel drops setgid by what it believes the directory's group to be.
      return mode & 0o2000 != 0 && (rules.ignoresOwnership || member)
    default:
      return false
    }
  }

  private func mayRefuseMapper(_ thing: Thing, _ wish: OpenWish) -> Bool {
    guard passesThrough, wish.maps, thing.kind == .file, thing.flags.isAppendOnly else { return false }
    return thing.routes.refusesMapper == nil
  }

  /// What is at `path`; if that is a link, what is at its target.
  func peekBehindLink(_ path: String) -> Thing? {
    guard let thing = try? peek(path) else { return nil }
    return thing.kind == .link ? try? peek(thing.target) : thing
  }

  /// A path to `wanted`, if it has one.
  func path(of wanted: Thing) -> String? {
    guard wanted.links > 0 else { return nil }
    func search(_ directory: Thing, _ path: String) -> String? {
      for (name, thing) in directory.entries.sorted(by: { $0.key < $1.key }) {
        if thing === wanted { return path + name }
        if let found = search(thing, "\(path)\(name)/") { return found }
      }
      return nil
    }
    return search(root, "")
  }

  /// What is at `path`, with nobody's rights asked.
  func peek(_ path: String) throws(Errno) -> Thing? {
    var current = root
    for name in path.split(separator: "/").map(String.init) {
      guard let next = name == ".." ? current.parent : current.entries[name] else { return nil }
      current = next
    }
    return current
  }
}
