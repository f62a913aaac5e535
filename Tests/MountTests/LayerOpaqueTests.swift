// The flag `opaque` where the kernel remembers what a directory showed before.

import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests.LayerMountTests {
  /// Each way to remember a name, with what is there by then: `d` with `a` and `sub/x` of a lower, and `own` of the upper.
  enum Memory: CaseIterable, Sendable {
    case names, listings

    func fill(_ directory: String) {
      switch self {
      case .names: for name in ["a", "sub", "sub/x", "own"] { _ = Calls.status("\(directory)/\(name)") }
      // The first answer of a listing has the items with it.
      case .listings: for name in ["", "/sub"] { _ = Calls.list(directory + name) }
      }
    }
  }

  @Test(
    "The flag opaque counts at once for all names that the kernel remembers, and so does its end",
    arguments: ["", "cache=exclusive", "cache=exclusive,no_epoch"], Memory.allCases)
  func opaqueAtOnce(options: String, memory: Memory) throws {
    let below = try MountedVolume()
    defer { below.remove() }
    for name in ["/d", "/d/sub"] { try #require(mkdir(below.path + name, 0o755) == 0) }
    for name in ["/d/a", "/d/sub/x"] { try #require(Calls.write(below.path + name, "lower") == nil) }
    let volume = try below.lowered(options)
    let directory = volume.path + "/d"
    try #require(Calls.write(directory + "/own", "upper") == nil)
    for round in 0..<3 {
      for (word, error) in [("opaque", Errno.noSuchFile), ("noopaque", nil)] {
        memory.fill(directory)
        try #require(Calls.run([Program.built("varve"), "chflags", word, directory]) == 0)
        for name in ["a", "sub", "sub/x"] {
          #expect(Calls.status("\(directory)/\(name)").refusal == error, "\(name), \(word), round \(round)")
        }
        #expect(Calls.status(directory + "/own").refusal == nil)
        let shown = error == nil ? ["a", "own", "sub"] : ["own"]
        #expect(try Calls.list(directory).get() == shown)
      }
    }
  }

  @Test(
    "A mark on the root of a layer counts for nothing",
    .enabled(if: Programs.has("setfattr"), "needs setfattr"))
  func rootMarks() throws {
    let stage = try LayerStage()
    defer { stage.remove() }
    let said = try stage.shell(
      """
      touch lower/f lower2/g lower2/gone; ours() { varve mount -o lower=lower:lower2 upper mount; ls mount; varve umount mount; }
      varve mount -o lower=lower:lower2 upper mount; rm mount/gone; varve umount mount; ours > before
      for root in upper lower; do
        for mark in opaque=y opaque=x redirect=a/b; do
          setfattr -n trusted.overlay.${mark%=*} -v ${mark#*=} $root; ours | diff before - || echo "$mark on $root"
          varve mount -o lower=lower:lower2 upper mount; varve layer origin mount | grep -E 'opaque|redirect|damaged' || :; varve umount mount
          # The name that was removed stays so.
          varve check --repair -y --lower lower:lower2 upper; ours | diff before -; setfattr -x trusted.overlay.${mark%=*} $root
        done
      done
      """)
    #expect(said == "", "\(said)")
  }

  @Test(
    "What the kernel takes late from a listing that was under way when the flag opaque hid it is gone a second later, also for who stands there",
    .enabled(if: Programs.has("python3"), "needs python3"))
  func opaqueDuringListing() throws {
    let below = try MountedVolume()
    defer { below.remove() }
    for name in ["/d", "/d/sub"] { try #require(mkdir(below.path + name, 0o755) == 0) }
    try #require(Calls.write(below.path + "/d/sub/x", "lower") == nil)
    let volume = try below.lowered("cache=exclusive")
    let directory = volume.path + "/d"
    try #require(Calls.write(directory + "/sub/own", "upper") == nil)
    // As a program has that stands there; by its path the directory would be looked up anew.
    let place = open(directory + "/sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { close(place) }
    func refusal(_ name: String) -> Errno? {
      var found = stat()
      return Calls.answer(fstatat(place, name, &found, AT_SYMLINK_NOFOLLOW))
    }
    let reader = try HeldReader(of: directory + "/sub", in: volume.base)
    defer { reader.end() }
    try reader.hold()
    try #require(Calls.run([Program.built("varve"), "chflags", "opaque", directory]) == 0)
    #expect(!reader.hasRead, "the reader was not held up")
    reader.letGo()
    try reader.waitUntilRead()
    #expect(refusal("own") == nil)
    let deadline = Clock.monotonicNanoseconds &+ 5_000_000_000
    while refusal("x") != .noSuchFile {
      try #require(Clock.monotonicNanoseconds < deadline)
    }
  }
}
