// No volume that is mounted for writing lies inside another one: each would show, and change, what the other keeps.
//
// A directory is found inside another by going up from it, and by where both are in their file system; what it is called, and
// through which mount it is reached, does not matter. Nothing is believed of a user that would stand in the way of
// others: whoever can list himself here could keep every volume of the machine from being mounted.

import FUSEDoor
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import Synchronization
import TextForms

/// The tree below an upper directory.
final class Territory: Sendable {
  private let upper: SharedDescriptor
  private let status: FileStatus
  /// As whoever mounts calls it.
  private let path: [UInt8]
  private let place: PlaceInFileSystem?
  /// That of the mount; nil where it is ours.
  private let namespace: MountNamespace?
  private let registered: Mutex<RegisteredVolume?> = Mutex(nil)

  /// To be made before the volume is mounted, which may cover the directory.
  ///
  /// `foreign`: the same directory, where it is in another mount namespace.
  init(_ upper: SharedDescriptor, path: [UInt8], foreign: ForeignDirectory?) throws(Errno) {
    (self.upper, self.path, namespace) = (upper, path, foreign?.namespace)
    status = try upper.descriptor.status()
    // Without its place, only what can be found by going up is.
    let real = foreign?.path ?? (try? upper.descriptor.heldPath())
    place = real.flatMap { MountedVolume.place(of: $0, in: Territory.table(foreign?.namespace)) }
  }

  private static func table(_ namespace: MountNamespace?) -> [MountedVolume] {
    let text =
      if let namespace { try? namespace.mountTable().descriptor.readToEnd() } else {
        try? Descriptor.reading(Array("/proc/self/mountinfo".utf8)).readToEnd()
      }
    return text.map { MountedVolume.table($0) } ?? []
  }

  /// Takes the tree for ourselves, unless somebody has it, has a part of it, or has what it is a part of.
  ///
  /// Written down first, so that of two who come at once at most one gets it. False if it was ours already.
  @discardableResult
  func claim() throws(MountFailure) -> Bool {
    guard registered.withLock({ $0 == nil }) else { return false }
    let here = try? namespaceNumber()
    let own = RegisteredVolume.add(
      RunningVolume(
        identity, process: CurrentProcess.identifier, namespace: here,
        descriptor: Int(upper.descriptor.rawValue), place: place,
        path: (try? upper.descriptor.heldPath()) ?? path))
    do throws(MountFailure) {
      try refuse(isOurs: own != nil)
    } catch {
      own?.remove()
      throw error
    }
    registered.withLock { $0 = own }
    return true
  }

  /// Refuses what `claim` would refuse.
  func check() throws(MountFailure) { try refuse(isOurs: false) }

  /// Gives the tree back; at the end of the mount.
  func remove() { registered.withLock { $0.take() }?.remove() }

  private var identity: DirectoryIdentity { DirectoryIdentity(status) }

  private func namespaceNumber() throws(Errno) -> Int? {
    if let namespace { return Int(exactly: try namespace.number()) }
    return Int(exactly: try MountNamespace.ownNumber())
  }

  // MARK: Who is in the way

  private func refuse(isOurs: Bool) throws(MountFailure) {
    let running = RunningVolume.all()
    let here = try? namespaceNumber()
    // Where its mount can be seen, the lock of the volume says enough.
    if !isOurs, let same = running.first(where: { $0.identity == identity }), let there = same.namespace,
      there != here
    {
      throw MountFailure(path, "the volume is " + Neighbour(same, here).sentence)
    }
    if let outer = outer(running, here) {
      throw MountFailure(path, "it is inside the volume \(outer.name), which is \(outer.sentence)")
    }
    if let inner = inner(running, here) {
      throw MountFailure(path, "the volume \(inner.name) is inside it, and \(inner.sentence)")
    }
  }

  /// A volume above this one.
  private func outer(_ running: [RunningVolume], _ here: Int?) -> Neighbour? {
    var ancestors = Ancestors(of: upper, at: place, Territory.table(nil))
    while let ancestor = ancestors.next() {
      // What cannot be looked at is none of ours.
      guard let status = try? ancestor.descriptor.status() else { continue }
      if let volume = running.first(where: { $0.identity == DirectoryIdentity(status) }) {
        return Neighbour(volume, here)
      }
      if case .held(let holder) = Territory.use(of: ancestor, owner: status.user) {
        return Neighbour((try? ancestor.descriptor.heldPath()) ?? [], by: holder)
      }
    }
    guard !ancestors.isComplete, let place else { return nil }
    let above = running.first { volume in volume.place.map { place.path(below: $0) != nil } ?? false }
    return above.map { Neighbour($0, here) }
  }

  /// A volume below this one.
  private func inner(_ running: [RunningVolume], _ here: Int?) -> Neighbour? {
    guard let place else { return nil }
    let table = Territory.table(nil)
    for volume in running {
      for found in [volume.place, volume.presentPlace(in: table)] {
        guard let way = found?.path(below: place), isStill(volume.identity, at: way) else { continue }
        return Neighbour(volume, here)
      }
    }
    return innerMount(place)
  }

  /// A mount of a volume below this one, by what stands in the table of mounts.
  ///
  /// Anybody can write anything there; so it only says where to look for a lock.
  private func innerMount(_ place: PlaceInFileSystem) -> Neighbour? {
    let table = Territory.table(namespace)
    for (index, mount) in table.enumerated() where mount.isOurs && mount.source.first == UInt8(ascii: "/") {
      // The mount may cover what it shows.
      guard let source = MountedVolume.place(of: mount.source, in: Array(table[..<index])),
        let way = source.path(below: place),
        let directory = try? upper.descriptor.openDirectoryPath(beneath: way.span)
      else { continue }
      if case .held(let holder) = Territory.use(of: SharedDescriptor(directory), owner: status.user) {
        return Neighbour(mount.source, by: holder)
      }
    }
    return nil
  }

  /// Whether a directory is where its volume was mounted: somebody may have moved it.
  private func isStill(_ identity: DirectoryIdentity, at way: [UInt8]) -> Bool {
    do throws(Errno) {
      let directory = try upper.descriptor.openDirectoryPath(beneath: way.span)
      return DirectoryIdentity(try directory.status()) == identity
    } catch .noSuchFile, .notDirectory, .tooManySymbolicLinks {
      return false
    } catch {
      // Closed to us, or covered by a mount.
      return true
    }
  }

  /// `owner`: that of the outer directory, who can keep anybody from mounting what is in it anyway.
  private static func use(of directory: SharedDescriptor, owner: UInt32) -> VolumeUse {
    VolumeUse.of(directory.descriptor) { [0, CurrentProcess.user, owner].contains($0) }
  }
}

/// A volume that is in the way.
private struct Neighbour {
  let name: String
  let sentence: String

  init(_ path: [UInt8], by holder: Int32?) {
    name = PathText.escaped(path)
    sentence = "mounted already, by \(VolumeUse.name(of: holder))"
  }

  /// `here`: the mount namespace of whoever finds it in the way.
  init(_ volume: RunningVolume, _ here: Int?) {
    let isElsewhere = volume.namespace != nil && here != nil && volume.namespace != here
    name = PathText.escaped(volume.path)
    sentence =
      "mounted already, by \(VolumeUse.name(of: volume.process))"
      + (isElsewhere ? ", in another mount namespace" : "")
  }
}
