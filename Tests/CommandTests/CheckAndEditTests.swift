import MountSupport
import Testing

extension CommandTests {
  @Suite("acl check and edit") struct CheckAndEditTests {
    @Test("Check names what does not do what it seems to") func check() throws {
      let desk = try Desk(
        "",
        """
        mkdir -p d/s; touch d/s/f d/sorted d/fine; chmod 666 d/s/f; chmod 644 d/sorted
        varve acl set -e "group:everyone allow read" d/fine
        varve acl set -e "user:0 inherited allow read" -e "user:0 deny write" d/sorted
        varve acl set -e "everyone deny read" -e "user:0 allow read" -e "user:987654 allow write" \
          -e "user:0 allow execute,file_inherit" -e "nobody@ allow read" -e "user:987654 allow write" d/s/f
        varve acl set -e "user:0 allow list,only_inherit" -e "owner@ deny writesecurity" d/s
        """)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve acl check -R d; echo $?
        varve acl check d/fine; echo $?
        varve acl check -q d/sorted; echo $?
        varve acl check --json d/sorted d/fine
        varve acl check --color=always d/sorted | head -1 | cat -v
        """,
        prints: """
          d/s: order: the entries are not in canonical order; 'varve acl sort' fixes that
          d/s: inheritance: entry 0: is only for what is made here, but names neither files nor directories
          d/s: ineffective: entry 1: the owner can always change the list
          d/s/f: shadowed: entry 1: never used: entry 0 already denies all of it
          d/s/f: unknown-account: entry 2: no user has the number 987654
          d/s/f: inheritance: entry 3: has inheritance words, but nothing is made in a file
          d/s/f: ineffective: entry 4: is about nobody
          d/s/f: shadowed: entry 4: never used: entry 0 already denies all of it
          d/s/f: unknown-account: entry 5: no user has the number 987654
          d/s/f: redundant: entry 5: adds nothing: entry 2 already allows all of it
          d/s/f: mode: the mode lets every user write, whatever the list says; 'varve chmod o-w' ends that
          d/s/f: mode: entry 3: allows to run it, but the mode has no x bit: it is not a program
          d/sorted: order: the entries are not in canonical order; 'varve acl sort' fixes that
          d/sorted: stale: does not inherit what the directory above hands down now; 'varve acl inherit' renews it
          1
          0
          1
          {"items": [
            {"path": "d/sorted", "findings": [{"kind": "order", "text": "the entries are not in canonical order; 'varve acl sort' fixes that"}, {"kind": "stale", "text": "does not inherit what the directory above hands down now; 'varve acl inherit' renews it"}]}
          ], "checked": 2, "findings": 2, "failed": 0}
          d/sorted: ^[[33morder^[[0m: the entries are not in canonical order; 'varve acl sort' fixes that

          """)
      try desk.end()
    }

    @Test("Damage is found and can be stripped by root, whose message says so") func damage() throws {
      let desk = try Desk("", "touch f; varve acl set -e 'user:0 allow read' f")
      defer { desk.volume.remove() }
      try desk.run("touch g; varve chflags hidden g")
      try desk.volume.unmount()
      try Program.shell(
        "setfattr -n trusted.varve.acl -v 0x0bad f; setfattr -n trusted.varve.m -v 0x0bad g",
        in: desk.volume.upper)
      try desk.volume.mount()
      try desk.expect(
        """
        varve acl get f; echo $?
        varve acl check f; echo $?
        varve acl strip f; echo $?
        varve acl check f; echo $?
        varve chflags nohidden g
        varve ls -leO@ g > /dev/null; echo $?; varve ls --json . > /dev/null
        """,
        prints: """
          varve acl get: f: its access list is damaged (EIO); as root, 'varve acl strip' removes it
          1
          f: damage: its access list is damaged (EIO); as root, 'varve acl strip' removes it
          1
          0
          0
          varve chflags: g: the record of its flags and owner is damaged (EIO); restore it from a backup, or unmount and let 'varve check --repair' of the upper directory lock it
          varve ls: g: the record of its flags and owner is damaged (EIO); restore it from a backup, or unmount and let 'varve check --repair' of the upper directory lock it
          1
          varve ls: ./g: the record of its flags and owner is damaged (EIO); restore it from a backup, or unmount and let 'varve check --repair' of the upper directory lock it

          """)
      try desk.end()
    }

    @Test(
      "What the user may not change is refused before an editor opens, and what was locked meanwhile after it"
    )
    func refused() throws {
      let desk = try Desk(
        "",
        """
        cp '\(Program.built("varve"))' $BASE/varve; chmod 755 $BASE/varve .; chmod 711 $BASE
        touch f g h; varve acl set -e 'user:7001 allow read' f g; varve acl set -e 'user:7001 allow writesecurity' h
        varve chflags uchg g
        """)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        ann() { TMPDIR=/tmp setpriv --reuid 7001 --regid 7001 --clear-groups $BASE/varve "$@"; }
        export EDITOR='echo opened;:'
        ann acl edit f; echo $?; ann acl edit h; echo $?; varve acl edit g f; echo $?
        EDITOR="$BASE/varve chflags uchg f; sed -i s/read/write/" varve acl edit f 2>&1 | sed 's/varve-......\\.acl/NAME/'
        varve acl get f; varve chflags nouchg f g; varve remount -o noacl .
        # What is there can be removed still.
        EDITOR="sed -i /^user/d" varve acl edit f; touch new; varve acl edit new; echo $?
        """,
        prints: """
          varve acl edit: f: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else
          1
          opened
          varve acl edit: h: unchanged
          0
          varve acl edit: g: is locked by uchg; clear it first: varve chflags nouchg g (EPERM)
          opened
          varve acl edit: f: unchanged
          1
          varve acl edit: f: is locked by uchg; clear it first: varve chflags nouchg f (EPERM)
          varve acl edit: f: not changed; what you wrote is in 'BASE/NAME'
          # file: f
          user:7001 allow read
          varve acl edit: f: no entry is left; the access list was removed
          varve acl edit: new: the volume is mounted with noacl and takes no access lists (ENOTSUP); 'varve remount -o acl' at its mount point changes that
          1

          """)
      try desk.end()
    }

    @Test("An editor changes a list; a mistake is shown with its line and the text is kept")
    func edit() throws {
      let desk = try Desk("", "touch f; varve acl set -e 'user:7001 allow read' f")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        cat > $BASE/editor <<'END'
        #!/bin/bash
        cp "$2" $BASE/seen; sed -i "$1" "$2"
        END
        chmod +x $BASE/editor
        EDITOR="$BASE/editor 's/7001/7002/'" varve acl edit f; echo $?
        cat $BASE/seen
        varve acl get f
        EDITOR="$BASE/editor ''" varve acl edit f; echo $?
        EDITOR="$BASE/editor 's/allow read/alow read/'" varve acl edit f 2>&1 | sed 's/varve-......\\.acl/NAME/'
        ls $BASE/*.acl | wc -l
        EDITOR=false varve acl edit f 2>&1 | sed 's/varve-......\\.acl/NAME/'
        EDITOR="$BASE/editor '/^user/d'" varve acl edit -v f; echo $?
        varve acl get f
        """,
        prints: """
          0
          # The access list of f, a file.
          # One entry a line; the first that applies decides. Lines with # are comments.

          user:7001 allow read

          #   [user:|group:]NAME [inherited] allow|deny WORD,WORD,...
          # NAME: a user, a group, a number, everyone, owner@, group@ or nobody@
          # Rights: read write execute append delete
          #   readattr writeattr readextattr writeextattr readsecurity writesecurity chown
          #   in short: full, modify, readonly
          # Without any entry the access list is removed.
          # file: f
          user:7002 allow read
          varve acl edit: f: unchanged
          0
          line 4: expected 'allow' or 'deny', found 'alow'; did you mean 'allow'?
            user:7002 alow read
          varve acl edit: f: not changed; what you wrote is in 'BASE/NAME'
          1
          varve acl edit: f: the editor 'false' failed; not changed
          f: 1 -> 0 entries
            - user:7002 allow read
          varve acl edit: f: no entry is left; the access list was removed
          varve acl edit: 1 item, 1 changed, 0 failed
          0
          # file: f
          # no access list

          """)
      try desk.end()
    }
  }
}
