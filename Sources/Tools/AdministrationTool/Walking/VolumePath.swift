// From a path as it was typed to a path of a volume, without needing the rights to walk it: that is what the daemon
// is asked about. Nothing on the volume is looked at on the way, so that asking leaves no refusals behind, and a
// daemon that does not answer keeps nobody waiting.

import DisplayNames
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import TextForms

/// A path on a mounted volume.
struct VolumePath {
  /// The mount whose root is the volume's, where its daemon is asked.
  let mount: MountedVolume
  /// The mount the path was named on: the same, or a bind mount of it or of a part of it.
  let named: MountedVolume
  /// From the root of the volume, as typed from there on.
  private(set) var path: [UInt8]

  /// Where the views of a volume are.
  static let views = [OwnDirectory.bytes, Array("view".utf8)]

  /// The view that the path leads into, by the only name it has; nil if a step up leads out of it again.
  var view: [UInt8]? {
    let names = path.split(separator: slash).map { Array($0) }
    guard names.count > 2, Array(names[..<2]) == VolumePath.views else { return nil }
    var depth = 0
    for name in names[3...] {
      depth += name == Array("..".utf8) ? -1 : 1
      guard depth >= 0 else { return nil }
    }
    return names[2]
  }

  /// What the view should have been called that the path leads into, if no view can have that name.
  var rightViewName: String? { view.flatMap { VolumePath.words(insteadOf: $0) } }

  /// What is wrong with a path that was typed, leads nowhere, and asks for a view; nil where that is something else.
  ///
  /// It is not walked as other paths are, because that would end in the same complaint.
  static func complaint(aboutViewIn path: [UInt8]) -> String? {
    let names = path.split(separator: slash)
    guard
      let start = names.indices.first(where: { names[$0...].starts(with: views) { $0.elementsEqual($1) } }),
      let root = try? realPath(Array(path[..<names[start].startIndex]) + [UInt8(ascii: ".")]),
      let table = try? volumeTable()
    else { return nil }
    let directory = joined(root, Array(views.joined(separator: [slash])))
    let hasViews = (try? Descriptor.item(atPath: directory, .held)) != nil
    guard let mount = MountedVolume.serving(root, in: table), mount.isOurs else {
      return hasViews ? nil : "no Varve volume is mounted on \(shellWord(root))"
    }
    // Elsewhere, and with nomagic, `.varve` is what is missing.
    guard hasViews, mount.mountPoint == root, mount.showsAll, start + views.count < names.count else {
      return nil
    }
    return words(insteadOf: Array(names[start + views.count]))
  }

  private static func words(insteadOf view: [UInt8]) -> String? {
    guard ViewName(view) == nil else { return nil }
    return ViewName.words(insteadOf: String(decoding: view, as: UTF8.self))
  }

  /// The directory that the last name is in.
  var directory: VolumePath {
    let names = path.split(separator: slash).dropLast()
    var directory = self
    directory.path = Array(names.joined(separator: [slash]))
    return directory
  }

  init(_ typed: [UInt8], _ table: [MountedVolume]) throws(Refusal) {
    let path = try TypedPath(typed, table)
    if let volume = path.volumeOfSource {
      throw Refusal(
        "not on a Varve volume, but in the source of the one that is mounted on \(shellWord(volume.mountPoint)); name "
          + "that", status: 2)
    }
    try self.init(path.rest, on: path.mount, path.table, wantsDirectory: path.wantsDirectory)
  }

  /// Takes the path of something that is held, as the kernel tells it: absolute, and without links.
  init(held path: [UInt8], _ table: [MountedVolume]) throws(Refusal) {
    let mount = MountedVolume.serving(path, in: table) ?? .unlisted
    let depth = mount.mountPoint.split(separator: slash).count
    let rest = path.split(separator: slash).dropFirst(depth).map { Array($0) }
    try self.init(rest, on: mount, table, wantsDirectory: false)
  }

  private init(
    _ rest: [[UInt8]], on named: MountedVolume, _ table: [MountedVolume], wantsDirectory: Bool
  ) throws(Refusal) {
    guard named.isOurs else {
      throw Refusal("not on a Varve volume; 'varve status' lists the volumes", status: 2)
    }
    guard let whole = named.whole(in: table) else {
      throw Refusal(
        "only a part of this volume is mounted where you can see it; its daemon is asked where all of it is",
        status: 2)
    }
    guard !named.root.suffix(9).elementsEqual("//deleted".utf8) else {
      throw Refusal("what is mounted here has been removed from its volume", status: 2)
    }
    mount = whole
    self.named = named
    let bound = named.root.split(separator: slash).map { Array($0) }
    let names = bound + rest
    path = Array(names.joined(separator: [slash])) + (wantsDirectory && !names.isEmpty ? [slash] : [])
  }
}

/// Where a typed path leads: a mount, and what comes after its mount point.
///
/// Links on the way to a volume are followed; what comes after its mount point is left to the daemon, except steps up
/// that lead out of it again, and other mounts on it.
struct TypedPath {
  /// As it is after an automatic mount on the way was made.
  private(set) var table: [MountedVolume]
  private(set) var mount: MountedVolume
  /// What is left to the mount's file system, as typed; empty if it is not ours.
  private(set) var rest: [[UInt8]] = []
  let wantsDirectory: Bool
  /// Without links, as far as we looked.
  private var way: [[UInt8]] = []

  /// Whether the path leads to where something is mounted, and no further.
  var isMountPoint: Bool { mount.mountPoint == TypedPath.path(way) }

  /// The volume that shows what the path leads to, if it leads into a source instead of a volume.
  ///
  /// By the names in the table of mounts, because nobody is asked here; with `fsname=` they are no paths.
  var volumeOfSource: MountedVolume? {
    guard !mount.isOurs else { return nil }
    let path = TypedPath.path(way)
    return table.last {
      $0.isOurs && $0.showsAll && $0.source.first == slash
        && (path == $0.source || path.starts(with: $0.source + [slash]))
    }
  }

  init(_ typed: [UInt8], _ table: [MountedVolume]) throws(Refusal) {
    guard !typed.isEmpty else { throw Refusal("an empty path names nothing (ENOENT)", status: 2) }
    var absolute = typed
    if typed.first != slash {
      // The kernel tells the working directory without asking a file system.
      let here = try attempt(realPath(TypedPath.here)) {
        Refusal("the working directory cannot be found: \($0)", status: 2)
      }
      absolute = joined(here, typed)
    }
    let names = absolute.split(separator: slash).map { Array($0) }
    // A step to "." is none, but at the end it wants a directory, as a slash does.
    wantsDirectory = absolute.last == slash || names.last == TypedPath.here
    self.table = table
    mount = MountedVolume.serving([slash], in: table) ?? .unlisted
    try walk(names, typed)
  }

  private static let here = [UInt8(ascii: ".")]
  private static let above = Array("..".utf8)

  private static func path(_ way: [[UInt8]]) -> [UInt8] {
    [slash] + Array(way.joined(separator: [slash]))
  }

  private mutating func walk(_ names: [[UInt8]], _ typed: [UInt8]) throws(Refusal) {
    // The next one last.
    var pending = Array(names.reversed())
    var links = 0
    while let name = pending.popLast() {
      if name == TypedPath.here { continue }
      if name == TypedPath.above {
        if !way.isEmpty { way.removeLast() }
        let before = mount
        try serve(way)
        // Within a volume the daemon takes the step, by the rules that are asked about.
        if mount == before, mount.isOurs { rest.append(name) }
        continue
      }
      let before = mount
      try serve(way + [name])
      if mount.isOurs {
        if mount == before { rest.append(name) }
      } else if mount == before, let target = try target(way + [name], typed) {
        links += 1
        guard links <= 40 else { throw Refusal("too many links on the way (ELOOP)", status: 2) }
        if target.first == slash {
          way = []
          try serve(way)
        }
        pending += target.split(separator: slash).map { Array($0) }.reversed()
        continue
      }
      way.append(name)
    }
  }

  /// Finds who serves a way, and what of it lies below the mount point.
  private mutating func serve(_ way: [[UInt8]]) throws(Refusal) {
    let path = TypedPath.path(way)
    var found = MountedVolume.serving(path, in: table) ?? .unlisted
    if found.type == "autofs", found != mount {
      // Looking into it makes the mount, if it can be made; whatever goes wrong shows below.
      _ = try? Descriptor.item(atPath: path + [slash], .followed)
      table = try volumeTable()
      found = MountedVolume.serving(path, in: table) ?? found
    }
    guard found != mount else { return }
    mount = found
    let depth = found.mountPoint.split(separator: slash).count
    rest = found.isOurs ? Array(way.dropFirst(depth)) : []
  }

  /// Where a link outside of our volumes leads; nil for anything else.
  private func target(_ way: [[UInt8]], _ typed: [UInt8]) throws(Refusal) -> [UInt8]? {
    do throws(Errno) {
      let held = try Descriptor.item(atPath: TypedPath.path(way), .held)
      return try held.knownStatus().kind == .symbolicLink ? try held.readLink() : nil
    } catch {
      // Advice about a refusal begins with finding the place, which this is part of.
      let advice = error == .accessDenied ? Errno.adviceOnDenial : error.advice(about: typed)
      throw Refusal("\(error)\(advice)", status: 2)
    }
  }
}
