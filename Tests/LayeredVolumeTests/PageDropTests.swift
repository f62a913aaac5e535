import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

extension KernelLink {
  /// A kernel that hands nothing over, and does this when it is to drop the pages of a file.
  static func dropping(_ dropPages: @escaping @Sendable (NodeID) -> Void) -> KernelLink {
    KernelLink(
      canExpireNames: false, stripsItself: false, features: { [] }, requests: { [] }, expireNames: {},
      dropPages: dropPages, expireAttributes: { _ in }, takesPaths: { false }, openBacking: { _ in nil },
      closeBacking: { _ in })
  }

  /// The same, that does this when it is to forget the attributes of a file.
  static func expiring(_ expireAttributes: @escaping @Sendable (NodeID) -> Void) -> KernelLink {
    KernelLink(
      canExpireNames: false, stripsItself: false, features: { [] }, requests: { [] }, expireNames: {},
      dropPages: { _ in }, expireAttributes: expireAttributes, takesPaths: { false },
      openBacking: { _ in nil },
      closeBacking: { _ in })
  }
}

@Suite("Dropping pages", .timeLimit(.minutes(1))) struct PageDropTests {
  /// A kernel that takes its time to drop pages.
  private final class SlowKernel: Sendable {
    let begun = Atomic(0)
    let mayEnd = Atomic(false)

    var link: KernelLink {
      KernelLink.dropping { _ in
        self.begun.add(1, ordering: .sequentiallyConsistent)
        while !self.mayEnd.load(ordering: .sequentiallyConsistent) { Clock.pause(milliseconds: 1) }
      }
    }

    func waits(for count: Int) -> Bool {
      for _ in 0..<2000 where begun.load(ordering: .sequentiallyConsistent) < count {
        Clock.pause(milliseconds: 1)
      }
      return begun.load(ordering: .sequentiallyConsistent) == count
    }
  }

  @Test("Files that hang hold up none of the others, and are told") func hangingFiles() {
    let dropped = Mutex<Set<NodeID>>([])
    let mayEnd = Atomic(false)
    let hanging: Set<NodeID> = [1, 2, 3, 40]
    let link = KernelLink.dropping { node in
      while hanging.contains(node), !mayEnd.load(ordering: .acquiring) { Clock.pause(milliseconds: 1) }
      dropped.withLock { _ = $0.insert(node) }
    }
    let round = PageDropRound((1...50).map { $0 })
    #expect(round.run(by: link, atMost: 2_000_000_000) == hanging)
    #expect(dropped.withLock { $0 } == Set(1...50).subtracting(hanging))
    mayEnd.store(true, ordering: .releasing)
    #expect(PageDropRound([60, 61]).run(by: link, atMost: 60_000_000_000).isEmpty)
    #expect(dropped.withLock { $0.isSuperset(of: [60, 61]) })
  }

  @Test("However often it is asked for, one thread does it, and once more for who came meanwhile") func once()
    throws
  {
    let (kernel, drops) = (SlowKernel(), PageDrops())
    let link = kernel.link
    try drops.drop(7, by: link)
    #expect(kernel.waits(for: 1))
    for _ in 0..<100 { try drops.drop(7, by: link) }
    try drops.drop(8, by: link)
    #expect(kernel.waits(for: 2), "another file does not wait")
    kernel.mayEnd.store(true, ordering: .sequentiallyConsistent)
    #expect(kernel.waits(for: 3))
    Clock.pause(milliseconds: 20)
    try drops.drop(7, by: link)
    #expect(kernel.waits(for: 4))
  }
}
