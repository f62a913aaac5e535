// What was made for a mount that did not come about is taken away, if it is nobody else's by then.

import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Bookkeeping of a mount that failed") struct FreshBookkeepingTests {
  private func withDirectory(_ body: (SharedDescriptor, _ path: String) throws -> Void) throws {
    var template = Array("/tmp/varve-fresh.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno.current }
    let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    defer {
      for name in ["lock", "volume", "other", "work/other"] { unlink("\(path)/.varve/\(name)") }
      unlink("\(path)/.varve")
      for name in [".varve/work", ".varve", "elsewhere", ""] { rmdir("\(path)/\(name)") }
    }
    try body(SharedDescriptor(try Descriptor.directory(atPath: path)), path)
  }

  private func stays(_ path: String) -> Bool { access("\(path)/.varve", F_OK) == 0 }

  @Test("It goes, and whoever waited for its lock gets none") func goes() throws {
    try withDirectory { root, path in
      let made = try VolumeDirectory.open(root: root, readOnly: false)
      let opened = try VolumeDirectory.openOwn(in: root)
      made.takeBack()
      #expect(!stays(path))
      #expect(throws: Errno.noSuchFile) { try VolumeDirectory.tryLock(in: opened, of: root) }
      #expect(throws: Never.self) { try VolumeDirectory.open(root: root, readOnly: false) }
    }
  }

  @Test("So it does when a volume that was read-only could not become writable") func becameWritable() throws
  {
    try withDirectory { root, path in
      let reader = try VolumeDirectory.open(root: root, readOnly: true)
      #expect(try reader.becomeWritable() == true)
      reader.takeBack()
      #expect(!stays(path))
    }
  }

  @Test("What was there before stays") func older() throws {
    try withDirectory { root, path in
      _ = try VolumeDirectory.open(root: root, readOnly: false)
      try VolumeDirectory.open(root: root, readOnly: false).takeBack()
      #expect(stays(path))
    }
  }

  @Test("What somebody has put there stays, with everything", arguments: ["other", "work/other"])
  func filled(name: String) throws {
    try withDirectory { root, path in
      let made = try VolumeDirectory.open(root: root, readOnly: false)
      close(creat("\(path)/.varve/\(name)", 0o600))
      made.takeBack()
      #expect(access("\(path)/.varve/\(name)", F_OK) == 0)
      #expect(access("\(path)/.varve/volume", F_OK) == 0)
    }
  }

  @Test("What tells that records exist stays: they would not count any more without it") func recorded()
    throws
  {
    try withDirectory { root, path in
      let made = try VolumeDirectory.open(root: root, readOnly: false)
      try made.announceRecords()
      made.takeBack()
      #expect(access("\(path)/.varve/volume", F_OK) == 0)
    }
  }

  @Test("A record of the upper directory itself counts where the bookkeeping was lost") func recordOfRoot()
    throws
  {
    try withDirectory { root, path in
      let made = try VolumeDirectory.open(root: root, readOnly: false)
      #expect(!made.recordsExist)
      let name = "\(made.namespace.rawValue).varve.m"
      made.takeBack()
      #expect(!stays(path))
      try AttributeName.with(Array(name.utf8)) { name throws(Errno) in
        try root.descriptor.setAttribute(name, to: Array("record".utf8))
      }
      #expect(try VolumeDirectory.open(root: root, readOnly: false).recordsExist)
    }
  }

  @Test("What somebody looks at stays") func shared() throws {
    try withDirectory { root, path in
      let made = try VolumeDirectory.open(root: root, readOnly: false)
      let reader = try VolumeDirectory.open(root: root, readOnly: true)
      made.takeBack()
      #expect(access("\(path)/.varve/volume", F_OK) == 0)
      withExtendedLifetime(reader) {}
    }
  }

  @Test("Another directory, or a link, in its place is left alone", arguments: [true, false])
  func replaced(byLink isLink: Bool) throws {
    try withDirectory { root, path in
      let made = try VolumeDirectory.open(root: root, readOnly: false)
      #expect(rename("\(path)/.varve", "\(path)/elsewhere") == 0)
      if isLink { symlink("elsewhere", "\(path)/.varve") } else { mkdir("\(path)/.varve", 0o700) }
      made.takeBack()
      #expect(stays(path) && access("\(path)/elsewhere/volume", F_OK) == 0)
      unlink("\(path)/.varve")
      rmdir("\(path)/.varve")
      #expect(rename("\(path)/elsewhere", "\(path)/.varve") == 0)
    }
  }
}
