// Which handles the kernel serves from the backing file by itself: those keep what they were given (SEMANTICS 2.5).

/// How a handle reaches the bytes.
enum HandleRoute: Equatable {
  /// The kernel does it alone.
  case backing
  /// By requests, but for mappings.
  case mapped
  /// By requests.
  case unbacked
  /// It depends on when the kernel told the daemon of an earlier close.
  case unclear
}

/// The handles of one file.
struct HandleRoutes {
  private var backing = 0
  private var unbacked = 0
  private var unclear = 0
  /// Closed, but the daemon may not have heard of it.
  private var lostBacking = false
  private var lostUnbacked = false

  private var mayBeBacking: Bool { backing > 0 || lostBacking || unclear > 0 }
  private var mayBeUnbacked: Bool { unbacked > 0 || lostUnbacked || unclear > 0 }

  /// The route of one more handle.
  func next(isAppendOnly: Bool, _ wish: OpenWish) -> HandleRoute {
    let through: HandleRoute = wish.appends && wish.writes ? .mapped : .backing
    if backing > 0 { return through }
    if isAppendOnly { return mayBeBacking ? .unclear : .unbacked }
    if unbacked > 0 { return .unbacked }
    return mayBeUnbacked ? .unclear : through
  }

  /// Whether a handle that could map the file for writing is refused while it may only grow; nil: it depends.
  var refusesMapper: Bool? {
    if backing > 0 { return true }
    return mayBeBacking ? nil : false
  }

  mutating func add(_ route: HandleRoute) {
    switch route {
    case .backing, .mapped: backing += 1
    case .unbacked: unbacked += 1
    case .unclear: unclear += 1
    }
  }

  mutating func remove(_ route: HandleRoute) {
    switch route {
    case .backing, .mapped: (backing, lostBacking) = (backing - 1, true)
    case .unbacked: (unbacked, lostUnbacked) = (unbacked - 1, true)
    case .unclear: (unclear, lostBacking, lostUnbacked) = (unclear - 1, true, true)
    }
  }
}
