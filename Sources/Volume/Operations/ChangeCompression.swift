// Whether a file is stored compressed: the door `system.varve.compression`. All bytes are written anew, into the same inode
// (`Content/Replacement`), and stay the same for programs.

import Decisions
import LinuxFiles
import RecordFormat
import Synchronization
import Zstandard

/// What the door is told.
enum CompressionChange: Equatable {
  case none
  case zstd(level: Int)

  /// `none`, `zstd`, or `zstd:` and a level.
  init?(word: String) {
    switch word {
    case "none", "": self = .none
    case "zstd": self = .zstd(level: FrameCompressor.usualLevel)
    default:
      guard word.hasPrefix("zstd:"), let level = Int(word.dropFirst(5)), "zstd:\(level)" == word,
        FrameCompressor.levels.contains(level)
      else { return nil }
      self = .zstd(level: level)
    }
  }
}

extension Volume {
  /// `none`, or `zstd LOGICAL STORED`: the size that programs see, and that of what is stored.
  func compression(of node: Node, for caller: Caller) throws(Errno) -> [UInt8] {
    try settling(node, for: caller) { () throws(Errno) in
      try locks.holding(.shared(node.stripe)) { () throws(Errno) in
        let reach = try resolver.reach(node)
        let facts = try facts(of: node, by: reach)
        try gate.require(caller, .readRecord, on: facts.item)
        guard node.kind == .regular else { throw .noData }
        try requireWholeContent(facts)
        guard facts.item.content == .compressed else { return Array("none".utf8) }
        return Array("zstd \(facts.status.size) \(try reach.status().size)".utf8)
      }
    }
  }

  /// EINTR if its caller is interrupted while bytes are written anew beside the file; then it is as it was.
  func changeCompression(
    of node: Node, to wanted: CompressionChange, for caller: Caller
  ) throws(Errno) {
    var unused: UnusedFile?
    let pending = try settling(node, for: caller) { () throws(Errno) in
      try changing(node, for: caller) { () throws(Errno) in
        try beginChange(of: node, to: wanted, unused: &unused, for: caller)
      }
    }
    guard let pending, let unused, case .zstd(let level) = wanted else { return }
    try copyUps.alone(node.id, for: caller) { () throws(Errno) in
      try compress(pending, of: node, level, since: unused, for: caller)
    }
  }

  /// Under the node's exclusive lock: what is to be compressed, if anything.
  private func beginChange(
    of node: Node, to wanted: CompressionChange, unused: inout UnusedFile?, for caller: Caller
  ) throws(Errno) -> ReplacedFile? {
    let object = try hold(node, toCompress: wanted != .none, for: caller)
    let isCompressed = object.facts.item.content == .compressed
    guard isCompressed != (wanted != .none) else { return nil }
    try requireUp(node)
    try requireExpanded(object.facts)
    // An encrypted file is as little compressed as a plain one.
    guard wanted != .none else { return nil }
    unused = try Errno.delayedByUse { () throws(Errno) in try requireUnused(node) }
    var final = object.facts.record
    final.noteCompressed(size: object.facts.status.size)
    return ReplacedFile(
      object: object.descriptor, path: lastKnownPath(of: node), present: object.facts.stored, final: final)
  }

  /// Held by a descriptor that only leads there: one that is open would be in the way of the lease.
  private func hold(
    _ node: Node, toCompress compresses: Bool, for caller: Caller
  ) throws(Errno) -> HeldObject {
    let object = try holdAnew(node)
    try gate.require(caller, .setCompressed(compresses), on: object.facts.item)
    return object
  }

  private func compress(
    _ file: ReplacedFile, of node: Node, _ level: Int, since unused: UnusedFile, for caller: Caller
  ) throws(Errno) {
    var replacement = try Replacement.prepare(
      file, as: .compressing(level: level), at: replacements, watch: watch(for: caller))
    // The last moment: from here on it can only go forward.
    try copyUps.requireWanted(caller)
    try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
      // What allowed it may have been taken back meanwhile.
      _ = try hold(node, toCompress: true, for: caller)
      try requireUnused(node)
      forgetFacts(of: node)
      defer { forgetFacts(of: node) }
      try replacement.begin { unused.isUsed }
    }
    try replacement.copyOver()
    try locks.holding(.exclusive(node.stripe)) { () throws(Errno) in
      try settle(node, by: replacement.trailer) { (whenSettled) throws(Errno) in
        try replacement.settle(whenSettled: whenSettled)
      }
    }
  }
}
