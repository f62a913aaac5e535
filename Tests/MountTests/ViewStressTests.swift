// Views while names change, and views of every kind of mount.

import CMountSupport
import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Randomness
import Synchronization
import Testing

extension MountTests {
  @Suite("Views under change, and of every mount", .timeLimit(.minutes(4))) struct ViewStressTests {
    /// For behind the mount: a view may be a second behind, and the machine takes its time.
    private static let grace: UInt64 = 1_500_000_000

    @Test(
      "Whatever changes, a name of a view opens what bears it then, and names that stay never fail",
      arguments: [false, true])
    func stress(isBehind: Bool) throws {
      let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"
      let changes = isBehind ? (isLong ? 20_000 : 2_000) : (isLong ? 200_000 : 10_000)
      let volume = try MountedVolume()
      defer { volume.remove() }
      let seed = UInt64.random(in: 0...(.max))
      let real = try volume.directory("d", 0, 0, 0o755)
      let world =
        isBehind
        ? try ComingAndGoing(volume.upper + "/d", grace: Self.grace) : try ComingAndGoing(real)
      var crowd = Crowd()
      for (number, view) in ["fr", "de,all"].enumerated() {
        let path = "\(volume.path)/.varve/view/\(view)/d"
        try crowd.add { world.read(in: path, seed: seed &+ UInt64(number)) }
        try crowd.add { world.list(path) }
      }
      do {
        defer {
          world.isOver.store(true, ordering: .releasing)
          crowd.join()
        }
        // Behind the mount one is done too soon to be looked at.
        try world.change(changes, seed: seed, looks: isBehind ? 8 : 0)
      }
      if isBehind {
        let end = Clock.monotonicNanoseconds &+ Self.grace
        while Clock.monotonicNanoseconds < end { usleep(10_000) }
      }
      for view in ["fr", "de,all"] { world.expectSettled(in: "\(volume.path)/.varve/view/\(view)/d") }
      #expect(world.failures.withLock { $0 } == [], "seed \(seed)")
      #expect(world.looks.load(ordering: .relaxed) > 100)
    }

    private func stage(_ volume: MountedVolume) throws {
      try Program.shell(
        """
        mkdir Library Foo.app && touch Library/.localized Foo.app/x.txt
        echo text >report.txt; echo hidden >.dot; echo own >Library/notes.md
        """, in: volume.path)
    }

    @Test(
      "A view shows the same with every option, and content is written as far as the mount allows",
      arguments: [
        "noacl", "noowners", "cache=none", "cache=exclusive", "passthrough=off", "securelevel=1", "ro",
      ])
    func options(words: String) throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try stage(volume)
      try volume.unmount()
      try volume.mount(more: words)
      let view = volume.path + "/.varve/view/fr"
      #expect(
        try Program.shell("ls; ls -A Foo; cat report", in: view).output
          == "Bibliothèque\nFoo\nreport\nx.txt\ntext\n")
      let isReadOnly = words == "ro"
      #expect(Calls.write(view + "/report", "more", O_TRUNC) == (isReadOnly ? .readOnly : nil))
      #expect(Calls.read(volume.path + "/report.txt").refusal == nil)
      #expect(mkdir(view + "/new", 0o755) != 0 && errno == EROFS)
      #expect(rename(view + "/report", view + "/other") != 0 && errno == EROFS)
      #expect(Attribute.text(view + "/Bibliothèque/notes", "user.varve.realname") == .success("notes.md"))
    }

    @Test("Without the directory of the volume there are no views, and facts remain") func noMagic() throws {
      let volume = try MountedVolume("nomagic")
      defer { volume.remove() }
      try stage(volume)
      #expect(Calls.status(volume.path + "/.varve/view/fr").refusal == .noSuchFile)
      #expect(
        Attribute.text(volume.path + "/Library", "user.varve.displayname.fr") == .success("Bibliothèque"))
    }

    @Test("After the daemon was killed a view shows what was changed through it, and who was in it is told")
    func killed() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try stage(volume)
      let view = volume.path + "/.varve/view/fr"
      #expect(try Program.shell("ls", in: view).output == "Bibliothèque\nFoo\nreport\n")
      func set(_ name: String, _ attribute: String, _ value: String) throws {
        if let error = Attribute.set(view + "/" + name, attribute, value) {
          throw TestFailure("\(name): \(error)")
        }
      }
      try set("Bibliothèque/notes", "system.varve.extension", "show")
      try set("Bibliothèque/notes.md", Attribute.list, "user:1001 allow read")
      try set("Foo", Attribute.flags, "hidden")
      try #require(chmod(view + "/Bibliothèque", 0o711) == 0)
      try #require(Calls.write(view + "/report", "more", O_APPEND) == nil)
      let inside = open(view + "/Bibliothèque", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      try #require(inside >= 0)
      defer { close(inside) }
      try volume.kill()
      var status = Glibc.stat()
      #expect(fstatat(inside, "never asked for", &status, 0) != 0 && errno == ENOTCONN)
      try volume.mount()
      #expect(fstatat(inside, "never asked for", &status, 0) != 0 && errno == ENOTCONN)
      #expect(
        try Program.shell("ls . Bibliothèque; stat -c %a Bibliothèque; cat report", in: view).output
          == ".:\nBibliothèque\nreport\n\nBibliothèque:\nnotes.md\n711\ntext\nmore")
      #expect(try Program.shell("ls -AU", in: view + ",all").output == ".dot\nBibliothèque\nFoo\nreport\n")
      #expect(
        Attribute.text(view + "/Bibliothèque/notes.md", Attribute.list) == .success("user:1001 allow read\n"))
    }

    @Test(
      "A user's own mount has views with what the user may read",
      .enabled(if: UserMountTests.hasTools, "needs fusermount3 and setpriv"))
    func usersMount() throws {
      let result = try UserMountTests().inOwnWorld(
        """
        as_user '
        varve mount upper mount
        mkdir mount/Library mount/Fotos.localized mount/Fotos.localized/.localized
        touch mount/Library/.localized mount/.dot; echo text > mount/report.txt
        varve name --localize fr=Photos mount/Fotos.localized
        ls mount/.varve/view/fr; cat mount/.varve/view/fr/report
        varve ls --display --as de mount
        varve name --hide-ext mount/report.txt; varve name --as fr mount/report.txt
        if mkdir mount/.varve/view/fr/new 2> /dev/null; then exit 10; fi
        varve mount -o view=display upper mount 2> /dev/null && exit 11
        mkdir mount/Shut.localized; varve name --localize fr=Ouvert mount/Shut.localized; ls mount/.varve/view/fr | grep Ouvert
        '
        # What the daemon itself cannot read is not there.
        chown -R 0:0 upper/Shut.localized/.localized; chmod 700 upper/Shut.localized/.localized
        as_user '
        for i in $(seq 100); do ls mount/.varve/view/fr | grep Shut && break; sleep 0.05; done; varve name --as fr mount/Shut.localized
        varve umount mount
        '
        """)
      #expect(
        result.output
          == "Bibliothèque\nPhotos\nreport\ntext\nBibliothek\nFotos\nreport\nreport\nOuvert\nShut\nShut\n",
        "exit \(result.exit)")
      #expect(result.exit == 0)
    }

    @Test("Nothing that is mounted over what makes a name is read for it") func mountedOver() throws {
      let volume = try MountedVolume()
      let inside = volume.upper + "/A.localized/.localized"
      defer {
        umount2(inside, CInt(MNT_DETACH))
        volume.remove()
      }
      let result = try Program.shell(
        """
        mkdir -p mount/A.localized/.localized other
        echo '"A" = "Eigen";' >mount/A.localized/.localized/fr.strings; echo '"A" = "Fremd";' >other/fr.strings
        ls mount/.varve/view/fr
        mount --bind other '\(inside)'; mkdir mount/B; ls mount/.varve/view/fr; umount '\(inside)'
        mount --bind other/fr.strings '\(inside)/fr.strings'; mkdir mount/C; ls mount/.varve/view/fr
        umount '\(inside)/fr.strings'; mkdir mount/D; ls mount/.varve/view/fr
        """, in: volume.base)
      #expect(result.exit == 0 && !result.output.contains("Fremd"), "\(result.output)")
      #expect(result.output.hasPrefix("Eigen\n"), "\(result.output)")
      #expect(result.output.hasSuffix("B\nC\nD\nEigen\n"), "\(result.output)")
    }

    @Test("With 1,024 descriptors a view of many directories is walked and kept open") func descriptors()
      throws
    {
      let base = try TemporaryDirectory.make()
      defer {
        umount2(base + "/mount", CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      let result = try Program.shell(
        """
        set -e; mkdir upper mount; ulimit -n 1024
        '\(Program.built("varve"))' mount upper mount
        python3 - <<'END'
        import os
        os.chdir('mount')
        for i in range(1200):
            os.makedirs(f'd{i % 30}/Sub {i}.localized/.localized')
            with open(f'd{i % 30}/Sub {i}.localized/.localized/fr.strings', 'w') as f:
                f.write(f'"Sub {i}" = "Sous {i}";')
            open(f'd{i % 30}/Sub {i}.localized/a.txt', 'w').close()
        END
        find mount/.varve/view/fr | sort | md5sum
        find mount/.varve/view/fr -name 'Sous *' | wc -l
        find mount/.varve/view/fr -name a | wc -l
        find mount/.varve/view/fr | sort | md5sum
        '\(Program.built("varve"))' umount mount
        """, in: base)
      let lines = result.output.split(separator: "\n")
      try #require(lines.count == 4, "\(result.output)")
      #expect(lines[0] == lines[3] && lines[1] == "1200" && lines[2] == "1200", "\(result.output)")
    }
  }
}
