// Files of `.varve` that are read and replaced as a whole: a crash leaves the old one or the new one.

import LinuxFiles

/// A file of the bookkeeping by its name, and the name it is written under before it gets its own.
struct BookkeepingFile: Sendable {
  let name: StaticString
  let temporary: StaticString
  /// What is longer is not one of ours.
  let longest: Int

  static let volume = BookkeepingFile(
    name: "volume", temporary: "volume.new", longest: VolumeHeader.longest)

  /// What a crash may leave of each.
  static let temporaries: [StaticString] = [
    volume.temporary, "keybag.new", "keybag.copy.new", "sessions.new",
  ]

  /// Removes what a crash left while a file was replaced; nothing of it was ever acknowledged.
  static func removeTemporaries(in directory: SharedDescriptor) throws(Errno) {
    for temporary in temporaries {
      do throws(Errno) {
        try directory.descriptor.removeFile(try FileName(temporary))
      } catch .noSuchFile {
        // No crash while this one was replaced.
      }
    }
  }

  /// The content; nil if there is no such file, and no bytes for what is not a file at all.
  ///
  /// One byte more than the longest tells that it is too long.
  func read(in directory: SharedDescriptor) throws(Errno) -> [UInt8]? {
    do throws(Errno) {
      let name = try FileName(self.name)
      // Before it is opened: a device would act.
      guard try directory.descriptor.status(of: name).kind == .regular else { return [] }
      // It may be that of a lower, which keeps its access times.
      let file = try LayerDirectory.forALook.openLeniently { flags throws(Errno) in
        try directory.descriptor.open(name, flags)
      }
      return try file.status().kind == .regular ? file.read(upTo: longest + 1) : []
    } catch .noSuchFile {
      return nil
    }
  }

  /// Whether a failure to read is the fault of this file, which another one may replace, and not of the machine.
  static func isAboutTheFile(_ error: Errno) -> Bool {
    [.inputOutput, .tooManySymbolicLinks, .crossDevice, .isDirectory, .noDevice].contains(error)
  }

  /// Puts new content in its place, and waits until the disk has it.
  func replace(with bytes: [UInt8], in directory: SharedDescriptor) throws(Errno) {
    try BookkeepingFile.asDaemon { () throws(Errno) in try write(bytes, in: directory) }
  }

  /// What is made here is the daemon's, also on a thread that acts as the owner of a file, which it then does again.
  private static func asDaemon(_ body: () throws(Errno) -> Void) throws(Errno) {
    guard CurrentProcess.isRoot,
      let acting = ProcessCredentials.credentials(ofThread: PlainThread.currentIdentifier),
      acting.fsUser != 0 || acting.fsGroup != 0
    else { return try body() }
    try ThreadIdentity.become(user: 0, group: 0)
    defer { try? ThreadIdentity.become(user: acting.fsUser, group: acting.fsGroup) }
    try body()
  }

  private func write(_ bytes: [UInt8], in directory: SharedDescriptor) throws(Errno) {
    let temporary = try FileName(self.temporary)
    do throws(Errno) {
      try directory.descriptor.removeFile(temporary)
    } catch .noSuchFile {
      // What a crash would have left is not there.
    }
    let file = try directory.descriptor.createFile(temporary, mode: 0o600)
    try file.writeAll(bytes, at: 0)
    try file.sync()
    try directory.descriptor.rename(temporary, to: directory.descriptor, as: try FileName(name))
    try directory.descriptor.sync()
  }

  /// Keeps what is there under another name; the name is on the disk after the next `replace`.
  func putAside(as name: [UInt8], in directory: SharedDescriptor) throws(Errno) {
    try FileName.with(name) { (aside) throws(Errno) in
      try directory.descriptor.rename(try FileName(self.name), to: directory.descriptor, as: aside)
    }
  }
}
