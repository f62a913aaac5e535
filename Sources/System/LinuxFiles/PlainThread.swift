import CLinux
import Glibc

// Threads without a runtime: they may block in system calls as long as they like.

/// A running POSIX thread.
///
/// Join it; one that is dropped runs on by itself.
package struct PlainThread: ~Copyable, Sendable {
  private let handle: pthread_t

  /// Starts a thread that runs `body` and ends; EAGAIN when the system has no room for one.
  ///
  /// `body` is `@Sendable`, hence bound to no actor, wherever its text stands: the body of a thread must
  /// not be a closure of the main actor, as one written in main.swift would be.
  package init(name: StaticString? = nil, _ body: @escaping @Sendable () -> Void) throws(Errno) {
    let work = unsafe Unmanaged.passRetained(ThreadWork(name: name, body: body))
    var handle = pthread_t()
    let failure = unsafe pthread_create(&handle, nil, runThreadWork, work.toOpaque())
    guard failure == 0 else {
      unsafe work.release()
      throw Errno(rawValue: failure)
    }
    self.handle = handle
  }

  /// Waits until the thread has ended.
  package consuming func join() {
    let handle = handle
    discard self
    _ = pthread_join(handle, nil)
  }

  deinit {
    pthread_detach(handle)
  }

  /// The kernel's id of the calling thread.
  package static var currentIdentifier: Int32 { lv_thread_id().asCInt }
}

/// What a thread needs until it has begun.
private final class ThreadWork: Sendable {
  let name: StaticString?
  let body: @Sendable () -> Void

  init(name: StaticString?, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }
}

/// The first function of every thread.
///
/// It stands outside any type and closure, so it belongs to no actor.
private func runThreadWork(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let argument = unsafe argument else { return nil }
  let work = unsafe Unmanaged<ThreadWork>.fromOpaque(argument).takeRetainedValue()
  // A name longer than 15 bytes is refused; it is only for people, so no matter.
  if let name = work.name, let (text, _) = unsafe try? terminatedText(of: name) {
    _ = unsafe lv_name_thread(text)
  }
  work.body()
  return nil
}
