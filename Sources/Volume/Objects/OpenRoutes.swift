// Which way the kernel takes to the bytes of an open file, and which ways may stand open side by side.

import LinuxFiles

/// The routes by which one file is open now.
///
/// The kernel refuses an open (EIO) that mixes: while a process has the file through the backing file, every opener
/// must, with the same number; while a process has it through the page cache, none can have the backing file. It
/// may take our answers in another order than we gave them, so the first opener counts until it is gone.
struct OpenRoutes {
  private struct Backing {
    let id: BackingID
    var users: Int
    /// By what it was handed over, if that is felt by nobody and may stay when all users are gone.
    var way: SharedDescriptor?
  }

  private var backing: Backing?
  /// Openers who do without the backing file, with a copy or not.
  private var unbacked = 0
  /// Those of them with a copy.
  private var copying = 0
  /// Those of them who may have none, and so have no say.
  private var bystanders = 0
  /// Whether a process may have written past the copies that the kernel still has.
  private var wentPast = false

  /// What an open wants, before it is known what others have.
  enum Wish {
    case backing
    /// The backing file for mappings alone; without it the page cache.
    case mapped
    case cached
    case direct

    var wantsBacking: Bool { self == .backing || self == .mapped }

    /// The route for it through a backing file.
    func through(_ id: BackingID) -> Route {
      self == .backing || self == .cached ? .backing(id) : .mapped(id)
    }
  }

  /// What an open gets.
  enum Offer: Equatable {
    case granted(Route)
    /// The backing file may be used, and nobody has handed it to the kernel yet.
    case needsBacking
    /// The file is in use by a route that this open must not take.
    case conflict
  }

  /// Finds a route, and counts the opener if there is one.
  ///
  /// `mayShareBacking`: whether the opener may have the backing file at all. An opener that may not is turned away while
  /// others have it, because the kernel offers no other route then. `mayHandOver`: false once it is known that the kernel
  /// takes no backing file. `mayCopy`: whether the kernel may keep copies of pages at all.
  ///
  /// Without the backing file the first opener decides for all until the last is gone: who writes past the copies of
  /// others makes them wrong, and a reader would see zeros where the file has just grown.
  mutating func enter(
    _ wish: Wish, mayShareBacking: Bool, mayHandOver: Bool = true, keepsPages: Bool,
    mayCopy: Bool = true
  ) -> Offer {
    if let id = backing?.id {
      guard mayShareBacking else { return .conflict }
      backing?.users += 1
      return .granted(wish.through(id))
    }
    if wish.wantsBacking, mayHandOver, unbacked == 0 { return .needsBacking }
    guard mayCopy else {
      unbacked += 1
      bystanders += 1
      return .granted(.direct)
    }
    let copies = unbacked > bystanders ? copying > 0 : wish != .direct
    unbacked += 1
    guard copies else {
      wentPast = true
      return .granted(.direct)
    }
    copying += 1
    defer { wentPast = false }
    return .granted(.cached(keepsPages: keepsPages && !wentPast))
  }

  /// Counts an opener who handed the file to the kernel as `id`; false when another opener was faster.
  ///
  /// `way`: by what, if it may stay handed over without users.
  mutating func establish(_ id: BackingID, by way: SharedDescriptor? = nil) -> Bool {
    guard backing == nil, unbacked == 0 else { return false }
    backing = Backing(id: id, users: 1, way: way)
    return true
  }

  /// An opener is gone; the number to take back from the kernel, if it was the last to use it.
  ///
  /// `mayRest`: whether the file may stay with the kernel, if it was handed over in a way that allows it. `mayCopy`: as when
  /// it entered.
  mutating func leave(_ route: Route, mayRest: Bool = false, mayCopy: Bool = true) -> BackingID? {
    switch route {
    case .cached:
      unbacked -= 1
      copying -= 1
      return nil
    case .direct:
      unbacked -= 1
      if !mayCopy { bystanders -= 1 }
      return nil
    case .backing(let id), .mapped(let id):
      backing?.users -= 1
      guard backing?.users == 0, !(mayRest && backing?.way != nil) else { return nil }
      backing = nil
      return id
    }
  }

  // MARK: Without users

  /// Leads to the file that the kernel has, whether it is open or not.
  var way: SharedDescriptor? { backing?.way }

  /// Whether the kernel has the file.
  var isHandedOver: Bool { backing != nil }

  /// Whether the kernel has the file and nobody has it open.
  var isResting: Bool { backing?.users == 0 }

  /// Whether nothing is known of the file that is not true of one that was never open.
  var isFresh: Bool { backing == nil && unbacked == 0 && !wentPast }

  /// Takes the file back if nobody has it open.
  mutating func endRest() -> RestingBacking? {
    guard let backing, backing.users == 0 else { return nil }
    self.backing = nil
    return RestingBacking(id: backing.id, way: backing.way)
  }

  /// The file is given back when its last user is gone.
  mutating func loseWay() {
    backing?.way = nil
  }
}

/// What is left to take back of a file that nobody uses.
struct RestingBacking {
  /// What the kernel has; nil for a file that only we have.
  let id: BackingID?
  /// Closed with the last copy of this; not under a lock, as it may be the last to hold a removed file.
  let way: SharedDescriptor?
}
