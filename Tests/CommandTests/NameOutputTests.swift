// Names as they come out: bytes for programs, JSON that brings the bytes along, and nothing that steers a terminal.

import MountSupport
import Testing

extension CommandTests {
  @Suite("Names in output") struct NameOutputTests {
    private static let names = #"""
      touch -- "$(printf 'esc\033[31m')" "$(printf 'c1\302\233x')" "$(printf 'raw\233\377')" "$(printf 'new\nline')"
      touch -- "$(printf 'bidi\342\200\256x')" -dash "two words" "$(printf 'caf\303\251')"
      touch -d 2023-01-02T03:04 -- *
      """#

    @Test("Into a pipe names go as they are, on a terminal what steers it is a question mark") func streams()
      throws
    {
      let desk = try Desk("", Self.names)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve ls | cat -v
        terminal "varve ls -l" | cat -v
        varve chflags -v hidden ./* | cat -v
        terminal "varve chmod -vv 600 ./*" | cat -v
        """#,
        prints: #"""
          -dash
          bidiM-bM-^@M-.x
          c1M-BM-^[x
          cafM-CM-)
          esc^[[31m
          new
          line
          rawM-^[M-^?
          two words
          total 0
          -rw-r--r--  1 root  root  0 Jan  2  2023 -dash
          -rw-r--r--  1 root  root  0 Jan  2  2023 bidi?x
          -rw-r--r--  1 root  root  0 Jan  2  2023 c1?x
          -rw-r--r--  1 root  root  0 Jan  2  2023 cafM-CM-)
          -rw-r--r--  1 root  root  0 Jan  2  2023 esc?[31m
          -rw-r--r--  1 root  root  0 Jan  2  2023 new?line
          -rw-r--r--  1 root  root  0 Jan  2  2023 raw?M-^?
          -rw-r--r--  1 root  root  0 Jan  2  2023 two words
          ./-dash
          ./bidiM-bM-^@M-.x
          ./c1M-BM-^[x
          ./cafM-CM-)
          ./esc^[[31m
          ./new
          line
          ./rawM-^[M-^?
          ./two words
          ./-dash: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          ./bidi?x: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          ./c1?x: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          ./cafM-CM-): 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          ./esc?[31m: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          ./new?line: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          ./raw?M-^?: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]
          ./two words: 0100644 [-rw-r--r-- ] -> 0100600 [-rw------- ]

          """#)
      try desk.end()
    }

    @Test("JSON has the bytes of names that are not text") func namesInJSON() throws {
      let desk = try Desk("", Self.names)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve ls --json | grep -e '"name' | cat -v
        varve acl get --json ./raw* ./new*
        varve access --json read ./raw* | grep -e '"path"' -e '"pathBytes"' | sort -u
        """#,
        prints: #"""
              "name": "-dash",
              "name": "bidi\u202ex",
              "name": "c1\u009bx",
              "name": "cafM-CM-)",
              "name": "esc\u001b[31m",
              "name": "new\nline",
              "name": "rawM-oM-?M-=M-oM-?M-=",
              "nameBytes": "7261779bff",
              "name": "two words",
          [
            {"path": "./raw��", "pathBytes": "2e2f7261779bff", "kind": "regular", "acl": null},
            {"path": "./new\nline", "kind": "regular", "acl": null}
          ]
                      "path": "",
                      "path": "raw��",
                      "pathBytes": "7261779bff",
                  "path": "raw��",
                  "pathBytes": "7261779bff",
              "path": "./raw��",
              "pathBytes": "2e2f7261779bff",

          """#)
      try desk.end()
    }

    @Test("Lists, tables and dumps write names so that each stays on its line") func lines() throws {
      let desk = try Desk("", Self.names)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve acl set -e "everyone deny delete" -- *
        varve acl get -- * | grep '^#'
        varve access read -- * | grep ':$'
        varve why delete ./new*
        varve acl dump -- ./raw* | sed -n 2p
        terminal "varve acl strip -v -- *" | cat -v | grep -v '^  '
        mkdir "$BASE/other"; varve mount "$BASE/other" ./new*; mkdir "$BASE/n
        n"; varve mount "$BASE/other" "$BASE/n"*; varve status | sed -n 's/ (.*//; /other/p'; varve umount "$BASE/n"*
        """#,
        prints: #"""
          # file: -dash
          # file: bidi\342\200\256x
          # file: c1\302\233x
          # file: café
          # file: esc\033[31m
          # file: new\012line
          # file: raw\233\377
          # file: two words
          -dash:
          bidi\342\200\256x:
          c1\302\233x:
          café:
          esc\033[31m:
          new\012line:
          raw\233\377:
          two words:
          allowed: root may delete BASE/mount/new\012line
            BASE/mount: search allowed: root: only flags could stop this
            new\012line: delete allowed: root: only flags could stop this
          root BASE/mount/raw\233\377
          -dash: 1 -> 0 entries
          bidi?x: 1 -> 0 entries
          c1?x: 1 -> 0 entries
          cafM-CM-): 1 -> 0 entries
          esc?[31m: 1 -> 0 entries
          new?line: 1 -> 0 entries
          raw?M-^?: 1 -> 0 entries
          two words: 1 -> 0 entries
          varve acl strip: 8 items, 8 changed, 0 failed
          varve mount: ./new\012line: the mount point is not a directory (ENOTDIR)
          BASE/other on BASE/n\012n

          """#)
      try desk.end()
    }

    @Test("Complaints are one line each, and quote the name for the shell") func complaints() throws {
      let desk = try Desk("", Self.names)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve chflags uchg ./*
        varve chmod 644 ./*
        terminal "varve chmod 644 ./new* ./esc* ./raw*" | cat -v
        eval "$(varve chmod 644 ./new* 2>&1 | sed 's/.*: varve/varve/; s/ (EPERM)//')"; varve chmod 644 ./new*; echo $?
        varve chflags 0 ./*
        """#,
        prints: #"""
          varve chmod: ./-dash: is locked by uchg; clear it first: varve chflags nouchg ./-dash (EPERM)
          varve chmod: ./bidi\342\200\256x: is locked by uchg; clear it first: varve chflags nouchg $'./bidi\342\200\256x' (EPERM)
          varve chmod: ./c1\302\233x: is locked by uchg; clear it first: varve chflags nouchg $'./c1\302\233x' (EPERM)
          varve chmod: ./café: is locked by uchg; clear it first: varve chflags nouchg ./café (EPERM)
          varve chmod: ./esc\033[31m: is locked by uchg; clear it first: varve chflags nouchg $'./esc\033[31m' (EPERM)
          varve chmod: ./new\012line: is locked by uchg; clear it first: varve chflags nouchg $'./new\012line' (EPERM)
          varve chmod: ./raw\233\377: is locked by uchg; clear it first: varve chflags nouchg $'./raw\233\377' (EPERM)
          varve chmod: ./two words: is locked by uchg; clear it first: varve chflags nouchg './two words' (EPERM)
          varve chmod: ./new\012line: is locked by uchg; clear it first: varve chflags nouchg $'./new\012line' (EPERM)
          varve chmod: ./esc\033[31m: is locked by uchg; clear it first: varve chflags nouchg $'./esc\033[31m' (EPERM)
          varve chmod: ./raw\233\377: is locked by uchg; clear it first: varve chflags nouchg $'./raw\233\377' (EPERM)
          0

          """#)
      try desk.end()
    }

    @Test("Behind -- each word is a name") func dashes() throws {
      let desk = try Desk("", Self.names)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve ls -- -dash; varve ls -dwash 2>&1 | head -1
        varve chflags -v -- hidden -dash; varve chflags -v nohidden -dash
        varve chmod -v -- 600 -dash; varve chmod -v 640 -dash; varve chmod -v -- +a "everyone allow read" -dash
        varve chmod -v 600 -- -dash; varve chmod +a "everyone deny read" -- ./-dash; varve chmod -a# 0 -- -dash; echo $?
        varve chmod 600 x --; echo $?; varve chmod -v 644 ./-dash
        varve chown -v -- 1 -dash; varve acl set -v -e "everyone deny delete" -- -dash
        varve acl get -- -dash; varve acl check -- -dash; varve acl dump -- -dash | sed -n 2p
        varve why read -- -dash | head -1; varve access read -- -dash; varve check -- -dash; echo $?
        varve acl strip -v -- -dash; varve status -- . > "$BASE/status"; echo $?
        """#,
        prints: #"""
          -dash
          varve ls: unknown option '-w'
          -dash
          -dash
          -dash
          -dash
          -dash
          -dash
          0
          varve chmod: x: No such file or directory (ENOENT)
          varve chmod: --: No such file or directory (ENOENT); write '--' before everything else; after it each word is a file
          1
          ./-dash
          -dash
          -dash: 1 -> 1 entry
            - group:everyone allow read
            + group:everyone deny delete
          varve acl set: 1 item, 1 changed, 0 failed
          # file: -dash
          group:everyone deny delete
          root BASE/mount/-dash
          allowed: root may read BASE/mount/-dash
          read        yes  root: only flags could stop this
          0
          -dash: 1 -> 0 entries
            - group:everyone deny delete
          varve acl strip: 1 item, 1 changed, 0 failed
          0

          """#)
      try desk.end()
    }
  }
}
