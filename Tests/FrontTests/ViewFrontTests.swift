// Views in fstab: mount(8), systemd, and every order in which a volume and its views can go.

import Foundation
import Glibc
import MountSupport
import Testing

extension FrontTests {
  @Suite("Views in fstab", .timeLimit(.minutes(2))) struct ViewFrontTests {
    /// A volume and two views of it; `remount_all` mounts whatever is not mounted, `gone` waits for the daemon.
    private static let table = #"""
      mkdir fr de upper/Library; touch upper/Library/.localized upper/report.txt upper/.dot
      trap 'umount -l "$BASE/fr" "$BASE/de" 2>/dev/null || true; cleanup' EXIT
      fstab "$BASE/upper $BASE/mount fuse.varve defaults 0 0
      $BASE/upper $BASE/fr fuse.varve view=display,lang=fr,x-systemd.requires-mounts-for=$BASE/mount 0 0
      $BASE/upper $BASE/de fuse.varve view=all,lang=de:en,ro,noexec,nofail 0 0"
      gone() {
        local pid=$1 count=0
        while kill -0 "$pid" 2>/dev/null && ! grep -q 'State:.Z' "/proc/$pid/status" 2>/dev/null; do
          count=$((count + 1)); [ "$count" -lt 500 ] || { echo "daemon $pid stays"; return 1; }
          sleep 0.02
        done
      }

      """#

    @Test("Each flag of a view is of its mount alone, holds there, and is changed by a remount")
    func flags() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        #"""
        varve mount -o suid,dev "$BASE/upper" "$BASE/mount"
        cp /bin/true mount/program.sh; cp /usr/bin/id mount/who; chmod 4755 mount/who; mknod -m 666 mount/none c 1 3
        chmod 755 "$BASE"; mkdir -p fr
        flags() { findmnt -no VFS-OPTIONS "$1"; }
        # What a mount lets one do: write, run, be another user, and use a device.
        can() {
          local done=''
          (echo >>"$1/program.sh") 2>/dev/null && done+=' write'
          "$1/program.sh" 2>/dev/null && done+=' run'
          test "$(as_user "'$1/who' -u" 2>/dev/null)" = 0 && done+=' change user'
          (: <"$1/none") 2>/dev/null && done+=' use devices'
          echo "$1 can:$done"
        }
        before=$(flags mount); can mount
        for flag in ro noexec nosuid nodev noatime nodiratime nosymfollow; do
          mount -t fuse.varve -o view=display,lang=fr,$flag "$BASE/upper" "$BASE/fr"
          echo "$flag: $(flags fr)"; can fr
          [ "$(flags mount)" = "$before" ] || echo "the volume has $(flags mount)"
          [ "$(can mount)" = 'mount can: write run change user use devices' ] || can mount
          mount -o remount,rw,exec,strictatime "$BASE/fr"; echo "then $(flags fr)"
          varve remount -o rw,exec,suid,dev,strictatime,diratime,symfollow "$BASE/fr"; echo "freed $(flags fr)"
          mount -o remount,$flag "$BASE/fr"; echo "again $(flags fr)"; can fr
          umount "$BASE/fr"
        done
        varve umount "$BASE/mount"
        """#)
      let rows = [
        ("ro", "ro,relatime", "rw", "ro,relatime", " run change user use devices"),
        ("noexec", "rw,noexec,relatime", "rw", "rw,noexec,relatime", " write use devices"),
        ("nosuid", "rw,nosuid,relatime", "rw,nosuid", "rw,nosuid,relatime", " write run use devices"),
        ("nodev", "rw,nodev,relatime", "rw,nodev", "rw,nodev,relatime", " write run change user"),
        ("noatime", "rw,noatime", "rw", "rw,noatime", " write run change user use devices"),
        (
          "nodiratime", "rw,nodiratime,relatime", "rw,nodiratime", "rw,nodiratime,relatime",
          " write run change user use devices"
        ),
        (
          "nosymfollow", "rw,relatime,nosymfollow", "rw,nosymfollow", "rw,relatime,nosymfollow",
          " write run change user use devices"
        ),
      ]
      let wanted = rows.map { flag, first, then, again, can in
        "\(flag): \(first)\nfr can:\(can)\nthen \(then)\nfreed rw\nagain \(again)\nfr can:\(can)\n"
      }
      #expect(output == "mount can: write run change user use devices\n" + wanted.joined())
    }

    @Test("mount -a shows a volume and its views, once, and findmnt knows them for what they are")
    func all() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        Self.table + #"""
          mount -a
          ls fr de; ls -A de | head -1
          for name in mount fr de; do findmnt -no SOURCE,FSTYPE,VFS-OPTIONS "$BASE/$name"; done | tr -s ' '
          mount -a; mount -fa; findmnt -rno TARGET | grep -c "^$BASE/[a-z]*$"
          status_of mount -o remount,rw "$BASE/de"; findmnt -no VFS-OPTIONS "$BASE/de"
          varve umount -v "$BASE/mount"; findmnt -rno TARGET | grep -c "^$BASE/[mfd]" || true
          findmnt --verify --tab-file /etc/fstab 2>&1 | grep -o '[0-9]* parse errors'
          """#)
      #expect(
        output == """
          de:
          Bibliothek
          report

          fr:
          Bibliothèque
          report
          .dot
          BASE/upper fuse.varve rw,nosuid,nodev,relatime
          BASE/upper[/.varve/view/fr] fuse.varve rw,nosuid,nodev,relatime
          BASE/upper[/.varve/view/de+en,all] fuse.varve ro,nosuid,nodev,noexec,relatime
          4
          status 0
          rw,nosuid,nodev,noexec,relatime
          BASE/de unmounted
          BASE/fr unmounted
          BASE/mount unmounted
          0
          0 parse errors

          """)
    }

    @Test("A volume and its views are unmounted in any order, and the daemon goes with the last")
    func orders() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        Self.table + #"""
          for order in "mount fr de" "mount de fr" "fr mount de" "de mount fr" "fr de mount" "de fr mount"; do
            mount -a
            pid=$(grep -o '"pid":[0-9]*' mount/.varve/status | cut -d: -f2)
            for name in $order; do
              umount "$BASE/$name"
              # What is left works on.
              for left in fr de; do
                if mountpoint -q "$BASE/$left"; then
                  test "$(ls "$left" | wc -l)" -ge 2 && test -e "$left/Library/.localized"
                fi
              done
            done
            gone "$pid" && echo "$order: gone"
          done
          """#)
      let orders = ["mount fr de", "mount de fr", "fr mount de", "de mount fr", "fr de mount", "de fr mount"]
      #expect(output == orders.map { "\($0): gone\n" }.joined())
    }

    @Test(
      "Views of a daemon that was killed go with the dead volume, or are replaced when they are mounted again"
    )
    func dead() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        Self.table + #"""
          die() {
            local pid; pid=$(grep -o '"pid":[0-9]*' mount/.varve/status | cut -d: -f2)
            kill -9 "$pid"; gone "$pid"
            # What was asked while it died is told that the connection was given up.
            local count=0
            until ls fr 2>&1 | grep -o 'not connected'; do
              count=$((count + 1)); [ "$count" -lt 500 ] || return 1
              sleep 0.02
            done
          }
          mount -a; die
          status_of mount -t fuse.varve -o view=display,lang=fr "$BASE/upper" "$BASE/fr" | grep -o "varve umount $BASE/mount\|status.*"
          varve umount -v "$BASE/mount"; mount -a; ls fr; die
          mount -t fuse.varve "$BASE/upper" "$BASE/mount"; mount -a
          ls de; findmnt -rno TARGET | grep -c "^$BASE/[mfd]"
          varve umount "$BASE/mount"; findmnt -rno TARGET | grep -c "^$BASE/[mfd]" || true
          """#)
      #expect(
        output == """
          not connected
          varve umount BASE/mount
          status 32
          BASE/de unmounted
          BASE/fr unmounted
          BASE/mount unmounted
          Bibliothèque
          report
          not connected
          Bibliothek
          report
          3
          0

          """)
    }

    /// The blocks of a kind in the page about views.
    private static func blocks(_ kind: String) throws -> [String] {
      let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("docs/views.md").path
      return try Text.read(page).components(separatedBy: "```\(kind)\n").dropFirst().map {
        $0.components(separatedBy: "```")[0]
      }
    }

    @Test(
      "What the page about views shows works as it is written",
      .enabled(if: Programs.has("rsync"), "needs rsync"))
    func page() throws {
      let world = try World()
      defer { world.remove() }
      func here(_ text: String) -> String {
        text.replacing("/srv/varve/team", with: "$BASE/upper").replacing("/mnt/team", with: "$BASE/mount")
          .replacing("/mnt/", with: "$BASE/").replacing("~/", with: "$BASE/home/")
          .replacing(
            "'$BASE/mount/.varve/view/de+en,ext=never'", with: "\"$BASE/mount/.varve/view/de+en,ext=never\"")
      }
      let table = try #require(try Self.blocks("fstab").first)
      let commands = try Self.blocks("sh")
      try #require(commands.count == 2)
      let output = try world.output(
        """
        mkdir equipe gruppe home upper/Library; touch upper/Library/.localized upper/report.txt upper/.dot
        trap 'umount -l "$BASE/equipe" "$BASE/gruppe" 2>/dev/null || true; cleanup' EXIT
        fstab "\(here(table))"
        mount -a
        ls equipe gruppe
        chmod 755 "$BASE"; chmod 777 home; export BASE
        as_user "$(cat <<'END'
        \(here(commands[0]))
        ls "$BASE/home/Gruppe/"
        END
        )"
        \(here(commands[1]))
        ls home/copie
        varve umount "$BASE/mount"
        """)
      #expect(
        output == """
          equipe:
          Bibliothèque
          report.txt

          gruppe:
          Bibliothek
          report.txt
          Bibliothek
          report.txt
          Bibliothèque
          report

          """)
    }

    @Test("A busy view is named with its process, and nothing is unmounted") func busy() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        Self.table + #"""
          mount -a
          (cd fr && exec sleep 60) & holder=$!
          while [ "$(readlink "/proc/$holder/cwd")" != "$BASE/fr" ]; do sleep 0.02; done
          status_of varve umount "$BASE/mount" | sed "s/$holder/PID/g"
          findmnt -rno TARGET | grep -c "^$BASE/[mfd]"
          kill "$holder"; wait "$holder" 2>/dev/null || true
          varve umount "$BASE/mount"; findmnt -rno TARGET | grep -c "^$BASE/[mfd]" || true
          """#)
      #expect(output.contains("PID"), "\(output)")
      #expect(output.contains("BASE/fr"), "\(output)")
      #expect(!output.contains("status 0"))
      #expect(output.hasSuffix("\n3\n0\n"), "\(output)")
    }

    @Test("What is wrong with a view in fstab is said in one line, and -f finds it") func mistakes() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        #"""
        mkdir fr
        for options in view=display,lang=FR view=finder view=display,acl view=display,ext=x; do
          status_of mount -f -t fuse.varve -o "$options" "$BASE/upper" "$BASE/fr"
        done
        status_of mount -t fuse.varve -o view=display "$BASE/upper" "$BASE/fr"
        varve mount -o nomagic "$BASE/upper" "$BASE/mount"
        status_of mount -f -t fuse.varve -o view=display "$BASE/upper" "$BASE/fr"
        varve umount "$BASE/mount"
        varve mount "$BASE/upper" "$BASE/mount"
        chmod 755 "$BASE"; as_user "status=0; varve mount -o view=display,lang=fr $BASE/upper $BASE/fr || status=\$?; echo \$status"
        varve umount "$BASE/mount"
        findmnt -rno TARGET | grep -c "^$BASE/fr" || true
        """#)
      let lines = output.split(separator: "\n")
      let statuses = lines.filter { $0.hasPrefix("status ") }
      #expect(
        statuses == ["status 1", "status 1", "status 1", "status 1", "status 32", "status 32"], "\(output)")
      #expect(lines.count == 15, "each is one line: \(output)")
      #expect(output.contains("'lang' is a language") && output.contains("nomagic"))
      #expect(output.contains("BASE/mount/.varve/view/fr\n1\n0\n"), "\(output)")
    }

    private static let leftOut = """
      /etc/varve/names.d/de.strings is not a file of root's alone of at most 64 KiB; it is not read
      /etc/varve/names.d/es.strings cannot be read: Too many levels of symbolic links (ELOOP)
      /etc/varve/names.d/it.strings is left out: it is not a strings file
      /etc/varve/names.d/italian.strings is left out: it is not named after a language, such as fr or pt-BR
      """

    @Test(
      "What an administrator adds to the tables of names counts, if it is root's alone, else status tells of it"
    )
    func additions()
      throws
    {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        #"""
        mkdir -p world/etc world/etc-work
        mount -t overlay -o "lowerdir=/etc,upperdir=$BASE/world/etc,workdir=$BASE/world/etc-work" overlay /etc
        mkdir -p /etc/varve/names.d
        printf '+zoo\n-rtfd\n' >/etc/varve/names.d/packages
        echo '"Projects" = "Projets"; "Music" = "Chansons";' >/etc/varve/names.d/fr.strings
        echo '"Projects" = "Projekte";' >/etc/varve/names.d/de.strings; chmod 666 /etc/varve/names.d/de.strings
        printf 'no list' >/etc/varve/names.d/it.strings; echo '"Music" = "M";' >/etc/varve/names.d/italian.strings
        ln -s fr.strings /etc/varve/names.d/es.strings
        mkdir upper/Projects upper/Music upper/Animals.zoo upper/Text.rtfd upper/Animals.zoo/x.d
        touch upper/Projects/.localized upper/Music/.localized upper/Animals.zoo/.inside
        varve mount --foreground "$BASE/upper" "$BASE/mount" 2>lines &
        while ! [ -e mount/.varve/status ]; do sleep 0.01; done
        ls mount/.varve/view/fr; ls -A mount/.varve/view/fr/Animals; ls mount/.varve/view/de mount/.varve/view/it
        varve status --json mount | grep -o '/etc/varve/names.d/[^"]*'
        varve umount mount; wait; grep -o '/etc/varve/names.d/.*' lines
        printf '# ours\n\n+zoo\n+.zip\n-rtfd # files\n' >/etc/varve/names.d/packages; rm /etc/varve/names.d/*.strings
        varve mount "$BASE/upper" "$BASE/mount" 2>/dev/null; varve status mount | grep -o 'names.d/.*'
        ls mount/.varve/view/fr | head -1; varve umount mount
        chmod 777 /etc/varve/names.d
        varve mount "$BASE/upper" "$BASE/mount" 2>/dev/null; ls mount/.varve/view/fr; varve umount mount
        """#)
      #expect(
        output == """
          Animals
          Chansons
          Projets
          Text.rtfd
          .inside
          x.d
          mount/.varve/view/de:
          Animals
          Musik
          Projects
          Text.rtfd

          mount/.varve/view/it:
          Animals
          Musica
          Projects
          Text.rtfd
          \(Self.leftOut)
          \(Self.leftOut)
          names.d/packages, line 4 is left out: it is not +EXTENSION or -EXTENSION
          Animals
          Animals.zoo
          Musique
          Projects
          Text

          """)
    }

    @Test(
      "From the lines of views systemd makes units that follow the volume's",
      .enabled(if: access(ServiceTests.generator, X_OK) == 0, "needs systemd's fstab generator"))
    func units() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        mkdir units
        fstab '/srv/team /mnt/team fuse.varve defaults 0 0
        /srv/team /mnt/equipe fuse.varve view=display,lang=fr,x-systemd.requires-mounts-for=/mnt/team 0 0'
        SYSTEMD_IN_INITRD=0 \(ServiceTests.generator) units units units
        grep -hE '^(What|Where|Type|Options|RequiresMountsFor)=' units/mnt-equipe.mount
        """)
      #expect(
        output == """
          RequiresMountsFor=/mnt/team
          What=/srv/team
          Where=/mnt/equipe
          Type=fuse.varve
          Options=view=display,lang=fr,x-systemd.requires-mounts-for=/mnt/team

          """)
    }
  }
}
