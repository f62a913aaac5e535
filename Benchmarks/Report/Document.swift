// The document is written by people; the part between two markers is not.

/// Text with a part that a program keeps up to date.
package enum Document {
  package static let beginning = "<!-- Written by `VolumeBenchmark --document`; changes here are lost. -->"
  package static let end = "<!-- End of what is written by `VolumeBenchmark --document`. -->"

  /// The document with a new part between the markers; nil if they are not there, in this order, once.
  package static func replacingPart(of document: String, with part: String) -> String? {
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
