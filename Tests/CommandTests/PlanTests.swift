import MountSupport
import Testing

extension CommandTests {
  @Suite("What a plan foresees") struct PlanTests {
    /// Plain, locked and foreign items; `make` puts them there again, `free` takes the locks off.
    static let prelude = """
      ann() { setpriv --reuid 7001 --regid 7001 --groups 7001,7003 $BASE/varve "$@"; }
      root() { varve "$@"; }
      free() { varve chflags -R -h nouchg,noschg,nouappnd,nosappnd d 2> /dev/null || :; }
      make() {
        free; rm -rf d; mkdir -p d/plain d/foreign d/locked d/system
        for name in plain foreign locked system; do echo x > d/$name/f; echo y > d/$name/g; ln -s f d/$name/link; done
        ln d/plain/f d/plain/twin; mkfifo d/plain/pipe; chmod 755 d/foreign
        chown -R -h 7001:7001 d; chown -h -R 7002:7002 d/foreign; chown 7002:7003 d/plain/g
        varve acl set -e 'user:7001 allow full' d/foreign/g; varve acl set -e 'user:7001 deny full' d/plain/g
        varve acl set -e 'user:7003 allow read,file_inherit,directory_inherit' d d/plain
        varve chflags uchg d/locked/f d/locked d/plain/f; varve chflags uappnd d/locked/g; varve chflags schg d/system/f
        varve chflags sappnd d/system/g; varve chflags -h uchg d/locked/link
      }
      state() { find d -printf '%p %y %m %U:%G\\n' | sort; varve acl dump d; varve ls -RO d | grep -v ^total; }
      # What is refused, in any order, as threads take their turns; and the status.
      said() { "$@" > $BASE/out 2> $BASE/said; echo "status $?" >> $BASE/said; sort $BASE/said; }

      """

    private func desk(_ options: String = "") throws -> Desk {
      try Desk(
        options,
        "cp '\(Program.built("varve"))' $BASE/varve; chmod 755 $BASE/varve . ; chmod 711 $BASE; chown 7001 .")
    }

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
      "chmod -f -R 700 d/locked d/system", "chmod -R 600 d", "chmod -R a-x d", "chmod -R a-r d",
      "chmod -R 300 d/plain d",

      "acl set -e 'everyone allow read' d/locked/f d/foreign/f d/plain/f",
    ]

    /// Runs each command as a plan and then for good, and compares complaints, status and count.
    ///
    /// With `-f` nothing is said of the five that would fail; they count all the same.
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
              said \(user) \(verb) --dry-run \(rest) > $BASE/plan; cp $BASE/out $BASE/told
              said \(user) \(verb) --dry-run --json \(rest) | cmp - $BASE/plan; cp $BASE/out $BASE/json
              state | cmp - $BASE/before
              said \(user) \(verb) \(rest) > $BASE/real; \(after)
              diff $BASE/plan $BASE/real && echo same $(sed -n '/^status /p' $BASE/real)
              lines=\(rest.hasPrefix("-f ") ? "5" : "$(grep -c '^varve ' $BASE/real)")
              grep -q '"failed": '$lines', ' $BASE/json || tail -1 $BASE/json
              """)
          #expect(
            output == "same status 0\n" || output == "same status 1\n", "\(user) \(command): \(output)",
            sourceLocation: sourceLocation)
        }
      }
      try desk.run(Self.prelude + "free", succeeds: true)
    }

    @Test("A plan names what the run then refuses, with its reason, for root and for others")
    func likeTheRun() throws {
      let desk = try desk()
      defer { desk.volume.remove() }
      try compare(desk, Self.commands)
      // The cases that must be there: nothing above is worth anything if nothing is refused.
      try desk.run(
        Self.prelude + """
          make
          for user in root ann; do
            test $($user chmod -R --dry-run 755 d 2>&1 | tail -1 | sed -E 's/.*, ([0-9]+) would be refused$/\\1/') -gt 5
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
        "chown -R 7001:7003 d", "acl set -R -e 'user:7005 allow read' d", "acl strip -R d", "acl propagate d",
      ]
      try compare(desk, commands, before: before, after: after)
      try desk.end()
    }

    @Test(
      "What the plan of a restore unlocks on its way is not refused, and everything else is, as by the run")
    func restore() throws {
      let desk = try desk()
      defer { desk.volume.remove() }
      let changes = [
        "chmod -R $undo go= d; varve chflags -R $undo nouchg,nouappnd d; varve chown -R $undo 7002:7002 d",
        "chflags -R $undo 0 d; varve chmod -R $undo 700 d; varve acl strip -R $undo d; varve chflags -R $undo uchg d",
        "chmod -R $undo 700 d/plain; varve chflags -R nouchg d; varve chmod -R $undo 711 d; varve chflags -R uchg d",
        "chflags -R $undo 0 d; varve chown -R $undo :group=7003 d; varve chflags schg d/plain/g d/foreign",
      ]
      for change in changes {
        for user in ["root", "ann"] {
          let output = try desk.run(
            Self.prelude + """
              make; rm -f $BASE/undo; undo="--undo $BASE/undo --resume"
              varve \(change.replacing("; ", with: " 2> /dev/null; ")) 2> /dev/null
              chmod 644 $BASE/undo; state > $BASE/before
              said \(user) acl restore --dry-run $BASE/undo > $BASE/plan
              said \(user) acl restore --dry-run --json $BASE/undo | cmp - $BASE/plan; cp $BASE/out $BASE/json
              state | cmp - $BASE/before
              said \(user) acl restore $BASE/undo > $BASE/real
              diff $BASE/plan $BASE/real && echo same
              grep -q '"failed": '$(grep -c '^varve ' $BASE/real)', ' $BASE/json || tail -1 $BASE/json
              """)
          #expect(output == "same\n", "\(user) \(change): \(output)")
        }
      }
      try desk.run(Self.prelude + "free", succeeds: true)
      try desk.end()
    }

    @Test("In words and in JSON it says what would be refused, and why") func output() throws {
      let desk = try desk()
      defer { desk.volume.remove() }
      try desk.expect(
        Self.prelude + """
          mkdir d; touch d/f d/g d/h; varve chflags uchg d/f; chmod 600 d/h; varve chflags schg d/h
          varve chmod -n 600 d d/f d/g d/h; echo $?
          varve chmod -n --json 600 d d/f d/g d/h 2> /dev/null; echo $?
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
          1
          varve chown: d/g: Operation not permitted (EPERM): only root gives items to others; to take one over needs the right chown
          0 of 1 item would change, 1 would be refused
          1
          {"changes": [
            {"path": "d/g", "before": {"flags": []}, "after": {"flags": ["schg"]}, "refused": {"error": "EPERM", "because": "only root changes schg"}}
          ], "dryRun": true, "items": 1, "changed": 0, "unchanged": 0, "leftAlone": 0, "failed": 1, "interrupted": false}
          1
          0 of 1 item would change, 1 would be refused
          0
          d/f: 02 -> 00
          d/h: 0400000 -> 00
          2 of 2 items would change
          0

          """)
      try desk.end()
    }

    @Test("Where the daemon cannot be asked, the plan says that it does not know") func unknown() throws {
      let desk = try desk()
      defer { desk.volume.remove() }
      try desk.expect(
        Self.prelude + """
          mkdir d; touch d/f d/g; varve chflags uchg d/f
          rm "$(getfattr --only-values -n system.varve.control .)"
          varve chmod -n 600 d d/f; echo $?; varve chmod -n --json 600 d/g d/f 2> /dev/null; echo $?
          mkdir $BASE/elsewhere; varve chown --dry-run 7001 $BASE/elsewhere; echo $?
          varve chflags nouchg d/f
          """,
        prints: """
          varve chmod: d: what would be refused is not known: its control socket cannot be seen from here; it may be in another mount namespace
          d: 040755 [drwxr-xr-x ] -> 040600 [drw------- ]
          d/f: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          2 of 2 items would change
          0
          {"changes": [
            {"path": "d/g", "before": {"mode": "0644"}, "after": {"mode": "0600"}},
            {"path": "d/f", "before": {"mode": "0644"}, "after": {"mode": "0600"}}
          ], "dryRun": true, "items": 2, "changed": 2, "unchanged": 0, "leftAlone": 0, "failed": 0, "interrupted": false, "refusalsUnknown": "its control socket cannot be seen from here; it may be in another mount namespace"}
          0
          varve chown: BASE/elsewhere: what would be refused is not known: not on a Varve volume; 'varve status' lists the volumes
          BASE/elsewhere: 0:0 -> 7001:0
          1 of 1 item would change
          0

          """)
      try desk.end()
    }
  }
}
