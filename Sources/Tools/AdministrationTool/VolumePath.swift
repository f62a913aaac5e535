// From a path as it was typed to a path of a volume, without needing the rights to walk it: that is what the daemon
// is asked about.

import LinuxFiles
import LinuxPrograms
import TextForms

/// A path on a mounted volume.
struct VolumePath {
  let mount: MountedVolume
  /// From the root of the volume, as typed from there on.
  let path: [UInt8]

  /// Finds the volume; links on the way to it are followed, what comes after its mount point is left to the daemon.
  init(_ typed: [UInt8], _ table: [MountedVolume]) throws(Refusal) {
    let slash = UInt8(ascii: "/")
    var absolute = typed
    if typed.first != slash {
      do throws(Errno) { absolute = joined(try realPath([UInt8(ascii: ".")]), typed) } catch {
        throw Refusal("the working directory cannot be found: \(error)", status: 2)
      }
    }
    guard !typed.isEmpty else { throw Refusal("an empty path names nothing (ENOENT)", status: 2) }
    let names = absolute.split(separator: slash).map { Array($0) }
    // The shortest beginning that is on a volume of ours, and does not leave it again: the rest is walked by the
    // rules that are asked about.
    var beginning: [UInt8] = []
    var found: (mount: MountedVolume, path: [UInt8])?
    for count in 0...names.count {
      if count > 0 { beginning += [slash] + names[count - 1] }
      // Where a beginning cannot be resolved, a longer one cannot either.
      guard let real = try? realPath(beginning.isEmpty ? [slash] : beginning) else { break }
      // A link that leads away is for the daemon to tell of; only a step up is one that was typed.
      if found != nil, !names[count - 1].elementsEqual("..".utf8) { continue }
      guard let mount = MountedVolume.serving(real, in: table), mount.isOurs else {
        found = nil
        continue
      }
      if let found, found.mount.device == mount.device { continue }
      // A step to "." is none, but at the end it wants a directory, as a slash does.
      let inside = real.dropFirst(mount.mountPoint.count).split(separator: slash).map { Array($0) }
      let rest = inside + names[count...].filter { $0 != [UInt8(ascii: ".")] }
      let wantsDirectory = absolute.last == slash || names.last == [UInt8(ascii: ".")]
      let path = Array(rest.joined(separator: [slash])) + (wantsDirectory && !rest.isEmpty ? [slash] : [])
      found = (mount, path)
    }
    guard let found else { throw Refusal("not on a Varve volume", status: 2) }
    mount = found.mount
    path = found.path
  }
}
