// Content that is stored as it is: the bytes of the backing file.

import LinuxFiles
import Synchronization

/// The backing file of one open file.
///
/// Where the kernel reads by itself, a descriptor that leads there (O_PATH) is all that is held; the file is opened for
/// the few things that cannot be done with that (fsync, lseek, copy_file_range).
struct PlainContent: ~Copyable, Sendable {
  private let held: Mutex<SharedDescriptor>
  /// As the handle was opened.
  private let flags: OpenFlags
  private let attachment: Attachment

  init(_ descriptor: SharedDescriptor, _ flags: OpenFlags, of attachment: Attachment) {
    held = Mutex(descriptor)
    self.flags = flags
    self.attachment = attachment
  }

  /// A file that nobody needs to have open, to be cut.
  static func openForWriting(_ file: SharedDescriptor) throws(Errno) -> SharedDescriptor {
    try Errno.delayedByLease { () throws(Errno) in
      SharedDescriptor(try file.descriptor.reopen([.writeOnly, .nonBlocking]))
    }
  }

  /// Leads to the backing file, open or not.
  var object: SharedDescriptor { held.withLock { $0 } }

  /// All handles of a file that was brought up have the copy, by one descriptor: what each may do is its own word.
  func follow(_ copy: SharedDescriptor) { held.withLock { $0 = copy } }

  /// The backing file, open.
  func opened() throws(Errno) -> SharedDescriptor {
    let found = object
    guard found.descriptor.isPath else { return found }
    // One for all who read a file of a lower.
    if let opened = attachment.state.withLock({ $0.file.lowerWay }), !opened.descriptor.isPath {
      held.withLock { if $0 === found { $0 = opened } }
      return opened
    }
    let opened = SharedDescriptor(
      try Errno.delayedByLease { () throws(Errno) in
        try found.descriptor.reopen(flags.union(.nonBlocking))
      })
    // Unless the file was brought up meanwhile.
    held.withLock { if $0 === found { $0 = opened } }
    // Of two descriptors one goes, so that nobody gets more of them than they have handles.
    attachment.state.withLock { state in
      state.file.routes.loseWay()
      if state.file.lowerWay === found { state.file.lowerWay = opened }
    }
    return opened
  }

  func write(_ bytes: Span<UInt8>, at position: Descriptor.WritePosition) throws(Errno) -> Int {
    let descriptor = object
    var done = 0
    while done < bytes.count {
      let count: Int
      do throws(Errno) {
        count = try descriptor.descriptor.write(
          bytes.extracting(done..<bytes.count), at: position.moved(by: done))
      } catch {
        // What was written is reported; the error comes back with the next write.
        guard done > 0 else { throw error }
        return done
      }
      guard count > 0 else { break }
      done += count
    }
    return done
  }
}
