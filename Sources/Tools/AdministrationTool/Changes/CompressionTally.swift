// What `varve compress` and `varve decompress` have done, or would do: files, bytes, and why others are left alone.

import JSONForm
import Synchronization
import TextForms

/// Why a file is left alone.
enum LeftAlone: String, CaseIterable, Sendable {
  case short
  case gain
  case open
  case encrypted
  case lower

  /// Of one file.
  var sentence: String {
    switch self {
    case .short: "is shorter than 8 KiB"
    case .gain: "would get too little shorter: by less than 12 % or less than 4 KiB"
    case .open: "is in use (EBUSY)"
    case .encrypted: "is encrypted, and what is encrypted is not compressed (EOPNOTSUPP)"
    case .lower: "is in a lower layer: compressing it saves no space"
    }
  }

  /// Of several.
  fileprivate var words: String {
    switch self {
    case .short: "shorter than 8 KiB"
    case .gain: "would save too little"
    case .open: "in use"
    case .encrypted: "encrypted"
    case .lower: "in a lower layer"
    }
  }
}

/// The counts of one run, for any thread.
final class CompressionTally: FormTally, Sendable {
  private struct Counts {
    var files = 0
    var before: UInt64 = 0
    var after: UInt64 = 0
    var standing = 0
    var left = [Int](repeating: 0, count: LeftAlone.allCases.count)
  }

  private let counts = Mutex(Counts())
  private let compresses: Bool

  init(compresses: Bool) { self.compresses = compresses }

  func add(before: UInt64, after: UInt64) {
    counts.withLock { counts in
      counts.files += 1
      counts.before &+= before
      counts.after &+= after
    }
  }

  func standing() { counts.withLock { $0.standing += 1 } }

  func leave(_ reason: LeftAlone) {
    counts.withLock { counts in
      guard let index = LeftAlone.allCases.firstIndex(of: reason) else { return }
      counts.left[index] += 1
    }
  }

  /// `12 files compressed, 3.4M to 1.2M (35 %); 5 left alone: 3 shorter than 8 KiB, 2 in use`.
  func summary(isPlan: Bool) -> String {
    let counts = counts.withLock { $0 }
    var parts: [String] = []
    if counts.files > 0 {
      let verb = compresses ? "compress" : "expand"
      let files = "\(grouped(counts.files)) file\(counts.files == 1 ? "" : "s")"
      let sizes =
        "\(sizeText(counts.before)) to \(isPlan && compresses ? "about " : "")\(sizeText(counts.after))"
      let share = compresses && counts.before > 0 ? " (\(counts.after * 100 / counts.before) %)" : ""
      parts.append(
        isPlan ? "would \(verb) \(files), \(sizes)\(share)" : "\(files) \(verb)ed, \(sizes)\(share)")
    }
    let left = counts.left.reduce(0, +)
    if left > 0 {
      let reasons = zip(LeftAlone.allCases, counts.left).filter { $0.1 > 0 }
        .map { "\(grouped($0.1)) \($0.0.words)" }.joined(separator: ", ")
      parts.append("\(grouped(left)) left alone: \(reasons)")
    }
    if counts.standing > 0 {
      let form = compresses ? "compressed already" : "not compressed"
      parts.append("\(grouped(counts.standing)) \(form)")
    }
    return parts.joined(separator: "; ")
  }

  /// For a script.
  func members(isPlan: Bool) -> [JSON.Member] {
    let counts = counts.withLock { $0 }
    let left = zip(LeftAlone.allCases, counts.left).map { JSON.Member($0.0.rawValue, .number($0.1)) }
    return [
      JSON.Member(
        isPlan ? "plan" : "done",
        .object([
          JSON.Member("files", .number(counts.files)), JSON.Member("before", .number(counts.before)),
          JSON.Member("after", .number(counts.after)), JSON.Member("already", .number(counts.standing)),
          JSON.Member("left", .object(left)),
        ]))
    ]
  }
}
