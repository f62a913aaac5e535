// What layers cost every object that the kernel holds, also where there are none.

import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("The size of nodes") struct NodeSizeTests {
  /// What a node had before there were layers.
  private final class FormerNode {
    let id: NodeID
    let identity: ObjectIdentity
    let lastName: Mutex<Node.LastKnownName>
    let known: Mutex<KnownRecord?> = Mutex(nil)
    let attached: Mutex<AnyObject?> = Mutex(nil)

    init(_ identity: ObjectIdentity) {
      (id, self.identity) = (Volume.rootNode, identity)
      lastName = Mutex(Node.LastKnownName(parent: nil, name: []))
    }
  }

  /// The size of an instance without the allocator's rounding, as the class tells it: the runtime keeps it behind the class's
  /// kind, its superclass, its flags and its address point.
  private func size(of kind: AnyClass) -> Int {
    Int(unsafeBitCast(kind, to: UnsafeRawPointer.self).load(fromByteOffset: 24, as: UInt32.self))
  }

  @Test("A node has at most 8 bytes for layers") func size() {
    let (now, former) = (size(of: Node.self), size(of: FormerNode.self))
    print("a node has \(now) bytes, \(former) before layers")
    #expect(former > 64 && now <= former + 8)
  }

  @Test("The parts of a directory are 24 bytes, and 48 on the heap where only the upper has it") func parts()
  {
    #expect(MemoryLayout<DirectoryParts?>.size == 24)
    // A part behind the head of an array.
    #expect(MemoryLayout<LayerPart>.stride + 32 == 48)
  }
}
