// Flipped bits of the volume file of a volume over lowers: what a mount makes of them, and what a repair leaves.

import Foundation
import Glibc
import LayerRules
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("The volume file over lowers", .timeLimit(.minutes(2)), .enabled(if: Tree.isRoot))
struct LayeredVolumeFileTests {
  /// In the memory of the machine, as each of many mounts syncs.
  private func tree() throws -> LayeredTree {
    let place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
    let tree = try LayeredTree(
      in: place,
      making: { base in
        try LayeredTree.make(
          [file("one", "one"), file("gone", "gone"), directory("d") { file("locked", "locked") }],
          at: base + "/l1")
        Glibc.link(base + "/l1/one", base + "/l1/second")
        return [base + "/l1"]
      })
    try tree.write("one", "O")
    try tree.remove("gone")
    try tree.rename("d", to: "moved")
    try tree.setAttribute("moved/locked", "system.varve.flags", "uchg")
    return tree
  }

  private func read(_ tree: LayeredTree) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: tree.upper + "/.varve/volume")))
  }

  /// Mounts the volume with another volume file; answers why that is refused.
  private func remount(_ tree: LayeredTree, _ bytes: [UInt8]) throws -> VolumeFailure? {
    tree.close()
    try Data(bytes).write(to: URL(fileURLWithPath: tree.upper + "/.varve/volume"))
    do { try tree.remount() } catch let failure as VolumeFailure { return failure }
    return nil
  }

  private func repair(_ tree: LayeredTree) throws {
    let root = SharedDescriptor(try Descriptor.directory(atPath: tree.upper))
    try VolumeInspection(of: root, for: .repairing).letRecordsCount()
  }

  /// What the layers show, numbers of what was brought up, and what a flag forbids.
  private func shown(_ tree: LayeredTree) throws -> [String] {
    let numbers = try ["one", "second", "moved"].map { "\(try tree.attributes($0).inode)" }
    var refusal: Errno?
    do { try tree.write("moved/locked", "L") } catch let error as Errno { refusal = error }
    return try tree.state() + numbers + ["\(refusal?.name ?? "written")"]
  }

  @Test(
    "A flipped bit anywhere refuses the mount over lowers or changes nothing, and a repair keeps the layers")
  func everyBit() throws {
    let tree = try tree()
    let wanted = try shown(tree)
    let whole = try read(tree)
    let header = try VolumeHeader(parsing: whole)
    #expect(header.lowers == tree.lowers[0] && header.root != nil && header.fileSystems.entries.count == 1)
    for bit in 0..<whole.count * 8 {
      var damaged = whole
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      if try remount(tree, damaged) == nil {
        // Only where the second line is a checksum no more.
        #expect((15..<21).contains(bit / 8), "bit \(bit)")
      } else {
        // What each bit is corrected to, `VolumeFileTests` knows.
        guard bit % 8 == bit / 8 % 8 else { continue }
        try repair(tree)
        let repaired = try VolumeHeader(parsing: read(tree))
        #expect(repaired.isLayered && repaired.recordsExist, "bit \(bit)")
        #expect(repaired.lowers == header.lowers && repaired.root == header.root, "bit \(bit)")
        #expect(repaired.fileSystems == header.fileSystems, "bit \(bit)")
        try tree.remount()
      }
      #expect(try shown(tree) == wanted, "bit \(bit)")
    }
  }

  @Test("A flipped bit of one without a checksum refuses the mount over lowers, or brings back nothing")
  func withoutChecksum() throws {
    let tree = try tree()
    let (wanted, names) = (try shown(tree), try tree.names(""))
    let whole = try read(tree)
    var lines = whole.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    lines.remove(at: 1)
    let earlier = Array(lines.joined(separator: [UInt8(ascii: "\n")]))
    #expect(try remount(tree, earlier) == nil && shown(tree) == wanted && read(tree) == whole)
    var opened = 0
    for bit in 0..<earlier.count * 8 {
      var damaged = earlier
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      guard try remount(tree, damaged) == nil else { continue }
      opened += 1
      // What marks hide is not the business of this file.
      #expect(try tree.names("") == names && tree.read("one") == "One", "bit \(bit)")
      _ = try? tree.state()
    }
    #expect(opened > 0 && opened < earlier.count * 8)
    #expect(try remount(tree, whole) == nil && shown(tree) == wanted)
  }
}
