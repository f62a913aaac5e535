import CLinux
import Glibc
import Synchronization

// Another mount namespace, where no path means what it means here: its owner decides what each name means.
//
// So the process stays where it is. What has to be done there is done by a thread that goes there, makes a few system
// calls and ends; names, settings and /proc are never read by it, and no library is loaded by it.

/// A mount namespace other than ours; it lasts at least as long as this.
package struct MountNamespace: Sendable {
  private let descriptor: SharedDescriptor

  /// `path`: as our own namespace has it, such as `/proc/1/ns/mnt`.
  package init(_ path: [UInt8]) throws(Errno) {
    descriptor = SharedDescriptor(try Descriptor.open(path: path, .readOnly))
  }

  /// Has a thread do something there, and waits for it.
  ///
  /// `work` finds itself in `directory`, or in the root of the namespace. It may open, mount and unmount, and must call
  /// nothing that reads settings, asks for accounts or loads a library: all of these would be those of the other namespace.
  package func visit<Value: Sendable>(
    in directory: SharedDescriptor? = nil, _ work: @escaping @Sendable () throws(Errno) -> Value
  ) throws(Errno) -> Value {
    let descriptor = descriptor
    let answer = Answer<Value>()
    let visitor = try PlainThread(name: "varve-visitor") {
      let result: Result<Value, Errno>
      do throws(Errno) {
        try retrying { lv_visit_mount_namespace(descriptor.descriptor.rawValue) }
        if let directory { try retrying { lv_stand_in(directory.descriptor.rawValue) } }
        result = .success(try work())
      } catch {
        result = .failure(error)
      }
      answer.result.withLock { $0 = result }
    }
    visitor.join()
    guard let result = answer.result.withLock({ $0 }) else { throw .inputOutput }
    return try result.get()
  }

  /// The table of mounts there, as /proc/self/mountinfo has it, through our own /proc.
  package func mountTable() throws(Errno) -> SharedDescriptor {
    let threads = SharedDescriptor(try Descriptor.directory(atPath: "/proc/self/task"))
    return try visit { () throws(Errno) in
      let name = Array(String(PlainThread.currentIdentifier).utf8)
      let thread = try FileName.with(name) { name throws(Errno) in
        try threads.descriptor.open(name, [.readOnly, .directory])
      }
      return SharedDescriptor(try thread.open(try FileName("mountinfo"), .readOnly))
    }
  }

  /// Opens a directory there.
  package func directory(_ path: [UInt8]) throws(Errno) -> ForeignDirectory {
    let opened = try visit { () throws(Errno) in
      let opened = SharedDescriptor(try Descriptor.directory(atPath: path))
      try retrying { lv_stand_in(opened.descriptor.rawValue) }
      return ForeignDirectory(namespace: self, directory: opened, path: try MountNamespace.workingDirectory())
    }
    return opened
  }

  private static func workingDirectory() throws(Errno) -> [UInt8] {
    try unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) {
      room throws(Errno) -> [UInt8] in
      guard let start = room.baseAddress else { throw .noMemory }
      try retrying { unsafe lv_standing_place(start, room.count) }
      return unsafe Array(UnsafeRawBufferPointer(start: start, count: strlen(start)))
    }
  }

  private final class Answer<Value: Sendable>: Sendable {
    let result: Mutex<Result<Value, Errno>?> = Mutex(nil)
  }
}

/// An open directory of another mount namespace.
package struct ForeignDirectory: Sendable {
  package let namespace: MountNamespace
  package let directory: SharedDescriptor
  /// Where it was when it was opened, as that namespace has it: absolute and free of links.
  package let path: [UInt8]
}

extension Descriptor {
  /// Waits until the table of mounts this is open on (`/proc/PID/mountinfo`) has changed.
  ///
  /// Since it was opened, or since this was called last: no change is missed in between.
  package borrowing func waitForMounts() throws(Errno) {
    try retrying { lv_wait_for_mounts(rawValue) }
  }
}
