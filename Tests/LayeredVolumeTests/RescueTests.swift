// What is kept in '.varve/trash' because nobody may delete it.

import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("What is kept aside", .enabled(if: Tree.isRoot)) struct RescueTests {
  @Test("What has the longest name there is, is kept aside under a shorter one, as often as it comes")
  func long() throws {
    let tree = try LayeredTree([file("f")])
    try tree.remove("f")
    let name = String(repeating: "n", count: 255)
    for number in 1...3 {
      tree.close()
      mkdir("\(tree.upper)/.varve/work/\(name)", 0o700)
      try "\(number)".write(
        toFile: "\(tree.upper)/.varve/work/\(name)/kept", atomically: false, encoding: .utf8)
      try tree.remount()
    }
    let trash = tree.upper + "/.varve/trash"
    let kept = try FileManager.default.contentsOfDirectory(atPath: trash)
    #expect(kept.count == 3 && kept.allSatisfy { $0.hasPrefix("rescued-nnn") && $0.utf8.count == 255 })
    let texts = try kept.map { try String(contentsOfFile: "\(trash)/\($0)/kept", encoding: .utf8) }
    #expect(texts.sorted() == ["1", "2", "3"])
    let work = try FileManager.default.contentsOfDirectory(atPath: tree.upper + "/.varve/work")
    #expect(work.filter { $0 != "wh" }.isEmpty)
  }
}
