// Files of lowers that another program holds a lease on.

import Foundation
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Leases on files of lowers", .enabled(if: Tree.isRoot)) struct LowerLeaseTests {
  @Test("Who reads or changes a file of a lower waits for a lease on it, and is never told EAGAIN")
  func waited() throws {
    let tree = try LayeredTree([file("f", "text")])
    let lease = Glibc.open(tree.lowers[0] + "/f", O_RDWR | O_CLOEXEC)
    var isHeld = true
    func giveBack() {
      if isHeld { close(lease) }
      isHeld = false
    }
    defer { giveBack() }
    // F_SETSIG, so that the holder is told by a signal that ends nobody; F_SETLEASE.
    try #require(lease >= 0 && fcntl(lease, 10, SIGURG) == 0 && fcntl(lease, 1024, CInt(F_WRLCK)) == 0)
    #expect(throws: Errno.delayed(.leased)) { try tree.write("f", "T") }
    #expect(throws: Errno.delayed(.leased)) { try tree.change("f") { $0.mode = 0o600 } }
    #expect(throws: Errno.delayed(.leased)) { try tree.rename("f", to: "g") }
    #expect(throws: Errno.delayed(.leased)) { _ = try tree.read("f") }
    #expect(try FileManager.default.contentsOfDirectory(atPath: tree.upper) == [".varve"])
    #expect(tree.volume.handleCount == 0)
    giveBack()
    try tree.write("f", "T")
    #expect(try tree.read("f") == "Text")
  }
}
