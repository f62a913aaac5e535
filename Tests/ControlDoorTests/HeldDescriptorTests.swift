// What a peer has open and names by its number: the server holds on to that, and to nothing else.

import Glibc
import LinuxFiles
import MountSupport
import Testing

@testable import ControlDoor

@Suite(
  "Descriptors that a peer names", .serialized, .timeLimit(.minutes(1)),
  .enabled(if: Programs.has("python3"), "needs python3"))
struct HeldDescriptorTests {
  /// What a peer prints that runs `script`, which has `ask(LINE, DESCRIPTORS)`.
  ///
  /// The server says which object it holds, if it does so by O_PATH.
  private static func said(
    _ script: String, ifOn isWanted: @escaping @Sendable (Int) throws(Errno) -> Void = { _ in }
  ) throws -> String {
    let post = try Post { line, peer in
      guard let number = Int32(String(decoding: line, as: UTF8.self)) else { return "no number" }
      do throws(Errno) {
        let held = try peer.held(number, ifOn: isWanted)
        var status = stat()
        fstat(held.rawValue, &status)
        // O_PATH, which Glibc does not import.
        let isPath = fcntl(held.rawValue, F_GETFL) & 0x20_0000 != 0
        return isPath && fcntl(held.rawValue, F_GETFD) == FD_CLOEXEC ? "\(status.st_ino)" : "open"
      } catch {
        return String("\(error)".split(separator: "(").last?.dropLast() ?? "")
      }
    }
    let prelude = """
      import os, socket, sys
      post = '\(post.base)/post'
      def connect():
        s = socket.socket(socket.AF_UNIX); s.connect(post); return s
      def ask(line, descriptors=(), s=None):
        s = s or connect()
        socket.send_fds(s, [str(line).encode() + b'\\n'], descriptors)
        return s.recv(100).decode().strip()

      """
    let result = try Program.run("/usr/bin/env", ["python3", "-c", prelude + script])
    #expect(result.exit == 0)
    return result.output
  }

  private static func openDescriptors() throws -> Int {
    try Descriptor.directory(atPath: "/proc/self/fd").names().count
  }

  @Test func everyKindIsHeldAndNoneIsOpened() throws {
    let said = try Self.said(
      """
      kinds = [os.open('/tmp', os.O_RDONLY), os.open('/tmp', os.O_PATH), os.open(sys.executable, os.O_RDONLY),
        *os.pipe(), socket.socket().detach(), os.open('/dev/null', os.O_RDWR), os.memfd_create('x')]
      for kind in kinds:
        if ask(kind) != str(os.fstat(kind).st_ino): print(kind, os.readlink(f'/proc/self/fd/{kind}'), ask(kind))
      """)
    #expect(said == "")
  }

  @Test func whatIsNoOpenDescriptorIsRefusedAndNothingIsLeftOpen() throws {
    let before = try Self.openDescriptors()
    let said = try Self.said(
      """
      gone = 500
      print(*(ask(number) for number in (-1, 2**31 - 1, -2**31, gone)))
      print(*(ask(line) for line in ('', 2**31, '1/../0', '/', '0 0', '0x0')), sep=', ')
      for number in range(300): ask(number % 3)
      """)
    #expect(
      said == """
        ENOENT ENOENT ENOENT ENOENT
        no number, no number, no number, no number, no number, no number

        """)
    // Its server goes on, and may be at the last request.
    #expect(try Self.openDescriptors() < before + 20)
  }

  @Test func onAMountThatIsNotWantedNothingIsHeld() throws {
    let said = try Self.said(
      """
      proc = os.open('/proc', os.O_RDONLY); pipe, _ = os.pipe()
      mounts = [line.split() for line in open('/proc/self/mountinfo')]
      number = [words[0] for words in mounts if words[4] == '/proc'][-1]
      print(ask(proc), open(f'/proc/self/fdinfo/{proc}').read().split('mnt_id:')[1].split()[0] == number, ask(pipe))
      """, ifOn: { _ throws(Errno) in throw .crossDevice })
    #expect(said == "EXDEV True EXDEV\n")
  }

  @Test func descriptorsThatAreSentAlongAreNotReceived() throws {
    let before = try Self.openDescriptors()
    let said = try Self.said(
      """
      for count in (1, 250): print(ask(0, [1] * count) == str(os.fstat(0).st_ino))
      """)
    #expect(said == "True\nTrue\n")
    #expect(try Self.openDescriptors() < before + 20)
  }

  @Test func whoHasEndedOrBecomeAnotherLendsNothing() throws {
    let said = try Self.said(
      """
      s = socket.socket(socket.AF_UNIX)
      child = os.fork()
      if child == 0:
        s.connect(post); os._exit(0)
      os.waitpid(child, 0)
      print(ask(0, (), s))
      if os.getuid() == 0:
        s = connect(); os.setresuid(1001, 1001, 1001)
        print(ask(0, (), s))
      else: print('EPERM')
      """)
    #expect(["ENOENT\nEPERM\n", "ESRCH\nEPERM\n"].contains(said), "\(said)")
  }
}
