package import LinuxFiles
package import Synchronization

// What tools do with calls that may fail, take long, or are made by several threads.

/// Makes a call of the system, and puts its error into the words of `failure`.
package func attempt<Value: ~Copyable, Failure: Error>(
  _ call: @autoclosure () throws(Errno) -> Value, _ failure: (Errno) -> Failure
) throws(Failure) -> Value {
  do throws(Errno) { return try call() } catch { throw failure(error) }
}

/// The look-up `find`, made once for each key.
package func remembering<Key: Hashable & Sendable, Value: Sendable>(
  _ find: @escaping @Sendable (Key) -> Value
) -> @Sendable (Key) -> Value {
  let answers = Guarded<[Key: Value]>([:])
  return { key in
    answers.mutex.withLock { known in
      if let value = known[key] { return value }
      let value = find(key)
      known[key] = .some(value)
      return value
    }
  }
}

/// A value that several threads hold on to.
package final class Guarded<Value: Sendable>: Sendable {
  package let mutex: Mutex<Value>

  package init(_ value: Value) {
    mutex = Mutex(value)
  }
}
