// The owner of an upper directory exchanges the bookkeeping while the volume is opened.

import Glibc
import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

@Suite(
  "Bookkeeping that is exchanged", .enabled(if: geteuid() == 0, "needs root, to be refused what is another's")
)
struct BookkeepingSwapTests {
  private static let stranger: UInt32 = 1002
  private static let rounds = 3_000

  /// An upper directory with the bookkeeping of root, and beside it a user's own, `theirs`.
  private func withDirectory(
    _ body: (SharedDescriptor, _ own: String) throws -> Void
  ) throws {
    var template = Array("/tmp/varve-swap.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno.current }
    let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    defer {
      for directory in [".varve", "theirs"] {
        for name in ["lock", "volume"] { unlink("\(path)/\(directory)/\(name)") }
        rmdir("\(path)/\(directory)/work")
        rmdir("\(path)/\(directory)")
      }
      rmdir(path)
    }
    try #require(chown(path, Self.stranger, Self.stranger) == 0)
    let root = SharedDescriptor(try Descriptor.directory(atPath: path))
    let own = try VolumeDirectory.open(root: root, readOnly: false).uuid
    let theirs = "\(path)/theirs"
    try #require(mkdir(theirs, 0o700) == 0)
    let directory = SharedDescriptor(try Descriptor.directory(atPath: theirs))
    try VolumeDirectory.store(.fresh(), in: directory)
    _ = try VolumeDirectory.tryLock(in: directory, of: root)
    for name in ["", "/volume", "/lock"] {
      try #require(chown(theirs + name, Self.stranger, Self.stranger) == 0)
    }
    try body(root, own)
  }

  /// Runs `body` while another thread exchanges the two without a pause.
  private func exchanging(in root: SharedDescriptor, _ body: () throws -> Void) throws {
    let box = Shared()
    let thread = try PlainThread {
      while !box.isDone.load(ordering: .relaxed) {
        try? root.descriptor.rename(
          try FileName(".varve"), to: root.descriptor, as: try FileName("theirs"), .exchange)
      }
    }
    let result = Result { try body() }
    box.isDone.store(true, ordering: .relaxed)
    thread.join()
    try result.get()
  }

  private final class Shared: Sendable {
    let isDone = Atomic(false)
  }

  @Test("A volume is opened by its own bookkeeping or not at all, whoever exchanges it meanwhile")
  func opening() throws {
    try withDirectory { root, own in
      var opened = 0
      try exchanging(in: root) {
        for _ in 0..<Self.rounds {
          guard let volume = try? VolumeDirectory.open(root: root, readOnly: false) else { continue }
          opened += 1
          #expect(volume.uuid == own)
          let owner = try #require(volume.descriptor).descriptor.status().user
          #expect(owner == 0)
        }
      }
      #expect(opened > 0 && opened < Self.rounds, "\(opened) of \(Self.rounds): the race was not run")
    }
  }

  @Test("A check looks into its own bookkeeping or refuses, whoever exchanges it meanwhile")
  func checking() throws {
    try withDirectory { root, _ in
      var looked = 0
      try exchanging(in: root) {
        for _ in 0..<Self.rounds {
          guard let inspection = try? VolumeInspection(of: root, for: .looking) else { continue }
          looked += 1
          let owner = try inspection.directoryStatus().user
          #expect(owner == 0)
        }
      }
      #expect(looked > 0 && looked < Self.rounds, "\(looked) of \(Self.rounds): the race was not run")
    }
  }
}
