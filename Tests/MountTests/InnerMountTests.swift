// What root has mounted inside a volume.

import Glibc
import JSONForm
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("What is mounted inside a volume", .timeLimit(.minutes(2))) struct InnerMountTests {
    private func status(_ volume: MountSupport.MountedVolume) throws -> JSON {
      try #require(JSON(Array(try Text.read(volume.path + "/.varve/status").utf8)))
    }

    /// Waits until the daemon has noticed how many there are.
    private func awaits(_ count: Int?, _ volume: MountSupport.MountedVolume) throws -> Bool {
      let deadline = Clock.monotonicNanoseconds + 20_000_000_000
      while Clock.monotonicNanoseconds < deadline {
        if try status(volume)["mountsInside"]?.integer == count { return true }
        usleep(5_000)
      }
      return false
    }

    private func lookups(_ volume: MountSupport.MountedVolume) throws -> Int {
      try #require(try status(volume)["requests"]?["lookup"]?.integer)
    }

    @Test("While something is mounted inside, status warns and no further names are remembered")
    func warned() throws {
      let volume = try MountSupport.MountedVolume("cache=exclusive")
      defer { volume.remove() }
      let inner = try volume.directory("inner", 0, 0, 0o755)
      _ = try volume.directory("open", 0, 0, 0o755)
      _ = try volume.directory("open/later", 0, 0, 0o755)
      #expect(try status(volume)["warning"] == nil)
      try #require(mount("tmpfs", inner, "tmpfs", 0, "") == 0)
      #expect(try awaits(1, volume))
      #expect(try status(volume)["warning"]?.string?.contains("unmounted when") == true)
      for name in ["one", "two"] { #expect(Calls.write("\(volume.upper)/open/\(name)", "x") == nil) }
      func asked(_ name: String) throws -> Int {
        let before = try lookups(volume)
        for _ in 0..<10 { _ = Calls.status("\(volume.path)/open/\(name)") }
        return try lookups(volume) - before
      }
      #expect(try asked("one") >= 10)
      try #require(umount2(inner, 0) == 0)
      #expect(try awaits(nil, volume))
      #expect(try status(volume)["warning"] == nil)
      _ = Calls.status("\(volume.path)/open/two")
      #expect(try asked("two") < 5)
      // What covers the volume as a whole is not inside it.
      try #require(mount("tmpfs", volume.path, "tmpfs", 0, "") == 0)
      try #require(umount2(volume.path, 0) == 0)
      try volume.unmount()
    }
  }
}
