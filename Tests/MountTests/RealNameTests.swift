// From names that a view shows back to real ones.

import Glibc
import MountSupport
import Testing

extension MountTests {
  @Suite("Real names of what a view shows", .timeLimit(.minutes(2))) struct RealNameTests {
    private func real(_ path: String) throws -> ProgramResult {
      try Program.run(Program.built("varve"), ["name", "--real", path])
    }

    @Test("An item with another name elsewhere is named by the one that was typed")
    func linked() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      // One item is A/x.txt and B/y.txt; another one is A/y.txt.
      try Program.shell(
        "chmod 755 .; mkdir A B; echo one >A/x.txt; ln A/x.txt B/y.txt; echo other >A/y.txt; chmod 644 */*",
        in: volume.path)
      let view = volume.path + "/.varve/view/fr"
      for _ in 0..<20 {
        #expect(try Text.read(view + "/A/x") == "one\n")
        #expect(access(volume.path + "/B/y.txt", R_OK) == 0)
        #expect(try real(view + "/A/x").output == volume.path + "/A/x.txt\n")
        #expect(try real(view + "/B/y").output == volume.path + "/B/y.txt\n")
        #expect(try real(view + "/A/y").output == volume.path + "/A/y.txt\n")
      }
    }

    @Test("Of an item with two names in one directory nothing is guessed")
    func twins() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try Program.shell(
        "chmod 755 .; mkdir A; echo one >A/x.txt; ln A/x.txt A/z.txt; echo >A/w.txt; chmod 644 */*",
        in: volume.path)
      let view = volume.path + "/.varve/view/fr/A"
      for name in ["x.txt", "z.txt", "w.txt"] {
        #expect(try real(view + "/" + name).output == volume.path + "/A/\(name)\n")
      }
      #expect(try real(view + "/w").output == volume.path + "/A/w.txt\n")
      let refused = try real(view + "/x")
      #expect(refused.exit == 1)
      #expect(refused.output.contains("has several names in its directory"))
      #expect(try real(view + "/none").output.contains("ENOENT"))
    }
  }
}
