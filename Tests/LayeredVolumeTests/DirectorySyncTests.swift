// Which directories and files of the bookkeeping are synced, and when.

import Faults
import Foundation
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Directories that are synced", .enabled(if: Tree.isRoot)) struct DirectorySyncTests {
  /// The names and syncs that `body` makes, the latter with the path of what is synced.
  private func steps(_ tree: LayeredTree, _ body: () throws -> Void) rethrows -> [String] {
    var steps: [String] = []
    try observing({ kind, file in
      if kind == .name { steps.append("name") }
      guard kind.contains(.sync) else { return }
      let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(file)")
      steps.append("sync \((path ?? "?").replacingOccurrences(of: tree.upper + "/", with: ""))")
    }) { try body() }
    return steps
  }

  @Test(
    "What the volume file says of layers is on the disk, with its name, before a volume over them is open")
  func volumeFile() throws {
    let tree = try LayeredTree([file("a")], [file("b")])
    let lowers = tree.lowers
    let steps = try steps(tree) { try tree.remount(over: [lowers[1], lowers[0]]) }
    let wanted = ["sync .varve/volume.new", "name", "sync .varve"]
    let first = steps.firstIndex(of: wanted[0]) ?? steps.count
    #expect(Array(steps[first...].prefix(3)) == wanted, "\(steps)")
  }

  @Test(
    "A sync of a directory of lowers is one of its part in the upper, also if that is newer than the handle")
  func directories() throws {
    let tree = try LayeredTree([directory("d") { file("a") }])
    try tree.at("d") { node in
      let handle = try tree.volume.openDirectory(node, for: tree.caller).handle
      defer { tree.volume.release(handle) }
      func sync(_ handle: HandleID) throws -> [String] {
        try steps(tree) { try tree.volume.synchronizeDirectory(handle, dataOnly: false) }
      }
      #expect(try sync(handle) == [])
      try tree.create("d/new")
      #expect(try sync(handle) == ["sync d"])
      let later = try tree.volume.openDirectory(node, for: tree.caller).handle
      defer { tree.volume.release(later) }
      #expect(try sync(later) == ["sync d"])
    }
  }
}
