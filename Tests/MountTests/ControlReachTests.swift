// Whoever cannot reach a mount cannot ask its daemon about it either.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Who reaches the control socket") struct ControlReachTests {
    private static let requests = [
      "{\"verb\":\"status\"}", "{\"verb\":\"denials\"}",
      "{\"verb\":\"why\",\"questions\":[{\"operation\":\"read\",\"path\":\"secret\"}]}", "{}", "nonsense",
    ]

    /// O_PATH, which Glibc does not import.
    private static let held: CInt = 0x20_0000

    private func place(_ volume: MountSupport.MountedVolume) throws -> String {
      try Attribute.text(volume.path, "system.varve.control").get()
    }

    @Test("Below a closed directory only those who can enter it find the socket") func closedDirectory()
      throws
    {
      let volume = try MountSupport.MountedVolume()
      defer { volume.remove() }
      let socket = try place(volume)
      let mount = volume.path
      #expect(chmod(volume.base, 0o700) == 0)
      #expect(
        TestUser.bob.run { Attribute.text(mount, "system.varve.control").refusal } == .accessDenied)
      // Not by listing, not by the device's number, not by what the kernel tells everybody of its sockets.
      let names: Errno? = TestUser.bob.run {
        guard let listing = opendir("/run/varve") else { return Errno.current }
        closedir(listing)
        return nil
      }
      #expect(names == .accessDenied)
      let name = try #require(socket.split(separator: "/").last.map { String($0) })
      let parts = name.split(separator: ".")
      #expect(parts.count == 3)
      #expect(parts[1].utf8.count >= 20, "'\(parts[1])' can be guessed")
      for guess in ["\(parts[0]).sock", "\(parts[0]).new", "\(parts[0])..sock"] {
        let answer = TestUser.bob.run { ControlCall.ask("/run/varve/\(guess)", Self.requests[0]) }
        #expect(answer == nil, "\(guess)")
      }
      let sockets = try Text.read("/proc/net/unix")
      #expect(sockets.contains("\(parts[0])."))
      #expect(!sockets.contains(parts[1]))
      // Whom the directory lets in is told, and answered.
      #expect(chmod(volume.base, 0o711) == 0)
      let told = TestUser.bob.run { Attribute.text(mount, "system.varve.control") }
      #expect(try told.get() == socket)
      let answer = TestUser.bob.run { ControlCall.ask(socket, Self.requests[0]) }
      #expect(answer?.contains("\"ok\": true") == true)
    }

    @Test("A user who may not search the root learns neither the socket nor the status") func closedRoot()
      throws
    {
      let volume = try MountSupport.MountedVolume()
      defer { volume.remove() }
      let socket = try place(volume)
      let (mount, status) = (volume.path, volume.path + "/.varve/status")
      // In open hands from before.
      let directory = TestUser.bob.run { open(mount + "/.varve", Self.held | O_DIRECTORY) }
      defer { close(directory) }
      #expect(TestUser.bob.run { Calls.open(status, O_RDONLY) } == nil)
      for list in ["", "user:1002 deny search"] {
        #expect(chmod(mount, list.isEmpty ? 0o744 : 0o755) == 0)
        if !list.isEmpty { #expect(Attribute.set(mount, Attribute.list, list) == nil) }
        TestUser.bob.run {
          #expect(Attribute.text(mount, "system.varve.control").refusal == .accessDenied)
          #expect(Calls.open(status, O_RDONLY) == .accessDenied)
          #expect(Calls.answer(openat(directory, "status", O_RDONLY)) == .accessDenied)
          #expect(ControlCall.ask(socket, Self.requests[0])?.contains("\"ok\": false") == true)
        }
        #expect(Calls.open(status, O_RDONLY) == nil)
        #expect(ControlCall.ask(socket, Self.requests[0])?.contains("\"ok\": true") == true)
      }
    }

    @Test("Without allow_other the daemon answers root and the owner, whoever else knows the socket")
    func withoutOthers() throws {
      let volume = try MountSupport.MountedVolume("noallow_other")
      defer { volume.remove() }
      _ = try volume.file("secret", 0, 0, 0o644)
      let socket = try place(volume)
      for request in Self.requests {
        let answer = TestUser.bob.run { ControlCall.ask(socket, request) }
        #expect(answer?.contains("mounted without allow_other") == true, "\(answer ?? "no answer")")
        #expect(answer?.contains("secret") == false)
      }
      #expect(ControlCall.ask(socket, Self.requests[0])?.contains("\"ok\": true") == true)
    }

    @Test("A directory of sockets that everybody may list is closed by the next mount")
    func earlierDirectory()
      throws
    {
      #expect(mkdir("/run/varve", 0o755) == 0 || errno == EEXIST)
      #expect(chmod("/run/varve", 0o755) == 0)
      let volume = try MountSupport.MountedVolume()
      defer { volume.remove() }
      var status = stat()
      #expect(stat("/run/varve", &status) == 0)
      #expect(status.st_mode & 0o777 == 0o711)
    }
  }
}
