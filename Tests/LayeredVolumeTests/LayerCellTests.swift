// The matrix of two names, ended in the place of each call that changes something: what is there after the next mount is what was
// before or what is after, as a plain directory has it, and a check has nothing to say that it does not mend.

import Faults
import Foundation
import LinuxFiles
import Randomness
import Testing

@testable import LayeredVolume

@Suite(
  "Names of layers in every state, ended at every call", .timeLimit(.minutes(60)), .enabled(if: Tree.isRoot))
struct LayerCellTests {
  private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

  /// What a check finds of an unmounted volume, which it repairs or not.
  private func findings(of tree: LayeredTree, repairs: Bool) throws -> [LayerFinding] {
    let root = SharedDescriptor(try Descriptor.directory(atPath: tree.upper))
    let inspection = try VolumeInspection(of: root, for: repairs ? .repairing : .looking)
    let layers = try LayerInspection(
      inspection, of: root, at: Array(tree.upper.utf8), over: .named(tree.lowers.map { Array($0.utf8) }))
    var found: [LayerFinding] = []
    _ = layers?.check(
      renewsOrigins: false,
      found: { finding in
        found.append(finding)
        if repairs {
          do throws(Errno) { try finding.repair() } catch { Issue.record("\(finding.text): \(error)") }
        }
      },
      failed: { Issue.record("\(String(decoding: $0, as: UTF8.self)): \($1)") }, isInterrupted: { false })
    return found
  }

  /// After a crash a mark may hide nothing, and a count of names be one too high; a repair leaves nothing to say.
  private func check(_ tree: LayeredTree, _ story: Comment) throws {
    for finding in try findings(of: tree, repairs: false) {
      let isKnown = (finding.kind == .whiteout || finding.kind == .links) && finding.remedy != nil
      #expect(
        isKnown,
        "\(story): \(finding.kind), \(String(decoding: finding.path, as: UTF8.self)): \(finding.text)")
      _ = try findings(of: tree, repairs: true)
      #expect(try findings(of: tree, repairs: false).isEmpty, story)
    }
  }

  private func refusal(_ body: () throws -> Void) -> Errno? {
    do { try body() } catch { return error as? Errno ?? .inputOutput }
    return nil
  }

  /// What a cell shows before and after what it says, which is what a plain directory shows.
  private func states(of cell: LayerCell) throws -> (before: [String], wanted: [String]) {
    let tree = try cell.tree(model: "model")
    let model = tree.base + "/model"
    let before = try plainState(model)
    #expect(try tree.state() == before, "before \(cell)")
    let (found, expected) = (
      refusal { try cell.make(in: tree) }, refusal { try cell.make(inPlain: model) }
    )
    #expect(found == expected, "\(cell)")
    let wanted = try plainState(model)
    #expect(try tree.state() == wanted, "\(cell)")
    try tree.remount()
    #expect(try tree.state() == wanted, "\(cell), mounted again")
    tree.close()
    #expect(try findings(of: tree, repairs: false).isEmpty, "\(cell)")
    return (before, wanted)
  }

  /// Does what a cell says, ended at each of its calls in turn; how many there are.
  private func end(_ cell: LayerCell) throws -> Int {
    let (before, wanted) = try states(of: cell)
    for number in 0..<300 {
      let tree = try cell.tree()
      let lowers = try tree.lowers.map { try plainState($0) }
      let fault = Fault(.changes, .inputOutput, after: number, count: .max)
      let (result, hits) = fault.during { try cell.make(in: tree) }
      guard hits > 0 else { return number }
      let story: Comment = "\(cell), ended at call \(number): \(result)"
      try tree.remount()
      expect(try tree.state(), isOneOf: [before, wanted], story)
      let work = try FileManager.default.contentsOfDirectory(atPath: tree.upper + "/.varve/work")
      #expect(work.allSatisfy { $0 == "wh" }, story)
      try tree.create("goes-on")
      try tree.remove("goes-on")
      tree.close()
      #expect(try tree.lowers.map { try plainState($0) } == lowers, story)
      try check(tree, story)
    }
    Issue.record("\(cell) has no end of calls")
    return 0
  }

  @Test(
    "Whatever two names of layers are, a change does what it does in a plain directory, and one that ends at any of its calls shows what was before or after, and is sound"
  )
  func ended() async throws {
    var dice = Dice(for: "names of layers, ended")
    let cells = LayerCellTests.isLong ? LayerCell.all : (0..<400).map { _ in dice.pick(LayerCell.all) }
    var (ends, changing) = (0, 0)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for cell in cells { group.addTask { try self.end(cell) } }
      for try await calls in group {
        ends += calls
        if calls > 0 { changing += 1 }
      }
    }
    print("\(cells.count) of \(LayerCell.all.count) cells, \(changing) change something, ended \(ends) times")
    #expect(changing > cells.count / 4)
  }
}
