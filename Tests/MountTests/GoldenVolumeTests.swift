import Foundation
import MountSupport
import Testing

extension MountTests {
  /// What was stored by a version that was released opens for ever.
  ///
  /// `Tests/Fixtures/golden/make` made the archives: files of each class and of many shapes, some in doubt after a crash,
  /// lists, flags and links.
  @Suite(
    "Volumes of earlier versions",
    .enabled(if: Programs.has("tar", "getfattr"), "needs tar and attr"),
    .timeLimit(.minutes(2)))
  struct GoldenVolumeTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().appending(components: "Fixtures", "golden").path

    @Test("Everything in them is as it was, can be written to, and is sound afterwards", arguments: ["0.1.0"])
    func opens(version: String) throws {
      let base = try TemporaryDirectory.make()
      defer {
        _ = try? Program.run("/bin/sh", ["-c", "umount -l mount"], in: base)
        TemporaryDirectory.remove(base)
      }
      let script = #"""
        set -eu
        tar --xattrs --xattrs-include='*' --numeric-owner -xzf "$GOLDEN/$VERSION.tar.gz"
        mkdir mount
        "$VARVE" mount -o keyfile=key upper mount
        "$GOLDEN/show" mount >shown
        diff expected shown
        if /usr/bin/python3 -c 'import cryptography' 2>errors; then
          (cd upper && find complete complete-unless-open until-first-unlock -type f -size +0) >files
          test -s files
          while read -r file; do
            # A file that was decrypted stays where it is.
            test "$(head -c 4 "upper/$file" | od -An -tx1)" = ' 89 45 41 52' || continue
            /usr/bin/python3 "$READER" key upper/.varve/keybag --sessions upper/.varve/sessions "upper/$file" >read
            cmp read "mount/$file"
            echo "$file" >>compared
          done <files
          test "$(wc -l <compared)" -gt 20
        fi
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
        "$VARVE" umount mount
        "$VARVE" fsck --keyfile key upper
        echo sound
        """#
      let result = try Program.run(
        "/bin/bash", ["-c", script], in: base,
        environment: [
          "GOLDEN": Self.folder, "READER": Self.folder + "/../sealed_reader.py", "VERSION": version,
          "VARVE": Program.built("varve"), "LC_ALL": "C",
        ])
      #expect(result.exit == 0 && result.output.hasSuffix("sound\n"), "\(result.output.suffix(3000))")
    }
  }
}
