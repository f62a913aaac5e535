// Looks after what is mounted inside the volume. The kernel takes such a mount away when a name on the way to it is
// refused or made stale, which any user of the volume can bring about.

import LayeredVolume
import LinuxFiles
import LinuxPrograms
import TextForms

enum MountWatch {
  /// Starts a thread that tells the volume what is mounted inside it, whenever the table of mounts has changed.
  ///
  /// It sees the daemon's own mount namespace alone: to look into another one would keep that one alive, and the mount
  /// with it. Without the table nothing is known, and the volume is served all the same.
  static func start(_ volume: Volume, _ mountPoint: [UInt8]) {
    do throws(Errno) {
      let changes = SharedDescriptor(try Descriptor.reading(Array("/proc/self/mountinfo".utf8)))
      _ = try PlainThread(name: "varve-mounts") {
        while true {
          volume.mountsInside = count(mountPoint)
          do throws(Errno) {
            try changes.descriptor.waitForMounts()
          } catch {
            return complain(error)
          }
        }
      }
    } catch {
      complain(error)
    }
  }

  /// How many file systems root has mounted inside the volume.
  private static func count(_ mountPoint: [UInt8]) -> Int {
    let table = MountedVolume.table()
    guard let own = table.last(where: { $0.mountPoint == mountPoint && $0.isOurs }) else { return 0 }
    return own.mountsOfRootInside(in: table).count
  }

  private static func complain(_ error: Errno) {
    Log.notice("what is mounted inside the volume is not known: /proc/self/mountinfo: \(error)")
  }
}

extension MountedVolume {
  /// Every mount of a namespace, or of ours.
  ///
  /// A table that cannot be read has no lines.
  static func table(of namespace: MountNamespace? = nil) -> [MountedVolume] {
    let text =
      if let namespace { try? namespace.mountTable().descriptor.readToEnd() } else { try? ownMountTable() }
    return text.map { table($0) } ?? []
  }
}
