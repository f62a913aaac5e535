// JSON of a long run, printed as it becomes known: an object whose first member is the list of what was found.

import JSONForm
import Synchronization

/// Such an object; any thread may add to it.
final class JSONStream: Sendable {
  private let console: Console
  /// Held while an item is printed: nothing may come in front of the first one.
  private let isEmpty = Mutex(true)

  /// Prints the beginning; `name` is that of the list, which is all there is without one.
  init(_ name: String?, _ console: Console) {
    self.console = console
    console.print(name.map { "{\(JSON.string($0).text): [" } ?? "[")
  }

  func add(_ members: [JSON.Member]) {
    let line = JSON.object(members).text
    isEmpty.withLock { isEmpty in
      console.print((isEmpty ? "\n  " : ",\n  ") + line)
      isEmpty = false
    }
  }

  /// Prints the end, with what is known only now.
  func end(_ members: [JSON.Member] = []) {
    let isEmpty = isEmpty.withLock { $0 }
    let rest = members.isEmpty ? "" : ", \(JSON.object(members).text.dropFirst())"
    console.print("\(isEmpty ? "" : "\n")]\(rest)\n")
  }
}
