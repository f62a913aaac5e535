// Finding a text among many, without a copy of any of them.

/// The texts of a directory: real names, and what was made of them.
struct NameStore: Sendable {
  var names: [UInt8] = []
  var made = NameScratch()

  func bytes(_ piece: NamePiece) -> ArraySlice<UInt8> {
    let range = Int(piece.start)..<Int(piece.start) + Int(piece.count)
    return piece.isMade ? made.text[range] : names[range]
  }

  func hash(_ piece: NamePiece) -> Int {
    // Seeded for each process: nobody can choose names that share a slot.
    var hasher = Hasher()
    let range = Int(piece.start)..<Int(piece.start) + Int(piece.count)
    if piece.isMade { made.text.feed(range, to: &hasher) } else { names.feed(range, to: &hasher) }
    return hasher.finalize()
  }

  func areEqual(_ one: NamePiece, _ other: NamePiece) -> Bool {
    guard one.count == other.count else { return false }
    let (left, right) = (Int(one.start), Int(other.start))
    switch (one.isMade, other.isMade) {
    case (false, false): return names.equals(left, names, right, Int(one.count))
    case (false, true): return names.equals(left, made.text, right, Int(one.count))
    case (true, false): return made.text.equals(left, names, right, Int(one.count))
    case (true, true): return made.text.equals(left, made.text, right, Int(one.count))
    }
  }
}

/// A text in a store.
struct NamePiece: Sendable {
  var start: UInt32
  var count: UInt32
  var isMade: Bool

  init(start: Int, count: Int, isMade: Bool) {
    self.start = UInt32(clamping: start)
    self.count = UInt32(clamping: count)
    self.isMade = isMade
  }
}

/// A set of texts, each with the item that has it and how many have it.
struct NameIndex: Sendable {
  struct Slot: Sendable {
    var piece: NamePiece
    var hash: Int
    /// The item that brought the text first; below 0 the slot is free.
    var owner: Int32 = -1
    var uses: Int32 = 0
  }

  private var slots: [Slot] = []
  private var filled = 0

  init(capacity: Int = 0) { if capacity > 0 { grow(to: capacity * 2) } }

  subscript(_ slot: Int) -> Slot {
    get { slots[slot] }
    set { slots[slot] = newValue }
  }

  func find(_ piece: NamePiece, in store: borrowing NameStore) -> Int? {
    filled > 0 ? find(piece, hash: store.hash(piece), in: store) : nil
  }

  /// The same for a text of another index, whose hash is known.
  func find(_ slot: Slot, in store: borrowing NameStore) -> Int? {
    filled > 0 ? find(slot.piece, hash: slot.hash, in: store) : nil
  }

  private func find(_ piece: NamePiece, hash: Int, in store: borrowing NameStore) -> Int? {
    var position = hash & (slots.count - 1)
    while slots[position].owner >= 0 {
      if slots[position].hash == hash, store.areEqual(slots[position].piece, piece) { return position }
      position = (position + 1) & (slots.count - 1)
    }
    return nil
  }

  /// Counts one more use of a text, and answers its slot; slots keep their places until the next insertion.
  @discardableResult
  mutating func insert(_ piece: NamePiece, owner: Int, in store: borrowing NameStore) -> Int {
    if filled * 2 >= slots.count { grow(to: max(16, slots.count * 2)) }
    let hash = store.hash(piece)
    var position = hash & (slots.count - 1)
    while slots[position].owner >= 0 {
      if slots[position].hash == hash, store.areEqual(slots[position].piece, piece) {
        slots[position].uses += 1
        if slots[position].uses == 1 { slots[position].owner = Int32(clamping: owner) }
        return position
      }
      position = (position + 1) & (slots.count - 1)
    }
    filled += 1
    slots[position] = Slot(piece: piece, hash: hash, owner: Int32(clamping: owner), uses: 1)
    return position
  }

  private mutating func grow(to count: Int) {
    var size = 16
    while size < count { size *= 2 }
    let former = slots
    slots = [Slot](
      repeating: Slot(piece: NamePiece(start: 0, count: 0, isMade: false), hash: 0), count: size)
    for slot in former where slot.owner >= 0 {
      var position = slot.hash & (size - 1)
      while slots[position].owner >= 0 { position = (position + 1) & (size - 1) }
      slots[position] = slot
    }
  }
}

extension [UInt8] {
  /// Hands a text to a hasher, eight bytes at a time.
  @inline(__always)
  package func feed(_ range: Range<Int>, to hasher: inout Hasher) {
    var word: UInt64 = 0
    var bits: UInt64 = 0
    for index in range {
      word |= UInt64(self[index]) << bits
      bits += 8
      if bits == 64 {
        hasher.combine(word)
        (word, bits) = (0, 0)
      }
    }
    // The length too: a text may end in zeros.
    hasher.combine(word)
    hasher.combine(range.count)
  }

  @inline(__always)
  fileprivate func equals(_ start: Int, _ other: [UInt8], _ otherStart: Int, _ count: Int) -> Bool {
    for offset in 0..<count where self[start + offset] != other[otherStart + offset] { return false }
    return true
  }
}
