// Views of volumes that have lowers or encrypted directories, through the kernel.

import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension MountTests {
  @Suite(
    "Views of layers and of encrypted directories", .enabled(if: Programs.has("setfattr"), "needs attr"),
    .timeLimit(.minutes(2)))
  struct ViewPairTests {
    @Test(
      "A view that is mounted of a volume over lowers shows the union, and what is changed in it comes up")
    func layers() throws {
      let stage = try LayerStage()
      defer {
        umount2(stage.base + "/view", CInt(MNT_DETACH))
        stage.remove()
      }
      let output = try stage.shell(
        """
        export LC_ALL=C.UTF-8; umask 022; mkdir -p lower/Fotos.localized/.localized lower/Library lower2/Library view
        echo '"Fotos" = "Photos";' >lower/Fotos.localized/.localized/fr.strings; touch lower/Library/.localized
        echo inside >lower2/Library/a.md; echo lowest >lower2/report.txt; ln lower2/report.txt lower2/twin.pdf
        touch lower2/gone.txt lower/.hidden; look() { (cd "$1"; find . -printf '%P %y %m %n\\n' | sort; cat report.txt Library/a.md); }
        look lower2 >before; varve mount -o lower=lower:lower2 upper mount; rm mount/gone.txt; touch mount/new.txt
        varve mount -o view=display,lang=fr upper view; ls -U view view/Bibliothèque
        for path in report.txt Library/a.md Fotos.localized; do varve layer origin "mount/$path" | sed 's/.*: //'; done >origins
        for path in report Bibliothèque/a Photos; do varve layer origin "view/$path" | sed 's/.*: //'; done | diff origins -
        varve layer list view | diff - <(varve layer list mount)
        number=$(stat -c %i view/report); echo more >>view/report; cat mount/report.txt view/twin upper/report.txt
        stat -c %i view/report view/twin mount/report.txt | grep -vc "^$number$" || true
        chmod 711 view/Bibliothèque; stat -c %a mount/Library lower2/Library
        setfattr -n system.varve.extension -v show view/Bibliothèque/a
        for i in $(seq 100); do ls view/Bibliothèque | grep -v a.md || break; sleep 0.05; done >late; ls -U view/Bibliothèque
        mv mount/Library mount/Music; ls -U view view/Musique; cat view/Musique/a.md
        varve umount mount; ls view; look lower2 | diff before -
        """)
      #expect(
        output == """
          view:
          Bibliothèque
          new
          Photos
          report
          twin

          view/Bibliothèque:
          a
          lowest
          more
          lowest
          more
          lowest
          more
          0
          711
          755
          a.md
          view:
          Musique
          new
          Photos
          report
          twin

          view/Musique:
          a.md
          inside

          """)
    }

    @Test(
      "What takes a key is read and written through a view while there is one, and its names stay after that")
    func encrypted() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try volume.addKeys()
      try Program.shell(
        """
        chmod 755 .; mkdir Library; touch Library/.localized; mkdir -p Fotos.localized/.localized
        echo '"Fotos" = "Photos";' >Fotos.localized/.localized/fr.strings
        """, in: volume.path)
      try volume.protect("/Library")
      try Program.shell(
        """
        cp -r Fotos.localized Library; echo secret >Library/letter.txt; echo list.md >Library/.hidden; touch Library/list.md
        mkdir Library/Notes.app; echo 'CFBundleName = Notes;' >Library/Notes.app/Info.plist
        """, in: volume.path)
      let view = volume.path + "/.varve/view/fr"
      let (shown, real) = (view + "/Bibliothèque", volume.path + "/Library")
      func names() throws -> String {
        try Program.shell(
          "export LC_ALL=C.UTF-8; ls -U . Bibliothèque; for fact in displayname.fr uti hidden; do "
            + "getfattr --only-values -n user.varve.$fact Bibliothèque/letter Bibliothèque/Fotos; done",
          in: view
        ).output
      }
      func varve(_ words: String...) throws {
        let result = try Program.run(Program.built("varve"), words)
        try #require(result.exit == 0, "\(words): \(result.output)")
      }
      let before = try names()
      #expect(
        before.hasPrefix(".:\nBibliothèque\nPhotos\n\nBibliothèque:\nFotos\nletter\nlist\nNotes\n"),
        "\(before)")
      func expectOpen(_ text: String) throws {
        for path in [shown + "/letter", shown + "/letter.txt", real + "/letter.txt"] {
          #expect(Calls.read(path) == .success(text), "\(path)")
        }
        let stored = try #require(FileManager.default.contents(atPath: volume.upper + "/Library/letter.txt"))
        #expect(stored.range(of: Data("secret".utf8)) == nil)
      }
      try expectOpen("secret\n")
      #expect(Calls.write(shown + "/letter", "secret too\n", O_TRUNC) == nil)
      try expectOpen("secret too\n")
      // By a path through the view, as by any other.
      try varve("lock", shown)
      for path in [shown + "/letter", shown + "/letter.txt", real + "/letter.txt"] {
        #expect(Calls.read(path).refusal == .noKey, "\(path)")
        #expect(Calls.write(path, "x") == .noKey, "\(path)")
      }
      #expect(try names() == before)
      #expect(Calls.read(view + "/Photos/.localized/fr.strings").refusal == nil)
      try varve("unlock", shown + "/letter", volume.base + "/key")
      #expect(try names() == before)
      try expectOpen("secret too\n")
    }
  }
}
