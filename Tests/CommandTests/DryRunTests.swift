import MountSupport
import Testing

extension CommandTests {
  @Suite("What a dry run tells") struct DryRunTests {
    /// Plain, locked and foreign items; `make` puts them there again, `free` takes the locks off.
    static let prelude = """
      ann() { setpriv --reuid 7001 --regid 7001 --groups 7001,7003 $BASE/varve "$@"; }
      root() { varve "$@"; }
      free() { varve chflags -R -h nouchg,noschg,nouappnd,nosappnd d 2> /dev/null || :; }
      make() {
        free; rm -rf d; mkdir -p d/plain d/foreign d/locked d/system
        for name in plain foreign locked system; do echo x > d/$name/f; echo y > d/$name/g; ln -s f d/$name/link; done
        mkfifo d/plain/pipe; chmod 755 d/foreign
        chown -R -h 7001:7001 d; chown -h -R 7002:7002 d/foreign; chown 7002:7003 d/plain/g
        varve acl set -e 'user:7001 allow full' d/foreign/g; varve acl set -e 'user:7001 deny full' d/plain/g
        varve acl set -e 'user:7003 allow read,file_inherit,directory_inherit' d d/plain
        varve chflags uchg d/locked/f d/locked d/plain/f; varve chflags uappnd d/locked/g; varve chflags schg d/system/f
        varve chflags sappnd d/system/g; varve chflags -h uchg d/locked/link
      }
      state() { find d -printf '%p %y %m %U:%G\\n' | sort; varve acl dump d; varve ls -RO d | grep -v ^total; }
      # What is refused, in any order, as threads take their turns; and the status.
      said() { "$@" > $BASE/out 2> $BASE/said; echo "status $?" >> $BASE/said; sort $BASE/said | counted; }
      # Of a kind that is counted after the tenth, which ten are named depends on the order.
      counted() { awk '{ line[NR] = $0; if (match($0, /: [0-9,]+ more: /)) end[substr($0, RSTART + RLENGTH)] }
        END { for (i = 1; i <= NR; i++) { kept = line[i] ~ /: [0-9,]+ more: /; if (!kept) { kept = 1
          for (e in end) if (substr(line[i], length(line[i]) - length(e) + 1) == e) kept = 0 } if (kept) print line[i] } }'; }
      # Of what a verb has told as JSON: the five counts; each change that is made.
      counts() { tail -1 $1 | sed 's/.*"items"/"items"/; s/, "interrupted".*//'; }
      changes() { grep '^ *{"path"' $1 | grep -v '"refused"\\|"error"' | sed 's/,$//'; }

      """

    private func desk(_ options: String = "") throws -> Desk {
      try Desk(
        options,
        "cp '\(Program.built("varve"))' $BASE/varve; chmod 755 $BASE/varve . ; chmod 711 $BASE; chown 7001 .")
    }

    /// Commands of which no step changes what is answered to a later one.
    static let commands = [
      "chmod -R a+r,go-w d", "chmod -R u+s d", "chmod -R 755 d", "chmod -R g+s d",
      "chmod 600 d/plain/link d/system/f",
      "chmod -R +a 'user:7004 allow read' d", "chmod -R -N d", "chmod -R -a# 0 d", "chmod -R -I d",
      "chflags -R hidden d", "chflags -R nouchg,nouappnd d", "chflags -R 0 d", "chflags -R -h schg d",
      "chflags -R -h uchg,hidden d", "chown -R 7001 d", "chown -R 7001:7003 d", "chown -R :7003 d",
      "chown -R 7002 d",
      "chown -R -h 7005:7006 d", "chown -R :group=7003 d", "chown -R :group=7002 d", "chown -R : d",
      "acl set -R -e 'user:7005 allow read' d", "acl strip -R d", "acl propagate d", "acl propagate d/plain",
      "acl inherit -R d", "acl explicit -R d", "acl sort -R d", "acl copy -R d/foreign/g d",
      "chmod -f -R 700 d/locked d/system",
      "acl set -e 'everyone allow read' d/locked/f d/foreign/f d/plain/f",
      // What another bit or flag comes of than was asked for, or none.
      "chmod g+s d/foreign/f d/plain/g d/foreign/g", "chflags -R compressed d",
      "chmod 600 d/missing d/plain/f nowhere/f",
    ]

    /// Runs each command dry and then for good, and compares complaints, status, all counts, and every change that is told.
    private func compare(
      _ desk: Desk, _ commands: [String], before: String = "", after: String = "",
      sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
      for user in ["root", "ann"] {
        for command in commands {
          let words = command.hasPrefix("acl ") ? 2 : 1
          let parts = command.split(separator: " ", maxSplits: words)
          let (verb, rest) = (parts[..<words].joined(separator: " "), parts[words])
          let output = try desk.run(
            Self.prelude + """
              make; \(before)
              state > $BASE/before
              said \(user) \(verb) -q --dry-run \(rest) > $BASE/plan
              said \(user) \(verb) -q --dry-run --json \(rest) | cmp - $BASE/plan; cp $BASE/out $BASE/json
              state | cmp - $BASE/before
              said \(user) \(verb) -q --json -v \(rest) > $BASE/real; cp $BASE/out $BASE/made
              \(after)
              diff $BASE/plan $BASE/real && echo same $(sed -n '/^status /p' $BASE/real)
              counts $BASE/json > $BASE/plan; counts $BASE/made | diff $BASE/plan -
              changes $BASE/json > $BASE/plan; sort -c $BASE/plan; changes $BASE/made | sort | diff $BASE/plan -
              """)
          #expect(
            output == "same status 0\n" || output == "same status 1\n", "\(user) \(command): \(output)",
            sourceLocation: sourceLocation)
        }
      }
      try desk.run(Self.prelude + "free", succeeds: true)
    }

    @Test(
      "A dry run names what the run then refuses, with its reason, for root and for others, and changes nothing"
    ) func likeTheRun() throws {
      let desk = try desk()
      defer { desk.volume.remove() }
      try compare(desk, Self.commands)
      // The cases that must be there: nothing above is worth anything if nothing is refused.
      try desk.run(
        Self.prelude + """
          make
          for user in root ann; do
            test $($user chmod -R --dry-run 755 d 2> /dev/null | sed -nE 's/.*, ([0-9]+) would be refused.*/\\1/p') -gt 5
          done
          free
          """, succeeds: true)
      try desk.end()
    }

    @Test(
      "It knows of volumes without lists or owners, of read-only ones, and of read-only mounts of others",
      arguments: [
        ("varve remount -o noacl .", "varve remount -o acl ."),
        ("varve remount -o ro .", "varve remount -o rw ."),
        ("varve remount -o noowners .", "varve remount -o owners ."),
        ("mount --bind d d; mount -o remount,bind,ro d", "umount d"),
      ])
    func volumes(_ before: String, _ after: String) throws {
      let desk = try desk()
      defer { desk.volume.remove() }
      let commands = [
        "chmod -R 755 d", "chmod -R -N d", "chmod -R +a 'user:7009 deny write' d", "chflags -R hidden d",
        "chflags -R 0 d",
        "chown -R 7001:7003 d",
        "acl set -R -e 'user:7005 allow read' d",
        "acl strip -R d", "acl propagate d",
      ]
      try compare(desk, commands, before: before, after: after)
      try desk.end()
    }

    @Test("A dry run of a restore tells what the restore then does and refuses") func restore() throws {
      let desk = try desk()
      defer { desk.volume.remove() }
      let changes = [
        "chmod -R $undo go= d", "chflags -R $undo 0 d", "chown -R $undo 7002:7002 d",
        "chown -R $undo :group=7003 d", "acl strip -R $undo d",
      ]
      for change in changes {
        for user in ["root", "ann"] {
          let output = try desk.run(
            Self.prelude + """
              make; rm -f $BASE/undo; undo="--undo $BASE/undo"
              varve \(change) 2> /dev/null
              chmod 644 $BASE/undo; state > $BASE/before
              said \(user) acl restore -q --dry-run $BASE/undo > $BASE/plan
              said \(user) acl restore -q --dry-run --json $BASE/undo | cmp - $BASE/plan; cp $BASE/out $BASE/json
              state | cmp - $BASE/before
              said \(user) acl restore --json -v -q $BASE/undo > $BASE/real; cp $BASE/out $BASE/made
              diff $BASE/plan $BASE/real && echo same
              counts $BASE/json > $BASE/plan; counts $BASE/made | diff $BASE/plan -
              changes $BASE/json > $BASE/plan; sort -c $BASE/plan; changes $BASE/made | sort | diff $BASE/plan -
              """)
          #expect(output == "same\n", "\(user) \(change): \(output)")
        }
      }
      try desk.run(Self.prelude + "free", succeeds: true)
      try desk.end()
    }

    @Test("Of a locked item that a restore unlocks it asks whether the lock comes off")
    func restoreOfLocked() throws {
      let desk = try desk()
      defer { desk.volume.remove() }
      try desk.expect(
        Self.prelude + """
          mkdir d; touch d/mine d/foreign; chown 7001:7001 d d/mine; chown 7002 d/foreign; chmod 600 d/*
          varve chflags --undo $BASE/undo uchg d/*; varve chflags nouchg d/*
          varve chmod --undo $BASE/undo --resume 640 d/*; varve chflags uchg d/*; chmod 644 $BASE/undo
          ann acl restore -q -n $BASE/undo; echo $?; free
          """,
        prints: """
          varve acl restore: BASE/mount/d/foreign: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else
          varve acl restore: BASE/mount/d/foreign: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else
          BASE/mount/d/mine: flags uchg -> none
          BASE/mount/d/mine: mode 0640 -> 0600
          2 of 4 items would change, 2 would be refused
          1

          """)
      try desk.end()
    }

    @Test("In words and in JSON it says in the order of paths what would be refused, and why")
    func output() throws {
      let desk = try desk()
      defer { desk.volume.remove() }
      try desk.expect(
        Self.prelude + """
          mkdir d; touch d/f d/g d/h; varve chflags uchg d/f; chmod 600 d/h; varve chflags schg d/h
          varve chmod -n 600 d/h d/g d d/f; echo $?
          varve chmod -n --json 600 d/h d/g d d/f 2> /dev/null; echo $?
          varve acl set -n -e 'user:7 allow read' d/f d/g; echo $?
          ann chown --dry-run 7001 d/g; echo $?; ann chflags --json -n schg d/g 2> /dev/null; echo $?
          varve chmod -n -f 600 d/f; echo $?
          varve chflags -n nouchg,noschg d/f d/h; echo $?; varve chflags nouchg,noschg d/f d/h
          """,
        prints: """
          d: 040755 [drwxr-xr-x ] -> 040600 [drw------- ]
          varve chmod: d/f: is locked by uchg; clear it first: varve chflags nouchg d/f (EPERM)
          d/g: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          varve chmod: d/h: is locked by schg; clear it first, as root: varve chflags noschg d/h (EPERM)
          2 of 4 items would change, 2 would be refused
          varve chmod: as things stand now; earlier steps of the same run are not taken into account
          1
          {"changes": [
            {"path": "d", "before": {"mode": "0755"}, "after": {"mode": "0600"}},
            {"path": "d/f", "before": {"mode": "0644"}, "after": {"mode": "0600"}, "refused": {"error": "EPERM", "because": "by its flag uchg"}},
            {"path": "d/g", "before": {"mode": "0644"}, "after": {"mode": "0600"}},
            {"path": "d/h", "refused": {"error": "EPERM", "because": "by its flag schg"}}
          ], "dryRun": true, "items": 4, "changed": 2, "unchanged": 0, "leftAlone": 0, "failed": 2, "interrupted": false}
          1
          varve acl set: d/f: is locked by uchg; clear it first: varve chflags nouchg d/f (EPERM)
          d/g: 0 -> 1 entry
          1 of 2 items would change, 1 would be refused
          varve acl set: as things stand now; earlier steps of the same run are not taken into account
          1
          varve chown: d/g: Operation not permitted (EPERM): without root you need the right chown to take it over
          0 of 1 item would change, 1 would be refused
          varve chown: as things stand now; earlier steps of the same run are not taken into account
          1
          {"changes": [
            {"path": "d/g", "before": {"flags": []}, "after": {"flags": ["schg"]}, "refused": {"error": "EPERM", "because": "only root changes schg"}}
          ], "dryRun": true, "items": 1, "changed": 0, "unchanged": 0, "leftAlone": 0, "failed": 1, "interrupted": false}
          1
          0 of 1 item would change, 1 would be refused
          0
          d/f: uchg -> none
          d/h: schg -> none
          2 of 2 items would change
          varve chflags: as things stand now; earlier steps of the same run are not taken into account
          0

          """)
      try desk.end()
    }

    @Test("What earlier steps of the run would change counts as it is now, and that is said")
    func asThingsStand() throws {
      let desk = try desk()
      defer { desk.volume.remove() }
      try desk.expect(
        Self.prelude + """
          mkdir -p d/shut d/open; touch d/shut/f d/open/f; ln d/open/f d/open/twin; chown -R 7001:7001 d
          chmod 0 d/shut; chmod 644 d/open/f
          # By two names, and twice by one.
          ann chmod -n 600 d/open/twin d/open/f d/open/f; echo $?
          # What would be closed on the way, and what would be opened.
          ann chmod -q -n -R 600 d/open; echo $?; ann chmod -q -n -R u+rwx d/shut; echo $?
          ann chmod -n --json -R u+rwx d/shut 2> /dev/null
          # A right that an earlier step would take away, and one that it would give.
          ann chmod -q -n +a 'user:7001 deny writesecurity' d/open/f d/open/f; echo $?
          """,
        prints: """
          d/open/f: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          d/open/f: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          d/open/twin: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          3 of 3 items would change
          varve chmod: as things stand now; earlier steps of the same run are not taken into account
          0
          d/open: 040755 [drwxr-xr-x ] -> 040600 [drw------- ]
          d/open/f: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          d/open/twin: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          3 of 3 items would change
          0
          varve chmod: d/shut: Permission denied (EACCES); on a volume 'varve why --last' tells which rule
          d/shut: 040000 [d--------- ] -> 040700 [drwx------ ]
          1 of 2 items would change, 1 would fail
          1
          {"changes": [
            {"path": "d/shut", "error": "Permission denied (EACCES); on a volume 'varve why --last' tells which rule"},
            {"path": "d/shut", "before": {"mode": "00"}, "after": {"mode": "0700"}}
          ], "dryRun": true, "items": 2, "changed": 1, "unchanged": 0, "leftAlone": 0, "failed": 1, "interrupted": false}
          d/open/f: 0 -> 1 entry
          d/open/f: 0 -> 1 entry
          2 of 2 items would change
          0

          """)
      try desk.end()
    }

    @Test("A set-gid bit that is not granted is not told of, and flags the volume keeps are no change")
    func granted() throws {
      let desk = try desk()
      defer { desk.volume.remove() }
      try desk.expect(
        Self.prelude + """
          touch f g; chown 7001:7002 f; chown 7001:7003 g; chmod 644 f g
          ann chmod -n g+s f g; ann chmod -v g+s f g; stat -c %a f g
          chmod 644 g; ann chmod --json 2600 f g; ann chmod -vv 2600 f g
          chmod 2600 f; mkdir -p $BASE/open; chmod 777 $BASE/open
          ann chmod -n --json 2600 f 2> /dev/null; ann chmod -vv --undo $BASE/open/undo 2600 f; stat -c %a f
          varve acl restore $BASE/open/undo; stat -c %a f
          varve chflags --json compressed f 2> /dev/null; varve chflags --json -v compressed,hidden f 2> /dev/null
          """,
        prints: """
          varve chmod: f: stays without its set-gid bit, which only members of group 7002 can set
          g: 0100644 [-rw-r--r-- ] -> 0102644 [-rw-r-Sr-- ]
          1 of 2 items would change
          varve chmod: as things stand now; earlier steps of the same run are not taken into account
          varve chmod: f: stays without its set-gid bit, which only members of group 7002 can set
          g
          644
          2644
          {"changes": [], "dryRun": false, "items": 2, "changed": 2, "unchanged": 0, "leftAlone": 0, "failed": 0, "interrupted": false}
          varve chmod: f: stays without its set-gid bit, which only members of group 7002 can set
          {"changes": [
            {"path": "f", "before": {"mode": "02600"}, "after": {"mode": "0600"}}
          ], "dryRun": true, "items": 1, "changed": 1, "unchanged": 0, "leftAlone": 0, "failed": 0, "interrupted": false}
          varve chmod: f: stays without its set-gid bit, which only members of group 7002 can set
          f: 0102600 [-rw---S--- ] -> 0100600 [-rw------- ]
          600
          varve acl restore: BASE/mount/f: its set-id bits stay off, as its content may have changed; if it can be trusted: varve chmod 2600 BASE/mount/f
          600
          {"changes": [], "dryRun": false, "items": 1, "changed": 0, "unchanged": 1, "leftAlone": 0, "failed": 0, "interrupted": false}
          {"changes": [
            {"path": "f", "before": {"flags": []}, "after": {"flags": ["hidden"]}}
          ], "dryRun": false, "items": 1, "changed": 1, "unchanged": 0, "leftAlone": 0, "failed": 0, "interrupted": false}

          """)
      try desk.end()
    }

    @Test("Where the daemon cannot be asked, a dry run says that it does not know") func unknown() throws {
      let desk = try desk()
      defer { desk.volume.remove() }
      try desk.expect(
        Self.prelude + """
          mkdir d; touch d/f d/g; varve chflags uchg d/f
          unseen() { unshare --mount bash -c 'mount -t tmpfs none /run/varve && "$@"' unseen "$@"; }
          unseen varve chmod -n 600 d d/f; echo $?; unseen varve chmod -n --json 600 d/g d/f 2> /dev/null; echo $?
          mkdir $BASE/elsewhere; varve chown --dry-run 7001 $BASE/elsewhere; echo $?
          varve chflags nouchg d/f
          """,
        prints: """
          varve chmod: d: what would be refused is not known: its control socket cannot be seen from here; it may be in another mount namespace
          d: 040755 [drwxr-xr-x ] -> 040600 [drw------- ]
          d/f: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          2 of 2 items would change
          varve chmod: as things stand now; earlier steps of the same run are not taken into account
          0
          {"changes": [
            {"path": "d/f", "before": {"mode": "0644"}, "after": {"mode": "0600"}},
            {"path": "d/g", "before": {"mode": "0644"}, "after": {"mode": "0600"}}
          ], "dryRun": true, "items": 2, "changed": 2, "unchanged": 0, "leftAlone": 0, "failed": 0, "interrupted": false, "refusalsUnknown": "its control socket cannot be seen from here; it may be in another mount namespace"}
          0
          varve chown: BASE/elsewhere: what would be refused is not known: not on a Varve volume; 'varve status' lists the volumes
          BASE/elsewhere: root:root -> 7001:root
          1 of 1 item would change
          varve chown: as things stand now; earlier steps of the same run are not taken into account
          0

          """)
      try desk.end()
    }
  }
}
