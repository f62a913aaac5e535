import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Directories that are kept open") struct DirectoryCacheTests {
  private func directory() throws -> SharedDescriptor {
    SharedDescriptor(try Descriptor.open(path: "/", [.path, .directory]))
  }

  private func merged(_ layers: UInt8) throws -> DirectoryParts {
    try #require(
      DirectoryParts(try (0..<layers).map { LayerPart(layer: $0, descriptor: try directory()) }, shape: 0))
  }

  private func isOpen(_ attachment: LayeredVolume.Attachment) -> Bool {
    attachment.state.withLock { $0.directory.descriptor != nil }
  }

  private func openDescriptors(_ attachments: [LayeredVolume.Attachment]) -> Int {
    attachments.reduce(0) { sum, attachment in
      sum + attachment.state.withLock { $0.directory.descriptorCount }
    }
  }

  @Test("Descriptors are counted, not directories: of the upper alone more are kept than of many layers")
  func counts() throws {
    for (layers, most) in [(UInt8(1), 64), (4, 16), (16, 4)] {
      let cache = DirectoryCache(capacity: 64)
      let all = (0..<100).map { _ in LayeredVolume.Attachment() }
      for attachment in all {
        let parts = try merged(layers)
        cache.keep(parts.top.descriptor, parts, for: attachment)
        #expect(isOpen(attachment) && openDescriptors(all) <= 64)
      }
      #expect(all.filter { isOpen($0) }.count == most, "\(layers) layers")
    }
  }

  @Test("A directory whose parts change is counted anew, and one that is forgotten no more") func changes()
    throws
  {
    let cache = DirectoryCache(capacity: 64)
    let all = (0..<64).map { _ in LayeredVolume.Attachment() }
    for attachment in all { cache.keep(try directory(), for: attachment) }
    #expect(openDescriptors(all) == 64)
    // The others make room.
    let wide = try merged(33)
    cache.keep(wide.top.descriptor, wide, for: all[0])
    #expect(isOpen(all[0]) && openDescriptors(all) == 64)
    cache.drop(all[0])
    #expect(openDescriptors(all) == 31)
    for attachment in all { cache.keep(try directory(), for: attachment) }
    #expect(openDescriptors(all) == 64)
  }

  @Test("What was asked for since the clock came by stays, and a few stay whatever they take") func clock()
    throws
  {
    let cache = DirectoryCache(capacity: 16)
    let all = (0..<17).map { _ in LayeredVolume.Attachment() }
    for attachment in all.prefix(16) {
      cache.keep(try directory(), for: attachment)
      attachment.wasUsed.store(false, ordering: .relaxed)
    }
    all[0].wasUsed.store(true, ordering: .relaxed)
    cache.keep(try directory(), for: all[16])
    #expect(isOpen(all[0]) && !isOpen(all[1]) && isOpen(all[16]))
    let wide = (0..<6).map { _ in LayeredVolume.Attachment() }
    for attachment in wide {
      let parts = try merged(65)
      cache.keep(parts.top.descriptor, parts, for: attachment)
    }
    #expect(wide.filter { isOpen($0) }.count == 4)
    #expect(!all.contains { isOpen($0) })
  }
}
