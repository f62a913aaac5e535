// The directory that keeps the files of a volume, opened and found fit for it.

import LayerRules
package import LinuxFiles

/// An open directory on a file system that can hold a volume.
package struct UpperRoot: Sendable {
  let path: [UInt8]
  package let directory: SharedDescriptor
  let fileSystem: FileSystemStatus
  /// Whether this machine's kernel keeps the locks there, and nobody else changes anything.
  let isOfThisMachine: Bool

  /// `opened`: the directory, where its path means nothing here.
  package init(_ path: [UInt8], openedAs opened: SharedDescriptor? = nil) throws(VolumeFailure) {
    self.path = path
    do throws(Errno) {
      if let opened {
        directory = opened
      } else {
        directory = SharedDescriptor(try Descriptor.directory(atPath: path))
      }
      fileSystem = try directory.descriptor.fileSystemStatus()
      isOfThisMachine = fileSystem.isOfThisMachine(
        on: DeviceNumber(packed: try directory.descriptor.status().device))
    } catch {
      throw VolumeFailure("cannot open the upper directory: \(error)")
    }
    if let name = fileSystem.kernelsOwn {
      throw VolumeFailure("on \(name), where the kernel shows itself and no files can be kept")
    }
    // Our records are hidden there.
    guard !Volume.isOnVolume(directory.descriptor) else { throw VolumeFailure("on a Varve volume already") }
  }

  /// Refuses what opening the volume would refuse, in the same words, and changes nothing.
  package func check(_ options: VolumeOptions) throws {
    try VolumeDirectory.check(
      root: directory, readOnly: options.live.isReadOnly, saysLowers: options.saysLowers,
      space: RecordSpace(switchedOff: options.disabledFeatures))
  }

  /// Refuses lowers as far as that can be known before anything is made.
  func refuseLayers(_ options: VolumeOptions) throws {
    try VolumeDirectory.checkLayers(
      of: directory, space: RecordSpace(switchedOff: options.disabledFeatures))
    // What else layers need cannot be tried without making names.
    if !options.live.isReadOnly, Workshop.lacksUnnamedFiles(in: directory.descriptor) {
      throw VolumeFailure.lackingForLayers(Workshop.unnamedFiles)
    }
  }

  /// The same of a volume's layers, which also tells what opening it would tell of them.
  package func checkLayers(over lowers: [LowerRoot], _ options: VolumeOptions) throws {
    if !lowers.isEmpty { try refuseLayers(options) }
    guard let found = try VolumeDirectory.find(in: directory),
      let text = try VolumeDirectory.storedHeader(in: found)
    else { return }
    _ = LayerHistory(
      try VolumeHeader(parsing: text).storedLayers, root: InodeMark(try directory.descriptor.status()), lowers
    )
  }
}
