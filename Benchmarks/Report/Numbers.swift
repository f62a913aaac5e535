// Numbers as people read them.

/// A number with so many digits after the point.
package func fixed(_ number: Double, _ digits: Int) -> String {
  guard number.isFinite, abs(number) < 1e15 else { return "-" }
  var scale = 1.0
  for _ in 0..<digits { scale *= 10 }
  let whole = Int((abs(number) * scale).rounded())
  let sign = number < 0 && whole > 0 ? "-" : ""
  let divisor = Int(scale)
  guard digits > 0 else { return "\(sign)\(whole)" }
  let rest = "\(whole % divisor)"
  return "\(sign)\(whole / divisor)." + String(repeating: "0", count: digits - rest.count) + rest
}

/// A ratio: two digits after the point, three below a tenth.
package func ratioText(_ ratio: Double?) -> String {
  guard let ratio else { return "-" }
  return fixed(ratio, ratio < 0.1 ? 3 : 2)
}

/// A number with three digits that count.
private func short(_ number: Double) -> String {
  fixed(number, number < 10 ? 2 : number < 100 ? 1 : 0)
}

extension Measure {
  /// The time of one piece of work, or the bytes in a second.
  package func text(seconds: Double) -> String {
    guard seconds > 0 else { return "-" }
    switch self {
    case .bytes:
      let speed = 1 / seconds
      return speed >= 1e9 ? short(speed / 1e9) + " GB/s" : short(speed / 1e6) + " MB/s"
    case .operation, .run:
      if seconds < 1e-6 { return short(seconds * 1e9) + " ns" }
      if seconds < 1e-3 { return short(seconds * 1e6) + " µs" }
      if seconds < 1 { return short(seconds * 1e3) + " ms" }
      return short(seconds) + " s"
    }
  }
}
