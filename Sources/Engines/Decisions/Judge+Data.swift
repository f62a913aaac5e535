// Opening, running, asking: the operations that look at the object alone.

package import AccessControl
import DirectoryModes

/// How a file is about to be opened.
package struct OpenRequest: Hashable, Sendable {
  package var reads: Bool
  package var writes: Bool
  package var appends: Bool
  package var truncates: Bool
  /// Opened to be run.
  package var executes: Bool

  package init(
    reads: Bool = false, writes: Bool = false, appends: Bool = false, truncates: Bool = false,
    executes: Bool = false
  ) {
    self.reads = reads
    self.writes = writes
    self.appends = appends
    self.truncates = truncates
    self.executes = executes
  }

  /// The rights asked in one request; a deny of any of them refuses all.
  package var rights: Rights {
    var rights: Rights = []
    if reads { rights.insert(.read) }
    if writes { rights.insert(appends && !truncates ? .append : .write) }
    if truncates { rights.insert(.write) }
    if executes { rights.insert(.execute) }
    return rights
  }
}

/// What access(2) can ask.
///
/// Public for the reason given at `Rights`.
public struct AccessMode: OptionSet, Hashable, Sendable {
  /// The mask as access(2) takes it.
  public let rawValue: UInt8

  /// Takes a mask as access(2) does.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  package static let execute = AccessMode(rawValue: 1)
  package static let write = AccessMode(rawValue: 2)
  package static let read = AccessMode(rawValue: 4)
}

extension Judge {
  package func open(_ item: Item, _ request: OpenRequest) -> Verdict {
    if request.executes {
      // The kernel asks for the x bit too; a caller who comes another way meets the same rule here.
      guard item.kind == .file, item.mode.hasAnyExecute else {
        return .refused(.accessDenied, .noExecuteBit)
      }
    }
    return check(item, request.rights)
  }

  package func list(_ directory: Item) -> Verdict { check(directory, .list) }

  package func search(_ directory: Item) -> Verdict { check(directory, .search) }

  package func truncate(_ item: Item) -> Verdict { check(item, .write) }

  package func access(_ item: Item, _ mode: AccessMode) -> Verdict {
    var rights: Rights = []
    if mode.contains(.read) { rights.insert(.read) }
    if mode.contains(.write) {
      rights.formUnion(item.isDirectory ? [.addFile, .addSubdirectory] : .write)
    }
    if mode.contains(.execute) { rights.insert(.execute) }
    guard !rights.isEmpty else { return .allowed(.nothingAsked) }
    return check(item, rights)
  }

  package func readAttributes(_ item: Item) -> Verdict { check(item, [.readAttributes, .readSecurity]) }

  package func readExtended(_ item: Item) -> Verdict { check(item, .readExtended) }

  package func writeExtended(_ item: Item) -> Verdict { check(item, .writeExtended) }
}
