import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("The table of arrangements") struct ArrangementTests {
    @Test("Each choice of threads, routes, caches and kernel meets each of the others")
    func everyPair() {
      let choices = Arrangement.choices
      for row in Arrangement.rows {
        #expect(row.count == choices.count)
        for (word, column) in zip(row, choices) { #expect(column.words.contains(word), "\(row)") }
      }
      for first in choices.indices {
        for second in choices.indices where second != first {
          for word in choices[first].words {
            for other in choices[second].words {
              #expect(
                Arrangement.rows.contains { $0[first] == word && $0[second] == other },
                "'\(word)' and '\(other)' meet nowhere")
            }
          }
        }
      }
    }

    @Test("Each row is served as it says", arguments: Arrangement.rows)
    func served(row: [String]) throws {
      let volume = try MountedVolume(row.filter { !$0.isEmpty }.joined(separator: ","))
      defer { volume.remove() }
      let status = try Text.read(volume.path + "/.varve/status")
      let isOff = row[1] == "passthrough=off"
      #expect(status.contains("\"passthrough\":\"on\"") == (!isOff && Machine.passesThrough), "\(status)")
      for word in row[3].split(separator: ",") {
        #expect(status.contains("\"\(word.dropFirst(3))\":\"off: switched off\""), "\(status)")
      }
      try volume.unmount()
    }
  }
}
