// Directories that keep their owner out, on a volume without privilege: they are opened for a moment.

import Faults
import Foundation
import LayerRules
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Directories that are opened for a plan", .enabled(if: Tree.isRoot)) struct OpenedDirectoryTests {
  @Test("A directory that keeps its owner out is closed again, whatever fails meanwhile") func closed() throws
  {
    let tree = try LayeredTree([file("f")])
    let names = ["d", "e"].map { "\(tree.upper)/\($0)" }
    for name in names { #expect(mkdir(name, 0o555) == 0) }
    let upper = LayerDirectory(try Descriptor.directory(atPath: tree.upper), layer: 0)
    var runner = try FileName.with(Array("d".utf8)) { name throws(Errno) in
      try tree.volume.planRunner(name, in: upper)
    }
    runner.newName = UpperName(directory: upper, name: Array("e".utf8))
    runner.opensDirectories = true
    var (failures, isOver) = (0, false)
    for number in 0..<100 {
      let fault = Fault([.look, .open, .mode, .name, .attribute], .inputOutput, after: number)
      let (result, hits) = fault.during {
        try runner.run([.close(.name), .exchange(.name, .newName)]) { (_) throws(Errno) in }
      }
      for name in names {
        var found = stat()
        #expect(lstat(name, &found) == 0 && found.st_mode & 0o7777 == 0o555, "call \(number): \(name)")
      }
      if case .failure = result { failures += 1 }
      isOver = hits == 0
      if isOver { break }
    }
    // Each of the two is at least looked at and opened; then one is marked, and both are exchanged.
    #expect(isOver && failures >= 6, "\(failures)")
  }
}
