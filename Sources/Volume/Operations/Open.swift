// Opening and closing files.

import AccessControl
import Decisions
import FlagRules
import LayerRules
package import LinuxFiles
import RecordFormat
import Synchronization

extension Volume {
  package func open(_ nodeID: NodeID, _ mode: OpenMode, for caller: Caller) throws(Errno) -> OpenAnswer {
    if let own = SyntheticNode(rawValue: nodeID) { return try open(own, mode, for: caller) }
    let node = try node(nodeID)
    try handles.requireRoom(for: caller.user)
    let request = OpenRequest(mode)
    defer { letGoOfIdle() }
    var cut: CutOnTheWay?
    // Whether the upper takes O_DIRECT is seen on the copy, and a file whose opening is refused is not cut.
    if mode.contains(.truncate), !mode.contains(.unbuffered), node.layer != 0 {
      cut = CutOnTheWay(to: 0) { facts throws(Errno) in
        try self.gate.require(caller, .open(request), on: facts.item)
      }
    }
    do throws(Errno) {
      return try settling(node, for: caller) { () throws(Errno) in
        try raising(for: caller, { [node] }, cut: cut) { () throws(Errno) in
          try open(node, mode, request, cut, for: caller)
        }
      }
    } catch .busy where !mode.contains(.truncate) {
      // The kernel tells of a close when it has returned already: who excludes this opener may be gone.
      throw .delayed(.inUse)
    }
  }

  private func open(
    _ node: Node, _ mode: OpenMode, _ request: OpenRequest, _ cut: CutOnTheWay?, for caller: Caller
  ) throws(Errno) -> OpenAnswer {
    let truncates = mode.contains(.truncate)
    let lock: LockRequest = truncates ? .exclusive(node.stripe) : .shared(node.stripe)
    return try locks.holding(lock) { () throws(Errno) in
      var (file, facts) = try opened(node, mode) { (facts) throws(Errno) in
        if cut?.isDone != true { try gate.require(caller, .open(request), on: facts.item) }
        if mode.contains(.write) || truncates { try requireUp(node) }
        // What is cut to nothing need not be expanded.
        if mode.contains(.write), !truncates { try requireExpanded(facts) }
        try requireWhole(node, facts)
      }
      // Where there is a key, or none is needed, the kernel's own open is one like any other.
      let mode = isLocked(node, facts) ? mode : mode.subtracting(.withoutBytes)
      if facts.item.content == .plain { try requireUnbuffered(file, mode) }
      let strips = Judge.strips(openedFor: request, of: facts.item, by: caller.user) {
        gate.isRoot(caller, withAnyOf: .fsetid)
      }
      if strips {
        // They may have been set behind the mount since they were last looked at.
        if facts.mayCarryPrivilege {
          node.attachment.marks.mayHavePrivilege.store(true, ordering: .releasing)
        }
        try stripBeforeWriting(node, file, for: caller)
      }
      if truncates {
        if facts.item.content == .compressed {
          facts = try emptied(HeldObject(file, facts, of: node), node).facts
        } else {
          _ = try marked(HeldObject(file, facts, of: node), node)
          // Unless its copy was made empty: what somebody has written to it since stays.
          if cut?.isDone != true {
            // O_RDONLY | O_TRUNC: the right to write was asked, the handle stays read-only.
            let way = try wayToChange(node, file, facts, isOpen: mode.contains(.write))
            try usingContent(of: node, by: way, facts) { (content) throws(Errno) in try content.makeEmpty() }
          }
        }
        if Judge.strips(.size(isForeign: mode.contains(.clearsSetID)), by: caller.user) {
          try stripPrivilege(of: node, file, facts.status, for: caller)
        }
      }
      let answer = try register(file, node, facts, mode, for: caller)
      if outdatesAttributes(answer.route, mode, of: node) { link?.expireAttributes(node.id) }
      return answer
    }
  }

  /// Whether what the kernel remembers of size and times must go.
  private func outdatesAttributes(_ route: Route, _ mode: OpenMode, of node: Node) -> Bool {
    switch route {
    // Pages are read anew up to the size it remembers, which may be as old as they are; what is in a lower does not change.
    case .cached(let keepsPages): !keepsPages && node.layer == 0
    // From now on a mapping can move the file's times without its taking note.
    case .backing, .mapped: mode.contains(.read) && mode.contains(.write)
    case .direct: false
    }
  }

  /// Opens the backing file, if `decide` has nothing against it.
  ///
  /// An open is felt by others: it breaks leases, and a program cannot be started while it is being written. So it is
  /// decided about before, by name, and what was seen is compared with the open file.
  private func opened(
    _ node: Node, _ mode: OpenMode, _ decide: (Facts) throws(Errno) -> Void
  ) throws(Errno) -> (SharedDescriptor, Facts) {
    let reach = try resolver.reach(node)
    if let way = sharedWay(to: node) {
      let facts = try facts(of: node, by: reach)
      try decide(facts)
      return (try sufficient(way, for: mode, facts.item), facts)
    }
    let mayBeReplaced = node.layer == 0 && replacements.mayBeAtWorkElsewhere
    if case .named = reach, mode.isForReadingAlone, !mayBeReplaced {
      let isHandedOver = handsOverByPath && mayHandOver(from: node.layer)
      if isHandedOver || opensLate(node) { return try found(node, by: reach, decide) }
    }
    let seen = try facts(of: node, by: reach)
    try decide(seen)
    actAsOwner(FileOwner(seen.status))
    let (file, status) = try resolver.open(node, by: reach, flags: backingFlags(mode, seen.item))
    let facts = try self.facts(status, of: file, knownBy: node)
    if seen.item != facts.item { try decide(facts) }
    return (file, facts)
  }

  /// The way that those have who have an encrypted file open; where it does not do for a mode, one that does.
  ///
  /// Without privilege nobody could open the file once its mode forbids it, and who has it open may go on.
  private func sufficient(
    _ way: SharedDescriptor, for mode: OpenMode, _ item: Item
  ) throws(Errno) -> SharedDescriptor {
    guard mode.contains(.write) ? !way.isWritable : way.descriptor.isPath else { return way }
    return try Errno.delayedByLease { () throws(Errno) in
      SharedDescriptor(try way.descriptor.reopen(backingFlags(mode, item).union(.nonBlocking)))
    }
  }

  /// Finds the file and opens nothing: the kernel will, for an opener `decide` has nothing against.
  private func found(
    _ node: Node, by reach: Reach, _ decide: (Facts) throws(Errno) -> Void
  ) throws(Errno) -> (SharedDescriptor, Facts) {
    // What is held cannot be another object than what has its identity now: its number is not free.
    let way = node.existingAttachment?.state.withLock { state in
      state.file.routes.way ?? (node.layer == 0 ? nil : state.file.lowerWay)
    }
    if let way {
      let facts = try facts(of: node, by: reach)
      try decide(facts)
      return (way, facts)
    }
    let object = try holdAnew(node)
    try decide(object.facts)
    if opensLate(node) { node.attachment.state.withLock { $0.file.lowerWay = object.descriptor } }
    return (object.descriptor, object.facts)
  }

  /// Whether a file of a lower is opened at its first READ, as the kernel has the pages of most.
  ///
  /// Only where nothing but a failing disk could be in the way of that. A file that the kernel reads itself is never opened.
  private func opensLate(_ node: Node) -> Bool {
    guard node.layer != 0, isPrivileged, lowers.indices.contains(Int(node.layer) - 1) else { return false }
    let lower = lowers[Int(node.layer) - 1]
    return lower.isSealed && lower.fileSystem.isLocal && !mayHandOver(from: node.layer)
  }

  /// EIO for a file whose bytes lie in another layer, as overlayfs makes them when it is told to: it would show holes.
  func requireWhole(_ node: Node, _ facts: Facts) throws(Errno) {
    guard let stack = resolver.stack, node.kind == .regular,
      Marks.mayBeHollow(size: facts.status.size, blocksOf512: facts.status.blocks)
    else { return }
    let reach = try resolver.reach(node)
    let mark: [UInt8]?
    do throws(Errno) {
      mark = try AttributeName.with(stack.metacopyName) { name throws(Errno) in try reach.attribute(name) }
    } catch .unsupported {
      // A file system without attributes has no marks.
      return
    }
    guard mark == nil else { throw .inputOutput }
  }

  /// Makes a handle of an opened file.
  ///
  /// Called with the node's lock held, or before anybody knows the node. EBUSY when the file is in use in a way
  /// that the kernel does not let us join.
  func register(
    _ descriptor: SharedDescriptor, _ node: Node, _ facts: Facts, _ mode: OpenMode, for caller: Caller
  ) throws(Errno) -> OpenAnswer {
    let attachment = node.attachment
    attachment.marks.learn(facts)
    let file = try openFile(of: node, by: descriptor, facts, mode, for: caller)
    let route = file.route
    if file.canWrite { attachment.marks.writeOpens.add(1, ordering: .acquiringAndReleasing) }
    attachment.state.withLock { $0.file.handles.append(file) }
    // A handle that reads through the daemon needs the file open, and its opener hears what forbids that.
    let isLate = file.content.isPlain && descriptor.descriptor.isPath && opensLate(node)
    if route.backingID == nil, !mode.contains(.withoutBytes), !isLate {
      do throws(Errno) { try file.content.open() } catch {
        leave(attachment, file)
        giveUp(file.content, of: node)
        throw error
      }
    }
    if route.backingID != nil, file.canMapForWriting {
      attachment.marks.isWrittenUnseen.store(true, ordering: .releasing)
    }
    return OpenAnswer(handle: handles.add(file, for: caller.user), route: route)
  }

  package func release(_ handle: HandleID) {
    guard let file = handles.remove(handle), let node = file.node, let attachment = node.existingAttachment
    else { return }
    leave(attachment, file)
    leave(file.content, of: node)
  }

  /// Nothing is held back in the daemon: what was written is in the backing file.
  package func flush(_ handle: HandleID) throws(Errno) {
    _ = try handles.file(handle)
  }
}

extension OpenRequest {
  fileprivate init(_ mode: OpenMode) {
    self.init(
      // Running a file asks for `execute` in place of `read`.
      reads: mode.contains(.read) && !mode.contains(.execute), writes: mode.contains(.write),
      appends: mode.contains(.append), truncates: mode.contains(.truncate), executes: mode.contains(.execute),
      wantsBytes: !mode.contains(.withoutBytes))
  }
}

extension OpenMode {
  /// Whether the file is only read, and nothing is done to it when it is opened.
  fileprivate var isForReadingAlone: Bool { isDisjoint(with: [.write, .truncate, .append]) }
}
