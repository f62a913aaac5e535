// How a volume is to be mounted, and why it could not be.

import CFUSE

/// A mount that did not come about.
package struct MountFailure: Error, Equatable, Sendable {
  /// What it is about: a mount point or a source, which need not be text.
  package let path: [UInt8]
  /// For people: why, and what to do.
  package let sentence: String

  package init(_ path: [UInt8], _ sentence: String) {
    self.path = path
    self.sentence = sentence
  }
}

/// What the kernel is told about a mount; everything is off unless it is asked for.
package struct MountOptions: Equatable, Sendable {
  /// What stands in the first column of /proc/mounts.
  package var source: [UInt8]
  /// The part after "fuse." of the type.
  package var subtype = "varve"
  package var isReadOnly = false
  /// Whether others than the mounter may enter.
  package var allowsOthers = false
  package var ignoresSetID = false
  package var ignoresDevices = false
  package var forbidsExecution = false
  package var keepsAccessTimes = false
  /// Every write waits for the disk (`sync`), or every change of names does (`dirsync`).
  package var isSynchronous = false
  package var isSynchronousForNames = false
  /// A queue of the device for each worker.
  package var clonesDevice = false

  package init(source: [UInt8]) {
    self.source = source
  }

  /// The words of libfuse's `-o`.
  ///
  /// `default_permissions` is never among them: the volume decides about rights, and the kernel's check
  /// would refuse what an access list grants.
  func words(isPrivileged: Bool) -> [UInt8] {
    var words = ["subtype=\(subtype)"]
    words.append(isReadOnly ? "ro" : "rw")
    if allowsOthers { words.append("allow_other") }
    // Without a word libfuse takes nosuid and nodev; fusermount3 refuses their opposites to users.
    if ignoresSetID { words.append("nosuid") } else if isPrivileged { words.append("suid") }
    if ignoresDevices { words.append("nodev") } else if isPrivileged { words.append("dev") }
    if forbidsExecution { words.append("noexec") }
    if keepsAccessTimes { words.append("noatime") }
    if isSynchronous { words.append("sync") }
    if isSynchronousForNames { words.append("dirsync") }
    return Array("fsname=".utf8) + MountOptions.escape(source)
      + Array(words.flatMap { ",\($0)".utf8 })
  }

  /// What mount(2) is told, for those who mount without fusermount3.
  var flags: UInt {
    let flags = [
      (isReadOnly, lv_mount_read_only), (ignoresSetID, lv_mount_no_setid),
      (ignoresDevices, lv_mount_no_devices), (forbidsExecution, lv_mount_no_programs),
      (keepsAccessTimes, lv_mount_no_access_times), (isSynchronous, lv_mount_synchronous),
      (isSynchronousForNames, lv_mount_names_synchronous),
    ]
    return flags.reduce(0) { $1.0 ? $0 | $1.1 : $0 }
  }

  /// The words mount(2) is told about a connection, for root; the root of a volume is a directory.
  func words(device: CInt) -> String {
    "fd=\(device),rootmode=40000,user_id=0,group_id=0" + (allowsOthers ? ",allow_other" : "")
  }

  /// Protects commas, which part options.
  private static func escape(_ text: [UInt8]) -> [UInt8] {
    text.flatMap { byte in
      byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\\") ? [UInt8(ascii: "\\"), byte] : [byte]
    }
  }
}
