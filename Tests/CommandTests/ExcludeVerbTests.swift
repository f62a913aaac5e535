// `varve exclude`, with the programs that look for its marks.

import MountSupport
import Testing

extension CommandTests {
  @Suite("What backups leave out") struct ExcludeVerbTests {
    @Test(
      "exclude sets all marks and takes them away",
      .enabled(if: Programs.has("getfattr", "lsattr", "python3"), "needs attr, e2fsprogs and python3"))
    func marks() throws {
      let desk = try Desk(
        "", "mkdir build src; echo a >build/a.o; echo b >src/b.c; ln -s b.c src/link; mkfifo src/pipe")
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        marks() {
          for item; do
            echo "$item: $(getfattr -d -m backup "$item" 2>/dev/null | grep -c =) $(lsattr -d "$item" | cut -c1-20 | tr -d -)" \
              "$(head -c 9 "$item/CACHEDIR.TAG" 2>/dev/null)"
          done
        }
        varve exclude -v --tag build; varve exclude -v src/b.c src/link src/pipe; varve exclude -v build src/b.c; echo $?
        marks build src/b.c src
        python3 -c "import os, plistlib
        print(plistlib.loads(os.getxattr('build', 'user.com.apple.metadata:com_apple_backup_excludeItem')))
        print(len(os.getxattr('build', 'user.com.apple.metadata:com_apple_backup_excludeItem')))"
        varve exclude --check build build/a.o src src/link; echo $?
        varve exclude --check --json src/b.c src; varve exclude --check -q build/a.o; echo $?
        cd .varve/view/fr && varve exclude --check build/a.o; cd ../../..
        varve exclude --list . | sort; varve exclude --list -0 . | tr '\0' '\n' | sort
        varve exclude --list --json src build 2>/dev/null; varve exclude --list build
        varve exclude --list .varve/view/fr/src 2>note | sort -t/ -k2,2; cat note; rm note; varve exclude -q --list .varve/view/fr/src | wc -l
        varve exclude --remove -v build src/b.c src/link src/pipe; marks build src/b.c; varve exclude --check build; echo $?
        """#,
        prints: #"""
          build: set Time Machine, robots, nodump, CACHEDIR.TAG
          src/b.c: set Time Machine, robots, nodump
          src/link: set nodump
          src/pipe: set nodump
          0
          build: 2 d Signature
          src/b.c: 2 d 
          src: 0  
          com.apple.backupd
          61
          build: excluded: Time Machine, robots, nodump, CACHEDIR.TAG
          build/a.o: excluded by 'BASE/mount/build': Time Machine, robots, nodump, CACHEDIR.TAG
          src: not excluded
          src/link: excluded: nodump
          1
          [
            {
              "path": "src/b.c",
              "excluded": true,
              "by": "BASE/mount/src/b.c",
              "marks": [
                "Time Machine",
                "robots",
                "nodump"
              ]
            },
            {
              "path": "src",
              "excluded": false
            }
          ]
          0
          build/a.o: excluded by 'BASE/mount/.varve/view/fr/build': Time Machine, robots, nodump, CACHEDIR.TAG
          ./build
          ./src/b.c
          ./src/link
          ./src/pipe
          /build
          /src/b.c
          /src/link
          /src/pipe
          /build
          /src/b.c
          /src/link
          /src/pipe
          [
            {"path": "pipe", "marks": ["nodump"]},
            {"path": "link", "marks": ["nodump"]},
            {"path": "b.c", "marks": ["Time Machine", "robots", "nodump"]}
          ]
          varve exclude: build: is itself excluded: Time Machine, robots, nodump, CACHEDIR.TAG
          ./b.c
          /b.c
          ./link
          /link
          ./pipe
          /pipe
          varve exclude: .varve/view/fr/src: the list is for a copy of 'BASE/mount/src', whose names a view translates
          6
          build: removed Time Machine, robots, nodump, CACHEDIR.TAG
          src/b.c: removed Time Machine, robots, nodump
          src/link: removed nodump
          src/pipe: removed nodump
          build: 0  
          src/b.c: 0  
          build: not excluded
          1

          """#)
      try desk.end()
    }

    @Test(
      "If a mark cannot be set or removed, those before it are put back",
      .enabled(if: Programs.has("getfattr", "setpriv"), "needs attr"))
    func halfWay() throws {
      let desk = try Desk("", "chmod 755 .; mkdir half; touch half/file")
      defer { desk.volume.remove() }
      try desk.publish()
      // Attributes are theirs to set, flags are not.
      try desk.expect(
        #"""
        as() { setpriv --reuid 1002 --regid 2009 --clear-groups "$BASE/varve" "$@"; echo $?; }
        varve chmod +a "user:1002 allow readextattr,writeextattr,search" half half/file
        as exclude half half/file
        getfattr -d -m backup half half/file
        varve exclude half/file
        as exclude --remove half/file
        varve exclude --check half/file
        """#,
        prints: #"""
          varve exclude: half: nodump cannot be set: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else; the marks that had been changed were put back
          varve exclude: half/file: nodump cannot be set: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else; the marks that had been changed were put back
          1
          varve exclude: half/file: nodump cannot be removed: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else; the marks that had been changed were put back
          1
          half/file: excluded: Time Machine, robots, nodump

          """#)
      try desk.end()
    }

    @Test(
      "borg, bsdtar, tar and rsync leave out what is excluded, whatever names there are",
      .enabled(if: Programs.has("borg", "bsdtar", "rsync"), "needs borg, bsdtar and rsync"))
    func programs() throws {
      let desk = try Desk()
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        export LC_ALL=C.UTF-8
        marked=('a*b' 'a?c' 'x[1]' 'back\slash' $'new\nline' 'end ' plain '#hash' '-dash' $'raw\377' 'é')
        for name in "${marked[@]}" deep deep/plain aXb x1 end 'deep/a*b' raw; do mkdir -p "data/$name"; echo x >"data/$name/file"; done
        for name in "${marked[@]}"; do varve exclude --tag "data/$name"; done
        varve exclude data/x1/file
        varve exclude --list data >"$BASE/list"
        mkdir "$BASE"/by-{tar,caches,bsdtar,borg}
        rsync -a --exclude-from="$BASE/list" data/ "$BASE/by-rsync"
        varve exclude --list -0 data | rsync -a --from0 --exclude-from=- data/ "$BASE/by-rsync0"
        tar -X "$BASE/list" -C data -cf - . | tar -C "$BASE/by-tar" -xf -
        tar --exclude-caches-all -C data -cf - . | tar -C "$BASE/by-caches" -xf -
        bsdtar --nodump -C data -cf - . | tar -C "$BASE/by-bsdtar" -xf -
        export BORG_BASE_DIR="$BASE/borg" BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes
        borg init -e none "$BASE/repo" 2>/dev/null
        (cd data && borg create --exclude-nodump "$BASE/repo::one" . && cd "$BASE/by-borg" && borg extract "$BASE/repo::one")
        for by in rsync rsync0 tar caches bsdtar borg; do
          echo "$by: $(cd "$BASE/by-$by" && find . -type f | LC_ALL=C sort | tr '\n' ' ')"
        done
        """#,
        prints: #"""
          rsync: ./aXb/file ./deep/a*b/file ./deep/file ./deep/plain/file ./end/file ./raw/file 
          rsync0: ./aXb/file ./deep/a*b/file ./deep/file ./deep/plain/file ./end/file ./raw/file 
          tar: ./aXb/file ./deep/a*b/file ./deep/file ./deep/plain/file ./end/file ./raw/file 
          caches: ./aXb/file ./deep/a*b/file ./deep/file ./deep/plain/file ./end/file ./raw/file ./x1/file 
          bsdtar: ./aXb/file ./deep/a*b/file ./deep/file ./deep/plain/file ./end/file ./raw/file 
          borg: ./aXb/file ./deep/a*b/file ./deep/file ./deep/plain/file ./end/file ./raw/file 

          """#)
      try desk.end()
    }

    @Test("Tags of other programs, other files of that name, and what makes no sense") func mistakes() throws
    {
      let desk = try Desk("", "mkdir build other; echo text >other/CACHEDIR.TAG; touch file")
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        printf 'Signature: 8a477f597d28d172789f06886806bc55\n' >build/CACHEDIR.TAG
        varve exclude build; varve exclude --remove build; varve exclude --remove --tag -v build; ls -A build
        varve exclude --tag other; echo $?; cat other/CACHEDIR.TAG; varve exclude --check other
        varve exclude --tag file missing; echo $?
        varve exclude --check missing "$BASE"; echo $?
        for words in '--remove --check file' '-0 file' '--tag --check file' '--json file' ''; do
          varve exclude $words 2>&1 | head -1
        done
        """#,
        prints: #"""
          varve exclude: build: its CACHEDIR.TAG was made by another program and still excludes it; --tag removes it
          build: removed CACHEDIR.TAG
          varve exclude: other: the CACHEDIR.TAG in it is something else and is left alone; nothing was changed
          1
          text
          other: not excluded
          varve exclude: file: not a directory, so it cannot hold a CACHEDIR.TAG
          varve exclude: missing: No such file or directory (ENOENT)
          1
          varve exclude: missing: No such file or directory (ENOENT)
          varve exclude: BASE: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          2
          varve exclude: --remove, --check and --list do not go together
          varve exclude: -0 needs --list
          varve exclude: --tag is for setting and removing marks
          varve exclude: --json needs --check or --list
          varve exclude: PATH is missing

          """#)
      try desk.end()
    }
  }
}

extension Desk {
  /// Puts a copy of the tool where users may run it: `$BASE/varve`.
  func publish() throws {
    try run(
      "cp '\(Program.built("varve"))' \"$BASE/varve\" && chmod 755 \"$BASE\" \"$BASE/varve\"", succeeds: true)
  }
}
