// The device of this daemon's mount, by which the kernel and other programs name it.

import LayeredVolume
import LinuxFiles
import LinuxPrograms
import TextForms

/// The number under which the kernel knows the mount.
struct MountDevice {
  /// As /proc/PID/mountinfo writes it.
  let number: String

  /// Finds it without asking the mount itself; nil if no table shows it.
  ///
  /// `namespace`: that of the mount, if it is not ours.
  init?(of mountPoint: [UInt8], in namespace: MountNamespace?) {
    let found: String?
    if let namespace {
      found = try? namespace.visit { () throws(Errno) in
        try Descriptor.item(atPath: mountPoint, .held).knownDevice()
      }
    } else {
      found = MountedVolume.table().last { $0.mountPoint == mountPoint && $0.isOurs }?.device
    }
    guard let found else { return nil }
    number = found
  }

  /// In KiB: two of the largest requests, so that a second one is at work while the first is copied.
  private static let readahead = "2048"

  /// Lets the kernel read further ahead than 128 KiB where it reads by way of us; who may not say so does without.
  func raiseReadahead() {
    do throws(Errno) {
      let setting = try Descriptor.open(path: "/sys/class/bdi/\(number)/read_ahead_kb", .writeOnly)
      try setting.writeAll(Array(MountDevice.readahead.utf8), at: 0)
    } catch {
      Log.notice("the kernel reads no further ahead than usual: \(error)")
    }
  }
}
