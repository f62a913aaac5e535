// A table, for a terminal and for a document.

/// Cells in rows under a headline; all columns but the first are numbers.
package struct Table: Equatable, Sendable {
  package let heads: [String]
  package private(set) var lines: [[String]] = []

  package init(_ heads: [String]) {
    self.heads = heads
  }

  /// Adds a line; cells that are missing are empty, surplus ones are dropped.
  package mutating func add(_ cells: [String]) {
    lines.append(heads.indices.map { $0 < cells.count ? cells[$0] : "" })
  }

  /// With blanks between the columns.
  package var text: String {
    let widths = heads.indices.map { column in
      ([heads] + lines).map { $0[column].count }.max() ?? 0
    }
    return ([heads] + lines).map { cells in
      let padded = cells.enumerated().map { column, cell in
        let blanks = String(repeating: " ", count: widths[column] - cell.count)
        return column == 0 ? cell + blanks : blanks + cell
      }
      return trimmed(padded.joined(separator: "  "))
    }.joined(separator: "\n")
  }

  /// As Markdown has it.
  package var markdown: String {
    let rule = heads.indices.map { $0 == 0 ? "---" : "---:" }
    return ([heads, rule] + lines).map { "| " + $0.joined(separator: " | ") + " |" }.joined(separator: "\n")
  }

  private func trimmed(_ line: String) -> String {
    var line = line
    while line.last == " " { line.removeLast() }
    return line
  }
}
