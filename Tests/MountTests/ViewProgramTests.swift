// Programs that people use, on views.

import Foundation
import Glibc
import MountSupport
import Testing

extension MountTests {
  @Suite("Programs on views", .timeLimit(.minutes(2))) struct ViewProgramTests {
    private func stage() throws -> MountedVolume {
      let volume = try MountedVolume()
      try Program.shell(
        """
        chmod 755 .; mkdir Library Library/Caches 'Release Notes.localized' 'Release Notes.localized/.localized'
        touch Library/.localized .dot; echo inside >Library/Caches/a.md; echo text >report.txt
        echo '"Release Notes" = "Nouveautés";' >'Release Notes.localized/.localized/fr.strings'
        """, in: volume.path)
      return volume
    }

    @Test(
      "A file manager's library lists a view, and opens what it lists",
      .enabled(if: Programs.has("gio"), "needs gio"))
    func gio() throws {
      let volume = try stage()
      defer { volume.remove() }
      let view = volume.path + "/.varve/view/fr"
      let result = try Program.shell(
        """
        gio list . | sort; gio list -h Bibliothèque; gio cat report; gio cat Bibliothèque/Caches/a
        gio info -a standard::type,standard::display-name Bibliothèque | grep -e 'display name' -e '^type'
        gio copy Bibliothèque/Caches/a '\(volume.base)/copy' && cat '\(volume.base)/copy'
        gio mkdir new 2>&1 | grep -c -i 'read-only'
        """, in: view)
      #expect(
        result.output == """
          Bibliothèque
          Nouveautés
          report
          Caches
          text
          inside
          display name: Bibliothèque
          type: directory
          inside
          1

          """)
    }

    @Test(
      "A Samba share of a view shows its names to clients, in any case, and takes no changes",
      .enabled(
        if: Programs.has("smbd", "smbclient", "smbpasswd", "ip", "unshare"),
        "needs samba, smbclient and iproute2"))
    func samba() throws {
      let volume = try stage()
      defer { volume.remove() }
      // As the page about views has it.
      let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("docs/views.md").path
      let block = try Text.read(page).components(separatedBy: "```ini\n")[1].components(separatedBy: "```")[0]
      let share = block.replacing("/mnt/team", with: volume.path).split(separator: "\n").map { String($0) }
      let smb = "smbclient -s \"$home/smb.conf\" -U varve-ann%pw //127.0.0.1/equipe -c"
      let answers = try SambaStage(volume: volume, share: share).converse([
        "cd \"$home\"; \(smb) 'ls' ",
        "cd \"$home\"; \(smb) 'get report out' && cat out",
        "cd \"$home\"; \(smb) 'get REPORT out2; get bibliothèque\\CACHES\\a out3' && cat out2 out3",
        "cd \"$home\"; \(smb) 'get report.txt out4' && cat out4",
        "cd \"$home\"; echo x >x; \(smb) 'put x x'; \(smb) 'mkdir d'; \(smb) 'rm report'; ls '\(volume.path)'",
      ])
      for name in ["Bibliothèque", "Nouveautés", "report"] {
        #expect(answers[0].output.contains("  \(name) "), "\(answers[0].output)")
      }
      #expect(!answers[0].output.contains("report.txt") && !answers[0].output.contains(".dot"))
      #expect(answers[1].output.hasSuffix("text\n"), "\(answers[1].output)")
      #expect(answers[2].output.hasSuffix("text\ninside\n"), "\(answers[2].output)")
      #expect(answers[3].output.hasSuffix("text\n"), "\(answers[3].output)")
      #expect(
        answers[4].output.hasSuffix("Library\nRelease Notes.localized\nreport.txt\n"), "\(answers[4].output)")
    }

    @Test("borg keeps a view by the names that it shows", .enabled(if: Programs.has("borg"), "needs borg"))
    func borg() throws {
      let volume = try stage()
      defer { volume.remove() }
      let result = try Program.shell(
        """
        export BORG_BASE_DIR='\(volume.base)/borg' BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes
        export LC_ALL=C.UTF-8
        borg init -e none '\(volume.base)/archive' 2>/dev/null
        borg create '\(volume.base)/archive::one' .
        borg list --format '{path}{NL}' '\(volume.base)/archive::one' | sort
        mkdir '\(volume.base)/back' && cd '\(volume.base)/back' && borg extract '\(volume.base)/archive::one'
        cat Bibliothèque/Caches/a report
        """, in: volume.path + "/.varve/view/fr")
      #expect(
        result.output == """
          .
          Bibliothèque
          Bibliothèque/Caches
          Bibliothèque/Caches/a
          Nouveautés
          report
          inside
          text

          """)
    }
  }
}
