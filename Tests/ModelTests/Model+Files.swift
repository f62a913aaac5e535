// Open files: what a handle may do is decided when it is opened.

import AccessControl
import Decisions
import DirectoryModes
import FlagRules
import LinuxFiles

extension Model {
  func answerOnOpen(_ call: Call) throws(Errno) -> Outcome {
    switch call {
    case .open(let slot, let path, let wish, let mode):
      close(slot)
      return try open(slot, path, wish, mode)
    case .openUnnamed(let slot, let path, let mode):
      close(slot)
      return try openUnnamed(slot, path, mode)
    case .close(let slot):
      guard slots[slot] != nil else { return .skipped }
      close(slot)
      return .done
    default:
      break
    }
    guard let slot = call.slot, var file = slots[slot] else { return .skipped }
    let outcome = try answer(call, on: &file)
    slots[slot] = file
    return outcome
  }

  private func answer(_ call: Call, on file: inout OpenThing) throws(Errno) -> Outcome {
    switch call {
    case .linkOpen(_, let path):
      try linkOpen(file.thing, path)
      return .done
    case .read(_, let count):
      let bytes = try read(file, at: file.position, count)
      file.position += bytes.count
      return .bytes(bytes)
    case .readAt(_, let offset, let count):
      return .bytes(try read(file, at: offset, count))
    case .write(_, let byte, let count):
      let end = try write(file, at: file.position, byte, count)
      file.position = end
      return .number(count)
    case .writeAt(_, let offset, let byte, let count):
      _ = try write(file, at: offset, byte, count)
      return .number(count)
    case .cutOpen(_, let size):
      guard file.canWrite else { throw .invalid }
      guard !file.thing.flags.isAppendOnly else { throw .notPermitted }
      cut(file.thing, to: size)
      return .done
    case .statusOfOpen:
      try require(judge.decide(.readAttributes, on: file.thing.item))
      return .status(status(of: file.thing))
    default:
      return .skipped
    }
  }

  func close(_ slot: Int) {
    guard let file = slots.removeValue(forKey: slot) else { return }
    file.thing.routes.remove(file.route)
    guard file.canWrite else { return }
    file.thing.writers -= 1
    file.thing.lostWriter = true
  }

  private func keep(_ thing: Thing, _ wish: OpenWish, _ slot: Int) {
    let route: HandleRoute =
      !passesThrough
      ? .unbacked
      : thing.mayBeInLower ? .unclear : thing.routes.next(isAppendOnly: thing.flags.isAppendOnly, wish)
    thing.routes.add(route)
    slots[slot] = OpenThing(
      thing: thing, canRead: wish.reads || !wish.writes, canWrite: wish.writes, appends: wish.appends,
      route: route, isDirect: isDirect(thing, wish, route))
    if thing.flags.isAppendOnly { thing.wasOpenedToGrow = true }
    if wish.writes { thing.writers += 1 }
  }

  /// Whether the kernel keeps no copy of what is written through a handle; nil: it depends.
  private func isDirect(_ thing: Thing, _ wish: OpenWish, _ route: HandleRoute) -> Bool? {
    guard wish.writes else { return false }
    if thing.flags.isAppendOnly { return true }
    guard wish.appends else { return false }
    guard wish.reads else { return true }
    return route == .unclear ? nil : route == .mapped
  }

  private func open(_ slot: Int, _ path: String, _ wish: OpenWish, _ mode: UInt16) throws(Errno) -> Outcome {
    let exclusive = wish.creates && wish.excludes
    let place = try walk(path, follows: !wish.stopsAtLink && !exclusive)
    guard let thing = place.thing else {
      guard wish.creates, let directory = place.directory else { throw .noSuchFile }
      let file = try bear(.file, mode: mode, in: directory)
      put(file, place.name, in: directory)
      keep(file, wish, slot)
      return .done
    }
    if exclusive { throw .exists }
    switch thing.kind {
    case .link: throw .tooManySymbolicLinks
    case .directory:
      if wish.creates || wish.writes || wish.truncates { throw .isDirectory }
      try require(judge.decide(.list, on: thing.item))
      return .done
    case .fifo:
      // SEMANTICS 7.5: the kernel opens it without asking. Nobody reads at the other end.
      if wish.writes, !wish.reads { throw .noDevice }
      return .done
    case .file:
      let request = OpenRequest(
        reads: wish.reads || !wish.writes, writes: wish.writes, appends: wish.appends,
        truncates: wish.truncates)
      try require(judge.decide(.open(request), on: thing.item))
      // A mapping of the backing file could overwrite what may only grow.
      if passesThrough, thing.flags.isAppendOnly, wish.maps, thing.routes.refusesMapper == true {
        throw .busy
      }
      // SEMANTICS 4.18.
      if wish.maps, subject.user != thing.user {
        let before = thing.mode
        stripSetID(of: thing)
        if thing.mode != before { thing.wasStrippedUnseen = true }
      }
      if wish.truncates { cut(thing, to: 0) }
      keep(thing, wish, slot)
      return .done
    }
  }

  private func openUnnamed(_ slot: Int, _ path: String, _ mode: UInt16) throws(Errno) -> Outcome {
    let directory = try find(path)
    guard directory.isDirectory else { throw .notDirectory }
    let file = try bear(.file, mode: mode, in: directory)
    file.links = 0
    file.mayGetFirstName = true
    keep(file, OpenWish(reads: true, writes: true), slot)
    return .done
  }

  private func linkOpen(_ thing: Thing, _ path: String) throws(Errno) {
    let (directory, name) = try findFree(path)
    try requireLinkable(thing)
    guard thing.links > 0 || thing.mayGetFirstName else { throw .noSuchFile }
    try require(judge.decide(linking, Scene(thing.item, to: directory.item)))
    guard thing.links > 0 || namesUnnamed else { throw .noSuchFile }
    thing.links += 1
    thing.mayGetFirstName = false
    put(thing, name, in: directory)
  }

  private func read(_ file: OpenThing, at offset: Int, _ count: Int) throws(Errno) -> [UInt8] {
    guard file.canRead else { throw .badDescriptor }
    file.thing.accessed = nil
    let bytes = file.thing.bytes
    guard offset < bytes.count else { return [] }
    return Array(bytes[offset..<min(bytes.count, offset + count)])
  }

  /// Answers where the write ended.
  private func write(_ file: OpenThing, at wanted: Int, _ byte: UInt8, _ count: Int) throws(Errno) -> Int {
    guard file.canWrite else { throw .badDescriptor }
    let thing = file.thing
    // The kernel strips first and writes then, so a refused write takes the bits as well.
    let before = thing.mode
    if file.isDirect != true, kernelWouldStrip(thing) {
      try require(judge.decide(.readAttributes, on: thing.item))
      _ = try stripInKernel(thing)
    } else {
      stripSetID(of: thing)
    }
    // Where it keeps no copy of the bytes the kernel leaves the stripping to the daemon.
    if thing.mode != before, kernelStrips ? file.isDirect == true : file.route != .backing {
      thing.wasStrippedUnseen = true
    }
    let offset = file.appends ? thing.bytes.count : wanted
    // SEMANTICS 2.3, and 2.5: old handles too, but for those that bypass the daemon.
    if file.route != .backing, thing.flags.isAppendOnly, offset != thing.bytes.count {
      thing.mayShowRefused = true
      throw .notPermitted
    }
    let end = offset + count
    if thing.bytes.count < end {
      thing.bytes += [UInt8](repeating: 0, count: end - thing.bytes.count)
    }
    for place in offset..<end { thing.bytes[place] = byte }
    noteWrite(to: thing)
    return end
  }

  func cut(_ thing: Thing, to size: Int) {
    if size < thing.bytes.count {
      thing.bytes.removeLast(thing.bytes.count - size)
    } else {
      thing.bytes += [UInt8](repeating: 0, count: size - thing.bytes.count)
    }
    noteWrite(to: thing)
  }
}

extension Call {
  /// The open file a call is about.
  var slot: Int? {
    switch self {
    case .open(let slot, _, _, _), .openUnnamed(let slot, _, _), .linkOpen(let slot, _), .close(let slot),
      .read(let slot, _), .readAt(let slot, _, _), .write(let slot, _, _), .writeAt(let slot, _, _, _),
      .cutOpen(let slot, _), .statusOfOpen(let slot):
      slot
    default: nil
    }
  }
}
