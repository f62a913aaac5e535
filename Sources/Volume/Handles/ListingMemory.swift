// What a listing of several parts remembers, for directories of a million names: in pieces, because an array that grows has
// twice the room it needs, and three times while it moves.

/// Where each name ends that was handed out, in its part.
struct ListingOffsets {
  private static let pieceLength = 4096

  private var pieces: [[Int64]] = []
  private(set) var count = 0

  subscript(index: Int) -> Int64 {
    get { pieces[index / ListingOffsets.pieceLength][index % ListingOffsets.pieceLength] }
    set { pieces[index / ListingOffsets.pieceLength][index % ListingOffsets.pieceLength] = newValue }
  }

  mutating func append(_ offset: Int64) {
    if count % ListingOffsets.pieceLength == 0 {
      pieces.append([])
      // A first piece may be all there is.
      if count > 0 { pieces[pieces.count - 1].reserveCapacity(ListingOffsets.pieceLength) }
    }
    pieces[pieces.count - 1].append(offset)
    count += 1
  }

  mutating func removeAll(from index: Int) {
    guard index < count else { return }
    let whole = (index + ListingOffsets.pieceLength - 1) / ListingOffsets.pieceLength
    pieces.removeSubrange(whole...)
    if index % ListingOffsets.pieceLength != 0 {
      pieces[whole - 1].removeSubrange((index % ListingOffsets.pieceLength)...)
    }
    count = index
  }
}

/// The names that one part has shown or hidden: collected while it is read, and looked for while the parts below it are.
struct ListedNames {
  /// 128 bits by a random key: no two names share one.
  struct Name: Comparable {
    let high: UInt
    let low: UInt

    static func < (one: Name, other: Name) -> Bool { (one.high, one.low) < (other.high, other.low) }
  }

  /// One for all: each would be a system call.
  private static let key = UInt64.random(in: .min ... .max)
  private static let pieceCount = 256

  /// By the highest byte; none for a part that shows nothing.
  private var pieces: [[Name]] = []
  private var isSorted = true

  static func name(_ bytes: [UInt8]) -> Name {
    func half(_ word: UInt8) -> UInt {
      var hasher = Hasher()
      hasher.combine(key)
      hasher.combine(word)
      hasher.combine(bytes)
      return UInt(bitPattern: hasher.finalize())
    }
    return Name(high: half(0), low: half(1))
  }

  private static func piece(of name: Name) -> Int { Int(name.high >> UInt(UInt.bitWidth - 8)) }

  mutating func insert(_ name: Name) {
    if pieces.isEmpty { pieces = Array(repeating: [], count: ListedNames.pieceCount) }
    let index = ListedNames.piece(of: name)
    let count = pieces[index].count
    if count == pieces[index].capacity { pieces[index].reserveCapacity(count + count / 8 + 16) }
    pieces[index].append(name)
    isSorted = false
  }

  /// The part has been read, and from now on names are looked for.
  ///
  /// One that was read twice counts once.
  mutating func finish() {
    guard !isSorted else { return }
    for index in pieces.indices {
      pieces[index].sort()
      if zip(pieces[index], pieces[index].dropFirst()).contains(where: { $0 == $1 }) {
        var last: Name?
        pieces[index].removeAll { name in
          defer { last = name }
          return name == last
        }
      }
    }
    isSorted = true
  }

  /// Once it is finished.
  func contains(_ name: Name) -> Bool {
    guard !pieces.isEmpty else { return false }
    let names = pieces[ListedNames.piece(of: name)]
    var (low, high) = (0, names.count)
    while low < high {
      let middle = (low + high) / 2
      if names[middle] < name { low = middle + 1 } else { high = middle }
    }
    return low < names.count && names[low] == name
  }
}
