import Glibc
import MountSupport
import Testing

extension MountTests {
  @Suite("Ending a daemon by signals") struct SignalTests {
    /// Whether the process ends, or becomes a zombie, within a few seconds.
    private func ends(_ process: Int32) -> Bool {
      for _ in 0..<1_000 {
        guard MountedVolume.isRunning(process) else { return true }
        usleep(5_000)
      }
      return false
    }

    @Test("One signal unmounts and ends an idle daemon, and the volume can be mounted again")
    func idle() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let daemon = try #require(volume.daemon)
      #expect(kill(daemon, SIGTERM) == 0)
      #expect(ends(daemon))
      try volume.mount()
      try volume.unmount()
    }

    @Test("A second signal ends a daemon whose volume is in use") func busy() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let daemon = try #require(volume.daemon)
      let file = open(volume.path + "/file", O_RDWR | O_CREAT, 0o644)
      try #require(file >= 0)
      defer { close(file) }
      #expect(write(file, "text", 4) == 4)
      #expect(kill(daemon, SIGTERM) == 0)
      // Its name is gone; the file is still there for who has it open.
      for _ in 0..<1_000 where access(volume.path + "/file", F_OK) == 0 { usleep(5_000) }
      #expect(access(volume.path + "/file", F_OK) != 0)
      #expect(write(file, "more", 4) == 4)
      #expect(kill(daemon, SIGTERM) == 0)
      #expect(ends(daemon))
      #expect(try Text.read(volume.upper + "/file") == "textmore")
    }
  }
}
