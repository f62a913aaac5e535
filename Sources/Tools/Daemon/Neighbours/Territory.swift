// No volume that is mounted for writing lies inside another one: each would show, and change, what the other keeps.
//
// A directory is found inside another by going up from it, by the numbers of those above it, and by where both are in
// their file system; what it is called, and through which mount it is reached, does not matter. Nothing is believed of
// a user that would stand in the way of others: whoever can list himself here could keep every volume of the machine
// from being mounted. Nor is any file system asked that is mounted on the way: it may be a user's, and never answer.

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
    place = real.flatMap { MountedVolume.place(of: $0, in: MountedVolume.table(of: foreign?.namespace)) }
  }

  /// Takes the tree for ourselves, unless somebody has it, has a part of it, or has what it is a part of.
  ///
  /// Written down first, so that of two who come at once at most one gets it. False if it was ours already.
  @discardableResult
  func claim() throws(MountFailure) -> Bool {
    guard registered.withLock({ $0 == nil }) else { return false }
    let own = writeDown()
    do throws(MountFailure) {
      try refuse(except: own)
    } catch {
      own?.remove()
      throw error
    }
    registered.withLock { $0 = own }
    return true
  }

  private func writeDown() -> RegisteredVolume? {
    do throws(Errno) {
      let own = try RegisteredVolume.add(
        RunningVolume(
          identity: ObjectKey(status), above: above(), process: CurrentProcess.identifier,
          namespace: try? namespaceNumber(),
          whereabouts: RunningVolume.Whereabouts(
            descriptor: Int(upper.descriptor.rawValue), place: place,
            path: (try? upper.descriptor.heldPath()) ?? path)))
      if let missing = own.missing { tellOfAbsence(from: "/run/varve/\(missing.place)", missing.reason) }
      return own
    } catch {
      // Users need not have a place for such things.
      if CurrentProcess.isRoot { tellOfAbsence(from: "/run/varve", error) }
      return nil
    }
  }

  private func tellOfAbsence(from place: String, _ reason: Errno) {
    let whose = place.hasSuffix("/volumes") ? "a user's volume" : "a volume"
    Log.notice(
      "\(PathText.escaped(path)): cannot be written down in \(place) (\(reason)); "
        + "\(whose) that is mounted around it later will not see it")
  }

  /// The directories it is in, as far as they can be found.
  private func above() -> [ObjectKey] {
    var ancestors = Ancestors(of: upper, at: place, MountedVolume.table())
    var keys: [ObjectKey] = []
    // Where there are too many, the mount is refused (`outer`).
    while let status = try? ancestors.next() { keys.append(ObjectKey(status)) }
    return keys
  }

  /// Refuses what `claim` would refuse.
  func check() throws(MountFailure) { try refuse(except: nil) }

  /// Gives the tree back; at the end of the mount.
  func remove() { registered.withLock { $0.take() }?.remove() }

  private func namespaceNumber() throws(Errno) -> Int? {
    if let namespace { return Int(exactly: try namespace.number()) }
    return Int(exactly: try MountNamespace.ownNumber())
  }

  // MARK: Who is in the way

  private func refuse(except own: RegisteredVolume?) throws(MountFailure) {
    let running = RunningVolume.all(except: own)
    let here = try? namespaceNumber()
    // Where its mount can be seen, the lock of the volume says enough.
    if let same = running.first(where: { $0.identity == ObjectKey(status) }), let there = same.namespace,
      there != here
    {
      throw MountFailure(path, "the volume is " + Neighbour(same, at: nil, here).sentence)
    }
    let found: String
    do throws(Errno) {
      if let outer = try outer(running, here) {
        found = "it is inside \(outer.name), which is \(outer.sentence)"
      } else if let inner = try inner(running, here) {
        found = "\(inner.name) is inside it, and \(inner.sentence)"
      } else {
        return
      }
    } catch {
      throw MountFailure(
        path, "it cannot be found out whether it is inside a mounted volume, or one is inside it: \(error)")
    }
    throw MountFailure(path, found)
  }

  /// A volume above this one.
  private func outer(_ running: [RunningVolume], _ here: Int?) throws(Errno) -> Neighbour? {
    let table = MountedVolume.table()
    var ancestors = Ancestors(of: upper, at: place, table)
    while let above = try ancestors.next() {
      let path = try? ancestors.current.descriptor.heldPath()
      if let volume = running.first(where: { $0.identity == ObjectKey(above) }) {
        return Neighbour(volume, at: path, here)
      }
      if case .held(let holder) = try Territory.use(of: ancestors.current, owner: above.user) {
        return Neighbour(path, by: holder)
      }
      if let place = ancestors.place, Territory.isMounted(place, by: above.user, table) {
        return Neighbour(listedAt: path)
      }
    }
    guard !ancestors.isComplete, let place else { return nil }
    let above = running.first { volume in
      volume.whereabouts?.place.map { place.path(below: $0) != nil } ?? false
    }
    return above.map { Neighbour($0, at: nil, here) }
  }

  /// Whether who owns a directory says in the table of mounts that he has mounted it.
  ///
  /// Asked where the lock cannot be looked at, and nothing is written down. He can keep everybody out of his directory
  /// anyway.
  private static func isMounted(
    _ place: PlaceInFileSystem, by owner: UInt32, _ table: [MountedVolume]
  ) -> Bool {
    guard !CurrentProcess.isRoot, owner != 0, owner != CurrentProcess.user else { return false }
    return table.indices.contains { index in
      let mount = table[index]
      guard mount.isOurs, mount.owner == owner, !mount.isReadOnly else { return false }
      // The mount may cover what it shows.
      return MountedVolume.place(of: mount.source, in: Array(table[..<index])) == place
    }
  }

  /// A volume below this one.
  private func inner(_ running: [RunningVolume], _ here: Int?) throws(Errno) -> Neighbour? {
    let (own, table) = (ObjectKey(status), MountedVolume.table())
    for volume in running where volume.identity != own {
      if let place {
        let ways = volume.places(in: table).compactMap { $0.path(below: place) }
        if ways.contains(where: { isStill(volume.identity, at: $0) }) {
          return Neighbour(volume, at: nil, here)
        }
      }
      guard let depth = volume.above.firstIndex(of: own) else { continue }
      switch WayDown(from: upper, by: volume.above[..<depth].reversed() + [volume.identity]) {
      case .open(let names):
        let top = (try? upper.descriptor.heldPath()) ?? path
        return Neighbour(volume, at: top + names.flatMap { [UInt8(ascii: "/")] + $0 }, here)
      case .closed: return Neighbour(volume, at: nil, here)
      case .gone: continue
      }
    }
    guard let place else { return nil }
    return try innerMount(place)
  }

  /// A mount of a volume below this one, by what stands in the table of mounts.
  ///
  /// Anybody can write anything there; so it only says where to look for a lock.
  private func innerMount(_ place: PlaceInFileSystem) throws(Errno) -> Neighbour? {
    let table = MountedVolume.table(of: namespace)
    var strangers: Set<ObjectKey> = []
    for (index, mount) in table.enumerated() where mount.isOurs && mount.source.first == UInt8(ascii: "/") {
      // The mount may cover what it shows.
      guard let source = MountedVolume.place(of: mount.source, in: Array(table[..<index])),
        let way = source.path(below: place),
        let opened = try? upper.descriptor.openDirectoryPath(beneath: way.span)
      else { continue }
      let directory = SharedDescriptor(opened)
      if case .held(let holder) = try Territory.use(of: directory, owner: status.user) {
        return Neighbour(mount.source, by: holder)
      }
      // Only to tell of it once.
      if let status = try? directory.descriptor.status(), strangers.insert(ObjectKey(status)).inserted {
        tellOfStrangers(mount, directory)
      }
    }
    return nil
  }

  /// Says that somebody has mounted what is inside; he may, wherever he has a directory, and so keeps nobody from
  /// mounting what it is in.
  private func tellOfStrangers(_ mount: MountedVolume, _ directory: SharedDescriptor) {
    // Nobody else can look at the lock, and a stranger's that cannot be looked at stops nobody.
    guard CurrentProcess.isRoot else { return }
    var owner: UInt32 = 0
    let use = try? VolumeUse.of(directory.descriptor) {
      owner = $0
      return true
    }
    guard case .held(let holder)? = use else { return }
    Log.notice(
      "\(PathText.escaped(path)): the volume \(PathText.escaped(mount.source)) is inside it, "
        + "mounted by user \(owner), \(VolumeUse.name(of: holder)); what is locked on one is not on the other"
    )
  }

  /// Whether a directory is where its volume was mounted: somebody may have moved it.
  private func isStill(_ identity: ObjectKey, at way: [UInt8]) -> Bool {
    do throws(Errno) {
      let directory = try upper.descriptor.openDirectoryPath(beneath: way.span)
      return ObjectKey(try directory.status()) == identity
    } catch .noSuchFile, .notDirectory, .tooManySymbolicLinks {
      return false
    } catch {
      // Closed to us, or covered by a mount.
      return true
    }
  }

  /// `owner`: that of the outer directory, who can keep anybody from mounting what is in it anyway.
  private static func use(of directory: SharedDescriptor, owner: UInt32) throws(Errno) -> VolumeUse {
    try VolumeUse.of(directory.descriptor) { [0, CurrentProcess.user, owner].contains($0) }
  }
}
