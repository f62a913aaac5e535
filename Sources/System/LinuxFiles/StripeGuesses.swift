import Synchronization

// Which lock a name needs is known only by looking at what stands there. Mostly it is what stood there last.

/// The stripes that names led to lately; old ones and mixed-up ones among them, so every answer is a guess.
@safe package final class StripeGuesses: @unchecked Sendable {
  // Sendable: the pointer never changes, and what it points to is made for many threads.
  private let slots: UnsafeMutablePointer<Atomic<UInt16>>

  /// A power of two; 32 KiB.
  private static let count = 16_384

  package init() {
    unsafe slots = .allocate(capacity: StripeGuesses.count)
    for index in 0..<StripeGuesses.count { unsafe (slots + index).initialize(to: Atomic(0)) }
  }

  deinit {
    unsafe slots.deinitialize(count: StripeGuesses.count)
    unsafe slots.deallocate()
  }

  /// A name in a directory, which is given by its number, was seen to lead to an object of this stripe.
  package func note(_ name: borrowing FileName, in directory: UInt64, _ stripe: Int) {
    let slot = slot(of: name, in: directory)
    let value = UInt16(truncatingIfNeeded: stripe + 1)
    // Written only when it is news, so that processors do not take the memory away from each other.
    if unsafe slots[slot].load(ordering: .relaxed) != value {
      unsafe slots[slot].store(value, ordering: .relaxed)
    }
  }

  package func stripe(of name: borrowing FileName, in directory: UInt64) -> Int? {
    let value = unsafe slots[slot(of: name, in: directory)].load(ordering: .relaxed)
    return value == 0 ? nil : Int(value) - 1
  }

  private func slot(of name: borrowing FileName, in directory: UInt64) -> Int {
    let hash = name.mixed(with: directory)
    return Int(truncatingIfNeeded: hash & UInt64(StripeGuesses.count - 1))
  }
}
