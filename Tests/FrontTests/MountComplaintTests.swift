// What is said when something is wrong with a mount: which mount, what, and what to do.

import MountSupport
import Testing

extension FrontTests {
  @Suite("Complaints of a mount", .timeLimit(.minutes(2))) struct MountComplaintTests {
    @Test("mount -a says for which line, and what to do") func many() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        fstab "$BASE/upper $BASE/mount fuse.varve bogus 0 0
        $BASE/upper $BASE/second fuse.varve securelevel=9 0 0
        $BASE/none/where $BASE/mount fuse.varve defaults 0 0"
        status_of mount -a
        """)
      #expect(
        output == """
          mount.varve: BASE/mount: unknown mount option 'bogus'
          mount.varve: BASE/second: 'securelevel' is a number from -1 to 3
          mount.varve: BASE/none/where: the source does not exist (ENOENT); there is no BASE/none; make it with: mkdir -p BASE/none/where
          status 32

          """)
    }

    @Test("Whether source or mount point is wrong is said") func places() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        touch file; ln -s gone link
        status_of varve mount nowhere mount
        status_of varve mount upper nowhere
        status_of varve mount file mount
        status_of varve mount upper file/x
        status_of varve mount upper link
        status_of varve mount '' ''
        status_of varve mount '' mount
        status_of mount -t fuse.varve -o audit=/no/where/log "$BASE/upper" "$BASE/mount"
        touch log && chmod 644 log
        status_of varve mount -o "audit=$BASE/log" upper mount
        status_of varve mount -o "upperdir=$BASE/none" word mount
        """)
      #expect(
        output == """
          varve mount: nowhere: the source does not exist (ENOENT); make it with: mkdir nowhere
          status 32
          varve mount: nowhere: the mount point does not exist (ENOENT); make it with: mkdir nowhere
          status 32
          varve mount: file: the source is not a directory (ENOTDIR)
          status 32
          varve mount: file/x: the mount point is not a directory (ENOTDIR); file is not a directory
          status 32
          varve mount: link: the mount point does not exist (ENOENT); it is a link to gone
          status 32
          varve mount: '': the mount point has no name; a variable may be empty that should hold it
          status 1
          varve mount: '': the source has no name; a variable may be empty that should hold it
          status 1
          mount.varve: BASE/mount: the audit log /no/where/log cannot be opened: No such file or directory (ENOENT); the directory for it is missing
          status 32
          varve mount: BASE/mount: the audit log BASE/log cannot be opened: Operation not permitted (EPERM); a log that is there has to be the mounter's own, with mode 0600 and no second name
          status 32
          varve mount: BASE/none: cannot open the upper directory: No such file or directory (ENOENT)
          status 32

          """)
    }

    @Test("What is wrong with a device of the machine is named, with what to do") func devices() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        mkdir world/dev && mount --bind world/dev /dev && mknod -m 666 /dev/null c 1 3
        mknod -m 600 /dev/fuse c 10 229
        status_of varve mount -o audit=journal upper mount
        chown 65534 upper mount
        status_of setpriv --reuid 65534 --regid 65534 --clear-groups varve mount upper mount
        rm /dev/fuse
        status_of varve mount upper mount
        """)
      #expect(
        output == """
          varve mount: BASE/mount: no audit log: the system's log is not there to be written to: /dev/log: No such file or directory (ENOENT)
          status 32
          varve mount: BASE/mount: /dev/fuse: Permission denied (EACCES); as root, 'chmod 0666 /dev/fuse' lets users mount
          status 32
          varve mount: BASE/mount: /dev/fuse: No such file or directory (ENOENT); the module fuse is not there ('modprobe fuse' loads it), or not in this container
          status 32

          """)
    }

    @Test(
      "A mount that is only tried refuses what a real one refuses, in the same words, and changes nothing")
    func tried() throws {
      let world = try World()
      defer { world.remove() }
      let words = [
        "nosymfollow", "lower=/proc", "securelevel=9", "threads=0", "cache=often", "audit=log",
        "noowners=1", "admin_group=varve-nobody", "bogus", "ro", "noacl,securelevel=2",
      ]
      let output = try world.output(
        """
        mkdir upper/inner
        for word in \(words.joined(separator: " ")); do
          tried=$(status_of mount -f -t fuse.varve -o "$word" "$BASE/upper" "$BASE/mount")
          by_hand=$(status_of mount.varve -f upper mount -o "$word")
          real=$(status_of mount.varve upper mount -o "$word")
          umount mount 2>/dev/null || true
          [ "$tried" = "$real" ] && [ "$by_hand" = "$real" ] && echo "$word: ${tried##*$'\\n'}"
        done
        rm -r upper/.varve
        status_of mount.varve -f upper upper/inner
        status_of mount.varve -fs upper mount -o bogus
        ls -A upper
        varve mount upper mount
        kill -9 $(varve status --json mount | sed -n 's/.*"pid": \\([0-9]*\\),/\\1/p')
        while [ -e mount/inner ]; do sleep 0.01; done
        status_of mount.varve -f upper mount
        findmnt -no FSTYPE "$BASE/mount"
        """)
      #expect(
        output == """
          nosymfollow: status 1
          lower=/proc: status 32
          securelevel=9: status 1
          threads=0: status 1
          cache=often: status 1
          audit=log: status 1
          noowners=1: status 1
          admin_group=varve-nobody: status 1
          bogus: status 1
          ro: status 0
          noacl,securelevel=2: status 0
          mount.varve: BASE/upper/inner: the mount point is inside the upper directory BASE/upper
          status 1
          status 0
          inner
          status 0
          fuse.varve

          """)
    }

    @Test("A mount that is only tried finds what is wrong with places, volumes and logs, and makes nothing")
    func triedPlaces() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        try() { # WORDS OF varve mount
          local tried real before
          before=$(find upper other plain logs | sort)
          tried=$(status_of varve mount -f "$@")
          [ "$(find upper other plain logs | sort)" = "$before" ] || echo "something was made"
          real=$(status_of varve mount "$@")
          [ "$real" = "status 0" ] || [ "$(find upper other plain logs | sort)" = "$before" ] || echo "something stayed"
          if [ "$tried" = "$real" ]; then echo "$real"; else echo "$tried, but $real"; fi | sed 's/process [0-9]*/process N/'
        }
        mkdir plain logs upper/inner bound third
        try /proc third; try /sys third; try -o ro /proc third
        try -o upperdir=$BASE/none word third
        try -o audit=$BASE/none/log upper third
        ln -s log logs/link; try -o audit=$BASE/logs/link upper third
        touch logs/open && chmod 644 logs/open; try -o audit=$BASE/logs/open upper third
        mkfifo -m 600 logs/pipe; try -o audit=$BASE/logs/pipe upper third
        mkdir logs/dir; try -o audit=$BASE/logs/dir upper third; try -o audit=$BASE/logs/dir/ upper third; rmdir logs/dir
        try -o audit=/dev/null upper third
        mount --bind bound bound && mount -o remount,bind,ro bound; try bound third; umount bound
        touch bound/.varve; try bound third; rm bound/.varve
        mkdir -m 755 bound/.varve; try bound third; chmod 700 bound/.varve
        chown 1001 bound/.varve; try bound third; chown 0 bound/.varve
        echo nonsense >bound/.varve/volume; try bound third
        printf 'varve-volume 1\\nuuid = u\\nxattr = user\\nincompat = 8000\\n' >bound/.varve/volume; try bound third
        varve mount other mount
        try other second; try mount/ second; try mount third; try plain mount; try upper mount/
        mkdir mount/in; try mount/in second; try other/in second; try -o audit=$BASE/logs/made other second
        try -o audit=$BASE/logs/made plain mount
        varve umount mount
        try -o audit=$BASE/logs/made upper second; ls logs; varve umount second
        """)
      #expect(
        output == """
          varve mount: /proc: on proc, where the kernel shows itself and no files can be kept
          status 32
          varve mount: /sys: on sysfs, where the kernel shows itself and no files can be kept
          status 32
          varve mount: /proc: on proc, where the kernel shows itself and no files can be kept
          status 32
          varve mount: BASE/none: cannot open the upper directory: No such file or directory (ENOENT)
          status 32
          varve mount: BASE/third: the audit log BASE/none/log cannot be opened: No such file or directory (ENOENT); the directory for it is missing
          status 32
          varve mount: BASE/third: the audit log BASE/logs/link is a symbolic link (ELOOP); links are not followed here, name the file that it leads to
          status 32
          varve mount: BASE/third: the audit log BASE/logs/open cannot be opened: Operation not permitted (EPERM); a log that is there has to be the mounter's own, with mode 0600 and no second name
          status 32
          varve mount: BASE/third: the audit log BASE/logs/pipe is a FIFO (EINVAL); the log is written to a regular file, or with audit=journal to the system's log
          status 32
          varve mount: BASE/third: the audit log BASE/logs/dir is a directory (EISDIR); name a file in it
          status 32
          varve mount: BASE/third: the audit log BASE/logs/dir/ is a directory (EISDIR); name a file in it
          status 32
          varve mount: BASE/third: the audit log /dev/null is a device (EINVAL); the log is written to a regular file, or with audit=journal to the system's log
          status 32
          varve mount: BASE/bound: '.varve' cannot be made there: Read-only file system (EROFS); '-o ro' mounts it to look at
          status 32
          varve mount: BASE/bound: '.varve' in the upper directory is a regular file, not a directory
          status 32
          varve mount: BASE/bound: '.varve' in the upper directory is open to others than the mounter; it must belong to the mounter, with mode 0700
          status 32
          varve mount: BASE/bound: '.varve' in the upper directory belongs to user 1001, who alone can mount or check this volume; root takes it over with 'chown -R root: .varve' there, and then trusts the flags and lists that user 1001 has set. Do not remove it: it holds the keybag, without which encrypted files are lost, and those would not count
          status 32
          varve mount: BASE/bound: the volume file begins with 'nonsense', this version reads 'varve-volume 1'
          status 32
          varve mount: BASE/bound: the volume uses features this version does not know; it needs a newer varve
          status 32
          varve mount: BASE/other: the volume is mounted already, by process N, on BASE/mount
          status 32
          varve mount: BASE/mount: on a Varve volume already
          status 32
          varve mount: BASE/mount: on a Varve volume already
          status 32
          varve mount: BASE/mount: the mount point shows a Varve volume already; unmount that one first
          status 32
          varve mount: BASE/mount: the mount point shows a Varve volume already; unmount that one first
          status 32
          varve mount: BASE/mount/in: on a Varve volume already
          status 32
          varve mount: BASE/other/in: it is inside the volume BASE/other, which is mounted already, by process N
          status 32
          varve mount: BASE/other: the volume is mounted already, by process N, on BASE/mount
          status 32
          varve mount: BASE/mount: the mount point shows a Varve volume already; unmount that one first
          status 32
          status 0
          link
          made
          open
          pipe

          """)
    }

    @Test(
      "What a user may not mount is said in one line, also when it is only tried",
      .enabled(if: Programs.has("fusermount3", "setpriv"), "needs fusermount3 and setpriv"))
    func triedByUser() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        mknod fuse c 10 229 && chmod 0666 fuse && mount --bind fuse /dev/fuse
        chown 65534:65534 upper mount
        export -f status_of
        try() {
          tried=$(as_user "status_of varve mount -f $*"); real=$(as_user "status_of varve mount $*")
          if [ "$tried" = "$real" ]; then echo "$real"; else echo "$tried, but $real"; fi
        }
        echo '# user_allow_other' >world/fuse.conf && mount --bind world/fuse.conf /etc/fuse.conf
        try -o allow_other upper mount
        try upper second
        chmod 1777 second; try upper second
        try other mount
        echo ' user_allow_other # for all' >world/fuse.conf
        try -o allow_other upper mount
        as_user 'varve umount mount'
        echo 'mount_max = 0' >world/fuse.conf
        as_user 'status_of varve mount upper mount'
        mount --bind /dev/null /usr/bin/fusermount3
        try upper mount
        """)
      #expect(
        output == """
          varve mount: BASE/mount: a user cannot let others in ('allow_other') before root adds user_allow_other to /etc/fuse.conf
          status 32
          varve mount: BASE/second: cannot be mounted on: Permission denied (EACCES); users mount where they may write, and on a sticky directory if it is theirs
          status 32
          varve mount: BASE/second: cannot be mounted on: Operation not permitted (EPERM); users mount where they may write, and on a sticky directory if it is theirs
          status 32
          varve mount: BASE/other: '.varve' cannot be made there: Permission denied (EACCES)
          status 32
          status 0
          varve mount: BASE/mount: cannot be mounted on: fusermount3: too many FUSE filesystems mounted; mount_max=N can be set in /etc/fuse.conf
          status 32
          varve mount: BASE/mount: fusermount3 is missing; it comes with the package fuse3
          status 32

          """)
    }

    @Test("mount.varve speaks in its own name, with its own usage") func helper() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        status_of mount.varve
        status_of mount.varve a b c
        status_of mount.varve -q a b
        status_of mount.varve upper mount -o
        status_of mount.varve second
        """)
      let usage = "usage: mount.varve SOURCE DIR [-sfnvrw] [-o OPTIONS] [-N NAMESPACE]\nstatus 1"
      #expect(
        output == """
          mount.varve: SOURCE and DIR are missing
          \(usage)
          mount.varve: there are more words than SOURCE and DIR
          \(usage)
          mount.varve: unknown option -q
          \(usage)
          mount.varve: option -o needs a value
          \(usage)
          mount.varve: second: SOURCE is missing, and /etc/varve/varve.conf names none for this mount point
          status 1

          """)
    }
  }
}
