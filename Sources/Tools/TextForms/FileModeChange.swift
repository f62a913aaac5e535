// The modes people type: `644`, `u+rwX,g-w,o=`.

/// A change of the mode bits, read once and applied to many files.
package struct FileModeChange: Equatable, Sendable {
  private enum Operator: Equatable {
    case add
    case remove
    case assign
  }

  /// What stands right of an operator.
  private struct Permissions: Equatable {
    /// Bits in all three classes; `class` masks them.
    var bits: UInt32 = 0
    /// `X`: execute, if the file is a directory or any class may execute it.
    var conditionalExecute = false
    /// `u`, `g`, `o`: the permissions that class has, as a shift of the mode.
    var copiedFrom: [UInt32] = []
  }

  private struct Step: Equatable {
    /// The bits of the classes named; nil if none was named, so that the umask counts.
    let affected: UInt32?
    let `operator`: Operator
    let permissions: Permissions
  }

  private static let sticky: UInt32 = 0o1000
  /// The bits of owner, group and others, with their set-id bits.
  private static let everyClass: UInt32 = 0o6777

  private let absolute: UInt32?
  private let steps: [Step]

  /// Reads a mode; nil if it is none.
  package init?(_ text: [UInt8]) {
    guard let first = text.first else { return nil }
    if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) {
      guard let number = UInt32(String(decoding: text, as: UTF8.self), radix: 8), number <= 0o7777 else {
        return nil
      }
      absolute = number
      steps = []
      return
    }
    var all: [Step] = []
    for clause in text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
      guard let steps = FileModeChange.steps(clause) else { return nil }
      all += steps
    }
    absolute = nil
    steps = all
  }

  /// The twelve mode bits of a file that had `mode`.
  ///
  /// The umask counts for a clause that names no class: `+w` under 022 is `u+w`.
  package func applied(to mode: UInt32, isDirectory: Bool, umask: UInt32) -> UInt32 {
    if let absolute { return absolute }
    var result = mode & 0o7777
    for step in steps {
      var bits = step.permissions.bits
      if step.permissions.conditionalExecute, isDirectory || mode & 0o111 != 0 { bits |= 0o111 }
      for shift in step.permissions.copiedFrom {
        let copied = result >> shift & 0o7
        bits |= copied << 6 | copied << 3 | copied
      }
      bits &= step.affected ?? ~umask
      switch step.operator {
      case .add: result |= bits
      case .remove: result &= ~bits
      case .assign: result = result & ~(step.affected ?? FileModeChange.everyClass) | bits
      }
    }
    return result & 0o7777
  }

  private static func steps(_ clause: ArraySlice<UInt8>) -> [Step]? {
    var rest = clause
    var affected: UInt32?
    while let letter = rest.first, let bits = classes[letter] {
      affected = (affected ?? 0) | bits
      rest.removeFirst()
    }
    var steps: [Step] = []
    while let letter = rest.popFirst() {
      guard let `operator` = operators[letter] else { return nil }
      var permissions = Permissions()
      while let letter = rest.first, operators[letter] == nil {
        guard let more = FileModeChange.permissions[letter] else { return nil }
        permissions.bits |= more.bits
        permissions.conditionalExecute = permissions.conditionalExecute || more.conditionalExecute
        permissions.copiedFrom += more.copiedFrom
        rest.removeFirst()
      }
      // The sticky bit belongs to no class, and counts wherever more than the others are meant.
      let isSticky = permissions.bits & sticky != 0 && (affected ?? 0) & ~0o7 != 0
      let classes = affected.map { isSticky ? $0 | sticky : $0 }
      steps.append(Step(affected: classes, operator: `operator`, permissions: permissions))
    }
    return steps.isEmpty ? nil : steps
  }

  private static func table<Value>(_ rows: KeyValuePairs<Unicode.Scalar, Value>) -> [UInt8: Value] {
    Dictionary(uniqueKeysWithValues: rows.map { (UInt8(ascii: $0.key), $0.value) })
  }

  private static let classes = table(["u": 0o4700, "g": 0o2070, "o": 0o7, "a": everyClass])
  private static let operators = table(["+": Operator.add, "-": .remove, "=": .assign])
  private static let permissions = table([
    "r": Permissions(bits: 0o444), "w": Permissions(bits: 0o222), "x": Permissions(bits: 0o111),
    "X": Permissions(conditionalExecute: true), "s": Permissions(bits: 0o6000),
    "t": Permissions(bits: sticky),
    "u": Permissions(copiedFrom: [6]), "g": Permissions(copiedFrom: [3]), "o": Permissions(copiedFrom: [0]),
  ])
}

/// The ten letters `ls -l` shows for a mode, type included: `drwxr-sr-t`.
package func modeText(_ mode: UInt32) -> String {
  let kind: Character =
    switch mode & 0o170000 {
    case 0o040000: "d"
    case 0o120000: "l"
    case 0o060000: "b"
    case 0o020000: "c"
    case 0o010000: "p"
    case 0o140000: "s"
    case 0o100000: "-"
    default: "?"
    }
  let letters: [Character] = ["r", "w", "x"]
  var text = [kind] + (0..<9).map { mode & (0o400 >> UInt32($0)) != 0 ? letters[$0 % 3] : "-" }
  if mode & 0o4000 != 0 { text[3] = mode & 0o100 != 0 ? "s" : "S" }
  if mode & 0o2000 != 0 { text[6] = mode & 0o010 != 0 ? "s" : "S" }
  if mode & 0o1000 != 0 { text[9] = mode & 0o001 != 0 ? "t" : "T" }
  return String(text)
}
