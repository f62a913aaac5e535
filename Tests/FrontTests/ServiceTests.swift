import Foundation
import Glibc
import MountSupport
import Testing

extension FrontTests {
  @Suite("varved as a service", .timeLimit(.minutes(2))) struct ServiceTests {
    static let systemd = "/usr/bin/systemd-analyze"
    static let generator = "/lib/systemd/system-generators/systemd-fstab-generator"

    @Test(
      "A service manager is told when the volume is ready and when it ends", arguments: ["path", "abstract"])
    func notifies(_ kind: String) throws {
      let world = try World()
      defer { world.remove() }
      let address = kind == "path" ? "\(world.base)/notify" : "@varve-test-\(getpid())"
      let mailbox = try Mailbox(address)
      let output = try world.output(
        """
        varve mount --foreground "$BASE/upper" "$BASE/mount" &
        daemon=$!
        while ! findmnt "$BASE/mount" >/dev/null; do sleep 0.01; done
        while ! [ -e mount/.varve/status ]; do sleep 0.01; done
        echo text >mount/file
        # What is started is what is told about.
        grep -o "\\"pid\\":$daemon," mount/.varve/status | sed 's/[0-9]*,//'
        kill "$daemon"
        wait "$daemon"
        echo "ended with $?"
        cat upper/file
        """, environment: ["NOTIFY_SOCKET": address])
      #expect(output == "\"pid\":\nended with 0\ntext\n")
      let messages = mailbox.messages(until: "STOPPING=1")
      #expect(messages.first == "READY=1\nSTATUS=Serving \(world.base)/upper on \(world.base)/mount")
      #expect(messages.last?.hasPrefix("STOPPING=1\n") == true)
    }

    @Test("In the background nobody is told, and lines go to the system's log with name and number")
    func logs() throws {
      let world = try World()
      defer { world.remove() }
      let log = try Mailbox("\(world.base)/log")
      let notes = try Mailbox("\(world.base)/notify")
      let output = try world.output(
        """
        mkdir world/dev && for name in null fuse random urandom; do
          touch "world/dev/$name" && mount --bind "/dev/$name" "world/dev/$name"
        done
        ln -s "$BASE/log" world/dev/log
        mount --rbind world/dev /dev
        varve mount "$BASE/upper" "$BASE/mount"
        varve status --json mount | sed -n 's/.*"pid": \\([0-9]*\\),/\\1/p'
        varve remount -o noexec mount
        varve umount mount
        """, environment: ["NOTIFY_SOCKET": "\(world.base)/notify"])
      let daemon = try #require(Int(output.trimmingCharacters(in: .whitespacesAndNewlines)), "\(output)")
      let line = try #require(log.messages(until: "noexec").last)
      // <29>: facility daemon, a notice.
      #expect(line.hasPrefix("<29>"))
      #expect(line.contains(" varved[\(daemon)]: user 0 changed the options to 'noexec'"), "\(line)")
      _ = notes
    }

    @Test("In the foreground lines go to standard error, each with its priority") func foreground() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        varve mount --foreground "$BASE/upper" "$BASE/mount" 2>lines &
        while ! [ -e mount/.varve/status ]; do sleep 0.01; done
        varve remount -o noatime mount
        varve umount mount
        wait
        cat lines
        """)
      #expect(output == "<5>varved: user 0 changed the options to 'foreground,noatime'\n")
    }

    @Test("A line of the groups file that cannot be used costs that line, and the log and the status say so")
    func groupsWithMistakes() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        mkdir world/etc world/etc-work
        mount -t overlay -o "lowerdir=/etc,upperdir=$BASE/world/etc,workdir=$BASE/world/etc-work" overlay /etc
        mkdir -p /etc/varve
        printf '%s\\n' 'no-such-group: 4003' '4002: 4003' '# a: comment' '4004: 4003,no-such-group' '4005 4003' \
          '4006: 4003' >/etc/varve/groups
        varve mount --foreground "$BASE/upper" "$BASE/mount" 2>lines &
        while ! [ -e mount/.varve/status ]; do sleep 0.01; done
        for group in 4002 4004 4005 4006; do
          install -m 640 -g $group /dev/null mount/$group
          if setpriv --reuid 3000 --regid 4003 --clear-groups cat mount/$group 2>/dev/null
          then echo "$group is read"; else echo "$group is not read"; fi
        done
        varve status mount | grep -o 'warnings:.*' | sed 's/: */: /'
        varve why --as 3000:4003 read mount/4002 | grep -o 'by its mode (group .*'
        varve umount mount
        wait
        cat lines
        varve mount -o admin_group=4002 "$BASE/upper" "$BASE/mount" 2>/dev/null
        varve why --as 3000:4003 read mount/4004 | grep -o 'read allowed.*'
        varve umount mount
        """)
      let lines = [
        "/etc/varve/groups, line 1 is left out: there is no group 'no-such-group'",
        "/etc/varve/groups, line 4 is left out: there is no group 'no-such-group'",
        "/etc/varve/groups, line 5 is left out: ':' is missing after '4005'",
      ]
      #expect(
        output == """
          4002 is read
          4004 is not read
          4005 is not read
          4006 is read
          warnings: \(lines.joined(separator: ", "))
          by its mode (group r--); a member of it by way of group:4003
          \(lines.map { "<4>varved: \($0)" }.joined(separator: "\n"))
          read allowed by admin_group, as a member of group:4002: only flags could stop this; a member of it by way of group:4003

          """)
    }

    @Test(
      "The units are ones that systemd understands",
      .enabled(if: access(systemd, X_OK) == 0, "needs systemd-analyze"),
      arguments: [("varve@", "varve@mnt-team"), ("varve-sleep", "varve-sleep")])
    func unit(_ name: String, _ instance: String) throws {
      let world = try World()
      defer { world.remove() }
      let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("systemd/\(name).service.in").path
      let text = try Text.read(source).replacing("@BINDIR@", with: "/usr/sbin")
      try text.write(toFile: "\(world.base)/\(instance).service", atomically: true, encoding: .utf8)
      let output = try world.output("systemd-analyze verify --man=no ./\(instance).service")
      #expect(output == "")
    }

    @Test(
      "From our lines in fstab systemd makes the units that the manual promises",
      .enabled(if: access(generator, X_OK) == 0, "needs systemd's fstab generator"))
    func units() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        mkdir units
        fstab '/srv/team /mnt/team fuse.varve nofail,x-systemd.requires-mounts-for=/srv/base 0 0
        /srv/vault /mnt/vault fuse.varve x-systemd.automount,x-systemd.idle-timeout=10min 0 0
        /srv/net /mnt/net fuse.varve _netdev 0 0'
        SYSTEMD_IN_INITRD=0 \(ServiceTests.generator) units units units
        cd units
        grep -hE '^(What|Where|Type|Options|RequiresMountsFor)=' mnt-team.mount
        ls -d local-fs.target.wants/mnt-team.mount remote-fs.target.requires/mnt-net.mount
        ls -d local-fs.target.requires/mnt-vault.automount
        grep -hE '^(Where|TimeoutIdleSec)=' mnt-vault.automount
        grep -c local-fs mnt-team.mount || true
        """)
      #expect(
        output == """
          RequiresMountsFor=/srv/base
          What=/srv/team
          Where=/mnt/team
          Type=fuse.varve
          Options=nofail,x-systemd.requires-mounts-for=/srv/base
          local-fs.target.wants/mnt-team.mount
          remote-fs.target.requires/mnt-net.mount
          local-fs.target.requires/mnt-vault.automount
          Where=/mnt/vault
          TimeoutIdleSec=10min
          0

          """)
    }

    @Test("What varve.conf says is where a mount begins, and what is typed wins") func settings() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        mkdir world/etc && cp -a /etc/. world/etc/ && mount --bind world/etc /etc && mkdir -p /etc/varve
        printf '%s\\n' 'options = noatime' "[$BASE/mount]" "source = $BASE/upper" 'options = suid,securelevel=1' \\
          >/etc/varve/varve.conf
        varve mount "$BASE/mount"
        findmnt -no SOURCE,VFS-OPTIONS mount | tr -s ' '
        varve status --json mount | grep '"securelevel":'
        varve umount mount
        mount -t fuse.varve -o securelevel=2 "$BASE/upper" "$BASE/mount"
        varve status --json mount | grep '"securelevel":'
        varve umount mount
        status_of varve mount "$BASE/second"
        echo 'optoins = ro' >/etc/varve/varve.conf
        status_of varve mount "$BASE/upper" "$BASE/second"
        """)
      #expect(
        output == """
          BASE/upper rw,nodev,noatime
            "securelevel": 1,
            "securelevel": 2,
          varve mount: BASE/second: SOURCE is missing, and /etc/varve/varve.conf names none for this mount point
          status 1
          varve mount: BASE/second: /etc/varve/varve.conf, line 1: unknown setting 'optoins'; there are 'options', 'sleep' and 'source'
          status 1

          """)
    }
  }

  @Suite("Unmounting what is in use", .timeLimit(.minutes(2))) struct UnmountTests {
    @Test("umount waits for another mount namespace, and says for whose") func namespace() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        varve mount upper mount
        unshare --mount --propagation private sleep 6 &
        other=$!
        while [ "$(readlink /proc/$other/ns/mnt)" = "$(readlink /proc/self/ns/mnt)" ]; do sleep 0.01; done
        status_of varve umount mount | sed "s/process $other/process N/"
        varve mount upper mount
        varve umount mount
        """)
      #expect(
        output == """
          varve umount: BASE/mount: unmounted here, and waiting: it is still mounted in the mount namespace of process N (sleep)
          status 0

          """)
    }

    @Test("umount names who works in a volume") func inUse() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        varve mount upper mount
        (cd mount && exec sleep 30) &
        other=$!
        while [ "$(readlink /proc/$other/cwd)" = "$BASE" ]; do sleep 0.01; done
        sleep 0.1
        status_of varve umount mount | sed -E 's/process [0-9]+ \\([a-z]+\\)/process N/'
        kill "$other"
        wait "$other" || true
        varve umount mount
        """)
      #expect(
        output == """
          varve umount: mount: busy: process N works in it or has a file open: BASE/mount (EBUSY)
          status 1

          """)
    }
  }
}
