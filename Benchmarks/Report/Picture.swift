// The ratios as a picture: a line per row, a dot per contender, the speed of the directory itself at 1.

import Glibc

/// An SVG picture of what was found.
package struct Picture: Sendable {
  private let findings: Findings
  private let left = 240.0
  private let width = 460.0
  private let step = 17.0
  private let least: Double

  private static let colours = ["#0b5fa5", "#d1495b", "#edae49", "#66a182", "#8d6a9f", "#5b5b5b", "#2e4057"]

  package init(_ findings: Findings) {
    self.findings = findings
    let lowest = findings.places.flatMap { place in
      findings.rows.flatMap { row in
        Picture.shown(in: findings).compactMap { contender in
          findings.ratio(of: contender, to: Contender(.native), in: row, on: place)
        }
      }
    }.min()
    // Whole powers of ten, so that the scale reads well.
    least = pow(10, log10(min(max(lowest ?? 0.1, 0.0001), 0.1)).rounded(.down))
  }

  private static func shown(in findings: Findings) -> [Contender] {
    findings.compared.filter { $0.kind != .native }
  }

  /// The picture.
  package var svg: String {
    let panel = Double(findings.rows.count) * step + 60
    let height = 50 + panel * Double(findings.places.count)
    var lines = [
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(text(left + width + 30)) \(text(height))\" "
        + "font-family=\"sans-serif\" font-size=\"11\">",
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>",
    ]
    lines += legend
    for (index, place) in findings.places.enumerated() {
      lines += self.panel(place, top: 50 + panel * Double(index))
    }
    return (lines + ["</svg>", ""]).joined(separator: "\n")
  }

  private var legend: [String] {
    var lines: [String] = []
    var x = 12.0
    for (index, contender) in Picture.shown(in: findings).enumerated() {
      lines.append(dot(contender, index, x: x, y: 18, title: contender.name))
      lines.append(label(contender.name, x: x + 9, y: 22))
      x += 30 + 6.5 * Double(contender.name.count)
    }
    return lines
  }

  private func panel(_ place: Request.Place, top: Double) -> [String] {
    let bottom = top + 22 + Double(findings.rows.count) * step
    var lines = [
      label("Files on \(place.title): speed, where 1 is the directory itself", x: 12, y: top + 4, bold: true)
    ]
    for mark in marks {
      let x = position(mark)
      lines.append(
        "<line x1=\"\(text(x))\" y1=\"\(text(top + 14))\" x2=\"\(text(x))\" y2=\"\(text(bottom))\" "
          + "stroke=\"\(mark == 1 ? "#444444" : "#dddddd")\"/>")
      lines.append(label(mark < 1 ? "\(mark)" : fixed(mark, 0), x: x, y: bottom + 12, anchor: "middle"))
    }
    for (index, row) in findings.rows.enumerated() {
      let y = top + 26 + Double(index) * step
      lines.append(label(row.title, x: left - 10, y: y + 4, anchor: "end"))
      lines.append(
        "<line x1=\"\(text(left))\" y1=\"\(text(y))\" x2=\"\(text(left + width))\" y2=\"\(text(y))\" "
          + "stroke=\"#eeeeee\"/>")
      // Ours comes last, so that it lies on top.
      for (number, contender) in Picture.shown(in: findings).enumerated().reversed() {
        guard let ratio = findings.ratio(of: contender, to: Contender(.native), in: row, on: place) else {
          continue
        }
        let title = "\(contender.name), \(row.title): \(ratioText(ratio))"
        lines.append(dot(contender, number, x: position(ratio), y: y, title: title))
      }
    }
    return lines
  }

  private var marks: [Double] {
    var marks = [1.0, 2.0]
    var mark = 0.1
    while mark >= least * 0.999 {
      marks.append(mark)
      marks.append(mark * 3)
      mark /= 10
    }
    return marks.map { ($0 * 1e6).rounded() / 1e6 }
  }

  private func position(_ ratio: Double) -> Double {
    let most = 2.5
    let bounded = min(max(ratio, least), most)
    return left + width * log(bounded / least) / log(most / least)
  }

  private func dot(_ contender: Contender, _ index: Int, x: Double, y: Double, title: String) -> String {
    let colour = Picture.colours[index % Picture.colours.count]
    let radius = contender == findings.subject ? "5" : "3.5"
    return
      "<circle cx=\"\(text(x))\" cy=\"\(text(y))\" r=\"\(radius)\" fill=\"\(colour)\" fill-opacity=\"0.85\">"
      + "<title>\(escaped(title))</title></circle>"
  }

  private func label(
    _ words: String, x: Double, y: Double, anchor: String = "start", bold: Bool = false
  ) -> String {
    "<text x=\"\(text(x))\" y=\"\(text(y))\" text-anchor=\"\(anchor)\" fill=\"#222222\""
      + (bold ? " font-weight=\"bold\"" : "") + ">\(escaped(words))</text>"
  }

  private func text(_ number: Double) -> String {
    fixed(number, 1)
  }

  private func escaped(_ words: String) -> String {
    words.reduce(into: "") { result, character in
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      default: result.append(character)
      }
    }
  }
}
