import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

@Suite("Files the kernel keeps for a moment") struct BackingCacheTests {
  private let way: SharedDescriptor

  init() throws {
    way = SharedDescriptor(try Descriptor.open(path: "/", [.path]))
  }

  /// A file that the kernel has as `id`, read once and closed.
  private func resting(_ id: BackingID) -> LayeredVolume.Attachment {
    let attachment = LayeredVolume.Attachment()
    attachment.state.withLock { state in
      _ = state.file.routes.establish(id, by: way)
      _ = state.file.routes.leave(.backing(id), mayRest: true)
      state.file.hasRestedLately = true
      state.file.isInBackingCache = true
    }
    return attachment
  }

  @Test("Only what was handed over by a way that nobody feels may rest, and only if it may") func rest() {
    for (hasWay, mayRest) in [(true, true), (true, false), (false, true)] {
      var routes = OpenRoutes()
      _ = routes.establish(1, by: hasWay ? way : nil)
      let unused = routes.leave(.backing(1), mayRest: mayRest)
      #expect(unused == (hasWay && mayRest ? nil : 1))
      #expect(routes.isResting == (hasWay && mayRest))
    }
  }

  @Test("Who opens it again is spared the handing over; who must not have it ends its rest") func again() {
    var routes = OpenRoutes()
    _ = routes.establish(1, by: way)
    _ = routes.leave(.backing(1), mayRest: true)
    let reader = routes.enter(.backing, mayShareBacking: true, keepsPages: false)
    #expect(reader == .granted(.backing(1)))
    let inUse = routes.endRest()?.id
    #expect(inUse == nil && !routes.isResting)
    routes.loseWay()
    let unused = routes.leave(.backing(1), mayRest: true)
    #expect(unused == 1)
  }

  @Test("The second sweep takes what nobody used since the first") func sweeps() {
    let kept = BackingCache(capacity: 8)
    let (idle, used, open) = (resting(1), resting(2), resting(3))
    for attachment in [idle, used, open] { #expect(kept.keep(attachment) == nil) }
    #expect(kept.sweep().isEmpty)
    used.state.withLock { $0.file.hasRestedLately = true }
    open.state.withLock { _ = $0.file.routes.enter(.backing, mayShareBacking: true, keepsPages: false) }
    #expect(kept.sweep().map(\.id) == [1])
    #expect(!kept.isEmpty)
    // In use: whoever closes it brings it back.
    #expect(open.state.withLock { !$0.file.isInBackingCache && $0.file.routes.way != nil })
    #expect(kept.sweep().map(\.id) == [2])
    #expect(kept.isEmpty)
  }

  @Test("Where there is no room the oldest goes, unless it is in use") func room() {
    let kept = BackingCache(capacity: 2)
    let all = (1...4).map { resting(BackingID($0)) }
    #expect(kept.keep(all[0]) == nil && kept.keep(all[1]) == nil)
    #expect(kept.keep(all[2])?.id == 1)
    all[1].state.withLock { _ = $0.file.routes.enter(.backing, mayShareBacking: true, keepsPages: false) }
    #expect(kept.keep(all[3]) == nil)
    #expect(all[1].state.withLock { !$0.file.isInBackingCache && $0.file.routes.way != nil })
  }

  @Test("Nothing is kept unless somebody sweeps") func closed() {
    let kept = BackingCache(capacity: 2)
    #expect(!kept.isOpen)
    kept.willBeSwept(true)
    #expect(kept.isOpen && !BackingCache(capacity: 0).isOpen)
    kept.willBeSwept(false)
    #expect(!kept.isOpen)
  }
}
