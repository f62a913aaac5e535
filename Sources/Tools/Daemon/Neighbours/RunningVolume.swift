// The volumes that are mounted for writing, as their daemons write them down: a file for each, that is locked as long
// as the daemon runs. Root's are complete in /run/varve/places, which is root's alone, and stand as mere numbers in
// /run/varve/volumes, from which nobody learns a name that he could not see anyway. A user's are in his own runtime
// directory.

import ControlDoor
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// A volume that a daemon writes to.
struct RunningVolume: Sendable {
  /// In bytes; about twice what `Ancestors` and two paths with every byte escaped can come to.
  private static let longestText = 1 << 20

  /// What only its owner is told.
  struct Whereabouts {
    /// The number under which the process holds the upper directory open.
    let descriptor: Int?
    /// Where the upper directory was when it was mounted: in its file system, and for whoever mounted it.
    let place: PlaceInFileSystem?
    let path: [UInt8]

    /// Where the directory that `process` holds is now, if we may see that: it may have been moved.
    fileprivate func presentPlace(_ process: Int32, in table: [MountedVolume]) -> PlaceInFileSystem? {
      guard let descriptor else { return nil }
      let link = try? Descriptor.place(Array("/proc/\(process)/fd/\(descriptor)".utf8), .held).readLink()
      return link.flatMap { $0.first == UInt8(ascii: "/") ? MountedVolume.place(of: $0, in: table) : nil }
    }
  }

  /// Its upper directory.
  let identity: ObjectKey
  /// The directories that was in when it was mounted, the nearest first; as many as were told.
  let above: [ObjectKey]
  let process: Int32?
  /// The number of the mount namespace it is mounted in.
  let namespace: Int?
  let whereabouts: Whereabouts?

  /// The places it may be at: where it was mounted, and where it is now.
  func places(in table: [MountedVolume]) -> [PlaceInFileSystem] {
    guard let whereabouts else { return [] }
    return [whereabouts.place, process.flatMap { whereabouts.presentPlace($0, in: table) }].compactMap { $0 }
  }

  /// The number of the process first, as in the lock of a volume.
  func text(withWhereabouts isComplete: Bool) -> [UInt8] {
    var members: [JSON.Member] = []
    if let namespace { members.add("namespace", namespace) }
    members.add("above", list: above.map(\.name))
    if isComplete, let whereabouts {
      members.add("path", bytes: whereabouts.path)
      if let descriptor = whereabouts.descriptor { members.add("descriptor", descriptor) }
      if let place = whereabouts.place {
        members.add("device", place.device)
        members.add("place", bytes: place.path)
      }
    }
    return Array("\(process ?? 0)\n\(JSON.object(members).text)\n".utf8)
  }

  /// Those of root's daemons, and of our own, but for one.
  static func all(except own: RegisteredVolume?) -> [RunningVolume] {
    var volumes = RuntimeDirectory.existing("places", runtime: environment("XDG_RUNTIME_DIR"))
      .flatMap { living(in: $0, except: own) }
    if !CurrentProcess.isRoot, let others = RuntimeDirectory.ofRoot("volumes") {
      volumes += living(in: others, except: nil)
    }
    return volumes
  }

  /// What a directory says; the files of daemons that are gone are taken away where we may.
  ///
  /// A directory that cannot be read says nothing.
  private static func living(in directory: SharedDescriptor, except own: RegisteredVolume?) -> [RunningVolume]
  {
    let names = (try? directory.descriptor.names()) ?? []
    return names.compactMap { name in
      guard name != own?.name else { return nil }
      return try? living(name, in: directory)
    }
  }

  /// Takes the files of daemons that are gone away; for a directory which only its owner can clear up.
  static func sweep(_ directory: SharedDescriptor) { _ = living(in: directory, except: nil) }

  private static func living(_ name: [UInt8], in directory: SharedDescriptor) throws(Errno) -> RunningVolume?
  {
    guard let identity = ObjectKey(name: name) else { return nil }
    return try FileName.with(name) { name throws(Errno) in
      let file = try directory.descriptor.open(name, [.readOnly, .nonBlocking])
      guard try file.isLockedExclusively() else {
        // Locked before it had a name, which nothing else ever gets: the name cannot mean another one by now.
        if try directory.descriptor.status().user == CurrentProcess.user {
          try directory.descriptor.removeFile(name)
        }
        return nil
      }
      return RunningVolume(identity, text: try file.read(upTo: longestText), process: file.recordedHolder())
    }
  }

  private init(_ identity: ObjectKey, text: [UInt8], process: Int32?) {
    let lines = text.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
    let facts = lines.count > 1 ? JSON(Array(lines[1])) : nil
    var place: PlaceInFileSystem?
    if let device = facts?["device"]?.string, let path = facts?.nameBytes("place") {
      place = PlaceInFileSystem(device: device, path: path)
    }
    self.init(
      identity: identity, above: (facts?.nameListBytes("above") ?? []).compactMap { ObjectKey(name: $0) },
      process: process, namespace: facts?["namespace"]?.integer,
      whereabouts: facts?.nameBytes("path").map {
        Whereabouts(descriptor: facts?["descriptor"]?.integer, place: place, path: $0)
      })
  }

  init(
    identity: ObjectKey, above: [ObjectKey], process: Int32?, namespace: Int?, whereabouts: Whereabouts?
  ) {
    (self.identity, self.above, self.process) = (identity, above, process)
    (self.namespace, self.whereabouts) = (namespace, whereabouts)
  }
}

extension ObjectKey {
  /// How a directory is called where no names are told.
  var name: [UInt8] { Array("\(device)-\(inode)".utf8) }

  /// Reads what `name` says, and what the name of a file begins with.
  init?(name: [UInt8]) {
    let numbers = name.prefix { $0 != UInt8(ascii: ".") }
      .split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard numbers.count == 2, let device = UInt64(String(decoding: numbers[0], as: UTF8.self)),
      let inode = UInt64(String(decoding: numbers[1], as: UTF8.self))
    else { return nil }
    self.init(device: device, inode: inode)
  }
}
