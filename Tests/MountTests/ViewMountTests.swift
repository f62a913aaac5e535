import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Views through the kernel", .timeLimit(.minutes(2))) struct ViewMountTests {
    private func stage(_ options: String = "") throws -> MountedVolume {
      let volume = try MountedVolume(options)
      try Program.shell(
        """
        mkdir Library Library/Caches && touch Library/.localized
        echo inside > Library/Caches/a.md
        echo text > report.txt
        touch photo.JPG file9.txt file10.txt .dot
        """, in: volume.path)
      return volume
    }

    private func mount(_ volume: MountedVolume, _ options: String, _ place: String) throws -> Int32 {
      try Program.run(
        Program.built("varve"), ["mount", "-o", options, volume.upper, place]
      ).exit
    }

    @Test("A file has one content, one lock and one inode under all its names") func oneFile() throws {
      let volume = try stage()
      defer { volume.remove() }
      let view = volume.path + "/.varve/view"
      let paths = ["\(volume.path)/report.txt", "\(view)/de/report", "\(view)/fr/report.txt"]
      var inodes: Set<ino_t> = []
      for path in paths {
        inodes.insert(try #require(BytePath(path).inode))
      }
      #expect(inodes.count == 1)
      let first = open(paths[0], O_RDWR)
      let second = open(paths[1], O_RDWR)
      defer {
        close(first)
        close(second)
      }
      try #require(first >= 0 && second >= 0)
      #expect(flock(first, LOCK_EX | LOCK_NB) == 0)
      #expect(flock(second, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
      #expect(pwrite(first, "TEXT", 4, 0) == 4)
      #expect(try Text.read(paths[2]) == "TEXT\n")
    }

    @Test(
      "A mapping and a lease are of the file, by whichever name it was opened",
      .enabled(if: Programs.has("python3")))
    func mappingAndLease() throws {
      let volume = try stage()
      defer { volume.remove() }
      let result = try Program.shell(
        """
        python3 - <<'END'
        import fcntl, mmap, os, signal
        real, view = 'report.txt', '.varve/view/de/report'
        fd = os.open(view, os.O_RDWR)
        with mmap.mmap(fd, 4) as shown:
            shown[0:1] = b'T'
            print(open(real).read(), end='')
            with open(real, 'r+') as file:
                file.write('TE')
            print(shown[0:4].decode())
        os.close(fd)
        broken = []
        signal.signal(signal.SIGIO, lambda *_: broken.append(1))
        reader = os.open(view, os.O_RDONLY)
        fcntl.fcntl(reader, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        for name in real, '.varve/view/fr/report.txt':
            try:
                os.close(os.open(name, os.O_WRONLY | os.O_NONBLOCK))
                print('opened')
            except BlockingIOError:
                print('held')
        fcntl.fcntl(reader, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        os.close(os.open(real, os.O_WRONLY | os.O_NONBLOCK))
        print('free', len(broken) > 0)
        END
        """, in: volume.path)
      #expect(result.output == "Text\nTExt\nheld\nheld\nfree True\n")
    }

    @Test("The working directory of a program stays where it is, whatever names others use")
    func workingDirectory()
      throws
    {
      let volume = try stage()
      defer { volume.remove() }
      let place = volume.path + "/.varve/view/de/Bibliothek/Caches"
      let real = volume.path + "/Library/Caches"
      let result = try Program.shell(
        "ls ../../Library/Caches '\(real)' > /dev/null; cat '\(real)/a.md' > /dev/null; /bin/pwd; cat a",
        in: place)
      #expect(result.output == place + "\ninside\n")
    }

    @Test(
      "find, du, tar, cp and rsync out of a view copy what it shows, by the names that it shows",
      .enabled(if: Programs.has("tar", "rsync"), "needs tar and rsync"))
    func copies() throws {
      let volume = try stage()
      defer { volume.remove() }
      let view = volume.path + "/.varve/view/de"
      let found = try Program.shell("find . | sort", in: view).output
      #expect(
        found
          == [
            ".", "./Bibliothek", "./Bibliothek/Caches", "./Bibliothek/Caches/a", "./file10", "./file9",
            "./photo",
            "./report", "",
          ].joined(separator: "\n"))
      #expect(try Program.shell("du -a . | cut -f 2 | sort", in: view).output == found)
      for copy in ["tar cf - . | tar xf - -C \"$copy\"", "rsync -a ./ \"$copy\"", "cp -a . \"$copy\""] {
        let copied = try Program.shell(
          "copy=$(mktemp -d -p '\(volume.base)'); \(copy); cd \"$copy\"; find . | sort; cat Bibliothek/Caches/a",
          in: view)
        #expect(copied.output == found + "inside\n", "\(copy)")
      }
      // An item is the same by each of its names.
      for real in ["report.txt", "../de/report", "../fr,ext=all/report", "../../../report.txt"] {
        let refused = try Program.run("/bin/bash", ["-c", "LC_ALL=C cp report \(real)"], in: view)
        #expect(refused.exit == 1 && refused.output.contains("are the same file"), "\(refused.output)")
      }
    }

    @Test("A view is mounted where one likes, with flags of its own, and goes by itself or with its volume")
    func mounts() throws {
      let volume = try stage()
      defer { volume.remove() }
      let directory = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(directory) }
      let (french, german) = (directory + "/fr", directory + "/de")
      try #require(mkdir(french, 0o755) == 0 && mkdir(german, 0o755) == 0)
      #expect(try mount(volume, "view=display,lang=fr", french) == 0)
      #expect(try mount(volume, "view=all,lang=de,ro,noexec", german) == 0)
      #expect(try Program.shell("ls", in: french).output.hasPrefix("Bibliothèque\n"))
      #expect(try Program.shell("ls -A", in: german).output.hasPrefix(".dot\nBibliothek\n"))
      #expect(open(german + "/report", O_WRONLY) < 0 && errno == EROFS)
      let file = open(french + "/report", O_WRONLY)
      #expect(file >= 0)
      close(file)
      let status = try Program.run(Program.built("varve"), ["status"]).output
      #expect(status.contains("view fr of \(volume.upper) on \(french)"))
      #expect(try Program.run(Program.built("varve"), ["umount", french]).exit == 0)
      #expect(try Program.shell("ls", in: german).output.contains("Bibliothek"))
      #expect(try Program.run(Program.built("varve"), ["umount", volume.path]).exit == 0)
      #expect(try Program.shell("ls", in: german).output.isEmpty)
    }

    @Test(
      "What is no view, or no option of one, is refused with the number of mount(8), and nothing is mounted")
    func refusals() throws {
      let volume = try stage()
      defer { volume.remove() }
      let place = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(place) }
      for (options, status) in [
        ("view=finder", 1), ("view=display,lang=DE", 1), ("view=display,acl", 1),
        ("view=display,ext=some", 1),
        ("ext=bit", 1), ("lang=x", 1),
      ] as [(String, Int32)] {
        #expect(try mount(volume, options, place) == status, "\(options)")
      }
      let ofVolume = [
        "acl", "noacl", "owners", "noowners", "securelevel=1", "suiddir", "admin_group=0", "chattr=user",
        "groups=nss", "cache=none", "twins", "keyfile=x", "passphrase_file=x", "audit=journal",
        "passthrough=off", "threads=2", "clone_fd", "fsname=x", "nomagic", "debug", "foreground",
        "lower=/tmp",
        "upperdir=/tmp", "allow_other", "sync", "dirsync", "no_epoch", "nonsense",
      ]
      for option in ofVolume {
        #expect(try mount(volume, "view=display,lang=fr,\(option)", place) == 1, "\(option)")
      }
      let other = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(other) }
      let unmounted = try Program.run(
        Program.built("varve"), ["mount", "-o", "view=display", other, place])
      #expect(unmounted.exit == 32)
      #expect(try Program.shell("ls", in: place).output.isEmpty)
    }

    @Test(
      "The view default has the languages of the volume, and so has one that is mounted without any",
      arguments: [("lang=fr+de", "Bibliothèque\n"), ("", "file9\n")])
    func defaultLanguages(_ options: String, _ first: String) throws {
      let volume = try stage(options)
      let place = volume.base + "/default"
      defer {
        umount2(place, CInt(MNT_DETACH))
        volume.remove()
      }
      try #require(mkdir(place, 0o755) == 0)
      #expect(try mount(volume, "view=display", place) == 0)
      for view in [volume.path + "/.varve/view/default", place] {
        #expect(try Program.shell("ls -U", in: view).output.hasPrefix(first), "\(view)")
      }
      let status = try Program.run(Program.built("varve"), ["status"]).output
      #expect(status.contains("view default of \(volume.upper) on \(place)"), "\(status)")
    }

    @Test("why tells of the real objects, and that a view takes no names") func why() throws {
      let volume = try stage()
      defer { volume.remove() }
      let view = volume.path + "/.varve/view/de"
      let varve = Program.built("varve")
      let denied = try Program.run(varve, ["why", "create", view + "/Bibliothek/new"])
      #expect(denied.exit == 1 && denied.output.contains("made, moved or removed in a view"))
      #expect(denied.output.contains("\n  Library: create denied"))
      let allowed = try Program.run(varve, ["why", "read", view + "/Bibliothek/Caches/a"])
      #expect(allowed.exit == 0 && allowed.output.contains("Library/Caches/a.md: read allowed"))
    }

    @Test("varve ls, name and kind tell what a view shows, and the way back") func verbs() throws {
      let volume = try stage()
      defer { volume.remove() }
      let varve = Program.built("varve")
      let library = volume.path + "/Library"
      for words in [["ls", "--display", "--as", "DE"], ["name", "--as", "fr+fr"]] {
        let refused = try Program.run(varve, words + [library])
        #expect(refused.exit == 2 && refused.output.split(separator: "\n").count == 1)
        #expect(refused.output.contains("is not a language such as fr or pt-BR"), "\(refused.output)")
      }
      for (typed, meant) in [("fr_FR", "fr-FR"), ("de_DE.UTF-8:fr", "de-DE+fr"), ("pt_BR,fr", "pt-BR+fr")] {
        let refused = try Program.run(varve, ["ls", "--display", "--as", typed, volume.path])
        #expect(refused.exit == 2 && refused.output.contains("; write \(meant)\n"), "\(refused.output)")
      }
      let german = "Bibliothek\nfile9\nfile10\nphoto\nreport\n"
      // A path in a view is listed as that view, unless languages are named.
      let view = volume.path + "/.varve/view/de"
      for words in [["--as", "de", volume.path], ["--as", "de:fr", volume.path], [view]] {
        #expect(try Program.run(varve, ["ls", "--display"] + words).output == german)
      }
      #expect(
        try Program.run(varve, ["ls", "--display", "--as", "fr", view]).output
          .hasPrefix("Bibliothèque\n"))
      #expect(
        try Program.run(varve, ["ls", "--display", "-A", "--as", "de", volume.path]).output.hasPrefix(
          ".dot\n"))
      // A file by the name that is shown, a directory too if it is an item; a shown name is no path in the ordinary tree.
      let file = volume.path + "/report.txt"
      for (words, shown) in [
        (["--as", "fr", file], volume.path + "/report"), ([view + "/report.txt"], view + "/report"),
        ([view + "/report"], view + "/report"),
        (["--as", "fr", "-d", library + "/"], volume.path + "/Bibliothèque/"),
        (["--as", "fr", volume.path + "/.dot"], volume.path + "/.dot"),
      ] {
        #expect(try Program.run(varve, ["ls", "--display"] + words).output == shown + "\n")
      }
      let here = try Program.run(varve, ["ls", "--display", "--as", "fr", "report.txt"], in: volume.path)
      #expect(here.output == "report\n")
      for words in [["ls", "--display", "--as", "fr"], ["name", "--real"]] {
        for name in ["/Bibliothèque", "/Bibliothèque/Caches", "/none"] {
          let refused = try Program.run(varve, words + [volume.path + name])
          #expect(refused.exit == 1 && refused.output.split(separator: "\n").count == 1, "\(refused.output)")
          #expect(refused.output.contains("(ENOENT)"), "\(refused.output)")
        }
      }
      let alone = try Program.run(varve, ["ls", "--as", "fr", volume.path])
      #expect(
        alone.exit == 2 && alone.output.hasPrefix("varve ls: --as goes with --display"), "\(alone.output)")
      #expect(alone.output.filter(\.isNewline).count == 1)
      #expect(try Program.run(varve, ["name", "--as", "fr", library]).output == "Bibliothèque\n")
      #expect(try Program.run(varve, ["name", view + "/Library"]).output == "Bibliothek\n")
      let shown = volume.path + "/.varve/view/fr/Bibliothèque/Caches/a"
      #expect(try Program.run(varve, ["name", "--real", shown]).output == "\(library)/Caches/a.md\n")
      #expect(
        try Program.run(varve, ["name", "--components", "--as", "fr", library + "/Caches/a.md"]).output
          .hasSuffix(" ▸ Bibliothèque ▸ Caches ▸ a\n"))
      #expect(try Program.run(varve, ["name", "--show-ext", volume.path + "/report.txt"]).exit == 0)
      #expect(
        try Program.run(varve, ["name", "--as", "fr", volume.path + "/report.txt"]).output == "report.txt\n")
      let kind = try Program.run(varve, ["kind", "--json", volume.path + "/report.txt"]).output
      #expect(kind.contains("\"type\": \"public.plain-text\"") && kind.contains("public.text"))
    }
  }
}
