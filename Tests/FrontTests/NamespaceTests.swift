import Foundation
import Glibc
import MountSupport
import Testing

extension FrontTests {
  /// A mount in a namespace whose owner put other things under every name that the daemon knows.
  @Suite("Mounting in another namespace", .timeLimit(.minutes(1))) struct NamespaceTests {
    /// Makes a namespace, `$other`, with other groups, other settings, no /proc, no device and a `mount` of its own.
    private static let stage = """
      over() {
        mkdir -p "$BASE/world/$1" "$BASE/world/$1-work"
        mount -t overlay -o "lowerdir=/etc,upperdir=$BASE/world/$1,workdir=$BASE/world/$1-work" overlay /etc
        mkdir -p /etc/varve
      }
      over ours
      echo 'varve-test:x:4001:' >>/etc/group
      echo '4002: 4003' >/etc/varve/groups
      export -f over
      unshare --mount --propagation private /bin/bash -ec '
        over theirs
        sed -i "s/^varve-test:.*/varve-test:x:4999:/" /etc/group
        echo "4002: 4999" >/etc/varve/groups
        rm -f /etc/mtab && touch /etc/mtab
        printf "#!/bin/sh\\ntouch $BASE/world/has-run\\n" >"$BASE/world/run" && chmod 755 "$BASE/world/run"
        mount --bind "$BASE/world/run" /usr/bin/fusermount3
        mount --bind /dev/null /dev/fuse
        cp /usr/bin/mount "$BASE/world/their-mount"
        mount --bind "$BASE/world/run" /usr/bin/mount
        "$BASE/world/their-mount" -t tmpfs tmpfs /proc
        touch "$BASE/world/forged"
        exec sleep 60' &
      other=$!
      until [ -e world/forged ] && [ "$(cat /proc/$other/comm)" = sleep ]; do sleep 0.01; done
      there() { nsenter --mount --target "$other" "$@"; }
      reads() { # NAME GROUP [GROUPS]
        if there setpriv --reuid 3000 --regid "$2" ${3:---clear-groups} cat "$BASE/mount/$1" 2>/dev/null
        then echo "$2 reads $1"; else echo "$2 does not read $1"; fi
      }
      for name in admin nested plain; do install -m 640 /dev/null upper/$name; done
      chmod 600 upper/admin; chgrp 4002 upper/nested; chgrp 4005 upper/plain

      """

    @Test("Names, settings and /proc are ours, and no program of that place is run") func forged() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        NamespaceTests.stage + """
          varve mount -N "/proc/$other/ns/mnt" -o admin_group=varve-test "$BASE/upper" "$BASE/mount"
          reads admin 4001; reads admin 4999
          reads nested 4003; reads nested 4999
          reads plain 3000 --groups=4005; reads plain 3000
          daemon=$(there cat "$BASE/mount/.varve/status" | grep -o '"pid":[0-9]*' | tr -dc 0-9)
          for thread in /proc/$daemon/task/*/ns/mnt /proc/$daemon/ns/mnt; do readlink $thread; done | sort -u |
            sed "s/^$(readlink /proc/self/ns/mnt | sed 's/[][]/./g')$/ours/"
          ls world/has-run 2>/dev/null || echo nothing was run
          grep -q " $BASE/mount " /proc/$other/mountinfo && echo mounted there
          grep -q " $BASE/mount " /proc/self/mountinfo || echo not mounted here
          kill $daemon
          while [ -e /proc/$daemon/exe ]; do sleep 0.01; done
          grep -q " $BASE/mount " /proc/$other/mountinfo || echo unmounted there
          ls world/has-run 2>/dev/null || echo nothing was run
          kill "$other"
          """)
      #expect(
        output == """
          4001 reads admin
          4999 does not read admin
          4003 reads nested
          4999 does not read nested
          3000 reads plain
          3000 does not read plain
          ours
          nothing was run
          mounted there
          not mounted here
          unmounted there
          nothing was run

          """)
    }

    @Test("What cannot be mounted there is refused with the reason") func refused() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        unshare --mount --propagation private sleep 60 &
        other=$!
        while [ "$(readlink /proc/$other/ns/mnt)" = "$(readlink /proc/self/ns/mnt)" ]; do sleep 0.01; done
        there() { status_of varve mount -N "/proc/$other/ns/mnt" "$@"; }
        mkdir upper/inner
        there "$BASE/upper" "$BASE/nowhere"
        there "$BASE/nowhere" "$BASE/mount"
        there "$BASE/upper" "$BASE/upper/inner"
        there upper "$BASE/mount"
        there "$BASE/upper" mount
        status_of varve mount -N 999999999 upper mount
        status_of varve mount -N "$other" -o "upperdir=upper" word "$BASE/mount"
        status_of varve mount -N '' "$BASE/upper" "$BASE/mount"
        status_of varved --namespace '' "$BASE/upper" "$BASE/mount" | head -1
        status_of mount -N "$other" -t fuse.varve upper mount
        status_of varve mount -N "$other" "$BASE/upper" "$BASE/mount"
        there "$BASE/other" "$BASE/mount"
        status_of varve mount -N "$BASE/upper" "$BASE/upper" "$BASE/mount"
        varve mount "$BASE/other" "$BASE/mount"
        there -o remount,ro "$BASE/mount"
        findmnt -no FS-OPTIONS "$BASE/mount" | cut -d, -f1
        varve umount "$BASE/mount"
        nsenter --mount --target "$other" varve umount "$BASE/mount"
        kill "$other"
        """)
      #expect(
        output == """
          varve mount: BASE/nowhere: the mount point does not exist in that mount namespace (ENOENT); make it there, with mkdir
          status 32
          varve mount: BASE/nowhere: the source does not exist in that mount namespace (ENOENT); make it there, with mkdir
          status 32
          varve mount: BASE/upper/inner: the mount point is inside the upper directory BASE/upper
          status 1
          varve mount: upper: the source in another mount namespace needs an absolute path
          status 1
          varve mount: mount: the mount point in another mount namespace needs an absolute path
          status 1
          varve mount: upper: the source in another mount namespace needs an absolute path
          status 1
          varve mount: upper: the source in another mount namespace needs an absolute path
          status 1
          varve mount: BASE/mount: '-N' needs the path of a mount namespace, or the number of a process that is in it
          status 1
          varved: '--namespace' needs the path of a mount namespace, or the number of a process
          mount.varve: upper: the source in another mount namespace needs an absolute path
          status 1
          status 0
          varve mount: BASE/mount: the mount point shows a Varve volume already; unmount that one first
          status 32
          varve mount: BASE/mount: cannot enter the mount namespace BASE/upper: Invalid argument (EINVAL)
          status 1
          varve mount: BASE/mount: 'remount' and '-N' do not go together; remount in that namespace
          status 1
          rw

          """)
    }
  }
}
