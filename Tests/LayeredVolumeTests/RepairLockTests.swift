import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("The lock of a volume") struct RepairLockTests {
  /// A directory that was a volume once, gone afterwards.
  private func withVolume(_ body: (SharedDescriptor) throws -> Void) throws {
    var template = Array("/tmp/varve-lock.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno.current }
    let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    defer {
      for name in ["lock", "volume"] { unlink("\(path)/.varve/\(name)") }
      for name in [".varve/work", ".varve", ""] { rmdir("\(path)/\(name)") }
    }
    let root = SharedDescriptor(try Descriptor.directory(atPath: path))
    _ = try VolumeDirectory.open(root: root, readOnly: false)
    try body(root)
  }

  private func use(_ root: SharedDescriptor, _ purpose: VolumeInspection.Purpose) throws -> String {
    "\(try VolumeInspection(of: root, for: purpose).use)"
  }

  @Test("Readers share a volume with each other and with one writer, and a repair shares it with nobody")
  func sharing() throws {
    try withVolume { root in
      let readers = try (0..<2).map { _ in try VolumeDirectory.open(root: root, readOnly: true) }
      #expect(try use(root, .looking) == "nobody")
      #expect(try use(root, .repairing) == "mountedForReading")
      #expect(try readers[0].becomeWritable() != nil)
      let writer = LockHolder(process: getpid())
      guard case .mounted(writer) = try VolumeInspection(of: root, for: .repairing).use else {
        Issue.record("the writer is not seen")
        return
      }
      #expect(throws: VolumeFailure.self) { try VolumeDirectory.open(root: root, readOnly: false) }
      withExtendedLifetime(readers) {}
    }
  }

  @Test("Nothing is mounted during a repair, and looking keeps no reader out") func repairing() throws {
    try withVolume { root in
      let looking = try VolumeInspection(of: root, for: .looking)
      #expect(throws: Never.self) { try VolumeDirectory.open(root: root, readOnly: true) }
      withExtendedLifetime(looking) {}
    }
    try withVolume { root in
      let repair = try VolumeInspection(of: root, for: .repairing)
      for readOnly in [true, false] {
        #expect(throws: VolumeFailure.self) { try VolumeDirectory.open(root: root, readOnly: readOnly) }
      }
      withExtendedLifetime(repair) {}
      #expect("\(repair.use)" == "nobody")
    }
    try withVolume { root in
      do { _ = try VolumeInspection(of: root, for: .repairing) }
      #expect(throws: Never.self) { try VolumeDirectory.open(root: root, readOnly: true) }
    }
  }
}
