// What a power cut may leave of a replacement: its calls are recorded, and of what was not synced any part is kept.
//
// A file keeps any version of each sector since its last fsync, and a size that it had, whose data are there then. Its
// attributes, mode and times come back as they were at some moment since; so do the names in the workshop. The order of two
// files, or of a file and its name, is that of their syncs and no other.

import Faults
import Foundation
import Glibc
import LinuxFiles
import Randomness

@testable import LayeredVolume

/// A file but for its bytes.
struct Outside: Equatable {
  let mode: UInt16
  let user: UInt32
  let group: UInt32
  let modified: Timestamp
  let attributes: [[UInt8]: [UInt8]]

  init(of object: SharedDescriptor) throws(Errno) {
    let status = try object.descriptor.status()
    (mode, user, group, modified) = (status.mode & 0o7777, status.user, status.group, status.modification)
    var found: [[UInt8]: [UInt8]] = [:]
    for name in try object.descriptor.attributeNames().copies {
      found[name] = try AttributeName.with(name) { (name) throws(Errno) in
        try object.descriptor.attribute(name)
      }
    }
    attributes = found
  }

  /// Gives it to a file whose bytes are written.
  func put(to object: SharedDescriptor) throws(Errno) {
    if Upper.isRoot { try object.descriptor.changeOwner(user: user, group: group) }
    try object.descriptor.changeMode(mode)
    for name in try Outside(of: object).attributes.keys where attributes[name] == nil {
      try AttributeName.with(name) { (name) throws(Errno) in try object.descriptor.removeAttribute(name) }
    }
    for (name, value) in attributes {
      try AttributeName.with(name) { (name) throws(Errno) in
        try object.descriptor.setAttribute(name, to: value)
      }
    }
    try object.descriptor.changeTimes(access: .omit, modification: .set(modified))
  }
}

/// What is on the disk, or may be.
struct PowerlessDisk {
  /// Of each file its bytes when it was synced, and after each call since.
  private var files: [UInt64: [[UInt8]]]
  private var outsides: [Outside]
  private var names: [[String: UInt64]]
  let target: UInt64
  let workshop: UInt64

  enum Event {
    case bytes(UInt64, [UInt8])
    case outside(Outside)
    case names([String: UInt64])
    /// `dataOnly`: without attributes, mode and times.
    case sync(UInt64, dataOnly: Bool)

    var isSync: Bool { if case .sync = self { true } else { false } }
  }

  init(
    target: UInt64, workshop: UInt64, files: [UInt64: [UInt8]], _ outside: Outside, _ names: [String: UInt64]
  ) {
    (self.target, self.workshop) = (target, workshop)
    self.files = files.mapValues { [$0] }
    (outsides, self.names) = ([outside], [names])
  }

  mutating func take(_ event: Event) {
    switch event {
    case .bytes(let inode, let bytes): files[inode, default: [[]]].append(bytes)
    case .outside(let outside): outsides.append(outside)
    case .names(let found): names.append(found)
    case .sync(let inode, let dataOnly):
      if let last = files[inode]?.last { files[inode] = [last] }
      if inode == target, !dataOnly { outsides.removeFirst(outsides.count - 1) }
      if inode == workshop { names.removeFirst(names.count - 1) }
    }
  }

  /// After a power cut.
  func cut(_ dice: inout Dice) -> PowerlessDisk {
    var left: [UInt64: [UInt8]] = [:]
    for (inode, versions) in files.sorted(by: { $0.key < $1.key }) {
      left[inode] = PowerlessDisk.kept(of: versions, &dice)
    }
    return PowerlessDisk(
      target: target, workshop: workshop, files: left, dice.pick(outsides), dice.pick(names))
  }

  private static func kept(of versions: [[UInt8]], _ dice: inout Dice) -> [UInt8] {
    let mood = dice.below(4)
    if mood == 0 { return versions[0] }
    if mood == 1 { return versions[versions.count - 1] }
    // It is as long as after one of the calls, whose data behind the former end are there.
    let size = dice.below(versions.count)
    let durable = versions[0].count
    var bytes = versions[size]
    for start in stride(from: 0, to: bytes.count, by: 512) {
      let first = start < durable ? 0 : size
      let version = versions[first + dice.below(versions.count - first)]
      let end = min(start + 512, bytes.count)
      let isTorn = dice.once(in: 16)
      for index in start..<end where !isTorn || index / 8 % 2 == 0 {
        bytes[index] = index < version.count ? version[index] : 0
      }
    }
    return bytes
  }

  /// Makes the file and the workshop what the disk has.
  func build(_ upper: Upper, _ name: String) throws {
    for work in upper.workNames { try FileManager.default.removeItem(atPath: upper.work(work)) }
    for (work, inode) in names[0] {
      try Data(files[inode]?[0] ?? []).write(to: URL(fileURLWithPath: upper.work(work)))
    }
    let path = upper.open(name)
    let file = Glibc.open(path, O_WRONLY | O_TRUNC)
    guard file >= 0 else { throw Errno(rawValue: errno) }
    let bytes = files[target]?[0] ?? []
    let count = pwrite(file, bytes, bytes.count, 0)
    close(file)
    guard count == bytes.count else { throw Errno.inputOutput }
    try outsides[0].put(to: try upper.object(name))
  }

  /// As it is now, and all of it synced.
  init(of upper: Upper, _ name: String) throws {
    let object = try upper.object(name)
    let target = try object.descriptor.status().inode
    var files = [target: try upper.bytes(name)]
    let names = PowerlessDisk.names(in: upper)
    for (work, inode) in names {
      files[inode] = Array(try Data(contentsOf: URL(fileURLWithPath: upper.work(work))))
    }
    self.init(
      target: target, workshop: try upper.workshop.descriptor.status().inode, files: files,
      try Outside(of: object), names)
  }

  private static func names(in upper: Upper) -> [String: UInt64] {
    var found: [String: UInt64] = [:]
    for name in upper.workNames {
      var status = stat()
      if lstat(upper.work(name), &status) == 0 { found[name] = UInt64(status.st_ino) }
    }
    return found
  }

  /// What `work` did, call by call.
  func record(_ upper: Upper, _ name: String, _ work: () throws -> Void) throws -> [Event] {
    let log = Log(self)
    let object = try upper.object(name)
    try observing(
      { kinds, file in
        var status = stat()
        let inode = file >= 0 && fstat(file, &status) == 0 ? UInt64(status.st_ino) : 0
        if let outside = try? Outside(of: object) {
          log.note(.init(names: PowerlessDisk.names(in: upper), outside: outside))
        }
        guard log.knows(inode) else { return }
        if kinds.contains(.sync) { log.events.append(.sync(inode, dataOnly: kinds.contains(.dataSync))) }
        guard kinds.contains(.write) else { return }
        // By its own descriptor: to open it would break its lease.
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = pread(file, &bytes, bytes.count, 0)
        log.note(inode, Array(bytes[..<max(0, count)]))
      }, during: work)
    return log.events
  }

  private final class Log {
    struct Look {
      let names: [String: UInt64]
      let outside: Outside
    }

    var events: [Event] = []
    private var last: Look
    private var bytes: [UInt64: [UInt8]]
    private let disk: PowerlessDisk

    init(_ disk: PowerlessDisk) {
      self.disk = disk
      last = Look(names: disk.names[0], outside: disk.outsides[0])
      bytes = disk.files.mapValues { $0[0] }
    }

    func knows(_ inode: UInt64) -> Bool {
      inode == disk.target || inode == disk.workshop || last.names.values.contains(inode)
    }

    func note(_ look: Look) {
      if look.names != last.names { events.append(.names(look.names)) }
      if look.outside != last.outside { events.append(.outside(look.outside)) }
      last = look
    }

    func note(_ inode: UInt64, _ found: [UInt8]) {
      guard bytes[inode] != found else { return }
      bytes[inode] = found
      events.append(.bytes(inode, found))
    }
  }
}

extension Upper {
  func work(_ name: String) -> String { open(".varve/work/\(name)") }
}
