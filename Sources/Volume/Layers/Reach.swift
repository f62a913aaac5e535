// The way to one object for one request: by directory and name, or by a descriptor that is held.

import LinuxFiles

/// How an object is reached.
///
/// Whatever is found there is compared with the node's identity before anything is believed or done.
enum Reach: Sendable {
  case named(LayerDirectory, [UInt8])
  case held(SharedDescriptor)
}

extension Reach {
  func status() throws(Errno) -> FileStatus {
    switch self {
    case .held(let object):
      return try object.descriptor.status()
    case .named(let directory, let name):
      let found: FileStatus?
      do throws(Errno) {
        found = try FileName.with(name) { name throws(Errno) in try directory.find(name) }
      } catch {
        // What is mounted there is something else; the object may still be reached by who has it open.
        throw error == .crossDevice ? .stale : error
      }
      guard let found else { throw .noSuchFile }
      return found
    }
  }

  func attribute(_ attribute: borrowing AttributeName) throws(Errno) -> [UInt8]? {
    switch self {
    case .held(let object):
      return try object.descriptor.attribute(attribute)
    case .named(let directory, let name):
      let bytes = name
      return try FileName.with(bytes) { name throws(Errno) in try directory.attribute(attribute, of: name) }
    }
  }

  /// The first bytes of a file: what an encrypted one says without its key.
  func head() throws(Errno) -> [UInt8] {
    switch self {
    case .held(let object):
      return try LayerDirectory.head(of: object)
    case .named(let directory, let name):
      return try FileName.with(name) { name throws(Errno) in try directory.head(of: name) }
    }
  }

  /// Where a symbolic link leads.
  func target() throws(Errno) -> [UInt8] {
    switch self {
    case .held(let object): try object.descriptor.readLink()
    case .named(let directory, let name):
      try FileName.with(name) { name throws(Errno) in try directory.target(of: name) }
    }
  }

  /// A descriptor of the object itself, which leads there and no more.
  func hold() throws(Errno) -> SharedDescriptor {
    switch self {
    case .held(let object): object
    case .named(let directory, let name):
      try FileName.with(name) { name throws(Errno) in try directory.hold(name) }
    }
  }

  func open(_ flags: OpenFlags) throws(Errno) -> SharedDescriptor {
    switch self {
    case .held(let object): SharedDescriptor(try object.descriptor.reopen(flags))
    case .named(let directory, let name):
      try FileName.with(name) { name throws(Errno) in try directory.open(name, flags) }
    }
  }
}
