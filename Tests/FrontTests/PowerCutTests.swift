import Faults
import Foundation
import LinuxFiles
import MountSupport
import Testing

// The power fails in the place of each system call that changes something while the content of a file is replaced, or its
// class: the daemon ends there, and the disk is what the file system had written by then. What was not synced is lost, as
// it is on a machine.

extension FrontTests {
  @Suite(
    "The power fails while content is replaced", .timeLimit(.minutes(10)),
    .enabled(
      if: Machine.canMount && Machine.knows(fileSystem: "ext4") && Programs.has("mkfs.ext4"),
      "needs root, /dev/fuse, ext4 and its mkfs"))
  struct PowerCutTests {
    /// The form before, and the shell line in which the power fails.
    private static let deeds = [
      ("plain", "compress zstd"), ("compressed", "compress none"), ("plain", "protect complete"),
      ("encrypted", "protect none"), ("encrypted", "protect until-first-unlock"),
      ("compressed", "overwrite"),
    ]

    private static let prelude = """
      \(ScriptShell.settled)
      compress() { setfattr -n system.varve.compression -v $1 mount/f; }
      protect() { setfattr -n system.varve.class -v $1 mount/f; }
      overwrite() { printf NEW | dd of=mount/f bs=1 seek=100000 conv=notrunc,fsync status=none; }
      grant() { setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 mount/f; }
      attach() { mount -o loop $1 disk && varve mount -o keyfile=key disk/upper mount; }
      detach() { varve umount mount && umount disk; }
      look() { stat -c '%h %a %U %s %.9Y' mount/f; getfattr -n security.capability -e hex mount/f 2>&1 || :; sha1sum < mount/f; cmp mount/f mount/link; }
      # The bytes below are those that the record says they are.
      below() { if ! getfattr -n trusted.varve.m disk/upper/f >/dev/null 2>&1; then cmp mount/f disk/upper/f; fi; }

      """

    private let scripts = ScriptShell(prelude: prelude)

    @Test("It has its old or its new content, whole, and its time of modification", arguments: deeds.indices)
    func cut(number: Int) throws {
      let (form, deed) = PowerCutTests.deeds[number]
      let stage = try DiskStage()
      defer { stage.remove() }
      let base = stage.base
      let prepare =
        ["compressed": "settled compress zstd", "encrypted": "grant && settled protect complete"][form]
        ?? "true"
      _ = try scripts.must(
        """
        truncate -s 24M before; mkfs.ext4 -q before; mount -o loop before disk; mkdir disk/upper
        varve key create key; varve mount disk/upper mount; varve key slot add mount key; varve unlock mount key
        seq 40000 > mount/f; ln mount/f mount/link; chmod 640 mount/f; \(prepare); varve umount mount; umount disk
        cp --sparse=always before now; attach now; look > old; settled \(deed); look > new; detach
        """, in: base)
      let faults = try DaemonFaults("\(base)/faults", library: Program.built("libVarveFaults.so"))
      var (cuts, after) = (0, 0)
      while true {
        _ = try scripts.must(
          "cp --sparse=always before now; attach now; look | cmp old -", in: base, faults.environment)
        faults.begin(Fault.killing(.changes, after: after))
        let said = try scripts.run(
          """
          for i in $(seq 50); do \(deed) 2>said; grep -q 'resource busy' said || break; sleep 0.05; done
          cp --sparse=always now cut
          """, in: base)
        let hits = faults.end()
        umount2(base + "/mount", CInt(MNT_DETACH))
        _ = try scripts.must("settled umount disk", in: base)
        guard hits > 0 else {
          #expect(said.exit == 0, "\(said.output)")
          break
        }
        cuts += 1
        let seen = try scripts.run(
          """
          settled attach cut && look > seen
          cmp -s old seen || cmp -s new seen || { cat old seen; exit 1; }
          test "$(ls -A disk/upper/.varve/work | wc -l)" = 0 || exit 2
          below && settled protect none && settled compress none && below || exit 3
          look | cmp - seen && detach || exit 4
          """, in: base)
        #expect(seen.exit == 0, "cut at call \(after) of '\(deed)', \(form): \(seen.exit) \(seen.output)")
        guard seen.exit == 0 else { break }
        after += 1
      }
      print("\(form), \(deed): \(cuts) cuts")
      #expect(cuts > 10)
    }
  }
}
