// What a call answers, in the model and in the real world.

import LinuxFiles

/// The answer of one call.
enum Outcome: Sendable, CustomStringConvertible {
  case done
  case failed(Errno)
  case number(Int)
  case bytes([UInt8])
  case names([String])
  case status(Status)
  /// The call was not made: it names an open file that is not open.
  case skipped

  var description: String {
    switch self {
    case .done: "ok"
    case .failed(let error): "\(error)"
    case .number(let number): "\(number)"
    case .bytes(let bytes):
      bytes.count > 80 || bytes.contains(0) ? Outcome.runs(bytes) : String(decoding: bytes, as: UTF8.self)
    case .names(let names): "\(names)"
    case .status(let status): "\(status)"
    case .skipped: "skipped"
    }
  }

  /// How often which byte follows which, as far as that is short.
  private static func runs(_ bytes: [UInt8]) -> String {
    var runs: [(byte: UInt8, count: Int)] = []
    for byte in bytes {
      if let last = runs.last, last.byte == byte {
        runs[runs.count - 1].count += 1
      } else {
        runs.append((byte, 1))
      }
    }
    let words = runs.prefix(20).map { "\($0.count) of \($0.byte)" }
    return "\(bytes.count) bytes: " + words.joined(separator: ", ") + (runs.count > 20 ? ", and more" : "")
  }

  /// The same with the time of access left open: whoever opens an encrypted file has its header read.
  var withoutAccess: Outcome {
    guard case .status(var status) = self else { return self }
    status.accessed = nil
    return .status(status)
  }

  /// Whether the real world did what the model says; what the model leaves open is not compared.
  func isMet(by real: Outcome) -> Bool {
    switch (self, real) {
    case (.done, .done), (.skipped, .skipped): true
    case (.failed(let one), .failed(let other)): one == other
    case (.number(let one), .number(let other)): one == other
    case (.bytes(let one), .bytes(let other)): one == other
    case (.names(let one), .names(let other)): one == other
    case (.status(let one), .status(let other)): one.isMet(by: other)
    default: false
    }
  }
}

/// What stat shows; what is `nil` in the model is not specified at that moment.
struct Status: Sendable, CustomStringConvertible {
  enum Kind: String, Sendable {
    case file
    case directory
    case link
    case fifo
  }

  var kind: Kind
  var mode: UInt16
  var user: UInt32
  var group: UInt32
  var links: Int?
  var size: Int?
  var accessed: Int64?
  var modified: Int64?

  var description: String {
    var text = "\(kind) \(user):\(group) 0\(String(mode, radix: 8))"
    for (name, value) in [("links", links.map(Int64.init)), ("size", size.map(Int64.init))] {
      if let value { text += " \(name) \(value)" }
    }
    for (name, value) in [("accessed", accessed), ("modified", modified)] {
      if let value { text += " \(name) \(value)" }
    }
    return text
  }

  func isMet(by real: Status) -> Bool {
    kind == real.kind && mode == real.mode && user == real.user && group == real.group
      && (links ?? real.links) == real.links && (size ?? real.size) == real.size
      && (accessed ?? real.accessed) == real.accessed && (modified ?? real.modified) == real.modified
  }
}
