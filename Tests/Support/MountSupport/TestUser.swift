// Acting as somebody: a thread with the real, effective and saved ids and the groups of a user.

import CMountSupport
import LinuxFiles
import Synchronization

/// A user as the kernel sees one.
///
/// Needs no account.
package struct TestUser: Hashable, Sendable, CustomStringConvertible {
  package let user: UInt32
  package let group: UInt32
  package let groups: [UInt32]

  package init(_ user: UInt32, group: UInt32, groups: [UInt32] = []) {
    self.user = user
    self.group = group
    self.groups = groups
  }

  package static let root = TestUser(0, group: 0)
  package static let alice = TestUser(1001, group: 2001)
  package static let bob = TestUser(1002, group: 2009)
  package static let carol = TestUser(1003, group: 2001)

  package var description: String { "\(user):\(group)\(groups.isEmpty ? "" : "+\(groups)")" }

  /// Runs `body` on a thread that is this user and has no way back, with a umask of its own.
  ///
  /// The raw calls change one thread only; its capabilities go with the ids, as in a setuid child.
  package func run<Value: Sendable>(
    umask mask: UInt32 = 0, _ body: @escaping @Sendable () -> Value
  ) -> Value {
    let box = ResultBox<Value>()
    let me = self
    do throws(Errno) {
      let thread = try PlainThread(name: "test user") {
        me.become(umask: mask)
        let value = body()
        box.value.withLock { $0 = value }
      }
      thread.join()
    } catch {
      fatalError("no thread for a test user: \(error)")
    }
    guard let value = box.value.withLock({ $0 }) else { fatalError("a test user gave no result") }
    return value
  }

  /// The calling thread becomes this user, for good.
  package func become(umask mask: UInt32) {
    let result = groups.withUnsafeBufferPointer { lt_become(user, group, $0.baseAddress, $0.count) }
    guard result == 0 else { fatalError("cannot become \(self): \(Errno(rawValue: CInt(-result)))") }
    _ = lt_own_umask(mask)
  }
}

private final class ResultBox<Value: Sendable>: Sendable {
  let value: Mutex<Value?> = Mutex(nil)
}
