// The tool on paths through views, and what it tells of views.

import Foundation
import Glibc
import JSONForm
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite("Verbs on views", .timeLimit(.minutes(2))) struct ViewVerbTests {
    private func stage() throws -> MountedVolume {
      let volume = try MountedVolume()
      try Program.shell(
        """
        chmod 755 .; mkdir -p Library Notes.app/Contents ../fr; touch Library/.localized .dot photo.JPG Notes.app/Contents/x
        echo inside >Library/a.md; echo text >report.txt; echo >data.qqq; touch drawing.xcf secret; chmod 600 secret
        """, in: volume.path)
      return volume
    }

    private func varve(_ words: String..., in directory: String? = nil) throws -> ProgramResult {
      try Program.run(Program.built("varve"), words, in: directory)
    }

    @Test("access, plans, check and exclude take a path through a view for the real one, mounted as well")
    func translated() throws {
      let volume = try stage()
      let place = volume.base + "/fr"
      defer {
        umount2(place, CInt(MNT_DETACH))
        volume.remove()
      }
      let mounted = try varve("mount", "-o", "view=display,lang=fr", volume.upper, place)
      try #require(mounted.exit == 0, "\(mounted.output)")
      let real = volume.path + "/Library/a.md"
      for view in [volume.path + "/.varve/view/fr", place] {
        let shown = view + "/Bibliothèque/a"
        func same(_ words: [String]) throws {
          let (byShown, byReal) = (
            try Program.run(Program.built("varve"), words + [shown]),
            try Program.run(Program.built("varve"), words + [real])
          )
          #expect(byShown.exit == byReal.exit, "\(words): \(byShown.output)")
          #expect(byShown.output.replacing(shown, with: real) == byReal.output, "\(words)")
          #expect(!byShown.output.isEmpty || words.contains("-q"))
        }
        // But for names, which a view does not take, as the reasons say.
        func verdicts(_ path: String, _ user: String) throws -> [String] {
          let told = try varve("access", "--as", user, path).output
          return told.split(separator: "\n").map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
        }
        for user in ["0", "1002:1002"] {
          let (byShown, byReal) = (try verdicts(shown, user), try verdicts(real, user))
          #expect(byShown.count > 10 && byShown.count == byReal.count, "\(byShown)")
          for (one, other) in zip(byShown, byReal) where one != other {
            #expect(["delete no", "rename no", "link no"].contains(one), "\(one), \(other)")
          }
        }
        try same(["chmod", "-n", "600"])
        try same(["chmod", "-nv", "+a", "user:1002 deny read"])
        try same(["chflags", "-nv", "hidden"])
        try same(["chown", "-nv", "1002"])
        #expect(try Text.read(real) == "inside\n")
        // Also of what the view hides.
        let whole = try varve("check", view)
        #expect(whole.exit == 0)
        #expect(whole.output == (try varve("check", volume.path).output))
        #expect(try varve("exclude", "--tag", "-v", view + "/Bibliothèque").output.contains("CACHEDIR.TAG"))
        #expect(access(volume.path + "/Library/CACHEDIR.TAG", F_OK) == 0)
        #expect(try varve("exclude", "--check", view + "/Bibliothèque").exit == 0)
        #expect(try varve("exclude", "--remove", "--tag", view + "/Bibliothèque").exit == 0)
        #expect(access(volume.path + "/Library/CACHEDIR.TAG", F_OK) != 0)
        #expect(try varve("name", "--real", shown).output == real + "\n")
        let why = try varve("why", "read", shown)
        #expect(why.exit == 0 && why.output.contains("Library/a.md: read allowed"), "\(why.output)")
        let typed = (view + "/Bibliothèque/x", view + "/Bibliothèque/y")
        let denied = try varve("why", "create", typed.0).output
        #expect(denied.hasPrefix("denied: root may not create \(typed.0) (EROFS)\n"), "\(denied)")
        let moved = try varve("why", "rename", shown, typed.1).output
        #expect(moved.hasPrefix("denied: root may not rename \(shown) to \(typed.1) (EROFS)\n"), "\(moved)")
        let table = try varve("access", "delete", shown).output
        let words = "items cannot be made, moved or removed in a view; use the real path"
        #expect(table.hasSuffix("  no   Library: delete: \(words)\n"), "\(table)")
      }
    }

    @Test("status of what is in a view names the view, mounted as well, and tells of the volume as ever")
    func status() throws {
      let volume = try stage()
      let place = volume.base + "/fr"
      defer {
        umount2(place, CInt(MNT_DETACH))
        volume.remove()
      }
      try #require(try varve("mount", "-o", "view=all,lang=fr:de", volume.upper, place).exit == 0)
      let view = volume.path + "/.varve/view/"
      let places = [
        (place, "fr+de,all"), (place + "/Bibliothèque/a", "fr+de,all"),
        (view + "default,ext=bit", "default,ext=bit"),
        (view + "de/Bibliothek/..", "de"),
      ]
      for (path, name) in places {
        let lines = try varve("status", path).output.split(separator: "\n").map { $0.split(separator: " ") }
        #expect(lines.first == [volume.upper[...], "on", volume.path[...]], "\(lines)")
        #expect(lines.dropFirst().first == ["view:", name[...]], "\(lines)")
        let told = JSON(Array(try varve("status", "--json", path).output.utf8))
        #expect(told?["view"] == .string(name) && told?["securelevel"] != nil, "\(path)")
      }
      for path in [volume.path, volume.path + "/Library", view + "de/.."] {
        #expect(try varve("status", path).output.hasPrefix("\(volume.upper) on \(volume.path)\n"))
        #expect(try !varve("status", path).output.contains("view:"), "\(path)")
      }
      #expect(try varve("status", "..", in: view + "de/Bibliothek").output.contains(" de\n"))
    }

    @Test("ls leaves out what is hidden or in a package, and an extension is shown by default again")
    func listed() throws {
      let volume = try stage()
      defer { volume.remove() }
      #expect(try varve("ls", "-a", "--skip-hidden", volume.path).output.contains("report.txt"))
      #expect(try !varve("ls", "-a", "--skip-hidden", volume.path).output.contains(".dot"))
      #expect(try varve("ls", "-R", volume.path).output.contains("Contents"))
      let brief = try varve("ls", "-R", "--skip-package-descendants", volume.path).output
      #expect(brief.contains("Notes.app") && brief.contains("a.md"), "\(brief)")
      #expect(!brief.contains("Contents"), "\(brief)")
      let file = volume.path + "/data.qqq"
      let forms = [("--hide-ext", "data"), ("--default-ext", "data.qqq"), ("--show-ext", "data.qqq")]
      for (option, name) in forms {
        #expect(try varve("name", option, file).exit == 0)
        #expect(try varve("name", "--as", "fr", file).output == name + "\n", "\(option)")
      }
    }

    @Test("What a view refuses is among the latest denials, with its reason") func denials() throws {
      let volume = try stage()
      defer { volume.remove() }
      try #require(mkdir(volume.path + "/.varve/view/fr/new", 0o755) != 0 && errno == EROFS)
      let made = try varve("why", "--last", "1", in: volume.path).output
      #expect(made.contains("/new") && made.contains("made, moved or removed in a view"), "\(made)")
      try #require(opendir(volume.path + "/.varve/view") == nil && errno == EACCES)
      let listed = try varve("why", "--last", "1", in: volume.path).output
      #expect(listed.contains("/.varve/view"), "\(listed)")
      #expect(listed.contains("the names in it have to be known"), "\(listed)")
      // Users hear of their own.
      let path = volume.path + "/.varve"
      #expect(TestUser.bob.run { Calls.list(path).refusal } == .accessDenied)
      let client = try WhyClient(volume)
      let answer = TestUser.bob.run { try? client.ask("denials", [JSON.Member("count", .number(9))]) }
      guard case .array(let denials)? = answer?["denials"] else { throw TestFailure("no denials") }
      #expect(denials.map { $0["path"]?.string } == [".varve"])
      #expect(denials.first?["operation"]?.string == "list")
    }

    @Test(
      "kind tells what the desktop knows of an extension, by the real name also where a view hides it",
      .enabled(if: Programs.has("update-mime-database"), "needs shared-mime-info"))
    func kinds() throws {
      let volume = try stage()
      defer { volume.remove() }
      let (real, shown) = (volume.path + "/drawing.xcf", volume.path + "/.varve/view/fr,ext=all/drawing")
      let told = try varve("kind", real).output
      #expect(told.contains("image/x-xcf") && told.contains("GIMP"), "\(told)")
      #expect(try varve("kind", shown).output.replacing(shown, with: real) == told)
      #expect(try varve("kind", volume.path).output.contains("public.volume"))
    }

    @Test("kind calls packages what they are, and no folders, whatever the desktop knows") func packages()
      throws
    {
      let volume = try stage()
      defer { volume.remove() }
      try Program.shell("mkdir text.rtfd; touch Notes.app/Contents/Info.plist", in: volume.path)
      #expect(
        try varve("kind", "Notes.app", "text.rtfd", in: volume.path).output == """
          Notes.app: application, com.apple.application-bundle, inode/directory, application-x-executable, package and bundle
          text.rtfd: package, com.apple.rtfd, inode/directory, package-x-generic

          """)
      let told = try varve("kind", "--json", volume.path + "/.varve/view/fr/Notes").output
      #expect(told.contains("\"description\": \"application\""), "\(told)")
    }
  }
}
