// A directory of its own for each test, and the volume on it.

import Glibc
import LayeredVolume
import LinuxFiles

/// An empty directory that goes away with its owner.
final class Scratch: Sendable {
  let path: String
  let descriptor: Descriptor

  init() throws {
    var name = text("/tmp/varve-door-XXXXXX").map { CChar(bitPattern: $0) }
    guard unsafe mkdtemp(&name) != nil else { throw Errno.current }
    path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // Others than the owner may look in.
    _ = unsafe chmod(path, 0o755)
    descriptor = try Descriptor.directory(atPath: path)
  }

  func volume(_ change: (inout VolumeOptions) -> Void = { _ in }) throws -> Volume {
    var options = VolumeOptions()
    change(&options)
    return try Volume(UpperRoot(Array(path.utf8)), options: options)
  }

  deinit {
    // The volume worked on this thread, in the names of its callers.
    try? ThreadIdentity.become(user: 0, group: 0)
    // What cannot be removed stays in /tmp; the test itself has spoken already.
    try? Scratch.empty(descriptor)
    _ = unsafe rmdir(path)
  }

  /// Removes everything below `directory`, following no link.
  private static func empty(_ directory: borrowing Descriptor) throws(Errno) {
    try directory.seekDirectory(to: 0)
    var page = EntryBuffer()
    while try directory.readEntries(into: &page) > 0 {
      while let entry = try page.next() {
        guard entry.role == .child else { continue }
        try page.withName(of: entry) { name throws(Errno) in
          if entry.kind == .directory {
            try empty(try directory.open(name, [.readOnly, .directory]))
            try directory.removeDirectory(name)
          } else {
            try directory.removeFile(name)
          }
        }
      }
    }
  }
}
