// What the kernel is told when names of a view are to be changed, and when what follows from names is.

import CMountSupport
import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("What a view takes", .timeLimit(.minutes(4))) struct ViewStructureTests {
    private func stage() throws -> MountedVolume {
      let volume = try MountedVolume()
      try Program.shell(
        """
        mkdir Library Foo.app && touch Library/.localized Foo.app/x.txt
        echo text >report.txt; echo other >photo.JPG; ln -s report.txt link
        """, in: volume.path)
      return volume
    }

    /// Every call that makes, gives or takes a name, and what it answers.
    private func changes(_ view: String, _ real: String) -> [String: Errno?] {
      let inside = view + "/Foo"
      let exchanged = lt_renameat2(AT_FDCWD, view + "/report", AT_FDCWD, real + "/photo.JPG", 2)
      return [
        "open": Calls.create(view + "/new"), "mkdir": Calls.answer(mkdir(view + "/new", 0o755)),
        "nameless": Calls.open(view, O_RDWR | lt_o_tmpfile),
        "mkfifo": Calls.answer(mkfifo(view + "/new", 0o644)),
        "symlink": Calls.answer(symlink("x", view + "/new")),
        "link": Calls.answer(link(real + "/report.txt", view + "/new")),
        "unlink": Calls.answer(unlink(view + "/report")),
        "by real name": Calls.answer(unlink(view + "/report.txt")),
        "rmdir": Calls.answer(rmdir(view + "/Bibliothèque")),
        "rename": Calls.answer(rename(view + "/report", view + "/new")),
        "over": Calls.answer(rename(view + "/report", view + "/photo")),
        "out": Calls.answer(rename(view + "/report", real + "/new")),
        "into": Calls.answer(rename(real + "/report.txt", view + "/new")),
        "exchange": exchanged < 0 ? Errno(rawValue: CInt(-exchanged)) : nil,
        "in a package": Calls.create(inside + "/new"),
        "of a package": Calls.answer(unlink(inside + "/x.txt")),
      ]
    }

    @Test("Whatever would change names of a view is EROFS to everybody, and changes nothing") func structure()
      throws
    {
      let volume = try stage()
      defer { volume.remove() }
      let view = volume.path + "/.varve/view/fr"
      let hasNamelessFiles = Calls.open(volume.path, O_RDWR | lt_o_tmpfile) == nil
      let before = try Program.shell("find . -printf '%p %i %n\\n' | sort", in: volume.path).output
      for (who, answers) in [
        ("root", changes(view, volume.path)), ("bob", TestUser.bob.run { changes(view, volume.path) }),
      ] {
        // Before Linux 6.2 no FUSE file system has files without a name.
        for (call, answer) in answers where call != "nameless" || hasNamelessFiles {
          #expect(answer == .readOnly, "\(who): \(call)")
        }
      }
      #expect(try Program.shell("find . -printf '%p %i %n\\n' | sort", in: volume.path).output == before)
      #expect(Calls.answer(mkdir(volume.path + "/.varve/view/newer", 0o755)) == .notPermitted)
      // What is there is opened all the same, and changed.
      #expect(Calls.write(view + "/report", "more", O_CREAT | O_TRUNC) == nil)
      #expect(Calls.read(volume.path + "/report.txt") == .success("more"))
      #expect(Calls.answer(truncate(view + "/report", 2)) == nil)
      #expect(Calls.answer(chmod(view + "/Bibliothèque", 0o700)) == nil)
      #expect(try Calls.status(volume.path + "/Library").get().st_mode & 0o777 == 0o700)
      #expect(Attribute.set(view + "/report", "user.note", "x") == nil)
      #expect(Attribute.text(volume.path + "/report.txt", "user.note") == .success("x"))
    }

    @Test(
      "A link has its own text, and what is relative in that is found in the view, by real and shown names")
    func links() throws {
      let volume = try stage()
      defer { volume.remove() }
      try Program.shell(
        """
        echo inside >Library/a.md; ln -s Library/a.md real; ln -s Bibliothèque/a shown; ln -s ../report.txt Library/up
        ln -s "$PWD/Library/a.md" away; ln -s "$PWD/.varve/view/de/Bibliothek/a" over
        """, in: volume.path)
      let view = volume.path + "/.varve/view/fr"
      let output = try Program.shell(
        """
        for name in link real shown Bibliothèque/up away over; do echo "$name: $(readlink $name), $(readlink -f $name), $(cat $name)"; done
        """, in: view
      ).output
      let (report, shown) = ("\(view)/report.txt", "\(view)/Bibliothèque/a")
      #expect(
        output.replacing(volume.path, with: "MOUNT")
          == """
          link: report.txt, \(report), text
          real: Library/a.md, \(view)/Library/a.md, inside
          shown: Bibliothèque/a, \(shown), inside
          Bibliothèque/up: ../report.txt, \(report), text
          away: MOUNT/Library/a.md, MOUNT/Library/a.md, inside
          over: MOUNT/.varve/view/de/Bibliothek/a, MOUNT/.varve/view/de/Bibliothek/a, inside

          """.replacing(volume.path, with: "MOUNT"))
      #expect(Calls.read(volume.path + "/shown").refusal == .noSuchFile)
    }

    @Test("What follows from names is neither listed nor set, in the tree and in views") func facts() throws {
      let volume = try stage()
      defer { volume.remove() }
      let view = volume.path + "/.varve/view/fr"
      let words = ["displayname", "displayname.fr", "realname", "uti", "mime", "icon", "hidden", "package"]
      for path in [
        volume.path + "/report.txt", volume.path + "/Library", view + "/report", view + "/Bibliothèque",
      ] {
        for name in words.flatMap({ ["user.varve.\($0)", "system.varve.\($0)"] }) {
          #expect(Attribute.get(path, name).refusal == nil, "\(name)")
          #expect(Attribute.set(path, name, "x") == .notPermitted, "\(name)")
          #expect(Attribute.remove(path, name) == .notPermitted, "\(name)")
        }
        #expect(try Attribute.names(path).get().allSatisfy { !$0.contains("varve") })
        #expect(Attribute.get(path, "user.varve.other").refusal == .noData)
      }
      for path in [volume.path + "/link", view + "/link"] {
        #expect(Attribute.text(path, "system.varve.realname") == .success("link"))
        #expect(Attribute.text(path, "system.varve.uti") == .success("public.symlink"))
      }
    }

    @Test("There is no .varve in a view, however it is asked for") func reserved() throws {
      let volume = try stage()
      defer { volume.remove() }
      for name in ["fr", "fr,all", "default,ext=never"] {
        let view = volume.path + "/.varve/view/" + name
        #expect(Calls.status(view + "/.varve").refusal == .noSuchFile)
        #expect(Calls.status(view + "/.varve/view/fr").refusal == .noSuchFile)
        #expect(try !Calls.list(view).get().contains(".varve"))
      }
      for place in ["", "/view"] {
        #expect(TestUser.bob.run { Calls.list(volume.path + "/.varve" + place).refusal } == .accessDenied)
      }
    }
  }
}
