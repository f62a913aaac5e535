// When the kernel drops the pages of an encrypted file that is not what it was.

import Foundation
import Glibc
import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

/// A page that is dropped while a write of it is on its way is read anew before that arrives, and stays.
@Suite(
  "Pages of an encrypted file that changed", .enabled(if: Tree.isRoot, "needs root"), .timeLimit(.minutes(1)))
struct StalePagesTests {
  /// A kernel that takes a moment to drop pages, while another program opens the file.
  private final class BusyKernel: Sendable {
    private let intruder = Mutex<(@Sendable () throws -> Void)?>(nil)
    private let isDropping = Atomic(false)
    let drops = Atomic(0)
    /// How often the file could be opened while its pages were dropped.
    let early = Atomic(0)
    let opens = Atomic(0)

    var link: KernelLink {
      KernelLink.dropping { _ in
        self.drops.add(1, ordering: .sequentiallyConsistent)
        guard let open = self.intruder.withLock({ $0.take() }) else { return }
        self.isDropping.store(true, ordering: .sequentiallyConsistent)
        defer { self.isDropping.store(false, ordering: .sequentiallyConsistent) }
        Thread.detachNewThread {
          try? open()
          if self.isDropping.load(ordering: .sequentiallyConsistent) {
            self.early.add(1, ordering: .sequentiallyConsistent)
          }
          self.opens.add(1, ordering: .sequentiallyConsistent)
        }
        usleep(50_000)
      }
    }

    func opensMeanwhile(_ open: @escaping @Sendable () throws -> Void) { intruder.withLock { $0 = open } }

    func expectOneOpenAfterTheDrop() {
      for _ in 0..<5000 where opens.load(ordering: .sequentiallyConsistent) == 0 { usleep(1_000) }
      #expect(opens.load(ordering: .sequentiallyConsistent) == 1)
      #expect(early.load(ordering: .sequentiallyConsistent) == 0)
      #expect(drops.load(ordering: .sequentiallyConsistent) == 1)
    }
  }

  private struct Known {
    let tree: Tree
    let volume: Volume
    let kernel = BusyKernel()
    let node: NodeID

    /// A file that the kernel knows, as in a test it does until the end, and that nobody has open.
    init(_ name: String, in directory: String) throws {
      tree = try Tree.vault()
      try tree.make("\(directory)/\(name)", "text")
      // What has just changed may change again without telling it.
      usleep(50_000)
      let volume = try tree.volume()
      let caller = tree.caller()
      self.volume = volume
      node = try tree.at(directory) { volume, directory in
        try volume.find(name, in: directory, for: caller)
      }
      volume.attach(kernel.link)
      volume.release(try open().handle)
    }

    func open() throws -> OpenAnswer { try volume.open(node, [.read, .write], for: tree.caller()) }

    func opensMeanwhile() {
      let (volume, node, caller) = (volume, node, tree.caller())
      kernel.opensMeanwhile { volume.release(try volume.open(node, [.read, .write], for: caller).handle) }
    }
  }

  @Test("Where a file was changed behind the mount, nobody opens it before the pages are dropped")
  func changedBehindTheMount() throws {
    let known = try Known("file", in: "a")
    try #require(utimensat(AT_FDCWD, known.tree.path + "/a/file", nil, 0) == 0)
    known.opensMeanwhile()
    let answer = try known.open()
    // The kernel is not told to drop them, too: that would be when others may write.
    #expect(answer.route == .cached(keepsPages: true))
    known.kernel.expectOneOpenAfterTheDrop()
    known.volume.release(answer.handle)
  }

  @Test("Where a file was encrypted or decrypted, nobody opens it before the pages are dropped")
  func changedForm() throws {
    for (directory, word) in [("a", "none"), ("plain", "complete")] {
      let known = try Known("file", in: directory)
      known.opensMeanwhile()
      try known.tree.setClass("\(directory)/file", word)
      known.kernel.expectOneOpenAfterTheDrop()
    }
  }

  @Test("A request without a handle drops the pages before anybody else comes")
  func changedByPath() throws {
    let known = try Known("file", in: "a")
    try #require(utimensat(AT_FDCWD, known.tree.path + "/a/file", nil, 0) == 0)
    known.opensMeanwhile()
    try known.tree.change("a/file") { $0.size = 2 }
    known.kernel.expectOneOpenAfterTheDrop()
  }
}
