import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite(
    "Memory of the tool", .timeLimit(.minutes(2)),
    .enabled(if: Programs.has("python3"), "needs python3 to ask what a program took"))
  struct ToolMemoryTests {
    /// Runs a program and prints the most memory it had, in KiB.
    ///
    /// Not done here: what a program has before it begins, a copy of these tests, would count.
    private static let measuring = """
      import resource, subprocess, sys
      status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
      print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
      sys.exit(status)
      """

    private func peak(_ words: [String]) throws -> Int {
      let python = try #require(Programs.path(of: "python3"))
      let result = try Program.run(python, ["-c", Self.measuring, Program.built("varve")] + words)
      try #require(result.exit == 0, "\(words): \(result.output)")
      return try #require(Int(result.output.filter { $0 != "\n" }), "\(result.output)")
    }

    @Test(
      "To change 50,000 items takes no more memory than 5,000, with a way back; to dump and restore neither")
    func bounded() throws {
      let volume = try MountedVolume(base: try TemporaryDirectory.makeInMemory())
      defer { volume.remove() }
      let entry = "group:7001 allow list,search,readattr,file_inherit,directory_inherit"
      var peaks: [String: [Int]] = [:]
      for (name, count) in [("small", 50), ("large", 500)] {
        try Program.shell(
          """
          mkdir \(name); cd \(name)
          for d in {1..100}; do mkdir $d; (cd $d; eval "touch f{1..\(count)}"); done
          """, in: volume.upper)
        let tree = "\(volume.path)/\(name)"
        try #require(Attribute.set(tree, Attribute.list, entry) == nil)
        let undo = "\(volume.base)/\(name).undo"
        let runs = [
          ["acl", "propagate", "--undo", undo, tree], ["acl", "dump", tree], ["acl", "restore", undo],
          ["find", "-can", "1001:2001:read", "-flags", "nouchg", tree],
        ]
        for run in runs { peaks[run[1], default: []].append(try peak(run)) }
        #expect(try Text.read(undo).split(separator: "\n").count > 100 * count)
      }
      print("KiB for 5,000 and 50,000 items: \(peaks)")
      for (verb, sizes) in peaks {
        #expect(sizes[1] < 40 << 10, "\(verb)")
        #expect(sizes[1] < sizes[0] + (4 << 10), "\(verb): \(sizes)")
      }
    }
  }
}
