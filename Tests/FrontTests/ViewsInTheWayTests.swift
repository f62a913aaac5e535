// Views that hide something, that a remount would change, or that are left after their volume.

import MountSupport
import Testing

extension FrontTests {
  @Suite("Views in the way", .timeLimit(.minutes(2))) struct ViewsInTheWayTests {
    /// A volume with a view in French.
    private static let scene = #"""
      mkdir fr
      trap 'umount -l "$BASE/fr" 2>/dev/null || true; cleanup' EXIT
      varve mount upper mount
      view() { status_of mount -t fuse.varve -o "view=$1" "$BASE/upper" "$BASE/$2"; }
      view display,lang=fr fr

      """#

    @Test("Another view is refused by a remount, and over a view or a volume") func refused() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        Self.scene + #"""
          for option in lang=de view=all ext=never; do status_of mount -o "remount,$option" "$BASE/fr"; done
          status_of varve remount -o lang=de fr
          status_of mount -o remount,view=display,lang=fr,noexec "$BASE/fr"
          view display,lang=de fr
          view display,lang=fr fr
          view display,lang=fr mount
          status_of varve mount other fr
          findmnt -rno TARGET,VFS-OPTIONS | grep "^$BASE/[mf]"
          varve umount mount
          """#)
      func unchanged(_ name: String) -> String {
        "BASE/fr: it shows the view fr, and a remount cannot change that; unmount it (umount BASE/fr) and mount the "
          + "view \(name) anew\nstatus 32"
      }
      #expect(
        output == """
          status 0
          mount.varve: \(unchanged("de"))
          mount.varve: \(unchanged("fr,all"))
          mount.varve: \(unchanged("fr,ext=never"))
          varve remount: \(unchanged("de"))
          status 0
          mount.varve: BASE/fr: the mount point shows the view fr already; unmount that first: umount BASE/fr
          status 32
          status 0
          mount.varve: BASE/mount: the mount point shows a Varve volume already; mount the view on another directory
          status 32
          varve mount: BASE/fr: the mount point shows a Varve volume already; unmount that one first
          status 32
          BASE/mount rw,nosuid,nodev,relatime
          BASE/fr rw,nosuid,nodev,noexec,relatime

          """)
    }

    @Test("Why a view cannot be mounted is told in one line, with what to do") func reasons() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        #"""
        mkdir fr
        ask() { status_of mount -f -t fuse.varve -o "$@" "$BASE/fr"; }
        ask view=display "$BASE/upper"
        varve mount -o nomagic upper mount; ask view=display "$BASE/upper"; varve umount mount
        ask view=display "$BASE/upper"
        varve mount upper mount
        mkdir mount/in; mount --bind mount/in second
        for source in mount mount/in mount/.varve/view/fr second uper other none/where; do
          ask view=display "$BASE/$source"
        done
        umount second
        mknod -m 666 world/fuse c 10 229; mount --bind world/fuse /dev/fuse
        chown 65534:65534 other second; chmod 755 "$BASE"; as_user 'varve mount "$BASE/other" "$BASE/second"'
        ask view=display "$BASE/other"; as_user 'varve umount "$BASE/second"'
        ask view=display,noacl "$BASE/upper"
        status_of varve mount -o view=display upper gone
        touch file; status_of varve mount -o view=display upper file
        ask view=display,lang=fr_FR "$BASE/upper"
        as_user "status=0; varve mount -o view=display,lang=fr $BASE/upper $BASE/fr || status=\$?; echo \$status" 2>&1
        unshare --mount --propagation private sh -c 'umount "$BASE/mount"; mount -f -t fuse.varve -o view=display "$BASE/upper" "$BASE/fr"; echo "status $?"' 2>&1
        findmnt -rno TARGET | grep -c "^$BASE/fr" || true
        varve umount mount
        """#)
      func refused(_ words: String, _ status: Int) -> String {
        "mount.varve: BASE/fr: \(words)\nstatus \(status)"
      }
      let isNew =
        "has no .varve, so it was never mounted for writing; check the path, or mount it first, in fstab on an earlier line"
      let notMounted =
        "the volume of BASE/upper is not mounted where you can see it; mount it first, in fstab on an earlier line"
      #expect(
        output == """
          \(refused("BASE/upper \(isNew)", 32))
          \(refused("the volume shows no views: it is mounted with nomagic", 32))
          \(refused(notMounted, 32))
          \(refused("BASE/mount is where the volume is mounted; name its upper directory, BASE/upper", 32))
          \(refused("BASE/mount/in is in the volume; name its upper directory, BASE/upper", 32))
          \(refused("BASE/mount/.varve/view/fr is in a view of the volume; name its upper directory, BASE/upper", 32))
          \(refused("BASE/second is in the volume; name its upper directory, BASE/upper", 32))
          mount.varve: BASE/uper: the source does not exist (ENOENT); did you mean BASE/upper?
          status 32
          \(refused("BASE/other \(isNew)", 32))
          mount.varve: BASE/none/where: the source does not exist (ENOENT); there is no BASE/none
          status 32
          \(refused("BASE/other is mounted by user 65534, on BASE/second; views are shown of volumes that root has mounted", 32))
          \(refused("'noacl' is an option of a volume, not of a view of it", 1))
          varve mount: gone: the mount point does not exist (ENOENT); make it with: mkdir gone
          status 32
          varve mount: file: the mount point is not a directory (ENOTDIR)
          status 32
          \(refused("'lang' is a language such as fr or pt-BR, or up to 8 with '+' between them; write fr-FR", 1))
          varve mount: BASE/fr: only root mounts views; the same is at BASE/mount/.varve/view/fr
          1
          \(refused(notMounted, 32))
          0

          """)
    }

    @Test(
      "Behind languages an option is an option, a value belongs to its option, and a language to the list")
    func commas() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        #"""
        mkdir fr; varve mount upper mount
        ask() { status_of mount.varve -f "$BASE/upper" "$BASE/fr" -o "$1"; }
        for word in acl debug ro de all never 'de,acl'; do ask "view=display,lang=fr,$word"; done
        ask 'view=display,lang=fr\,all\,ext=bit'; ask 'view=display,lang=default\,all'; ask 'view=display,lang=fr\,de'
        for word in all de; do status_of mount.varve -f "$BASE/other" "$BASE/fr" -o "lang=fr,$word"; done
        varve umount mount
        """#)
      func refused(_ words: String) -> String { "mount.varve: BASE/fr: \(words)\nstatus 1\n" }
      func ofVolume(_ word: String) -> String {
        refused("'\(word)' is an option of a volume, not of a view of it")
      }
      func list(_ text: String) -> String {
        refused("languages have '+' between them, because a comma ends an option: lang=\(text)")
      }
      let choice = "'lang' is a language such as fr or pt-BR, or up to 8 with '+' between them; write fr+de"
      #expect(
        output == ofVolume("acl") + ofVolume("debug") + "status 0\n" + list("fr+de")
          + refused("'all' is a value, not an option; write view=all or ext=all")
          + refused("'never' is a value, not an option; write ext=never") + list("fr+de")
          + refused("'lang' is of languages alone; write view=all,lang=fr,ext=bit")
          + refused("'lang' is of languages alone; write view=all") + refused(choice)
          + refused("'all' is a value, not an option; write view=all or ext=all") + list("fr+de"))
    }

    @Test("Who forgets view=display where the volume is mounted is told of it, and nobody else is")
    func forgotten() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        #"""
        mkdir fr world/etc && cp -a /etc/. world/etc/ && mount --bind world/etc /etc && mkdir -p /etc/varve
        again() { status_of mount "$@" -t fuse.varve "$BASE/upper" "$BASE/fr" | sed 's/process [0-9]*/process N/'; }
        varve mount -o lang=de upper mount
        again -o lang=fr+ca,nosuid; again -f -o lang=fr; again; again -o nosuid
        # Languages of all volumes are no wish of this mount.
        echo 'options = lang=fr:de' >/etc/varve/varve.conf; again
        varve umount mount
        """#)
      let line = "mount.varve: BASE/upper: the volume is mounted already, by process N, on BASE/mount"
      let advice = "; for a view of it here add 'view=display': view=display,lang="
      let ends = ["\(advice)fr+ca", "\(advice)fr", "", "", ""]
      #expect(output == ends.map { "\(line)\($0)\nstatus 32\n" }.joined())
    }

    @Test("Of several mounts of a volume a view is of one that shows the whole") func parts() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        #"""
        mkdir fr; trap 'umount -l "$BASE/fr" 2>/dev/null || true; cleanup' EXIT
        varve mount upper mount; mkdir mount/Library; touch mount/Library/.localized mount/Library/x.txt
        mount --bind mount/Library second
        mount -t fuse.varve -o view=display,lang=fr "$BASE/upper" "$BASE/fr"
        ls fr fr/Bibliothèque; umount fr
        # Also if the whole is shown elsewhere alone.
        mkdir all; mount --bind mount all; mount --bind mount/Library all/Library; umount -l mount
        mount -t fuse.varve -o view=display,lang=fr "$BASE/upper" "$BASE/fr"
        ls fr; umount fr second all/Library all
        """#)
      #expect(output == "fr:\nBibliothèque\n\nfr/Bibliothèque:\nx\nBibliothèque\n")
    }

    @Test("Languages in varve.conf are those of the view default, unless the mount names others")
    func settings() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        mkdir world/etc && cp -a /etc/. world/etc/ && mount --bind world/etc /etc && mkdir -p /etc/varve
        echo 'options = lang=fr:de' >/etc/varve/varve.conf
        mkdir upper/Library; touch upper/Library/.localized
        shown() { varve mount "$@" upper mount; ls mount/.varve/view/default; varve ls --display --as default mount; varve umount mount; }
        shown; shown -o lang=es
        """)
      #expect(output == "Bibliothèque\nBibliothèque\nBiblioteca\nBiblioteca\n")
    }

    @Test("Views that umount(8) has left are named, with what to type") func left() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        Self.scene + #"""
          umount "$BASE/mount"
          status_of varve umount mount
          mkdir de; view display,lang=de de
          status_of varve mount upper mount | sed 's/process [0-9]*/process N/'
          status_of varve umount fr
          status_of varve umount mount
          varve mount upper mount && varve umount mount
          """#)
      let left =
        "views of BASE/upper are still mounted and keep its daemon running; unmount them: umount BASE/fr"
      #expect(
        output == """
          status 0
          varve umount: mount: not a mount point; \(left)
          status 1
          mount.varve: BASE/de: \(left)
          status 32
          varve mount: BASE/upper: the volume is mounted already, by process N; \(left)
          status 32
          status 0
          varve umount: mount: not a mount point; 'varve status' lists the volumes
          status 1

          """)
    }
  }
}
