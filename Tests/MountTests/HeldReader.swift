// A program that is held up in the middle of a listing, as by memory that was swapped to a disk that does not answer.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

/// Lists a directory into a page of a file, and whoever has that does not answer.
final class HeldReader {
  private let memory: MountedVolume
  private let daemon: Int32
  private let base: String
  private let reader: RunningProgram

  /// `base`: a directory for what it needs; it waits there until it is held.
  init(of directory: String, in base: String) throws {
    memory = try MountedVolume("passthrough=off")
    self.base = base
    daemon = try #require(memory.daemon)
    try #require(Calls.write(memory.upper + "/page", String(repeating: "-", count: 4096)) == nil)
    reader = try RunningProgram(
      try #require(Programs.path(of: "python3")),
      [
        "-c",
        """
        import ctypes, mmap, os, sys, time
        page = mmap.mmap(os.open(sys.argv[1] + '/page', os.O_RDWR), 4096)
        place = (ctypes.c_char * 4096).from_buffer(page)
        directory = os.open(sys.argv[2], os.O_RDONLY | os.O_DIRECTORY)
        print('ready', os.getpid(), flush=True)
        while not os.path.exists(sys.argv[3]):
            time.sleep(0.01)
        count = ctypes.CDLL(None).syscall(int(sys.argv[4]), directory, ctypes.byref(place), 4096)
        print('read' if count > 0 else 'nothing', flush=True)
        time.sleep(60)
        """, memory.path, directory, base + "/go", "\(SYS_getdents64)",
      ], output: base + "/said")
    do { try waitUntil { has(said: "\n") } } catch {
      end()
      throw error
    }
  }

  private func waitUntil(_ isSo: () -> Bool) throws {
    let deadline = Clock.monotonicNanoseconds &+ 20_000_000_000
    while !isSo() { try #require(Clock.monotonicNanoseconds < deadline && reader.isRunning) }
  }

  private func has(said word: String) -> Bool {
    (try? Text.read(base + "/said"))?.contains(word) == true
  }

  /// Returns when it stands in the call.
  func hold() throws {
    kill(daemon, SIGSTOP)
    try #require(Calls.create(base + "/go") == nil)
    let process = try Text.read(base + "/said").filter(\.isNumber)
    var since = Clock.monotonicNanoseconds
    try waitUntil {
      let call = (try? Text.read("/proc/\(process)/syscall")) ?? ""
      if !call.hasPrefix("\(SYS_getdents64) ") { since = Clock.monotonicNanoseconds }
      return Clock.monotonicNanoseconds &- since > 200_000_000
    }
  }

  var hasRead: Bool { has(said: "read\n") }

  func letGo() { kill(daemon, SIGCONT) }

  func waitUntilRead() throws { try waitUntil { hasRead } }

  /// Lets go first: it could not end before.
  func end() {
    letGo()
    reader.end()
    memory.remove()
  }
}
