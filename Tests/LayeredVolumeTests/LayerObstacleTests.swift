// A volume over lowers that does not come about, because its file system refuses one of the calls that layers need.

import Faults
import Foundation
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("File systems that lack what layers need", .timeLimit(.minutes(1)), .enabled(if: Tree.isRoot))
struct LayerObstacleTests {
  @Test("Whatever a file system refuses of what layers need is named, and no volume is left there")
  func named() throws {
    let tree = try LayeredTree([file("low", "low")])
    tree.close()
    var words: Set<String> = []
    for number in 0..<100 {
      let upper = "\(tree.base)/upper\(number)"
      mkdir(upper, 0o755)
      let fault = Fault([.make, .name], .invalid, after: number)
      let (result, hits) = fault.during {
        _ = try Volume(
          UpperRoot(Array(upper.utf8)), lowers: [LowerRoot(Array(tree.lowers[0].utf8))],
          options: VolumeOptions())
      }
      guard hits > 0 else { break }
      guard case .failure(let error) = result else { continue }
      guard let failure = error as? VolumeFailure, failure.problem.contains("lacks what layers need") else {
        continue
      }
      words.insert(failure.problem.split(separator: ":").dropFirst().first.map { String($0) } ?? "")
      #expect(failure.message.contains("take an upper directory on another file system"))
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: upper) == [], "\(number): \(failure.message)")
    }
    #expect(
      words == [
        " files without a name (O_TMPFILE)", " whiteouts", " hard links",
        " names that change places (RENAME_EXCHANGE)", " whiteouts left by a rename (RENAME_WHITEOUT)",
      ])
  }
}
