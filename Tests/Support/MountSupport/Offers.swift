// What the kernel of this machine offers: asked of volumes and of the kernel, once.

import Foundation
import Glibc
import LinuxFiles

extension Machine {
  /// The status of a volume with the default options.
  private static let usualStatus: String = {
    guard canMount, let volume = try? MountedVolume() else { return "" }
    defer { volume.remove() }
    return (try? Text.read(volume.path + "/.varve/status")) ?? ""
  }()

  /// Whether the kernel reads and writes plain files by itself.
  package static let passesThrough = offers("passthrough")

  /// Whether a feature of the connection, by its word in the status, is on.
  package static func offers(_ feature: String) -> Bool { usualStatus.contains("\"\(feature)\":\"on\"") }

  /// Whether the kernel knows a type of file system, now or by a module.
  package static func knows(fileSystem kind: String) -> Bool {
    func isListed() -> Bool {
      let list = (try? Text.read("/proc/filesystems")) ?? ""
      return list.split(separator: "\n").contains { $0.split(separator: "\t").last ?? "" == kind }
    }
    if isListed() { return true }
    _ = try? Program.run("/bin/bash", ["-c", "PATH=$PATH:/usr/sbin:/sbin modprobe -q \(kind)"])
    return isListed()
  }

  /// Memory that could be had, in bytes.
  package static var freeMemory: Int {
    let lines = ((try? Text.read("/proc/meminfo")) ?? "").split(separator: "\n")
    let line = lines.first { $0.hasPrefix("MemAvailable:") } ?? ""
    return (Int(line.filter(\.isNumber)) ?? 0) << 10
  }
}
