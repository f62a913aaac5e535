// lsattr and chattr.

import Decisions
import FlagRules
package import LinuxFiles

extension Volume {
  package func inodeFlags(of nodeID: NodeID, for caller: Caller) throws(Errno) -> UInt32 {
    guard let item = try shownItem(nodeID, for: caller) else { return 0 }
    return InodeFlags.word(item.flags, isEncrypted: item.content.protection != nil)
  }

  package func extendedInodeFlags(of nodeID: NodeID, for caller: Caller) throws(Errno) -> UInt32 {
    InodeFlags.extendedWord(try shownItem(nodeID, for: caller)?.flags ?? [])
  }

  /// Nil for what is the volume's own.
  private func shownItem(_ nodeID: NodeID, for caller: Caller) throws(Errno) -> Item? {
    guard SyntheticNode(rawValue: nodeID) == nil else { return nil }
    let node = try node(nodeID)
    return try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let facts = try facts(of: node)
      try gate.require(caller, .readRecord, on: facts.item)
      return facts.item
    }
  }

  package func changeInodeFlags(
    of nodeID: NodeID, to word: UInt32, for caller: Caller
  ) throws(Errno) {
    try change(nodeID, for: caller) {
      InodeFlags.flags(
        $0.flags, isEncrypted: $0.content.protection != nil, afterWord: word, setsSystem: $1)
    }
  }

  package func changeExtendedInodeFlags(
    of nodeID: NodeID, to word: UInt32, for caller: Caller
  ) throws(Errno) {
    try change(nodeID, for: caller) { InodeFlags.flags($0.flags, afterExtendedWord: word, setsSystem: $1) }
  }

  private func change(
    _ nodeID: NodeID, for caller: Caller, _ merge: (Item, Bool) -> FileFlags?
  ) throws(Errno) {
    let node = try node(nodeID)
    var isKnown = true
    try changeFlags(of: node, for: caller) { item in
      // Only root sets what only root may clear; user 0 without the capability asks for it and is refused.
      let setsSystem = options.chattr == .system && caller.user == 0
      guard let merged = merge(item, setsSystem) else {
        isKnown = false
        return item.flags
      }
      return merged
    }
    guard isKnown else { throw .unsupported }
  }

  package func inodeGeneration(of nodeID: NodeID) throws(Errno) -> UInt32 {
    guard SyntheticNode(rawValue: nodeID) == nil else { return 0 }
    return try node(nodeID).backing.generation
  }
}
