// The values a door and the volume exchange: requests as words, answers as plain data.
//
// For doors, which know a volume by these values alone. They are read from a request without a copy of their own
// (`AllocationTests`).

package import LinuxFiles
import Synchronization

/// The name of a node between kernel and volume; 1 is the root.
///
/// Valid from an ``Entry`` until forgotten.
package typealias NodeID = UInt64

/// The name of an open file or directory, valid from open to release.
package typealias HandleID = UInt64

/// Who sent a request.
///
/// The supplementary groups are not part of it: reading them costs more than most requests, so the gate
/// fetches them only when a decision turns on them.
package struct Caller: Hashable, Sendable {
  package var user: UInt32
  package var group: UInt32
  /// The *thread* that waits for the answer; 0 when the kernel acts by itself or the caller is outside our
  /// process namespace.
  package var thread: Int32
  /// The number of the request, by which it may be interrupted; 0: it cannot be.
  package var request: UInt64 = 0

  package init(user: UInt32, group: UInt32, thread: Int32) {
    self.user = user
    self.group = group
    self.thread = thread
  }
}

/// What stat shows: the status of the backing object, but for what the record says otherwise.
package typealias Attributes = FileStatus

/// How long the kernel may keep an answer.
package enum Validity: Hashable, Sendable {
  case none
  /// Less than a second.
  case nanoseconds(UInt32)
  case seconds(UInt32)
  case unlimited
}

/// A name the kernel now knows, with the node it leads to.
package struct Entry: Hashable, Sendable {
  package var node: NodeID
  package var attributes: Attributes
  package var nameValidity: Validity
  package var attributeValidity: Validity
}

/// The answer to a lookup.
package enum LookupAnswer: Hashable, Sendable {
  /// One more reference is held by the kernel.
  case found(Entry)
  /// Nothing there, and the kernel may remember that.
  case missing(Validity)
}

/// Attributes with their validity.
package struct AttributeAnswer: Hashable, Sendable {
  package var attributes: Attributes
  package var validity: Validity
}

/// The number under which the kernel knows a file that was handed to it.
package typealias BackingID = Int32

/// How the kernel gets at the bytes of one open file.
package enum Route: Hashable, Sendable {
  /// By READ and WRITE, with a copy in its page cache; kept from the last open, or read again.
  case cached(keepsPages: Bool)
  /// By READ and WRITE at every call, with no copy: a writable shared mapping is refused.
  case direct
  /// From the backing file itself, without asking us.
  case backing(BackingID)
  /// By READ and WRITE at every call; only mappings are those of the backing file.
  case mapped(BackingID)

  package var backingID: BackingID? {
    switch self {
    case .backing(let id), .mapped(let id): id
    case .cached, .direct: nil
    }
  }

  /// Whether the kernel keeps a copy of what it reads and writes.
  var keepsCopy: Bool {
    if case .cached = self { return true }
    return false
  }
}

/// An open file.
package struct OpenAnswer: Hashable, Sendable {
  package var handle: HandleID
  package var route: Route
}

/// How a file is to be opened, in the words of open(2).
package struct OpenMode: OptionSet, Hashable, Sendable {
  package let rawValue: UInt16

  package init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  package static let read = OpenMode(rawValue: 1 << 0)
  package static let write = OpenMode(rawValue: 1 << 1)
  package static let append = OpenMode(rawValue: 1 << 2)
  package static let truncate = OpenMode(rawValue: 1 << 3)
  /// Opened to be run.
  package static let execute = OpenMode(rawValue: 1 << 4)
  package static let exclusive = OpenMode(rawValue: 1 << 5)
  package static let synchronous = OpenMode(rawValue: 1 << 6)
  package static let dataSynchronous = OpenMode(rawValue: 1 << 7)
  package static let noAccessTime = OpenMode(rawValue: 1 << 9)
  /// With `truncate`: the kernel asks for the set-id bits to be cleared.
  package static let clearsSetID = OpenMode(rawValue: 1 << 10)
  /// The kernel's own: it asks about attributes, and no byte is read or written.
  package static let withoutBytes = OpenMode(rawValue: 1 << 8)
  /// O_DIRECT.
  package static let unbuffered = OpenMode(rawValue: 1 << 11)
}

/// A change of attributes; absent parts stay.
///
/// All parts together are decided before any is applied.
package struct AttributeChange: Sendable {
  package var mode: UInt16?
  package var user: UInt32?
  package var group: UInt32?
  package var size: UInt64?
  package var access: TimeChange = .omit
  package var modification: TimeChange = .omit
  /// The kernel asks for the set-id bits to be cleared because a caller without privilege wrote.
  package var clearsSetID = false
  /// Nothing is named at all: the kernel's form of "strip the set-id bits", or a stranger's `chown(-1, -1)`.
  package var namesNothing = false

  package init() {}
}

/// What a rename does about an existing target.
package enum RenameStyle: Hashable, Sendable {
  case replace
  case noReplace
  case exchange
}

/// One name of a directory on its way to the kernel.
package struct ListedName: Sendable {
  package var inode: UInt64
  package var kind: FileKind?
  /// Where the listing goes on after this name.
  package var nextOffset: Int64
  /// With attributes: what a lookup of the name would have answered; absent where that is not for everyone.
  package var entry: Entry?
}

/// The way back to the kernel, given by the door once the connection stands.
///
/// A class, because it is lent for each use: a copy would retain each closure.
///
/// All calls but `dropPages` are made from inside a request and with the volume's locks held, the first two before the answer to
/// the change that needs them, so they must not wait for another request.
package final class KernelLink: Sendable {
  /// Whether `expireNames` works.
  ///
  /// Without it no name may be remembered at all.
  package let canExpireNames: Bool
  /// Whether the kernel takes set-id bits away by itself (before KILLPRIV_V2), for which it looks at the item.
  package let stripsItself: Bool
  private let tellToExpireNames: @Sendable () -> Void
  private let age = Atomic<UInt8>(1)
  /// Makes the kernel write what programs changed of a node through mappings, and drop all pages of it.
  ///
  /// The one call that waits for requests, those that have its pages: from inside a request only for a node that this request
  /// holds on to, and that nobody has open.
  package let dropPages: @Sendable (NodeID) -> Void
  /// Makes the remembered attributes of a node stale.
  package let expireAttributes: @Sendable (NodeID) -> Void
  /// Whether a file can be handed over by a descriptor that only leads to it (O_PATH).
  package let takesPaths: @Sendable () -> Bool
  /// Hands a file to the kernel, which then reads and writes it without asking; `nil` if it will not.
  package let openBacking: @Sendable (borrowing Descriptor) -> BackingID?
  /// Takes a file back that nobody has open any more.
  package let closeBacking: @Sendable (BackingID) -> Void
  /// Facts about the connection for `status`: pairs of name and value.
  package let features: @Sendable () -> [(name: String, value: String)]
  /// How often each kind of request came.
  package let requests: @Sendable () -> [(name: String, count: UInt64)]

  package init(
    canExpireNames: Bool, stripsItself: Bool,
    features: @escaping @Sendable () -> [(name: String, value: String)],
    requests: @escaping @Sendable () -> [(name: String, count: UInt64)],
    expireNames: @escaping @Sendable () -> Void,
    dropPages: @escaping @Sendable (NodeID) -> Void,
    expireAttributes: @escaping @Sendable (NodeID) -> Void,
    takesPaths: @escaping @Sendable () -> Bool,
    openBacking: @escaping @Sendable (borrowing Descriptor) -> BackingID?,
    closeBacking: @escaping @Sendable (BackingID) -> Void
  ) {
    self.canExpireNames = canExpireNames
    self.stripsItself = stripsItself
    self.features = features
    self.requests = requests
    tellToExpireNames = expireNames
    self.dropPages = dropPages
    self.expireAttributes = expireAttributes
    self.takesPaths = takesPaths
    self.openBacking = openBacking
    self.closeBacking = closeBacking
  }

  /// Makes every name the kernel remembers stale, so that the next walk asks again.
  package func expireNames() {
    // Odd, so never 0. That it comes round costs a question, and opens nothing.
    age.wrappingAdd(2, ordering: .releasing)
    tellToExpireNames()
  }

  /// Another number after each `expireNames`; never 0.
  var nameAge: UInt8 { age.load(ordering: .acquiring) }
}
