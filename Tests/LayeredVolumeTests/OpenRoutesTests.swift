import Randomness
import Testing

@testable import LayeredVolume

/// What the kernel keeps of an inode that is open, and which opens it answers with EIO.
///
/// After `fuse_file_io_open` of Linux 6.9 and later.
private struct KernelInode {
  private var cached = 0
  private var backing: BackingID?
  private var backingUsers = 0

  /// False is an EIO for the caller.
  mutating func open(_ route: Route) -> Bool {
    switch route {
    case .direct:
      return backing == nil
    case .cached:
      guard backing == nil else { return false }
      cached += 1
      return true
    case .backing(let id), .mapped(let id):
      guard cached == 0, backing == nil || backing == id else { return false }
      backing = id
      backingUsers += 1
      return true
    }
  }

  mutating func close(_ route: Route) {
    switch route {
    case .direct: break
    case .cached: cached -= 1
    case .backing, .mapped:
      backingUsers -= 1
      if backingUsers == 0 { backing = nil }
    }
  }
}

@Suite("Routes to the bytes of a file") struct OpenRoutesTests {
  @Test("The kernel refuses none of what is granted, in any order", arguments: 1...20)
  func everyMix(_ seed: UInt64) {
    var dice = Dice(seed: seed)
    var routes = OpenRoutes()
    var kernel = KernelInode()
    var open: [(route: Route, maps: Bool)] = []
    var handedOut: Set<BackingID> = []
    var next: BackingID = 1
    for _ in 0..<5_000 {
      if !open.isEmpty, dice.once(in: 2) {
        let closed = open.remove(at: dice.below(open.count))
        // The kernel lets go first; the RELEASE comes later.
        kernel.close(closed.route)
        if let unused = routes.leave(closed.route, maps: closed.maps) {
          let isOut = handedOut.remove(unused) != nil
          #expect(isOut, "seed \(seed): \(unused) was taken back twice")
        }
      } else {
        let (wish, maps) = (dice.pick([OpenRoutes.Wish.backing, .mapped, .cached, .direct]), dice.once(in: 2))
        var offer = routes.enter(wish, maps: maps, mayShareBacking: !dice.once(in: 4), keepsPages: false)
        if offer == .needsBacking {
          handedOut.insert(next)
          let isFirst = routes.establish(next, maps: maps)
          #expect(isFirst, "seed \(seed): nobody was faster")
          offer = .granted(wish.through(next))
          next += 1
        }
        guard case .granted(let route) = offer else { continue }
        let isTaken = kernel.open(route)
        #expect(isTaken, "seed \(seed): the kernel refuses \(route)")
        open.append((route, maps))
      }
      let mappers = open.count { $0.route.backingID != nil && $0.maps }
      #expect(routes.isWrittenUnseen == (mappers > 0))
    }
    for one in open { if let unused = routes.leave(one.route, maps: one.maps) { handedOut.remove(unused) } }
    #expect(handedOut.isEmpty, "seed \(seed): \(handedOut) stayed with the kernel")
  }

  @Test("Of two who hand over the file at once, one loses; so does one who comes after a reader of pages")
  func races() {
    var routes = OpenRoutes()
    let offers = [0, 1].map { _ in routes.enter(.backing, maps: true, mayShareBacking: true, keepsPages: false) }
    #expect(offers == [.needsBacking, .needsBacking])
    let isEstablished = [BackingID(1), 2].map { routes.establish($0, maps: true) }
    #expect(isEstablished == [true, false])
    let unused = routes.leave(.backing(1), maps: true)
    #expect(unused == 1)
    let reader = routes.enter(.cached, maps: false, mayShareBacking: true, keepsPages: true)
    #expect(reader == .granted(.cached(keepsPages: true)))
    let isLate = !routes.establish(3, maps: true)
    #expect(isLate)
  }

  @Test("Whoever must not have the backing file is turned away while others have it") func conflict() {
    var routes = OpenRoutes()
    _ = routes.establish(1, maps: false)
    let direct = routes.enter(.direct, maps: true, mayShareBacking: false, keepsPages: false)
    #expect(direct == .conflict)
    let reader = routes.enter(.cached, maps: true, mayShareBacking: true, keepsPages: false)
    #expect(reader == .granted(.backing(1)))
    #expect(routes.isWrittenUnseen)
  }
}
