import CMountSupport
import Foundation
import LinuxFiles
import MountSupport
import Testing

/// Where an archive can be unpacked with all that it has of its items.
private enum GoldenPlace {
  /// A directory that keeps attributes user.* and trusted.*; nil if there is none.
  ///
  /// Those for temporary files may be on a tmpfs, which keeps no user.* before Linux 6.6.
  static let path: String? = {
    let asked = ProcessInfo.processInfo.environment["VARVE_TEST_DIRECTORY"]
    return ([asked].compactMap { $0 } + ["/var/tmp", "/tmp", "/dev/shm"]).first(where: keepsAttributes)
  }()

  private static func keepsAttributes(_ place: String) -> Bool {
    guard let directory = try? TemporaryDirectory.make(in: place) else { return false }
    defer { TemporaryDirectory.remove(directory) }
    let names = ["user.x", "trusted.x"]
    return names.allSatisfy { name in lt_set_attribute(directory, name, "y", 1, 0) == 0 }
  }
}

extension MountTests {
  /// What was stored by a version that was released opens for ever.
  ///
  /// `Tests/Fixtures/golden/make` made the archives: files of each class and of many shapes, some in doubt after a crash,
  /// lists, flags and links.
  @Suite(
    "Volumes of earlier versions",
    .enabled(if: Programs.has("tar", "getfattr"), "needs tar and attr"),
    .enabled(
      if: GoldenPlace.path != nil, "none of the directories for temporary files keeps user.* and trusted.*"),
    .timeLimit(.minutes(2)))
  struct GoldenVolumeTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().appending(components: "Fixtures", "golden").path

    /// Unpacks and mounts the volume of a version, and runs a script beside it.
    private func run(
      _ version: String, _ script: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
      let base = try TemporaryDirectory.make(in: try #require(GoldenPlace.path))
      defer {
        _ = try? Program.run("/bin/sh", ["-c", "umount -l mount"], in: base)
        TemporaryDirectory.remove(base)
      }
      let beginning = #"""
        set -eu
        tar --xattrs --xattrs-include='*' --numeric-owner -xzf "$GOLDEN/$VERSION.tar.gz"
        mkdir mount
        "$VARVE" mount -o keyfile=key upper mount

        """#
      let end = #"""

        "$VARVE" umount mount
        "$VARVE" fsck --keyfile key upper
        echo sound
        """#
      let result = try Program.run(
        "/bin/bash", ["-c", beginning + script + end], in: base,
        environment: [
          "GOLDEN": Self.folder, "READER": Self.folder + "/../sealed_reader.py", "VERSION": version,
          "VARVE": Program.built("varve"), "LC_ALL": "C",
        ])
      #expect(
        result.exit == 0 && result.output.hasSuffix("sound\n"), "\(result.output.suffix(3000))",
        sourceLocation: sourceLocation)
    }

    @Test("Everything in them is as it was, can be written to, and is sound afterwards", arguments: ["0.1.0"])
    func opens(version: String) throws {
      try run(
        version,
        #"""
        "$GOLDEN/show" mount >shown
        diff expected shown
        for class in complete complete-unless-open until-first-unlock none; do
          for file in 0 1 4095 4096 4097 cut sparse rewritten; do
            sha256sum <"mount/$class/$file" >before
            printf more >>"mount/$class/$file"
            head -c -4 "mount/$class/$file" | sha256sum | diff before -
            test "$(tail -c 4 "mount/$class/$file")" = more
          done
        done
        printf more >>mount/complete/doubtful
        "$VARVE" verify -R -q mount/complete mount/turned
        "$VARVE" lock mount
        ! cat mount/complete/4096 2>refused
        grep -q 'Required key' refused
        """#)
    }

    @Test(
      "In views their items are shown by their names, and take a state of their extension from then on",
      arguments: ["0.1.0"])
    func isViewed(version: String) throws {
      try run(
        version,
        #"""
        test -z "$(getfattr -R -h -d -m 'varve[.]names' upper 2>/dev/null)"
        view=mount/.varve/view/fr
        (cd mount && find . ! -name hidden | sort) >real
        (cd $view && find . | sort) >seen
        diff real seen
        (cd mount && find . -type f -exec sha256sum {} + | sort -k 2) >real
        (cd $view,all && find . -type f -exec sha256sum {} + | sort -k 2) >seen
        diff real seen
        echo text >mount/listed/new.txt
        echo "text" | diff - $view/listed/new
        for file in file new.txt; do
          test "$(getfattr --only-values -n system.varve.extension mount/listed/$file)" = ''
          "$VARVE" name --show-ext mount/listed/$file
          test "$(getfattr --only-values -n system.varve.extension mount/listed/$file)" = show
        done
        ls $view/listed | grep -qx new.txt
        getfattr -R -h -d -m 'varve[.]names' upper/listed 2>/dev/null | grep -q names
        "$VARVE" umount mount
        "$VARVE" mount -o keyfile=key upper mount
        ls $view/listed | grep -qx new.txt
        "$VARVE" check upper
        """#)
    }

    @Test(
      "A program that knows the published format alone reads the same",
      .enabled(if: EncryptedStage.hasCryptography, "needs python3-cryptography"), arguments: ["0.1.0"])
    func isRead(version: String) throws {
      try run(
        version,
        #"""
        (cd upper && find complete complete-unless-open until-first-unlock -type f -size +0) >files
        while read -r file; do
          # A file that was decrypted stays where it is.
          test "$(head -c 4 "upper/$file" | od -An -tx1)" = ' 89 45 41 52' || continue
          /usr/bin/python3 "$READER" key upper/.varve/keybag --sessions upper/.varve/sessions "upper/$file" >read
          cmp read "mount/$file"
          echo "$file" >>compared
        done <files
        test "$(wc -l <compared)" -gt 20
        """#)
    }
  }
}
