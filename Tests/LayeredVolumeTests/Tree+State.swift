// What is true of a whole tree, as text that two moments can be compared by.

import Decisions
import Foundation
import LinuxFiles

@testable import LayeredVolume

extension Tree {
  /// A line for each object, in order: its path, its mode, and whatever else it has.
  func state() throws -> [String] { try state(of: volume()) }

  /// The same, as the next mount will find it: nothing that this volume remembers counts.
  func storedState() throws -> [String] {
    var options = VolumeOptions()
    options.showsTwins = true
    options.live.cache = .none
    options.live.rules.isReadOnly = true
    return try state(of: Volume(UpperRoot(Array(path.utf8)), options: options))
  }

  /// What is left in the workshop.
  func workshop() -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: "\(path)/.varve/work")) ?? []
  }

  private func state(of volume: Volume) throws -> [String] {
    var lines: [String] = []
    let former = user
    user = geteuid()
    defer { user = former }
    try describe("", Volume.rootNode, volume, into: &lines)
    return lines
  }

  private func describe(
    _ path: String, _ node: NodeID, _ volume: Volume, into lines: inout [String]
  ) throws {
    let caller = caller()
    let facts = try volume.attributes(of: node, handle: nil, for: caller).attributes
    var words = [path.isEmpty ? "." : path, "\(facts.kind)", String(facts.mode, radix: 8)]
    if facts.user != geteuid() || facts.group != getegid() { words.append("\(facts.user):\(facts.group)") }
    if facts.kind != .directory, facts.linkCount != 1 { words.append("links=\(facts.linkCount)") }
    if facts.modification.seconds < 1_000_000 { words.append("modified=\(facts.modification.seconds)") }
    switch facts.kind {
    case .regular:
      words.append("'\((try? String(contentsOfFile: "\(self.path)/\(path)", encoding: .utf8)) ?? "?")'")
    case .symbolicLink:
      words.append("-> " + String(decoding: try volume.readLink(node), as: UTF8.self))
    default: break
    }
    var names = ["system.varve.flags", "system.varve.acl", "system.varve.owner", "system.varve.posix"]
    let others = try? volume.listExtendedAttributes(of: node, for: caller)
    names += (others ?? []).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }.sorted()
    for name in names where name != "user.varve.acl" && name != "system.nfs4_acl" {
      words += Self.word(name, Result { try Self.attribute(volume, node, name, caller) })
    }
    lines.append(words.joined(separator: " "))
    guard facts.kind == .directory else { return }
    for name in try FileManager.default.contentsOfDirectory(atPath: "\(self.path)/\(path)").sorted()
    where name != ".varve" {
      let answer = try FileName.with(Array(name.utf8)) { name throws(Errno) in
        try volume.lookup(name, in: node, for: caller)
      }
      guard case .found(let entry) = answer else { continue }
      defer { volume.forget(entry.node, references: 1) }
      try describe(path.isEmpty ? name : "\(path)/\(name)", entry.node, volume, into: &lines)
    }
  }

  /// Says nothing of what is as usual.
  private static func word(_ name: String, _ value: Result<[UInt8], any Error>) -> [String] {
    let short = name.replacing("system.varve.", with: "")
    switch value {
    case .success(let bytes):
      let text = String(decoding: bytes.filter { $0 != 0 }, as: UTF8.self).trimmingCharacters(in: .newlines)
      if name == "system.varve.owner", text.hasPrefix("user:") { return [] }
      return text.isEmpty || text == "none" ? [] : ["\(short)=\(text.replacing("\n", with: "|"))"]
    case .failure(let error):
      let isUsual = (error as? Errno) == .noData || (error as? Errno) == .unsupported
      return isUsual ? [] : ["\(short)=\((error as? Errno)?.name ?? "?")"]
    }
  }
}

/// How two states differ: lines that are gone with a minus, new ones with a plus.
func difference(_ before: [String], _ after: [String]) -> [String] {
  before.filter { !after.contains($0) }.map { "-" + $0 }
    + after.filter { !before.contains($0) }.map { "+" + $0 }
}
