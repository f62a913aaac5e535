// Files that stay with the kernel for a moment after they were closed, because files are opened again.
//
// To hand a file over and to take it back costs two calls, and to reach it anew another two; the next opener
// for reading is spared all of them. What is kept is no permission: who opens is decided about each time, by
// a fresh look at what stands under the name, and only if that is the very object that is held. It is held by
// a descriptor that is felt by nobody (O_PATH): no lease, no writer and no running program is affected by it.
//
// For programs that open the same files again and again: open, read and close is 1.02 times as fast with one client, 1.18 with
// two and 1.26 with four (docs/performance.md, "Files that are opened again").

import LinuxFiles
import Synchronization

/// A bounded number of files the kernel has and nobody uses; whatever rests for a second goes.
final class BackingCache: Sendable {
  private struct Ring {
    var held: [Attachment] = []
    var hand = 0
  }

  private let capacity: Int
  private let ring = Mutex(Ring())
  private let swept = Atomic(false)

  init(capacity: Int) {
    self.capacity = capacity
  }

  /// Whether anything may be kept: a thread looks regularly, and there is room.
  var isOpen: Bool { capacity > 0 && swept.load(ordering: .relaxed) }

  /// From now on `sweep` is called twice a second while anything is kept, or never again.
  func willBeSwept(_ will: Bool) {
    swept.store(will, ordering: .relaxed)
  }

  var isEmpty: Bool { ring.withLock { $0.held.isEmpty } }

  /// Takes in a file that has begun to rest; what has to go for it.
  func keep(_ attachment: Attachment) -> RestingBacking? {
    let displaced: Attachment? = ring.withLock { ring in
      guard ring.held.count >= capacity else {
        ring.held.append(attachment)
        return nil
      }
      let displaced = ring.held[ring.hand]
      ring.held[ring.hand] = attachment
      ring.hand = (ring.hand + 1) % ring.held.count
      return displaced
    }
    return displaced?.state.withLock { state in
      state.file.isInBackingCache = false
      return state.file.endRest()
    }
  }

  /// Lets go of what nobody has used since the last time, and answers it.
  func sweep() -> [RestingBacking] {
    ring.withLock { ring in
      var gone: [RestingBacking] = []
      ring.held.removeAll { attachment in
        attachment.state.withLock { state in
          if state.file.isResting, state.file.hasRestedLately {
            state.file.hasRestedLately = false
            return false
          }
          state.file.isInBackingCache = false
          if let resting = state.file.endRest() { gone.append(resting) }
          return true
        }
      }
      ring.hand = 0
      return gone
    }
  }
}

extension Volume {
  /// Whether an opener for reading can do without opening the file itself.
  ///
  /// The kernel opens it for each of them; with less we could not tell it which one it is.
  var handsOverByPath: Bool { isLocal && link?.takesPaths() ?? false }

  /// An opener of a file is gone.
  func leave(_ attachment: Attachment, _ file: OpenFile) {
    // What is in a lower may be about to be brought up.
    let staysThere = file.node?.layer == 0 || !replacements.mayWrite()
    let mayKeep = backings.isOpen && options.cache != .none
    let mayRest = mayKeep && staysThere
    let (unused, isNew): (BackingID?, Bool) = attachment.state.withLock { state in
      guard let index = state.file.handles.firstIndex(where: { $0 === file }) else { return (nil, false) }
      state.file.handles.remove(at: index)
      let unused = state.file.routes.leave(
        file.route, mayRest: mayRest, mayCopy: !file.mode.contains(.withoutBytes))
      if !mayKeep || file.node?.layer == 0, state.file.handles.isEmpty { state.file.lowerWay = nil }
      guard state.file.isResting else { return (unused, false) }
      state.file.hasRestedLately = true
      let isNew = !state.file.isInBackingCache
      state.file.isInBackingCache = true
      return (unused, isNew)
    }
    // The kernel lets go of the backing file before it sends RELEASE: the next open may bring another number.
    if let unused { link?.closeBacking(unused) }
    if isNew { takeBack(backings.keep(attachment)) }
  }

  func takeBack(_ resting: RestingBacking?) {
    if let id = resting?.id { link?.closeBacking(id) }
  }

  /// Nothing may keep what an object holds on the disk any longer than its openers do.
  func endRest(of node: Node) {
    guard let attachment = node.existingAttachment else { return }
    takeBack(attachment.state.withLock { $0.file.endRest() })
  }

  // MARK: For an idle thread

  /// To be called twice a second while `needsSweeping`, or not at all.
  package func sweep() {
    for resting in backings.sweep() { takeBack(resting) }
    answersUnderWay.sweep()
    resolver.unsettled.sweep()
  }

  package var needsSweeping: Bool {
    !backings.isEmpty || answersUnderWay.isCrowded || !resolver.unsettled.isEmpty
  }

  /// Says whether `sweep` is called from now on.
  package func willSweep(_ will: Bool) {
    backings.willBeSwept(will)
    resolver.unsettled.willBeSwept(will)
    if !will { sweep() }
  }
}
