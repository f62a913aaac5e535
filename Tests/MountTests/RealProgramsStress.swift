import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests.RealProgramsTests {
  /// Each of these runs for a second or two, two at once, and checks its own work.
  private static let stressors = [
    "access", "chdir", "chmod", "chown", "copy-file", "dentry", "dir", "dirdeep", "dirmany", "dnotify", "dup",
    "fallocate", "fcntl", "fiemap", "file-ioctl", "filename", "flock", "fpunch", "fsize", "fstat", "getdent",
    "hdd", "inotify", "io", "iomix", "lease", "link", "lockf", "lockmix", "lockofd", "locka", "mmap",
    "mmapfork", "msync", "open", "readahead", "rename", "revio", "seal", "seek", "sendfile", "symlink",
    "sync-file", "touch", "utime", "unlink", "verity", "xattr", "splice", "metamix",
  ]

  @Test(
    "stress-ng finds nothing wrong",
    .enabled(if: Programs.has("stress-ng"), "needs stress-ng"), .timeLimit(.minutes(3)))
  func stress() throws {
    let volume = try MountedVolume()
    defer { volume.remove() }
    try #require(Glibc.chown(volume.path, 1001, 2001) == 0)
    let known = try Program.run("/usr/bin/stress-ng", ["--stressors"]).output.split(
      whereSeparator: \.isWhitespace)
    let stressors = Self.stressors.filter { name in known.contains { $0 == name } }
    #expect(stressors.count > 30)
    // Groups of stressors side by side: two workers of each, so that they meet in one directory.
    let groupSize = 5
    let seconds = ProcessInfo.processInfo.environment["LONG"] == "1" ? "4" : "2"
    for start in stride(from: 0, to: stressors.count, by: groupSize) {
      let group = stressors[start..<min(start + groupSize, stressors.count)]
      var words = [
        "--reuid=1001", "--regid=2001", "--clear-groups", "timeout", "60", "/usr/bin/stress-ng",
        "--temp-path",
        volume.path, "--timeout", seconds, "--verify", "--hdd-bytes", "16m", "--fallocate-bytes", "16m",
        "--iomix-bytes", "16m", "--readahead-bytes", "16m", "--seek-size", "16m", "--mmap-bytes", "8m",
        "--mmap-file",
        "--revio-bytes", "16m", "--sync-file-bytes", "16m", "--fiemap-bytes", "16m", "--msync-bytes", "8m",
        "--sendfile-size", "4m", "--dentries", "512",
      ]
      for name in group { words += ["--\(name)", "1"] }
      let result = try Program.run("/usr/bin/setpriv", words, in: volume.base)
      // 3 and 4 mean that a stressor could not run here at all, not that it found a fault.
      if ![0, 3, 4].contains(result.exit) || result.output.contains("fail:") {
        Issue.record("\(group): exit \(result.exit)\n\(result.output.suffix(3000))")
      }
    }
    #expect(try Program.shell("ls -A '\(volume.path)'").output == "")
    try volume.unmount()
  }
}
