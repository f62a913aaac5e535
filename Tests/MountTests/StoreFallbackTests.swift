// What stores of user space and of the network do not have, switched off on a file system of this machine: every call
// does the same.

import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Without what some stores do not have", .timeLimit(.minutes(3))) struct StoreFallbackTests {
    static let without = ["no_local", "no_noreplace", "no_tmpfile,no_noreplace,no_local"]

    @Test("Names and renames are those of a plain directory", arguments: without)
    func names(options: String) throws {
      try compare(ParityScenarios.names, options: options)
      try compare(ParityScenarios.renames, options: options)
    }

    @Test("Attributes are those of a plain directory", arguments: without)
    func attributes(options: String) throws { try compare(ParityScenarios.attributes, options: options) }

    @Test("Open files are those of a plain directory", arguments: ["no_local"])
    func openFiles(options: String) throws { try compare(ParityScenarios.openFiles, options: options) }

    @Test("The status says what is missing", arguments: without) func status(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      let status = try Text.read(volume.path + "/.varve/status")
      for word in options.split(separator: ",") {
        #expect(status.contains("\"\(word.dropFirst(3))\":\"off: switched off\""), "\(status)")
      }
      #expect(status.contains("\"lock\":\"held\"") == options.contains("no_local"))
      if options.contains("no_local") {
        #expect(!status.contains("\"passthrough\":\"on\""))
      }
      try volume.unmount()
    }

    @Test(
      "Whatever is made belongs to whom it should before anybody sees it, and leaves nothing in the workshop",
      arguments: without)
    func made(options: String) throws {
      let volume = try MountedVolume(options)
      defer { volume.remove() }
      for (number, (mode, lists)) in [
        (0o777 as mode_t, []), (0o2777, []), (0o777, ["user:1003 allow read,file_inherit,directory_inherit"]),
      ].enumerated() {
        let path = try volume.directory("d\(number)", 1001, 2055, mode, list: lists)
        let failed = TestUser.bob.run(umask: 0o027) { () -> [String] in
          var failed: [String] = []
          func check(_ name: String, _ result: CInt) { if result != 0 { failed.append("\(name): \(errno)") } }
          let file = open(path + "/file", O_RDWR | O_CREAT | O_EXCL, 0o666)
          check("file", file < 0 ? -1 : close(file))
          check("directory", mkdir(path + "/directory", 0o777))
          check("link", symlink("file", path + "/link"))
          check("pipe", mkfifo(path + "/pipe", 0o666))
          check("hard link", Glibc.link(path + "/file", path + "/second"))
          check("rename", rename(path + "/second", path + "/third"))
          for name in ["file", "directory", "link", "pipe"] {
            errno = 0
            if mkdir(path + "/" + name, 0o700) == 0 || errno != EEXIST {
              failed.append("\(name) is taken: \(errno)")
            }
          }
          return failed
        }
        #expect(failed == [])
        for name in ["file", "directory", "link", "pipe", "third"] {
          let status = try Calls.status(path + "/" + name).get()
          #expect(status.st_uid == 1002 && status.st_gid == 2055, "\(name) in \(path)")
        }
      }
      #expect(try Calls.list(volume.upper + "/.varve/work").get() == [])
      try volume.unmount()
    }
  }
}
