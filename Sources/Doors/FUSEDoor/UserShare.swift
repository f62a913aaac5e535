// The requests of one user that are under way, delayed or queued.

/// The requests of one user: how many are being served, and those that are queued.
struct UserShare {
  let owner: ShareOwner
  /// How many are being served.
  var underWay = 0
  /// How many are delayed.
  var parked = 0
  /// The memory of queued and delayed requests.
  var bytes = 0
  /// `urgent`: the kernel holds the lock of a directory for them, for which other users may wait.
  private var urgent = RequestList()
  private var ordinary = RequestList()

  init(_ owner: ShareOwner) {
    self.owner = owner
  }

  var queued: Int { urgent.count + ordinary.count }
  var isIdle: Bool { underWay == 0 && queued == 0 && parked == 0 }

  mutating func append(_ request: QueuedRequest) {
    if request.request.holdsDirectory { urgent.append(request) } else { ordinary.append(request) }
  }

  /// Takes out all that are meant.
  mutating func takeOut(where isMeant: (HeldRequest) -> Bool) -> [HeldRequest] {
    urgent.takeOut(where: isMeant) + ordinary.takeOut(where: isMeant)
  }

  /// Takes out the oldest urgent request, or else the oldest of the others.
  mutating func popFirst() -> QueuedRequest? {
    urgent.popFirst() ?? ordinary.popFirst()
  }
}

/// Requests in the order of arrival.
private struct RequestList {
  private var requests: [QueuedRequest?] = []
  private var head = 0

  var count: Int { requests.count - head }

  mutating func append(_ request: QueuedRequest) {
    requests.append(request)
  }

  mutating func takeOut(where isMeant: (HeldRequest) -> Bool) -> [HeldRequest] {
    guard requests.contains(where: { $0.map { isMeant($0.request) } ?? false }) else { return [] }
    var taken: [HeldRequest] = []
    let left = requests.filter { entry in
      guard let request = entry?.request else { return false }
      guard isMeant(request) else { return true }
      taken.append(request)
      return false
    }
    (requests, head) = (left, 0)
    return taken
  }

  mutating func popFirst() -> QueuedRequest? {
    guard head < requests.count else { return nil }
    let first = requests[head]
    requests[head] = nil
    head += 1
    if head == requests.count {
      requests.removeAll(keepingCapacity: requests.count <= 64)
      head = 0
    } else if head >= 64, head * 2 >= requests.count {
      requests.removeFirst(head)
      head = 0
    }
    return first
  }
}

/// A request that can be served: a new one, or one that was delayed.
struct QueuedRequest {
  let request: HeldRequest
  /// What it waited for before.
  let waiting: Waiting?
}

/// A request that is delayed.
struct ParkedRequest {
  let request: HeldRequest
  let waiting: Waiting
  /// When it is tried again.
  var due: UInt64
}
