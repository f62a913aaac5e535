import Arguments
import MountSupport
import Testing

extension CommandTests {
  @Suite("Options in the status of a volume") struct StatusWordTests {
    /// Every word of a family of options, with values.
    private func words(_ rows: [MountOptionRow]) -> [String] {
      rows.flatMap { row in
        switch row.value {
        case nil: [row.name]
        case "N", "GROUP": ["\(row.name)=1", "\(row.name)=2"]
        case let value?: value.split(separator: "|").map { "\(row.name)=\($0)" }
        }
      }
    }

    @Test("What can change while a volume is mounted shows in its status, each word differently")
    func shows() throws {
      let desk = try Desk()
      defer { desk.volume.remove() }
      for (name, rows) in Dictionary(grouping: MountOptionTable.live, by: \.family) {
        let words = words(rows)
        let answers = try words.map { word in
          try desk.run("varve remount -o \(word) . && varve status --json . | sed '/\"options\"/,$d'")
        }
        #expect(answers.allSatisfy { $0.contains("\"readOnly\"") }, "\(name): \(answers)")
        #expect(Set(answers).count == words.count && words.count > 1, "\(name): \(answers)")
      }
      try desk.end()
    }
  }
}
