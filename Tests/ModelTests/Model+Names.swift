// Making, removing, moving and linking names, with the kernel's own checks in the kernel's order.

import AccessControl
import Decisions
import FlagRules
import LinuxFiles

extension Model {
  func answerOnName(_ call: Call) throws(Errno) -> Outcome {
    switch call {
    case .makeDirectory(let path, let mode): try make(.directory, path, mode)
    case .makeFIFO(let path, let mode): try make(.fifo, path, mode)
    case .makeLink(let path, let target): try make(.link, path, 0o777).target = target
    case .removeDirectory(let path): try remove(path, isDirectory: true)
    case .unlink(let path): try remove(path, isDirectory: false)
    case .link(let from, let to): try link(from, to)
    case .rename(let from, let to, let style): try rename(from, to, style)
    default: return .skipped
    }
    return .done
  }

  @discardableResult
  private func make(_ kind: Status.Kind, _ path: String, _ mode: UInt16) throws(Errno) -> Thing {
    let (directory, name) = try findFree(path)
    let thing = try bear(kind, mode: mode, in: directory)
    put(thing, name, in: directory)
    return thing
  }

  private func remove(_ path: String, isDirectory: Bool) throws(Errno) {
    let place = try walk(path, follows: false)
    guard let thing = place.thing, let directory = place.directory else { throw .noSuchFile }
    guard thing.isDirectory == isDirectory else { throw isDirectory ? .notDirectory : .isDirectory }
    try require(judge.decide(.remove(directory: isDirectory), on: thing.item, in: directory.item))
    guard thing.entries.isEmpty else { throw .notEmpty }
    take(place.name, from: directory)
    thing.links -= thing.isDirectory ? 2 : 1
  }

  /// `fs.protected_hardlinks`: the kernel's rule about other people's files.
  func requireLinkable(_ thing: Thing) throws(Errno) {
    guard protectsHardLinks, !isRoot, thing.user != subject.user, !rules.ignoresOwnership else { return }
    guard thing.kind == .file, thing.mode & 0o4000 == 0, thing.mode & 0o2010 != 0o2010 else {
      throw .notPermitted
    }
  }

  var linking: Decisions.Operation {
    let protects = protectsHardLinks
    return .link(protectsLinks: { protects })
  }

  private func link(_ from: String, _ to: String) throws(Errno) {
    let thing = try find(from, follows: false)
    // The kernel looks at the new name before the flags of the file are asked.
    let (directory, name) = try findFree(to)
    try requireLinkable(thing)
    if thing.isDirectory { throw .notPermitted }
    try require(judge.decide(linking, Scene(thing.item, to: directory.item)))
    thing.links += 1
    put(thing, name, in: directory)
  }

  private func rename(_ from: String, _ to: String, _ style: Replacing) throws(Errno) {
    if style == .both { throw .invalid }
    let (oldDirectory, oldName) = try walkToParent(from)
    let (newDirectory, newName) = try walkToParent(to)
    guard let thing = try lookUp(oldName, in: oldDirectory) else { throw .noSuchFile }
    let victim = try lookUp(newName, in: newDirectory)
    if style == .noReplace, victim != nil { throw .exists }
    if style == .exchange, victim == nil { throw .noSuchFile }
    if oldDirectory !== newDirectory {
      if thing.contains(newDirectory) { throw .invalid }
      if let victim, victim.contains(oldDirectory) { throw style == .exchange ? .invalid : .notEmpty }
    }
    // Two names of one file: the kernel returns early and asks nothing.
    if let victim, victim === thing { return }
    if style == .replace, let victim, victim.isDirectory != thing.isDirectory {
      throw thing.isDirectory ? .notDirectory : .isDirectory
    }
    let changesParent = oldDirectory !== newDirectory
    var request = Rename(changesParent: changesParent)
    request.exchanges = style == .exchange
    let scene = Scene(thing.item, in: oldDirectory.item, to: newDirectory.item, over: victim?.item)
    try require(judge.decide(.rename(request), scene))
    if style == .exchange, !exchangesNames { throw .invalid }
    if style == .exchange, let victim {
      take(newName, from: newDirectory)
      take(oldName, from: oldDirectory)
      arrive(victim, oldName, in: oldDirectory)
    } else {
      if let victim {
        guard victim.entries.isEmpty else { throw .notEmpty }
        take(newName, from: newDirectory)
        victim.links -= victim.isDirectory ? 2 : 1
      }
      take(oldName, from: oldDirectory)
    }
    arrive(thing, newName, in: newDirectory)
  }

  /// SEMANTICS 2.7: what moves in takes over the directory's `restricted` and `datavault`.
  private func arrive(_ thing: Thing, _ name: String, in directory: Thing) {
    put(thing, name, in: directory)
    guard carriesRecord(thing.kind) else { return }
    thing.flags.formUnion(directory.flags.intersection([.restricted, .dataVault]))
  }
}
