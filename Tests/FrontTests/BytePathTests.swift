// Names that are not text, everywhere where mount(8), fstab and our own tools meet a path.

import MountSupport
import Testing

extension FrontTests {
  @Suite("Paths that are not text", .timeLimit(.minutes(2))) struct BytePathTests {
    @Test("Source and mount point are bytes: for varve, mount(8), fstab, a service and a user") func paths()
      throws
    {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        #"""
        source=$'s\xff\n\xc3'; point=$'mount/m\xfe'
        mkdir -m 777 "$source"
        mount -t tmpfs tmpfs mount && mkdir -m 777 "$point"
        own() { findmnt -rno SOURCE,TARGET -t fuse.varve | grep "$BASE" || true; }
        varve mount "$source" "$point"
        echo text >"$point/file" && cat "$source/file"
        varve status | grep -a "$BASE"
        varve why read "$point/file" | head -1
        varve remount -o ro "$point" && varve remount -o rw "$point"
        varve umount "$point"
        mount -t fuse.varve "$BASE/$source" "$BASE/$point"
        own
        mount -o remount,ro "$BASE/$point"
        touch "$point/new" 2>/dev/null || echo read-only
        umount "$point"
        fstab "$BASE/s\\377\\012\\303 $BASE/mount/m\\376 fuse.varve noauto 0 0"
        mount "$BASE/$point"
        own
        varve umount "$point"
        # It may be killed before it has its socket, and would say so.
        varve mount --foreground "$source" "$point" 2>said &
        while ! [ -e "$point/.varve/status" ]; do sleep 0.01; done
        kill %1 && wait %1
        grep -v "no control socket" said || true
        own
        varve mount "$source" "$BASE/second" && varve umount second
        """#)
      #expect(
        output == #"""
          text
          BASE/s\377\012\303 on BASE/mount/m\376 (rw,nosuid,nodev,relatime)
          allowed: root may read BASE/mount/m\376/file
          BASE/s\xff\x0a\xc3 BASE/mount/m\xfe
          read-only
          BASE/s\xff\x0a\xc3 BASE/mount/m\xfe

          """#)
    }

    @Test("A user's paths, and those of another mount namespace, are bytes as well") func elsewhere() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        #"""
        mkdir "$BASE/"$'s\xff' "$BASE/"$'u\xff' "$BASE/mount/"$'m\xfe'
        unshare --mount --propagation private sleep 60 &
        other=$!
        while [ "$(readlink /proc/$other/ns/mnt)" = "$(readlink /proc/self/ns/mnt)" ]; do sleep 0.01; done
        varve mount -N "$other" "$BASE/"$'s\xff' "$BASE/mount/"$'m\xfe'
        nsenter --mount --target "$other" varve status | grep -a "$BASE"
        nsenter --mount --target "$other" varve umount "$BASE/mount/"$'m\xfe'
        kill "$other"
        mknod world/fuse c 10 229 && chmod 0666 world/fuse && mount --bind world/fuse /dev/fuse
        mkdir -m 700 $'run\xff' && export XDG_RUNTIME_DIR="$BASE/"$'run\xff'
        chown 65534:65534 "$XDG_RUNTIME_DIR" "$BASE/"$'u\xff' "$BASE/mount/"$'m\xfe'
        as_user 'varve mount u? mount/m?; varve status | grep -a "$BASE"; varve remount -o ro mount/m?'
        as_user 'ls run?/varve | grep -c sock; varve umount mount/m?'
        """#)
      #expect(
        output == #"""
          BASE/s\377 on BASE/mount/m\376 (rw,nosuid,nodev,relatime)
          BASE/u\377 on BASE/mount/m\376 (rw,nosuid,nodev,relatime)
          1

          """#)
    }

    @Test("Options have bytes as values, and JSON brings them along") func values() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        #"""
        mkdir "$BASE/"$'u\xff'
        mount -t fuse.varve -o "upperdir=$BASE/"$'u\xff,fsname=n\xff,audit='"$BASE/"$'log\xff' word mount
        echo text >mount/file && cat $'u\xff/file'
        chmod 600 mount/file
        varve status | grep -a "$BASE"
        varve status --json | grep -a -A1 '"source": "n'
        varve status --json mount | sed -n '/"options": /,/ \]/p; /"optionsBytes": /,/ \]/p' |
          grep -v "$(printf %s "$BASE" | od -An -tx1 | tr -d ' \n')"
        # The same name again is no change; another is, though its text would look alike.
        status_of varve remount -o $'fsname=n\xff' mount
        status_of varve remount -o $'fsname=n\xfe' mount
        varve umount mount
        grep -c '"event":"changed"' $'log\xff'
        """#)
      #expect(
        output == #"""
          text
          n\377 on BASE/mount (rw,nosuid,nodev,relatime)
              "source": "n\#u{FFFD}",
              "sourceBytes": "6eff",
            "options": [
              "rw",
              "upperdir=BASE/u\#u{FFFD}",
              "fsname=n\#u{FFFD}",
              "audit=BASE/log\#u{FFFD}"
            ],
            "optionsBytes": [
              "7277",
              "66736e616d653d6eff",
            ],
          status 0
          varve remount: mount: cannot change 'fsname' while mounted; unmount and mount again
          status 32
          1

          """#)
    }

    @Test("Complaints write such names so that they can be typed again") func complaints() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        #"""
        status_of varve mount $'n\xff' mount
        status_of varve mount upper $'n\n\xff'
        status_of mount -t fuse.varve "$BASE/"$'n\xff' "$BASE/mount"
        status_of varve mount -o "audit=$BASE/none/"$'l\xff' upper mount
        status_of varve mount -o "upperdir=$BASE/"$'u\xff' word mount
        status_of varve mount -o $'bo\ngus\xff=1' upper mount
        mkdir $'m\xff' && varve mount upper $'m\xff'
        status_of varve remount -o $'bogus\xff' $'m\xff'
        status_of varve mount other $'m\xff'
        varve umount $'m\xff'
        """#)
      #expect(
        output == #"""
          varve mount: n\377: the source does not exist (ENOENT); make it with: mkdir $'n\377'
          status 32
          varve mount: n\012\377: the mount point does not exist (ENOENT); make it with: mkdir $'n\012\377'
          status 32
          mount.varve: BASE/n\377: the source does not exist (ENOENT); make it with: mkdir $'BASE/n\377'
          status 32
          varve mount: BASE/mount: the audit log BASE/none/l\377 cannot be opened: No such file or directory (ENOENT); the directory for it is missing
          status 32
          varve mount: BASE/u\377: cannot open the upper directory: No such file or directory (ENOENT)
          status 32
          varve mount: BASE/mount: unknown mount option 'bo\012gus\377'
          status 1
          varve remount: m\377: unknown mount option 'bogus\377'
          status 1
          varve mount: BASE/m\377: the mount point shows a Varve volume already; unmount that one first
          status 32

          """#)
    }
  }
}
