// A directory as it is reached in a view: by a path of its own, so with a number of its own.
//
// The kernel has one name for a directory's number. If a directory had the same number in the ordinary tree and in views,
// or by its real name and by the one that is shown, the kernel would move it from place to place, and with it the working
// directories of programs. Everything but directories has one number wherever it is found.

import DisplayNames
import Synchronization

/// The names of a directory as a view shows them.
protocol ListedIndex: AnyObject, Sendable {}

/// The index of a directory that was used last, as long as other code keeps it.
struct RecentIndex {
  weak var index: (any ListedIndex)?
}

/// A directory of a view.
final class ViewDirectory: Sendable {
  let id: NodeID
  let view: ViewName
  /// Nil for the root of the view.
  let parent: ViewDirectory?
  /// The directory itself, to which this holds one of the kernel's references.
  let node: Node
  /// Whether it is a package, and until when that is believed, in monotonic nanoseconds.
  let packageState = Mutex<(isPackage: Bool, until: UInt64)>((false, 0))
  let recent = Mutex(RecentIndex())

  init(id: NodeID, view: ViewName, parent: ViewDirectory?, node: Node) {
    self.id = id
    self.view = view
    self.parent = parent
    self.node = node
  }
}

/// The directories of views that the kernel knows, by number and by path.
final class ViewTable: Sendable {
  private struct Key: Hashable {
    /// The number of the directory above in the view; of a root none.
    let parent: NodeID
    /// The name it was found by.
    let name: [UInt8]
    /// What is found by that name may be another directory later.
    let node: NodeID
  }

  private struct Slot {
    let directory: ViewDirectory
    let key: Key
    var references: UInt64
  }

  private struct Contents {
    var slots: [NodeID: Slot] = [:]
    var numbers: [Key: NodeID] = [:]
    var next: NodeID = ViewTable.first
  }

  /// Numbers from here on are of views; the table of nodes gives none of them out.
  static let first: NodeID = 1 << 63

  private let contents = Mutex(Contents())

  static func isNumber(_ id: NodeID) -> Bool { id >= first }

  func directory(_ id: NodeID) -> ViewDirectory? {
    guard ViewTable.isNumber(id) else { return nil }
    return contents.withLock { $0.slots[id]?.directory }
  }

  /// The directory that is about to be shown to the kernel under a name; one more reference is held.
  ///
  /// If it is new it takes over one reference to `node`.
  func refer(
    to node: Node, name: [UInt8], in parent: ViewDirectory?, view: ViewName
  ) -> (directory: ViewDirectory, isNew: Bool) {
    let key = Key(parent: parent?.id ?? 0, name: name, node: node.id)
    return contents.withLock { contents in
      if let id = contents.numbers[key], var slot = contents.slots[id] {
        slot.references += 1
        contents.slots[id] = slot
        return (slot.directory, false)
      }
      let directory = ViewDirectory(id: contents.next, view: view, parent: parent, node: node)
      contents.next += 1
      contents.slots[directory.id] = Slot(directory: directory, key: key, references: 1)
      contents.numbers[key] = directory.id
      return (directory, true)
    }
  }

  /// The kernel gives references back; the directory, if that was the last one.
  func forget(_ id: NodeID, references: UInt64) -> ViewDirectory? {
    guard ViewTable.isNumber(id) else { return nil }
    return contents.withLock { contents in
      guard var slot = contents.slots[id] else { return nil }
      guard references >= slot.references else {
        slot.references -= references
        contents.slots[id] = slot
        return nil
      }
      contents.slots[id] = nil
      contents.numbers[slot.key] = nil
      return slot.directory
    }
  }

  var count: Int { contents.withLock { $0.slots.count } }
}
