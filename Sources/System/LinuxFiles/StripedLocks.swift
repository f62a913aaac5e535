import CLinux

// Locks for a million names in a fixed amount of memory: names share 1,024 locks by hash.
//
// A request that needs several takes them all at once, in ascending order, so that two requests can
// never wait for each other. Hence a thread holds at most one set at a time: `holding` does not nest.

/// One lock a request needs.
package struct LockRequest: Sendable, Equatable {
  package let stripe: Int
  package let exclusive: Bool

  /// Any number, such as a hash, names the stripe it falls on.
  package init(stripe: Int, exclusive: Bool) {
    self.stripe = stripe & (StripedLocks.count - 1)
    self.exclusive = exclusive
  }

  package static func shared(_ stripe: Int) -> LockRequest {
    LockRequest(stripe: stripe, exclusive: false)
  }

  package static func exclusive(_ stripe: Int) -> LockRequest {
    LockRequest(stripe: stripe, exclusive: true)
  }
}

/// One to six requests: each stripe once, in ascending order, with the strongest mode asked for.
package struct LockRequests: Sendable {
  private(set) var sorted: InlineArray<6, LockRequest>
  private(set) var count = 1

  /// Six arguments and not a list, so that a seventh cannot be passed at all.
  package init(
    _ first: LockRequest, _ second: LockRequest? = nil, _ third: LockRequest? = nil,
    _ fourth: LockRequest? = nil, _ fifth: LockRequest? = nil, _ sixth: LockRequest? = nil
  ) {
    sorted = InlineArray(repeating: first)
    insert(second)
    insert(third)
    insert(fourth)
    insert(fifth)
    insert(sixth)
  }

  /// Whether a stripe is among them, to be held by this request alone.
  package func includesExclusive(_ stripe: Int) -> Bool {
    for index in 0..<count where sorted[index].stripe == stripe { return sorted[index].exclusive }
    return false
  }

  /// Whether a stripe is among them.
  package func includes(_ stripe: Int) -> Bool {
    for index in 0..<count where sorted[index].stripe == stripe { return true }
    return false
  }

  private mutating func insert(_ request: LockRequest?) {
    guard let request else { return }
    var position = 0
    while position < count, sorted[position].stripe < request.stripe { position += 1 }
    if position < count, sorted[position].stripe == request.stripe {
      if request.exclusive { sorted[position] = request }
      return
    }
    var index = count
    while index > position {
      sorted[index] = sorted[index - 1]
      index -= 1
    }
    sorted[position] = request
    count += 1
  }
}

/// 1,024 read-write locks.
@safe package final class StripedLocks: @unchecked Sendable {
  // Sendable: the pointer never changes, and what it points to is made for many threads.
  private let stripes: OpaquePointer
  private let whenExclusive: (@Sendable (Int) -> Void)?

  /// A power of two.
  package static let count = 1_024

  /// ENOMEM when there is no room for the locks (64 KiB).
  ///
  /// `whenExclusive` hears of each stripe that a request holds exclusively, before its body runs; nothing of `holdingAll`.
  package init(whenExclusive: (@Sendable (Int) -> Void)? = nil) throws(Errno) {
    guard let made = unsafe lv_stripes_create(StripedLocks.count) else { throw .noMemory }
    unsafe stripes = made
    self.whenExclusive = whenExclusive
  }

  deinit {
    unsafe lv_stripes_destroy(stripes)
  }

  /// Runs `body` with all the locks held; waits for them in ascending order.
  ///
  /// Writers go before readers that come later, so taking a lock a second time in `body` can hang:
  /// never nest. EDEADLK when a nested use is noticed.
  package func holding<R: ~Copyable>(
    _ requests: LockRequests, _ body: () throws(Errno) -> R
  ) throws(Errno) -> R {
    var held = 0
    defer {
      while held > 0 {
        held -= 1
        unsafe lv_stripes_unlock(stripes, requests.sorted[held].stripe)
      }
    }
    while held < requests.count {
      let request = requests.sorted[held]
      try retrying { unsafe lv_stripes_lock(stripes, request.stripe, request.exclusive ? 1 : 0) }
      held += 1
    }
    if let whenExclusive {
      for index in 0..<requests.count where requests.sorted[index].exclusive {
        whenExclusive(requests.sorted[index].stripe)
      }
    }
    return try body()
  }

  /// Runs `body` with one lock held exclusively, or not at all if anybody has it: it waits for nobody.
  ///
  /// `whenExclusive` does not hear of it: `body` changes nothing that anybody sees.
  package func holdingIfFree(_ stripe: Int, _ body: () -> Void) {
    let index = stripe & (StripedLocks.count - 1)
    guard unsafe lv_stripes_lock_if_free(stripes, index) == 0 else { return }
    defer { unsafe lv_stripes_unlock(stripes, index) }
    body()
  }

  /// Runs `body` with every lock held exclusively: nobody else is between asking and being answered.
  package func holdingAll<R: ~Copyable>(_ body: () throws(Errno) -> R) throws(Errno) -> R {
    var held = 0
    defer {
      while held > 0 {
        held -= 1
        unsafe lv_stripes_unlock(stripes, held)
      }
    }
    while held < StripedLocks.count {
      try retrying { unsafe lv_stripes_lock(stripes, held, 1) }
      held += 1
    }
    return try body()
  }

  /// Runs `body` with one lock held.
  package func holding<R: ~Copyable>(
    _ request: LockRequest, _ body: () throws(Errno) -> R
  ) throws(Errno) -> R {
    try holding(LockRequests(request), body)
  }
}
