// `varve layout` and `varve name --localize`.

import MountSupport
import Testing

extension CommandTests {
  @Suite("Standard directories and translations") struct LayoutVerbTests {
    /// What `ls` prints of a home that was made.
    private static let home = [
      "Desktop", "Documents", "Downloads", "Library", "Movies", "Music", "Pictures", "Public",
    ]
    .joined(separator: "\n")
    private static let withoutLists =
      "the volume is mounted with noacl and takes no access lists (ENOTSUP); 'varve remount -o acl' at its mount point "
      + "changes that"

    @Test("layout home makes a home once, and repairs a used one when asked") func home() throws {
      let desk = try Desk("", "chmod 755 .; mkdir Users")
      defer { desk.volume.remove() }
      try desk.publish()
      try desk.expect(
        #"""
        varve layout home -n --user nobody Users/ann >"$BASE/plan"; ls Users
        varve layout home --user nobody Users/ann >"$BASE/done"; echo $?; cmp "$BASE/plan" "$BASE/done"; wc -l <"$BASE/done"
        varve layout home --user nobody Users/ann; varve layout home --repair Users/ann; echo "again $?"
        grep -e 'ann:' -e Public -e Caches -e Trash "$BASE/done"
        stat -c '%a %u %n' Users/ann Users/ann/Library Users/ann/Desktop/.localized Users/ann/Library/Caches/CACHEDIR.TAG
        varve exclude --check Users/ann/Library/Caches/x Users/ann/Library/Caches Users/ann/.Trash 2>&1 | tail -2
        varve name --as fr Users/ann/Desktop Users/ann/Pictures Users/ann/Library; varve ls --display --as de Users/ann | head -3
        nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
        ann2() { setpriv --reuid 1002 --regid 2009 --clear-groups "$@"; }
        nobody rmdir Users/ann/Music; nobody mv Users/ann/Music Users/ann/M; nobody touch Users/ann/Music/song && echo free
        chmod 755 Users/ann; ann2 sh -c 'umask 077; echo gift >"Users/ann/Public/Drop Box/gift"'
        ann2 ls 'Users/ann/Public/Drop Box' 2>&1 | tail -1; nobody cat 'Users/ann/Public/Drop Box/gift'
        """#,
        prints: #"""
          0
          19
          again 0
          Users/ann: made; owner 65534:65534; mode 750; everyone deny delete
          Users/ann/Public: made; owner 65534:65534; mode 755; everyone deny delete; .localized in it
          Users/ann/Public/Drop Box: made; owner 65534:65534; mode 733; its owner may read what is put in; .localized in it
          Users/ann/Library/Caches: made; owner 65534:65534; mode 700; left out of backups, with CACHEDIR.TAG
          Users/ann/.Trash: made; owner 65534:65534; mode 700; left out of backups; hidden
          750 65534 Users/ann
          700 65534 Users/ann/Library
          644 65534 Users/ann/Desktop/.localized
          644 65534 Users/ann/Library/Caches/CACHEDIR.TAG
          Users/ann/Library/Caches: excluded: Time Machine, robots, nodump, CACHEDIR.TAG
          Users/ann/.Trash: excluded: Time Machine, robots, nodump
          Bureau
          Images
          Bibliothèque
          Bilder
          Dokumente
          Downloads
          rmdir: failed to remove 'Users/ann/Music': Permission denied
          mv: cannot move 'Users/ann/Music' to 'Users/ann/M': Permission denied
          free
          ls: cannot open directory 'Users/ann/Public/Drop Box': Permission denied
          gift

          """#)
      try desk.expect(
        #"""
        mkdir -p Users/bob/Documents Users/bob/Desktop; echo keep >Users/bob/Documents/letter
        touch Users/bob/Pictures; ln -s /tmp Users/bob/Music; chmod 755 Users/bob/[DP]*; chown -R 65534:65534 Users/bob
        varve layout home -q Users/bob; echo $?; ls Users/bob
        varve layout home Users/bob; echo $?
        varve layout home --repair --json Users/bob 2>/dev/null
        varve layout home --repair -q Users/bob; varve layout home -q --xdg --all Users/bob
        cat Users/bob/Documents/letter; readlink Users/bob/Music; sed -n 8p Users/bob/.config/user-dirs.dirs; stat -c %u Users/bob/.config/*
        echo mine >Users/bob/.config/user-dirs.dirs; varve layout home --xdg --all Users/ann 2>&1 | tail -2; varve layout home --xdg Users/bob 2>&1 | tail -1
        varve layout home "$BASE"; varve layout home Users/none; varve layout home --user nosuch Users/x; echo $?
        """#,
        prints: #"""
          varve layout home: Users/bob/Music: is not a directory; left alone
          varve layout home: Users/bob/Pictures: is not a directory; left alone
          1
          \#(LayoutVerbTests.home)
          varve layout home: Users/bob: is there already and is left as it is; --repair would change: mode 750; everyone deny delete
          varve layout home: Users/bob/Desktop: is there already and is left as it is; --repair would change: mode 700; everyone deny delete; .localized in it
          varve layout home: Users/bob/Documents: is there already and is left as it is; --repair would change: mode 700; everyone deny delete; .localized in it
          varve layout home: Users/bob/Music: is not a directory; left alone
          varve layout home: Users/bob/Pictures: is not a directory; left alone
          1
          {"changes": [
            {"path": "Users/bob", "changes": ["mode 750", "everyone deny delete"]},
            {"path": "Users/bob/Desktop", "changes": ["mode 700", "everyone deny delete", ".localized in it"]},
            {"path": "Users/bob/Documents", "changes": ["mode 700", "everyone deny delete", ".localized in it"]}
          ], "dryRun": false, "failed": 2}
          varve layout home: Users/bob/Music: is not a directory; left alone
          varve layout home: Users/bob/Pictures: is not a directory; left alone
          varve layout home: Users/bob/Music: is not a directory; left alone
          varve layout home: Users/bob/Pictures: is not a directory; left alone
          keep
          /tmp
          XDG_VIDEOS_DIR="$HOME/Movies"
          65534
          Users/ann/.config: made; owner 65534:65534; mode 700
          Users/ann/.config/user-dirs.dirs: made
          varve layout home: Users/bob/.config/user-dirs.dirs: is there already and is left as it is
          varve layout home: BASE: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          varve layout home: Users/none: does not exist; with --user it is made (ENOENT)
          varve layout home: there is no user 'nosuch'
          2

          """#)
      try desk.end()
    }

    @Test("layout volume makes a volume's directories once, and hides those of Unix") func volume() throws {
      let desk = try Desk("", "mkdir usr Users")
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve layout volume --group 100 .; varve layout volume --repair .; echo "again $?"; mkdir bin; varve layout volume .
        varve ls -lOnd Applications System Network usr Users/Shared | awk '{print $1, $3, $4, $5, $NF}'
        varve ls --display --as fr .; rmdir System
        """#,
        prints: #"""
          ./Applications: made; owner 0:100; mode 775; .localized in it
          ./Library: made; owner 0:0; mode 755; .localized in it
          ./System: made; owner 0:0; mode 755; .localized in it; schg
          varve layout volume: ./Users: is there already and is left as it is; --repair would change: .localized in it
          ./Users/Shared: made; owner 0:0; mode 1777; .localized in it
          ./Network: made; owner 0:0; mode 755; .localized in it; hidden
          ./Volumes: made; owner 0:0; mode 755; hidden
          ./usr: hidden
          ./Users: .localized in it
          again 0
          ./bin: hidden
          drwxrwxr-x 0 100 - Applications
          drwxr-xr-x 0 0 schg System
          drwxr-xr-x@ 0 0 hidden Network
          drwxr-xr-x@ 0 0 hidden usr
          drwxrwxrwt 0 0 - Users/Shared
          Applications
          Bibliothèque
          Système
          Utilisateurs
          rmdir: failed to remove 'System': Operation not permitted

          """#)
      try desk.end()
    }

    @Test("A directory that does not exist is told once, whatever was to be made in it") func missing() throws
    {
      let desk = try Desk()
      try desk.expect(
        #"""
        for form in "volume gone" "volume -n gone" "home gone" "home --user 65534 gone/home" "home -n --user 65534 gone/home"; do
          varve layout $form; echo $?
        done
        ls -A
        """#,
        prints: """
          varve layout volume: gone: does not exist; make it first (ENOENT)
          1
          varve layout volume: gone: does not exist; make it first (ENOENT)
          1
          varve layout home: gone: does not exist; with --user it is made (ENOENT)
          1
          varve layout home: gone/home: No such file or directory (ENOENT); there is no gone
          1
          varve layout home: gone/home: No such file or directory (ENOENT); there is no gone
          1

          """)
      try desk.end()
    }

    @Test("What is not permitted is said before anything is made, and then nothing is") func rights() throws {
      let desk = try Desk(
        "",
        """
        chmod 755 .; mkdir -m 777 all; mkdir closed locked mine; chown 65534:65534 mine; varve chflags uchg locked
        """)
      defer { desk.volume.remove() }
      try desk.publish()
      try desk.expect(
        #"""
        nobody() {
          setpriv --reuid 65534 --regid 65534 --clear-groups "$BASE/varve" "$@" 2>&1 | sed -E 's/: [A-Z][a-z ]+\(E[A-Z]+\): this/: this/'
          echo "${PIPESTATUS[0]}"
        }
        nobody layout volume all; nobody layout volume -n all | sed 's/^all.*made;.*/made/' | sort | uniq -c | tr -s ' '
        nobody layout home all; nobody layout home --user nobody closed/home; ls -A all closed
        varve layout home --user nobody locked/home; echo $?; ls -A locked
        nobody layout home -q mine; ls -A mine; nobody layout home mine
        """#,
        prints: #"""
          varve layout volume: all: only root can do this: Applications, Library, System and 4 more would belong to root, and System would get schg (EPERM)
          varve layout volume: all: nothing was made or changed
          1
           1 1
           7 made
           1 varve layout volume: all: only root can do this: Applications, Library, System and 4 more would belong to root, and System would get schg (EPERM)
          varve layout home: all: this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else
          varve layout home: all: only root can do this: Desktop, Documents, Downloads and 15 more would belong to root (EPERM)
          varve layout home: all: nothing was made or changed
          1
          varve layout home: ./closed: this needs the right add_subdirectory, which the owner and root have; 'varve acl get' shows who else
          varve layout home: closed/home: nothing was made or changed
          1
          all:

          closed:
          varve layout home: ./locked: is locked by uchg; clear it first: varve chflags nouchg ./locked (EPERM)
          varve layout home: locked/home: nothing was made or changed
          1
          0
          .Trash
          \#(LayoutVerbTests.home)
          0

          """#)
      try desk.expect(
        #"""
        varve chflags nouchg locked; varve remount -o noacl .; mkdir old; touch old/file
        varve layout home --user nobody new; echo $?; varve layout home --repair old; echo $?; varve layout home -q old; ls new old
        varve layout volume -q old; echo $?
        """#,
        prints: #"""
          varve layout home: new: \#(LayoutVerbTests.withoutLists)
          varve layout home: new: nothing was made or changed
          1
          varve layout home: old: \#(LayoutVerbTests.withoutLists)
          varve layout home: old: nothing was made or changed
          1
          varve layout home: old: \#(LayoutVerbTests.withoutLists)
          ls: cannot access 'new': No such file or directory
          old:
          file
          0

          """#)
      try desk.end()
    }

    @Test("Owners are left to the calls where others than root may give a directory away, or nobody's counts")
    func owners() throws {
      let desk = try Desk("admin_group=100", "chmod 755 .; mkdir -m 777 all")
      defer { desk.volume.remove() }
      try desk.publish()
      try desk.expect(
        #"""
        admin() { setpriv --reuid 65534 --regid 65534 --groups 100 "$BASE/varve" "$@" 2>&1; }
        admin layout home -n -q --user 1 all/a; echo $?; admin layout home -q --user 1 all/a; echo $?
        stat -c '%a %u %n' all/a all/a/Desktop all/a/Desktop/.localized
        varve remount -o noowners,admin_group= .; admin layout home -q --user 1 all/b; echo $?; ls all/b | wc -l
        """#,
        prints: """
          0
          0
          750 1 all/a
          700 1 all/a/Desktop
          644 1 all/a/Desktop/.localized
          0
          8

          """)
      try desk.end()
    }

    @Test("varve name --localize translates a directory, keeps other keys, and says what views will not show")
    func localize() throws {
      let desk = try Desk(
        "",
        #"mkdir Photos T T.localized M.localized Own.localized 'a "b"\c'; touch M.localized/.localized file.localized"#
      )
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        export LC_ALL=C.UTF-8
        varve name --localize fr=Photos Photos; echo $?
        varve name --localize --rename 'fr=Photos de famille' de=Fotos Photos; echo $?; cat Photos.localized/.localized/de.strings
        varve name --as de Photos.localized; varve name --as fr-CA Photos.localized; ls .varve/view/fr | grep Photos
        printf '/* note */ "Other" = "Autre"; Photos = "Alt";' >Photos.localized/.localized/de.strings
        varve name --localize de=Bilder pt-BR=Fotos Photos.localized; cat Photos.localized/.localized/de.strings
        varve name --localize --rename 'fr=x"y\z' 'a "b"\c'; cat 'a "b"\c.localized/.localized/fr.strings'; varve name --as fr 'a "b"\c.localized'
        varve name --localize fr=2023/24 de=Neu Photos.localized; echo $?; varve name --as fr Photos.localized; cat Photos.localized/.localized/fr.strings
        varve name --localize fr=Nouveau de=Bilder .varve/view/de/Neu; varve name --as fr Photos.localized
        for bad in fr= fr=.x 'fr= x' fr=a.pdf "fr=$(printf 'a\342\200\256b')" FR=x fr; do
          varve name --localize "$bad" Photos.localized 2>&1 | cut -c1-40; done
        for bad in fr_FR PT-br fr:de_DE.UTF-8 french; do varve name --localize "$bad=x" Photos.localized 2>&1; done
        printf broken >Photos.localized/.localized/it.strings; varve name --localize it=Foto Photos.localized; cat Photos.localized/.localized/it.strings; echo
        chown 1001 Own.localized; (umask 077; varve name --localize fr=Mien Own.localized); echo $?
        varve name --localize fr=x M.localized; varve name --localize fr=x file.localized
        varve name --localize --rename fr=x T; ls -A T; ls -A Photos.localized/.localized
        varve name --rename Photos.localized 2>&1 | head -1; varve name --localize Photos.localized 2>&1 | head -1
        """#,
        prints: #"""
          varve name: Photos: its name does not end in .localized, so no view translates it; --rename adds that
          1
          0
          "Photos" = "Fotos";
          Fotos
          Photos de famille
          Photos de famille
          "Other" = "Autre";
          "Photos" = "Bilder";
          "a \"b\"\\c" = "x\"y\\z";
          x"y\z
          varve name: Photos.localized: views show '2023:24' in fr, with ':' for '/', which no name can hold
          0
          2023:24
          "Photos" = "2023/24";
          Nouveau
          varve name: '' is not a name that a view
          varve name: '.x' is not a name that a vi
          varve name: '\040x' is not a name that a
          varve name: 'a.pdf' is not a name that a
          varve name: 'a\342\200\256b' is not a na
          varve name: 'FR' is not a language such 
          varve name: 'fr' is not TAG=TEXT, such a
          varve name: 'fr_FR' is not a language such as fr or pt-BR; write fr-FR=TEXT
          varve name: 'PT-br' is not a language such as fr or pt-BR; write pt-BR=TEXT
          varve name: 'fr:de_DE.UTF-8' is not a language such as fr or pt-BR; write fr=TEXT de-DE=TEXT
          varve name: 'french' is not a language such as fr or pt-BR
          varve name: Photos.localized: it.strings in it is not a strings file that views read; left alone
          broken
          varve name: Own.localized: views do not show this name: the owner of the directory may not read .localized/fr.strings, or, where root owns it, a stranger may not
          0
          varve name: M.localized: the .localized in it is not a directory, so translations have no place; remove it first
          varve name: file.localized: Not a directory (ENOTDIR)
          varve name: T: there is a T.localized already (EEXIST)
          de.strings
          fr.strings
          it.strings
          pt-BR.strings
          varve name: --rename needs --localize
          varve name: --localize takes TAG=TEXT, and behind it the directory

          """#)
      try desk.end()
    }
  }
}
