// What a copy of a lower's item gets from it, and what becomes of a copy that somebody takes away.

import Foundation
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Copies of items of lowers", .timeLimit(.minutes(1)), .enabled(if: Tree.isRoot)) struct LayerCopyTests
{
  /// A file may use raw sockets who runs it: cap_net_raw, effective.
  private static let capability: [UInt8] = [1, 0, 0, 2, 0, 0x20] + [UInt8](repeating: 0, count: 14)

  // user::rw-,user:1001:r--,group::r--,mask::r--,other::---
  private static let list: [UInt8] = [
    2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 4, 0, 0xE9, 3, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255,
    0x10, 0, 4, 0, 255, 255, 255, 255, 0x20, 0, 0, 0, 255, 255, 255, 255,
  ]

  /// Nil also where the file system has no such attributes.
  private func attribute(_ path: String, _ name: String) throws -> [UInt8]? {
    do { return try plainAttribute(path, name) } catch {
      guard error as? Errno == .unsupported else { throw error }
      return nil
    }
  }

  private func set(_ path: String, _ name: String, _ value: [UInt8]) throws {
    let object = try Descriptor.open(path: path, .readOnly)
    try AttributeName.with(Array(name.utf8)) { name throws(Errno) in
      try object.setAttribute(name, to: value)
    }
  }

  @Test("A copy has the times, attributes and capability of its source, and no POSIX list")
  func attributes() throws {
    let access = "system.posix_acl_access"
    let tree = try LayeredTree(making: { base in
      let lower = base + "/l1"
      try LayeredTree.make(
        [file("f", "text", mode: 0o755, attributes: ["user.note": "kept"]), directory("d") { file("x") }],
        at: lower)
      for name in ["f", "d"] {
        let times = [
          timespec(tv_sec: 1_000_000_001, tv_nsec: 2), timespec(tv_sec: 1_000_000_003, tv_nsec: 4),
        ]
        utimensat(AT_FDCWD, "\(lower)/\(name)", times, 0)
      }
      try set(lower + "/f", "security.capability", LayerCopyTests.capability)
      for (name, list) in [("f", access), ("d", access), ("d", "system.posix_acl_default")] {
        try set("\(lower)/\(name)", list, LayerCopyTests.list)
      }
      return [lower]
    })
    let lower = tree.lowers[0]
    #expect(try attribute(lower + "/f", access) == LayerCopyTests.list)
    // A rename alone changes nothing of it.
    try tree.rename("f", to: "g")
    try tree.rename("d", to: "e")
    for name in ["g", "e"] {
      var copy = stat()
      lstat("\(tree.upper)/\(name)", &copy)
      let times = [copy.st_atim.tv_sec, copy.st_atim.tv_nsec, copy.st_mtim.tv_sec, copy.st_mtim.tv_nsec]
      #expect(times == [1_000_000_001, 2, 1_000_000_003, 4], "\(name)")
    }
    try tree.create("e/new")
    for _ in 0..<2 {
      #expect(try attribute(tree.upper + "/g", "security.capability") == LayerCopyTests.capability)
      #expect(try attribute(tree.upper + "/g", "user.note") == Array("kept".utf8))
      for path in ["g", "e", "e/new"] {
        #expect(try attribute("\(tree.upper)/\(path)", access) == nil, "\(path)")
      }
      #expect(try attribute(tree.upper + "/e", "system.posix_acl_default") == nil)
      #expect(try tree.attributes("g").mode & 0o777 == 0o640)
      #expect(try tree.read("g") == "text")
      try tree.remount()
    }
    // As everywhere, a change of the content takes it away.
    try tree.write("g", "T")
    #expect(try attribute(tree.upper + "/g", "security.capability") == nil)
  }

  @Test("A copy that vanishes behind the mount gives way to what the lower has; who has it open keeps it")
  func vanished() throws {
    let tree = try LayeredTree([file("f", "lower"), directory("d") { file("g", "deep") }])
    try tree.write("f", "UP")
    try tree.write("d/g", "UP")
    try tree.open("f") { handle in
      #expect(try tree.read(handle) == "UPwer")
      unlink(tree.upper + "/f")
      try FileManager.default.removeItem(atPath: tree.upper + "/d")
      #expect(try tree.read("f") == "lower")
      #expect(try tree.read("d/g") == "deep")
      #expect(try tree.read(handle) == "UPwer")
    }
    try tree.write("f", "again")
    #expect(try tree.read("f") == "again")
    #expect(try String(contentsOfFile: tree.lowers[0] + "/f", encoding: .utf8) == "lower")
  }
}
