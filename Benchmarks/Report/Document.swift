// The document is written by people; the part between two markers is not.

/// Text with a part that a program keeps up to date.
package enum Document {
  /// What the part is about; each has its own markers.
  package enum Subject: String, Sendable {
    case files = "--document"
    case encryption = "--encryption --document"

    package var beginning: String {
      "<!-- Written by `VolumeBenchmark \(rawValue)`; changes here are lost. -->"
    }
    package var end: String { "<!-- End of what is written by `VolumeBenchmark \(rawValue)`. -->" }
  }

  /// The document with a new part between the markers; nil if they are not there, in this order, once.
  package static func replacingPart(
    of document: String, with part: String, about subject: Subject = .files
  ) -> String? {
    let (beginning, end) = (subject.beginning, subject.end)
    var before: [Substring] = []
    var after: [Substring] = []
    var markers = 0
    for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
      switch (line == beginning, line == end, markers) {
      case (true, _, 0), (_, true, 1): markers += 1
      case (true, _, _), (_, true, _): return nil
      case (_, _, 0): before.append(line)
      case (_, _, 1): continue
      default: after.append(line)
      }
    }
    guard markers == 2 else { return nil }
    return (before + [Substring(beginning), "", Substring(part), "", Substring(end)] + after)
      .joined(separator: "\n")
  }
}
