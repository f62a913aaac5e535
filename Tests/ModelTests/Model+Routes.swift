// Which handles the kernel serves from the backing file by itself (C17): those keep what they were given.

/// How a handle reaches the bytes.
enum HandleRoute: Equatable {
  /// The kernel does it alone.
  case backing
  /// By requests, but for mappings.
  case mapped
  /// By requests, with a copy in the page cache or without one.
  case cached
  case direct
  /// It depends on when the kernel told the daemon of an earlier close.
  case unclear
}

/// The handles of one file.
struct HandleRoutes {
  private var backing = 0
  private var cached = 0
  private var unclear = 0
  /// Closed, but the daemon may not have heard of it.
  private var lostBacking = false
  private var lostCached = false

  private var mayBeBacking: Bool { backing > 0 || lostBacking || unclear > 0 }
  private var mayBeCached: Bool { cached > 0 || lostCached || unclear > 0 }

  /// The route of one more handle.
  func next(isAppendOnly: Bool, _ wish: OpenWish) -> HandleRoute {
    let appends = wish.appends && wish.writes
    if backing > 0 { return appends ? .mapped : .backing }
    if isAppendOnly || (appends && !wish.maps) {
      return mayBeBacking ? .unclear : wish.writes ? .direct : .cached
    }
    if appends { return cached > 0 ? .cached : mayBeCached ? .unclear : .mapped }
    if cached > 0 { return .cached }
    return mayBeCached ? .unclear : .backing
  }

  /// Whether a handle that could map the file for writing is refused while it may only grow; nil: it depends.
  var refusesMapper: Bool? {
    if backing > 0 { return true }
    return mayBeBacking ? nil : false
  }

  mutating func add(_ route: HandleRoute) {
    switch route {
    case .backing, .mapped: backing += 1
    case .cached: cached += 1
    case .unclear: unclear += 1
    case .direct: break
    }
  }

  mutating func remove(_ route: HandleRoute) {
    switch route {
    case .backing, .mapped: (backing, lostBacking) = (backing - 1, true)
    case .cached: (cached, lostCached) = (cached - 1, true)
    case .unclear: (unclear, lostBacking, lostCached) = (unclear - 1, true, true)
    case .direct: break
    }
  }
}
