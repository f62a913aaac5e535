import ItemKinds

// Who gets which name: all items of a directory together, in one pass over each.
//
// No name that is shown is the real name of another item, shown or hidden. Where two would be shown by one name, neither
// is. So nothing depends on the order in which items come, or came to be.
//
// For views: names in the languages of users, without suffixes they do not want, and each leading back to one item
// (SEMANTICS 19).

/// The names of a directory.
package struct DirectoryNames: Sendable {
  struct Item {
    let real: NamePiece
    var plain: NamePiece
    var wish: NamePiece?
    var nameClass: NameClass
    var isShown: Bool
  }

  var store = NameStore()
  var items: [Item] = []
  private let isRaw: Bool

  /// With `isRaw`, inside a package and where there are too many items, everybody is shown by the real name.
  package init(isRaw: Bool = false) { self.isRaw = isRaw }

  package var count: Int { items.count }

  package mutating func reserve(_ count: Int) {
    items.reserveCapacity(count)
    store.names.reserveCapacity(count * 16)
  }

  /// Adds an item; false, and nothing is added, if there is no room for as many names.
  package mutating func add(
    _ name: Span<UInt8>, _ facts: ItemFacts, isShown: Bool, _ rules: NameRules
  ) -> Bool {
    let start = store.names.count
    let made = store.made.text.count
    // Positions have 32 bits; a name grows to a few times its length.
    guard name.count < 1 << 16, start < 1 << 30, made < 1 << 30, items.count < 1 << 30 else { return false }
    for index in name.indices { store.names.append(name[index]) }
    let real = NamePiece(start: start, count: name.count, isMade: false)
    var item = Item(real: real, plain: real, nameClass: .raw, isShown: isShown || isRaw)
    if !isRaw {
      item.nameClass = .unchanged
      if isShown {
        take(rules.ownName(of: name, facts, &store.made), &item, from: made)
      }
    }
    items.append(item)
    return true
  }

  private mutating func take(_ own: OwnName, _ item: inout Item, from made: Int) {
    item.nameClass = own.nameClass
    item.plain = DirectoryNames.piece(own.plain, Int(item.real.start))
    // What is too long is never granted. It is not kept either: escapes can be four times as long as names.
    if let wish = own.wish, wish.count <= NameRules.longest {
      item.wish = DirectoryNames.piece(wish, Int(item.real.start))
    } else {
      if own.wish != nil { item.nameClass = item.plain.isMade ? .escaped : .unchanged }
      if own.plain.count > NameRules.longest { store.made.cut(to: made) }
    }
    if item.plain.isMade, own.plain.count > NameRules.longest { item.plain = .tooLong }
  }

  private static func piece(_ text: NameText, _ start: Int) -> NamePiece {
    switch text {
    case .real(let count): NamePiece(start: start, count: count, isMade: false)
    case .written(let range): NamePiece(start: range.lowerBound, count: range.count, isMade: true)
    }
  }

  // MARK: Answers, once settled

  package func realName(at index: Int) -> ArraySlice<UInt8> { store.bytes(items[index].real) }

  /// Nil for what is hidden.
  package func shownName(at index: Int) -> ArraySlice<UInt8>? {
    items[index].isShown ? store.bytes(items[index].plain) : nil
  }

  /// Whether the shown name is the real one or its beginning; names that were made count as others, whatever they say.
  package func isShownBeginning(at index: Int) -> Bool {
    let item = items[index]
    return !item.plain.isMade && item.plain.start == item.real.start
  }

  package func nameClass(at index: Int) -> NameClass { items[index].nameClass }

  // MARK: Settling

  /// Decides all names, after all items were added; to be called once.
  package mutating func settle(_ rules: NameRules) {
    guard items.contains(where: { $0.plain.isMade || $0.wish != nil }) else { return }
    var reals = NameIndex(capacity: items.count)
    for index in items.indices {
      let slot = reals.insert(items[index].real, owner: index, in: store)
      if reals[slot].uses > 1 { drop(index) }
    }
    let plains = settlePlainNames(reals, rules)
    grantWishes(reals, plains)
  }

  /// Takes an item out that is there already: a listing under change can have one twice, and both would want one name.
  private mutating func drop(_ index: Int) {
    items[index].isShown = false
    items[index].plain = items[index].real
    items[index].wish = nil
    items[index].nameClass = .unchanged
  }

  /// Gives everybody a name that nobody else has, and answers those that are not real names.
  private mutating func settlePlainNames(_ reals: NameIndex, _ rules: NameRules) -> NameIndex {
    var plains = NameIndex()
    for index in items.indices where items[index].plain.isMade && !items[index].plain.isTooLong {
      plains.insert(items[index].plain, owner: index, in: store)
    }
    var tagged: [Int] = []
    for index in items.indices where items[index].plain.isMade {
      let piece = items[index].plain
      let isTaken = plains.find(piece, in: store).map { plains[$0].uses > 1 } ?? true
      if piece.isTooLong || isTaken || reals.find(piece, in: store) != nil { tagged.append(index) }
    }
    // An escape that no item is shown by is not a name, so no other name has to differ from it.
    for index in tagged where !items[index].plain.isTooLong {
      if let slot = plains.find(items[index].plain, in: store) { plains[slot].uses = 0 }
    }
    tag(tagged, &plains, reals, rules)
    return plains
  }

  /// Tags names until each is free.
  private mutating func tag(
    _ tagged: [Int], _ plains: inout NameIndex, _ reals: NameIndex, _ rules: NameRules
  ) {
    var attempts = [Int](repeating: 0, count: tagged.count)
    let positions = Dictionary(uniqueKeysWithValues: tagged.enumerated().map { ($1, $0) })
    var open = Array(tagged.indices)
    // Each attempt that fails has met a name of its own, unless digests of different names are equal.
    var rounds = items.count + 64
    while !open.isEmpty, rounds > 0 {
      rounds -= 1
      var collided = Set<Int>()
      for position in open {
        let index = tagged[position]
        guard let name = TaggedName(store.names.span.extracting(items[index].real.range), rules.tools) else {
          // Nobody else can be shown by it.
          items[index].plain = items[index].real
          items[index].nameClass = .raw
          continue
        }
        let text = name.text(attempt: attempts[position])
        let start = store.made.text.count
        store.made.append(text)
        items[index].plain = NamePiece(start: start, count: text.count, isMade: true)
        let slot = plains.insert(items[index].plain, owner: index, in: store)
        guard plains[slot].uses > 1 else { continue }
        collided.insert(position)
        // The other one moves as well, if it has a tag.
        if let other = positions[Int(plains[slot].owner)] { collided.insert(other) }
      }
      for position in open {
        let piece = items[tagged[position]].plain
        guard piece.isMade, reals.find(piece, in: store) != nil else { continue }
        collided.insert(position)
      }
      for position in collided { release(tagged[position], positions, &plains) }
      for position in collided { attempts[position] += 1 }
      open = Array(collided)
    }
  }

  /// Gives up a tagged name; an item that has it without a tag keeps it.
  private func release(_ index: Int, _ positions: [Int: Int], _ plains: inout NameIndex) {
    guard let slot = plains.find(items[index].plain, in: store) else { return }
    let isOfAnother = positions[Int(plains[slot].owner)] == nil
    plains[slot].uses = isOfAnother ? 1 : 0
  }

  private mutating func grantWishes(_ reals: NameIndex, _ plains: NameIndex) {
    // Room for all, so that no slot moves.
    var wishes = NameIndex(capacity: items.count { $0.wish != nil })
    var slots: [(item: Int32, slot: Int32)] = []
    slots.reserveCapacity(items.count)
    for index in items.indices {
      guard let wish = items[index].wish else { continue }
      let slot = wishes.insert(wish, owner: index, in: store)
      slots.append((Int32(clamping: index), Int32(clamping: slot)))
    }
    for (item, slot) in slots {
      let (index, wish) = (Int(item), wishes[Int(slot)])
      let plain = items[index].plain
      guard let piece = items[index].wish, !store.areEqual(piece, plain) else { continue }
      if wish.uses == 1, isFree(wish, reals, plains) {
        items[index].plain = piece
      } else {
        items[index].nameClass = store.areEqual(plain, items[index].real) ? .unchanged : .escaped
      }
    }
  }

  private func isFree(_ wish: NameIndex.Slot, _ reals: NameIndex, _ plains: NameIndex) -> Bool {
    guard wish.piece.count <= NameRules.longest, reals.find(wish, in: store) == nil else { return false }
    return plains.find(wish, in: store).map { plains[$0].uses <= 0 } ?? true
  }
}

extension NamePiece {
  /// Stands for a text of more bytes than a name can have.
  fileprivate static let tooLong = NamePiece(start: 0, count: 0, isMade: true)

  fileprivate var isTooLong: Bool { isMade && count == 0 }

  fileprivate var range: Range<Int> { Int(start)..<Int(start) + Int(count) }
}
