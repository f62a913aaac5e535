// Finding what is the volume's own: `.varve` at the root of the mount, what is in it, and the views in `.varve/view`.

import Decisions
import DisplayNames
import LinuxFiles

extension Volume {
  /// What is found in a directory of the volume's own, or is its own at the root; nil for names that mean an object.
  ///
  /// The volume tells about itself only to users who may search its root, and for as long as the kernel may remember the
  /// names there it may remember these.
  func lookupOwn(
    _ name: borrowing FileName, in parent: NodeID, for caller: Caller, request: UInt64
  ) throws(Errno) -> LookupAnswer? {
    let own = SyntheticNode(rawValue: parent)
    guard own != nil || parent == Volume.rootNode && name.equals(OwnDirectory.bytes) else { return nil }
    let bytes = name.copy()
    return try locks.holding(.shared(root.stripe)) { () throws(Errno) in
      let above = try directoryFacts(root)
      try gate.require(caller, .search, on: above.item)
      guard var entry = try ownEntry(bytes, in: own, for: caller) else { return .missing(.none) }
      if entry.attributes.kind == .directory {
        entry.nameValidity = briefly(nameValidity(in: above))
        guardLateAnswers(&entry, in: above, for: caller, request)
      }
      return .found(entry)
    }
  }

  private func ownEntry(
    _ name: [UInt8], in parent: SyntheticNode?, for caller: Caller
  ) throws(Errno) -> Entry? {
    if parent == .views { return try view(name, for: caller) }
    let node: SyntheticNode? =
      if let parent {
        try FileName.with(name) { name throws(Errno) in parent.child(named: name) }
      } else {
        mounted.showsReservedDirectory ? .directory : nil
      }
    return node.map { node in
      Entry(
        node: node.rawValue, attributes: node.attributes(since: startedAt), nameValidity: .none,
        attributeValidity: .none)
    }
  }

  /// The root of a view; nil for a name that is not canonical.
  private func view(_ name: [UInt8], for caller: Caller) throws(Errno) -> Entry? {
    guard let view = ViewName(name) else { return nil }
    // Names would be in no order, and two spellings of one not alike.
    guard viewRules.areReady else { throw .unsupported }
    let found = try briefFacts(at: root, by: .held(resolver.top.descriptor))
    let above = try directoryFacts(root)
    // The root is never forgotten, so no reference to it has to be taken over.
    let directory = views.refer(to: root, name: name, in: nil, view: view).directory
    var entry = entry(root, found, in: above, for: caller)
    (entry.node, entry.attributeValidity) = (directory.id, .none)
    return entry
  }

  /// A time that is a second at most.
  func briefly(_ validity: Validity) -> Validity { validity == .none ? .none : .seconds(1) }

  /// What is left of a second that began with the reading of what an answer rests on.
  func briefly(_ validity: Validity, since began: UInt64) -> Validity {
    let left = Int64(1_000_000_000) - Int64(clamping: Clock.monotonicNanoseconds &- began)
    guard validity != .none, left > 0 else { return .none }
    return left == 1_000_000_000 ? .seconds(1) : .nanoseconds(UInt32(clamping: left))
  }
}
