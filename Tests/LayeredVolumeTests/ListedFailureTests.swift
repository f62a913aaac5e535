// Listings that give what lookups would answer, of directories in which one lookup fails.

import Foundation
import Glibc
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Listings of items that cannot be looked up", .enabled(if: Tree.isRoot)) struct ListedFailureTests {
  @Test("A merged listing has items that cannot be looked up, without attributes, and all others with theirs")
  func whole() throws {
    let tree = try LayeredTree(making: { base in
      try LayeredTree.make(
        [
          directory("d") {
            file("hard1", "hard1"); file("plain", "plain"); file("sound1", "sound1")
          }
        ], at: base + "/l1")
      try LayeredTree.make([directory("d") { file("below", "below") }], at: base + "/l2")
      for name in ["hard2", "hard3"] { Glibc.link(base + "/l1/d/hard1", "\(base)/l1/d/\(name)") }
      Glibc.link(base + "/l1/d/sound1", base + "/l1/d/sound2")
      return [base + "/l1", base + "/l2"]
    })
    try tree.write("d/hard2", "H")
    try tree.create("d/own", "own")
    let index = tree.upper + "/.varve/index"
    let entry = try #require(try FileManager.default.contentsOfDirectory(atPath: index).first)
    try tree.write("d/sound2", "S")
    let stored = try Descriptor.open(path: "\(index)/\(entry)", .readOnly)
    let attribute = try AttributeName("trusted.varve.m")
    var record = try #require(try stored.attribute(attribute))
    record[20] ^= 4
    try stored.setAttribute(attribute, to: record)
    for _ in 0..<2 {
      try tree.at("d") { directory in
        let handle = try tree.volume.openDirectory(directory, for: tree.caller).handle
        defer { tree.volume.release(handle) }
        var listed: [String: Entry?] = [:]
        var names: [String] = []
        try tree.volume.readDirectory(handle, from: 0, withAttributes: true, for: tree.caller) {
          name, found in
          let name = String(decoding: name.indices.map { name[$0] }, as: UTF8.self)
          guard name != ".", name != ".." else { return true }
          names.append(name)
          listed[name] = .some(found.entry)
          return true
        }
        #expect(
          names.sorted() == ["below", "hard1", "hard2", "hard3", "own", "plain", "sound1", "sound2"])
        for (name, entry) in listed {
          // The name of the damaged item itself shows what leads to it.
          if name.hasPrefix("hard"), name != "hard2" {
            #expect(entry == nil, "\(name)")
            #expect(throws: Errno.inputOutput, "\(name)") { try tree.entry(name, in: directory) }
            continue
          }
          let looked = try #require(try tree.entry(name, in: directory))
          defer { tree.volume.forget(looked.node, references: 1) }
          // What has several names needs a lock of its own: it may be a plain name.
          if entry == nil, name == "hard2" || name.hasPrefix("sound") { continue }
          let given = try #require(entry, "\(name)")
          #expect(given.node == looked.node, "\(name)")
          #expect(given.attributes.inode == looked.attributes.inode, "\(name)")
          #expect(given.attributes.size == looked.attributes.size, "\(name)")
          tree.volume.forget(given.node, references: 1)
        }
      }
      #expect(throws: Errno.inputOutput) { try tree.read("d/hard2") }
      #expect(try tree.read("d/sound1") == "Sound1" && tree.read("d/own") == "own")
      #expect(tree.volume.nodeCount == 0)
      try tree.remount()
    }
  }
}
