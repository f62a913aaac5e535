// Which request is served next: a bound on the requests of one user that are under way, a queue for each user, and the
// requests that are delayed.
//
// While no user reaches the bound, a request takes one lock twice and is never copied. A request beyond the bound is
// copied into the queue of its user, and the worker reads the next one. A worker that has finished a request serves the
// queues, user by user. One worker stays at the device, with two exceptions: a user without a request under way is
// always served, and so is a user who is alone and served fast, for whom copies would only cost time.
//
// For mounts that several users share: without it one user whose requests hang holds up all others (`FairnessTests`).

import LayeredVolume
import LinuxFiles
import Synchronization

/// The requests that wait, and what each user has under way.
final class RequestQueues: Sendable {
  /// What a worker has done since it asked last.
  enum Finished: Equatable {
    /// It read nothing, or has just begun.
    case nothing
    /// A request that counts for no user.
    case uncounted
    case request(ShareOwner)
  }

  /// The memory that the waiting requests of one user may take: 256 writes of the largest size.
  static let mostBytes = 256 << 20
  /// A user who has sent all requests for this long counts as the only user.
  static let memoryOfOthers: UInt64 = 200_000_000
  /// While requests end at least this often, all readers may be busy for one user.
  static let shortTime: UInt64 = 200_000
  /// How often the thread for delayed requests looks at the queues.
  ///
  /// If all requests of a user hang, no other thread does.
  private static let lookInterval: UInt64 = 100_000_000
  /// How many delayed requests one user may have.
  static let mostParked = 512
  private static let mostInterrupted = 256

  struct State {
    var shares: [UserShare] = []
    /// The index of the share whose queue is served next.
    var turn = 0
    /// How many requests are in the queues.
    var queued = 0
    var parked: [ParkedRequest] = []
    /// When the first of them is due.
    var firstDue = UInt64.max
    /// The threads that read the device, and how many of them serve a request.
    var readers = 0
    var busyReaders = 0
    /// The reserve reader sleeps until it is needed.
    var reserveRests = false
    /// The user who sent the last request, and when that last was another user than before.
    var lastOwner = ShareOwner.kernel
    var ownerChangedAt: UInt64 = 0
    /// When a reader ended a request and almost all were busy.
    var endedAt: UInt64 = 0
    /// The latest requests that were interrupted by a signal while they were not delayed.
    var interrupted: [UInt64] = []
    /// When the thread that serves delayed requests looks again.
    var wakesAt = UInt64.max
    var isOver = false
  }

  let state = Mutex(State())
  let bell = Bell()
  let bellOfReserve = Bell()
  /// How many requests of one user may always be served at a time, as long as one reader is left.
  private let usual: Int
  /// The user who mounted the volume: the memory of queued requests is not bounded for this user and root.
  private let unlimited: UInt32

  init(usual: Int, unlimited: UInt32 = CurrentProcess.user) {
    self.usual = usual
    self.unlimited = unlimited
  }

  // MARK: Workers

  /// A thread begins to read the device.
  func join() {
    state.withLock { $0.readers += 1 }
  }

  /// A thread stops reading the device; the last one ends the queues.
  func leave(_ finished: Finished) {
    let wereLast = state.withLock { state in
      end(finished, isReader: true, &state)
      state.readers -= 1
      return state.readers == 0
    }
    if wereLast { end() }
  }

  /// Whether requests wait for a worker.
  var areWaiting: Bool { state.withLock { $0.queued > 0 } }

  /// Whether the worker that has read a request may serve it now; if not, it calls ``keep(_:)``.
  func admit(_ owner: ShareOwner) -> Bool {
    let (isAdmitted, calls) = state.withLock { state -> (Bool, Bool) in
      if owner != state.lastOwner, owner != .kernel {
        state.lastOwner = owner
        state.ownerChangedAt = Clock.monotonicNanoseconds
      }
      let index = share(of: owner, &state)
      guard state.shares[index].queued == 0,
        mayStart(beside: state.shares[index].underWay, isReader: true, state)
      else {
        return (false, false)
      }
      state.shares[index].underWay += 1
      state.busyReaders += 1
      return (true, callsReserve(&state))
    }
    if calls { bellOfReserve.ring() }
    return isAdmitted
  }

  /// A reader serves a request that counts for no user.
  func admitUncounted() {
    let calls = state.withLock { state in
      state.busyReaders += 1
      return callsReserve(&state)
    }
    if calls { bellOfReserve.ring() }
  }

  /// The queued request that a reader serves next; nil: it reads the device.
  func next(after finished: Finished) -> QueuedRequest? {
    state.withLock { state in
      end(finished, isReader: true, &state)
      guard state.queued > 0 || !state.parked.isEmpty else { return nil }
      return take(isReader: true, &state)
    }
  }

  /// Waits for a request that a thread that does not read the device serves next; nil when the volume is unmounted.
  func wait(after finished: Finished) -> QueuedRequest? {
    var finished = finished
    while true {
      let (request, isOver, due) = state.withLock { state -> (QueuedRequest?, Bool, UInt64) in
        end(finished, isReader: false, &state)
        finished = .nothing
        guard !state.isOver else { return (nil, true, 0) }
        let request = take(isReader: false, &state)
        let due =
          state.queued > 0
          ? min(state.firstDue, Clock.monotonicNanoseconds &+ RequestQueues.lookInterval) : state.firstDue
        state.wakesAt = request == nil ? due : .max
        return (request, false, due)
      }
      if isOver {
        // For the next thread that waits.
        bell.ring()
        return nil
      }
      if let request { return request }
      guard due != .max else {
        bell.wait()
        continue
      }
      let now = Clock.monotonicNanoseconds
      if due > now { _ = bell.wait(milliseconds: Int((due - now) / 1_000_000) + 1) }
    }
  }

  /// Nothing is served any more; requests that wait are dropped with the connection.
  func end() {
    state.withLock { $0.isOver = true }
    bell.ring()
    bellOfReserve.ring()
  }

  // MARK: Requests that wait

  /// Queues a request; false when its sender has too many bytes waiting.
  ///
  /// The requests of its sender may have ended since it was not admitted. So the worker calls ``next(after:)`` before it
  /// reads again.
  func keep(_ request: HeldRequest) -> Bool {
    let due = Clock.monotonicNanoseconds &+ RequestQueues.lookInterval
    let (isKept, wakes) = state.withLock { state -> (Bool, Bool) in
      let index = share(of: request.owner, &state)
      guard hasRoom(for: request, in: state.shares[index]) else { return (false, false) }
      state.shares[index].bytes += request.size
      state.shares[index].append(QueuedRequest(request: request, waiting: nil))
      state.queued += 1
      let wakes = due < state.wakesAt
      if wakes { state.wakesAt = due }
      return (true, wakes)
    }
    if wakes { bell.ring() }
    return isKept
  }

  /// Keeps a delayed request.
  ///
  /// Answers the error to send instead when its sender has too many of them, or when it was interrupted.
  func park(_ request: HeldRequest, _ waiting: Waiting) -> Errno? {
    let now = Clock.monotonicNanoseconds
    let (refusal, wakes) = state.withLock { state -> (Errno?, Bool) in
      if waiting.delay == .leased, let index = state.interrupted.firstIndex(of: request.unique) {
        state.interrupted.remove(at: index)
        return (.interrupted, false)
      }
      let index = share(of: request.owner, &state)
      guard hasRoom(for: request, in: state.shares[index]),
        state.shares[index].parked < RequestQueues.mostParked
      else { return (waiting.refusal, false) }
      state.shares[index].bytes += request.size
      state.shares[index].parked += 1
      let due = now &+ waiting.pause(at: now)
      state.parked.append(ParkedRequest(request: request, waiting: waiting, due: due))
      state.firstDue = min(state.firstDue, due)
      let wakes = due < state.wakesAt
      if wakes { state.wakesAt = due }
      return (nil, wakes)
    }
    if wakes { bell.ring() }
    return refusal
  }

  /// A file was closed: the next idle worker tries the requests again that wait for that.
  func released(_ node: NodeID) {
    state.withLock { state in
      guard !state.parked.isEmpty else { return }
      makeDue(&state) { $0.waiting.delay == .inUse && $0.request.node == node }
    }
  }

  /// The user database answered, or an index was made.
  func ended(_ delay: Delay) {
    let wakes = state.withLock { state in
      makeDue(&state) { $0.waiting.delay == delay }
      let wakes = state.firstDue == 0
      if wakes { state.wakesAt = 0 }
      return wakes
    }
    if wakes { bell.ring() }
  }

  /// Takes out an interrupted request, if it waits for a lease.
  ///
  /// There open(2) may answer EINTR. All other delays are short, and programs do not expect EINTR from them.
  func takeInterrupted(_ unique: UInt64) -> HeldRequest? {
    state.withLock { state in
      guard
        let position = state.parked.firstIndex(where: {
          $0.request.unique == unique && $0.waiting.delay == .leased
        })
      else {
        // It may be under way or queued.
        if state.interrupted.count >= RequestQueues.mostInterrupted { state.interrupted.removeFirst() }
        state.interrupted.append(unique)
        return nil
      }
      let request = state.parked.remove(at: position).request
      let index = share(of: request.owner, &state)
      state.shares[index].parked -= 1
      state.shares[index].bytes -= request.size
      return request
    }
  }

  /// Takes out the requests that wait, or are delayed, and are meant; `isMeant` waits for nothing.
  func takeOut(where isMeant: (HeldRequest) -> Bool) -> [HeldRequest] {
    state.withLock { state in
      var taken: [HeldRequest] = []
      if state.queued > 0 {
        for index in state.shares.indices { taken += state.shares[index].takeOut(where: isMeant) }
        state.queued -= taken.count
      }
      let delayed = state.parked.map { $0.request }.filter(isMeant)
      for request in delayed {
        state.parked.removeAll { $0.request === request }
        let index = share(of: request.owner, &state)
        state.shares[index].parked -= 1
      }
      taken += delayed
      for request in taken {
        let index = share(of: request.owner, &state)
        state.shares[index].bytes -= request.size
      }
      return taken
    }
  }

  /// Whether a request was interrupted while it is served; asked by the few that take long.
  func isInterrupted(_ unique: UInt64) -> Bool {
    state.withLock { $0.interrupted.contains(unique) }
  }

  // MARK: Rules

  /// Whether a worker may begin a request of a user who has so many under way.
  ///
  /// A user with no request under way is served by any worker. Otherwise a reader stays at the device, unless no other
  /// user has sent requests for a while and requests end so fast that another user would hardly wait. While others send
  /// requests, one user gets at most half of the workers that were added because requests hang. The reserve reader
  /// counts as being at the device: it is called in time.
  private func mayStart(beside underWay: Int, isReader: Bool, _ state: borrowing State) -> Bool {
    guard underWay > 0 else { return true }
    let left = state.readers - state.busyReaders - (isReader ? 1 : 0)
    let most = state.readers - 1
    if left > 0, underWay < min(most, max(usual, most / 2)) { return true }
    let now = Clock.monotonicNanoseconds
    guard !state.othersCame(before: now) else { return false }
    if left > 0 { return true }
    return isReader && now &- state.endedAt < RequestQueues.shortTime
  }

  private func hasRoom(for request: HeldRequest, in share: UserShare) -> Bool {
    if case .user(let user) = request.owner, user != 0, user != unlimited {
      return share.bytes + request.size <= RequestQueues.mostBytes
    }
    return true
  }

  private func end(_ finished: Finished, isReader: Bool, _ state: inout State) {
    switch finished {
    case .nothing: return
    case .uncounted: break
    case .request(let owner):
      let index = share(of: owner, &state)
      state.shares[index].underWay -= 1
    }
    guard isReader else { return }
    // Needed only while at most one reader is left at the device.
    if state.awakeReaders <= 1 { state.endedAt = Clock.monotonicNanoseconds }
    state.busyReaders -= 1
  }

  /// The next request that may begin, user by user.
  private func take(isReader: Bool, _ state: inout State) -> QueuedRequest? {
    queueDue(&state)
    guard state.queued > 0 else { return nil }
    for step in 0..<state.shares.count {
      let index = (state.turn + step) % state.shares.count
      guard state.shares[index].queued > 0,
        mayStart(beside: state.shares[index].underWay, isReader: isReader, state),
        let request = state.shares[index].popFirst()
      else { continue }
      state.turn = index + 1
      state.queued -= 1
      state.shares[index].bytes -= request.request.size
      state.shares[index].underWay += 1
      if isReader { state.busyReaders += 1 }
      return request
    }
    return nil
  }

  /// Moves delayed requests that are due into the queues of their users.
  private func queueDue(_ state: inout State) {
    guard !state.parked.isEmpty else {
      // The last one may have been taken out before it was due.
      state.firstDue = .max
      return
    }
    let now = Clock.monotonicNanoseconds
    guard state.firstDue <= now else { return }
    var firstDue = UInt64.max
    var left = 0
    for index in state.parked.indices {
      let parked = state.parked[index]
      guard parked.due <= now else {
        firstDue = min(firstDue, parked.due)
        if left != index { state.parked[left] = parked }
        left += 1
        continue
      }
      let owner = share(of: parked.request.owner, &state)
      state.shares[owner].parked -= 1
      state.shares[owner].append(QueuedRequest(request: parked.request, waiting: parked.waiting))
      state.queued += 1
    }
    state.parked.removeLast(state.parked.count - left)
    state.firstDue = firstDue
  }

  private func makeDue(_ state: inout State, _ isMeant: (ParkedRequest) -> Bool) {
    for index in state.parked.indices where isMeant(state.parked[index]) {
      state.parked[index].due = 0
      state.firstDue = 0
    }
  }

  /// The index of a user's share, which is made if there is none.
  private func share(of owner: ShareOwner, _ state: inout State) -> Int {
    for index in state.shares.indices where state.shares[index].owner == owner { return index }
    // So the shares of users who have gone do not pile up.
    if state.shares.count >= 64 { state.shares.removeAll(where: \.isIdle) }
    state.shares.append(UserShare(owner))
    return state.shares.count - 1
  }
}
