// What happened in a run, so that one in which nothing can happen any more does not pass for a good one.

import LinuxFiles

struct Tally: CustomStringConvertible {
  /// For each kind of call how often it succeeded and how often it failed with which error.
  private(set) var counts: [String: [String: Int]] = [:]
  private(set) var treeSizes: [Int] = []

  mutating func note(_ call: Call, _ outcome: Outcome) {
    let name = "\(call)".prefix { $0 != "(" }
    let result: String? =
      switch outcome {
      case .skipped: nil
      case .failed(let error): "\(error)".split(separator: "(").last.map { String($0.dropLast()) }
      default: "ok"
      }
    if let result { counts[String(name), default: [:]][result, default: 0] += 1 }
  }

  mutating func note(treeSize: Int) { treeSizes.append(treeSize) }

  mutating func add(_ other: Tally) {
    for (call, results) in other.counts {
      counts[call, default: [:]].merge(results, uniquingKeysWith: +)
    }
    treeSizes += other.treeSizes
  }

  /// How often calls ended so.
  func count(of result: String) -> Int { counts.values.reduce(0) { $0 + ($1[result] ?? 0) } }

  /// The calls that hardly ever succeeded, of those that can.
  func rarelySuccessful(below limit: Int) -> [String] {
    counts.keys.filter { !$0.hasSuffix("Text") && (counts[$0]?["ok"] ?? 0) < limit }.sorted()
  }

  var description: String {
    let lines = counts.sorted { $0.key < $1.key }.map { call, results in
      let all = results.sorted { $0.value > $1.value }.map { "\($0.key) \($0.value)" }
      return "  \(call): \(all.joined(separator: ", "))"
    }
    let mean = treeSizes.isEmpty ? 0 : treeSizes.reduce(0, +) / treeSizes.count
    return lines.joined(separator: "\n") + "\n  \(mean) objects in the tree on average"
  }
}
