import Foundation
import MountSupport
import Testing

@Suite("The programs that tests run") struct ProgramTableTests {
  @Test("scripts/setup installs each of them, unless every Debian has it") func setup() throws {
    let root = URL(fileURLWithPath: Program.built("varve")).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let script = try Text.read(root.appendingPathComponent("scripts/setup").path)
    // The lists are words in quotes, or words alone in a line.
    let words = Set(script.split { $0.isWhitespace || $0 == "\"" }.map(String.init))
    let forgotten = Programs.table.filter { !$0.isEssential && !words.contains($0.package) }.map(\.package)
    #expect(forgotten == [])
  }

  @Test(
    "In CI each of them is here, so that nothing is skipped for want of one",
    .enabled(
      if: ProcessInfo.processInfo.environment["VARVE_CI_RUN"] != nil,
      "elsewhere a test without its program is skipped"))
  func present() {
    #expect(Programs.table.flatMap(\.programs).filter { Programs.path(of: $0) == nil } == [])
  }
}
