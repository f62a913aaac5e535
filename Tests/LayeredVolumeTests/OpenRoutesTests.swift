import LinuxFiles
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
  /// One open on its way: granted, then taken by the kernel in any order, closed there, and heard of here.
  private struct Open {
    let route: Route
  }

  @Test("The kernel refuses none of what is granted, in whatever order it hears of it", arguments: 1...20)
  func everyMix(_ seed: UInt64) throws {
    let way = SharedDescriptor(try Descriptor.open(path: "/", [.path]))
    var dice = Dice(seed: seed)
    var routes = OpenRoutes()
    var kernel = KernelInode()
    var (granted, taken, closed): ([Open], [Open], [Open]) = ([], [], [])
    var handedOut: Set<BackingID> = []
    var next: BackingID = 1

    func takeBack(_ unused: BackingID?) {
      guard let unused else { return }
      let isOut = handedOut.remove(unused) != nil
      #expect(isOut, "seed \(seed): \(unused) was taken back twice")
    }

    func release(_ open: Open) { takeBack(routes.leave(open.route, mayRest: dice.once(in: 2))) }

    for _ in 0..<20_000 {
      switch dice.below(5) {
      case 0 where !granted.isEmpty:
        let open = granted.remove(at: dice.below(granted.count))
        let isTaken = kernel.open(open.route)
        #expect(isTaken, "seed \(seed): the kernel refuses \(open.route)")
        taken.append(open)
      case 1 where !taken.isEmpty:
        let open = taken.remove(at: dice.below(taken.count))
        kernel.close(open.route)
        closed.append(open)
      case 2 where !closed.isEmpty:
        release(closed.remove(at: dice.below(closed.count)))
      case 3 where routes.isResting:
        takeBack(routes.endRest()?.id)
      default:
        guard granted.count + taken.count < 6 else { continue }
        let wish = dice.pick([OpenRoutes.Wish.backing, .mapped, .cached, .direct])
        if !wish.wantsBacking { takeBack(routes.endRest()?.id) }
        var offer = routes.enter(wish, mayShareBacking: !dice.once(in: 4), keepsPages: false)
        if offer == .needsBacking {
          handedOut.insert(next)
          let isFirst = routes.establish(next, by: dice.once(in: 2) ? way : nil)
          #expect(isFirst, "seed \(seed): nobody was faster")
          offer = .granted(wish.through(next))
          next += 1
        }
        if case .granted(let route) = offer { granted.append(Open(route: route)) }
      }
    }
    for open in granted + taken + closed { release(open) }
    takeBack(routes.endRest()?.id)
    #expect(handedOut.isEmpty, "seed \(seed): \(handedOut) stayed with the kernel")
  }

  @Test("Of two who hand over the file at once, one loses; so does one who comes after a reader of pages")
  func races() {
    var routes = OpenRoutes()
    let offers = [0, 1].map { _ in
      routes.enter(.backing, mayShareBacking: true, keepsPages: false)
    }
    #expect(offers == [.needsBacking, .needsBacking])
    let isEstablished = [BackingID(1), 2].map { routes.establish($0) }
    #expect(isEstablished == [true, false])
    let unused = routes.leave(.backing(1))
    #expect(unused == 1)
    let reader = routes.enter(.cached, mayShareBacking: true, keepsPages: true)
    #expect(reader == .granted(.cached(keepsPages: true)))
    let isLate = !routes.establish(3)
    #expect(isLate)
  }

  @Test("Copies never stand beside writes that go past them", arguments: 1...10)
  func copies(_ seed: UInt64) {
    var dice = Dice(seed: seed)
    var routes = OpenRoutes()
    var open: [Route] = []
    for _ in 0..<5_000 {
      if !open.isEmpty, dice.once(in: 2) {
        _ = routes.leave(open.remove(at: dice.below(open.count)))
        continue
      }
      let offer = routes.enter(
        dice.pick([.cached, .direct]), mayShareBacking: false, keepsPages: dice.once(in: 2))
      guard case .granted(let route) = offer else { Issue.record("seed \(seed): nothing granted"); return }
      open.append(route)
      #expect(Set(open.map(\.keepsCopy)).count == 1, "seed \(seed): \(open)")
    }
  }

  @Test("Copies from before somebody wrote past them are not kept") func copiesFromBefore() {
    var routes = OpenRoutes()
    func enter(_ wish: OpenRoutes.Wish, mayCopy: Bool = true) -> OpenRoutes.Offer {
      routes.enter(wish, mayShareBacking: false, keepsPages: true, mayCopy: mayCopy)
    }
    #expect(enter(.cached) == .granted(.cached(keepsPages: true)))
    _ = routes.leave(.cached(keepsPages: true))
    #expect(enter(.direct) == .granted(.direct))
    _ = routes.leave(.direct)
    #expect(enter(.cached) == .granted(.cached(keepsPages: false)))
    #expect(enter(.cached) == .granted(.cached(keepsPages: true)))
  }

  @Test("Who may have no copy does not decide for those who may") func bystanders() {
    var routes = OpenRoutes()
    for _ in 0..<2 {
      let bystander = routes.enter(.cached, mayShareBacking: false, keepsPages: true, mayCopy: false)
      #expect(bystander == .granted(.direct))
    }
    let reader = routes.enter(.cached, mayShareBacking: false, keepsPages: true)
    #expect(reader == .granted(.cached(keepsPages: true)))
    for _ in 0..<2 { _ = routes.leave(.direct, mayCopy: false) }
    let next = routes.enter(.direct, mayShareBacking: false, keepsPages: true)
    #expect(next == .granted(.cached(keepsPages: true)))
  }

  @Test("Who may have no copy gets none") func noCopies() {
    var routes = OpenRoutes()
    for wish in [OpenRoutes.Wish.backing, .mapped, .cached, .direct] {
      let offer = routes.enter(
        wish, mayShareBacking: true, mayHandOver: false, keepsPages: true, mayCopy: false)
      #expect(offer == .granted(.direct))
    }
  }

  @Test("Whoever must not have the backing file is turned away while others have it") func conflict() {
    var routes = OpenRoutes()
    _ = routes.establish(1)
    let direct = routes.enter(.direct, mayShareBacking: false, keepsPages: false)
    #expect(direct == .conflict)
    let reader = routes.enter(.cached, mayShareBacking: true, keepsPages: false)
    #expect(reader == .granted(.backing(1)))
  }
}
