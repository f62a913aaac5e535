// What is answered when the content of an encrypted file is verified, by the door `system.varve.verify`.

import Decisions
import JSONForm
import LinuxFiles
import SealedFormat

/// What is said of an encrypted file.
struct VerifyAnswer {
  let protection: ProtectionClass
  let lacksMark: Bool
  var findings = ContentFindings()
  /// The block to go on with.
  var next: UInt64?
  var size: UInt64?

  var text: String {
    var members = [
      JSON.Member("class", .string(protection.word)), JSON.Member("doubtful", .bool(findings.isDoubtful)),
      JSON.Member("verified", .number(findings.verified)),
    ]
    if lacksMark { members.append(JSON.Member("unmarked", .bool(true))) }
    if let size { members.append(JSON.Member("size", .number(size))) }
    if let next { members.append(JSON.Member("next", .number(next * UInt64(Block.size)))) }
    if !findings.header.isEmpty {
      let words = findings.header.map(\.rawValue).sorted()
      members.append(JSON.Member("header", .array(words.map { .string($0) })))
    }
    for kind in ContentFindings.Kind.allCases where findings.count(kind) > 0 {
      members.append(JSON.Member(kind.word, .number(findings.count(kind))))
    }
    if !findings.runs.isEmpty {
      members.append(JSON.Member("ranges", .array(findings.runs.map { $0.json })))
    }
    return JSON.object(members).compactText
  }
}

extension ContentFindings.Run {
  fileprivate var json: JSON {
    .array([
      .string(kind.word), .number(blocks.lowerBound * UInt64(Block.size)),
      .number(UInt64(blocks.count) * UInt64(Block.size)),
    ])
  }
}

extension ContentFindings.Kind {
  /// The word for it, here and in what tools print.
  package var word: String {
    switch self {
    case .damaged: "damaged"
    case .index: "index"
    case .lost: "lost"
    case .torn: "torn"
    }
  }
}

extension SealedObject {
  /// Verifies the header, also one that is too damaged to open the file: then false.
  func verifyHeader(
    _ way: SharedDescriptor, into findings: inout ContentFindings
  ) throws(Errno) -> Bool {
    do throws(Errno) {
      try using(.bytes) { (file) throws(Errno) in try file.verifyHeader(into: &findings) }
      return true
    } catch .inputOutput {
      let found = try SealedFile.headerFindings(of: BackingStore(way), in: context)
      // A disk that cannot be read is not damage of this kind.
      guard found.contains(where: { $0.isDamage }) else { throw .inputOutput }
      findings.header = found
      return false
    }
  }
}
