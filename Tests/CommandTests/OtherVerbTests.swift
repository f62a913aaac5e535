import MountSupport
import Testing

extension CommandTests {
  @Suite("chmod, chflags and ls") struct OtherVerbTests {
    @Test("Mistakes are met with what to do") func mistakes() throws {
      let desk = try Desk("", "mkdir d; touch d/f")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve chflags uchg -R d; echo $?
        varve chmod 644 -R d 2>&1 | grep -c 'write options before'
        varve chflags 0 d
        varve chmod =a# 3 "user:7001 allow read" d/f; echo $?
        varve chmod +a "user:4294967295 allow read" d/f; echo $?
        varve ls -le d/f | tail -1
        varve chflags uchg d/f; varve chmod +a "user:1 allow read" d/f; varve chmod 600 d/f
        varve chflags nouchg d/f
        varve chmod -C d/f d; echo $?
        """,
        prints: """
          varve chflags: -R: No such file or directory (ENOENT); write options before everything else, and a file of this name with './' in front
          1
          1
          varve chmod: d/f: there was no access list; the entry became entry 0
          0
          varve chmod: 4294967295 cannot be the number of an account
          2
           0: user:7001 allow read
          varve chmod: d/f: is locked by uchg; clear it first: varve chflags nouchg d/f (EPERM)
          varve chmod: d/f: is locked by uchg; clear it first: varve chflags nouchg d/f (EPERM)
          0

          """)
      try desk.end()
    }

    @Test("Flags that stay as they are, and words that stand alone, are said to") func flagWords() throws {
      let desk = try Desk("", "touch f; mkdir \"$BASE/plain\"; touch \"$BASE/plain/a\" \"$BASE/plain/b\"")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve chflags waiting,hidden f; echo $?
        varve chflags compressed f; varve chflags -vv compressed f; varve chflags -v compressed,hidden f
        varve chflags 0x8000 f; varve ls -lO f | grep -c hidden
        varve chflags -R hidden "$BASE/plain"; echo $?
        varve acl get -R "$BASE/plain"; echo $?
        """,
        prints: """
          varve chflags: 'waiting' must be alone: it is not a flag, but puts locks into force that were copied
          2
          varve chflags: f: compressed is the volume's own to set, and stays as it is
          varve chflags: f: compressed is the volume's own to set, and stays as it is
          varve chflags: f: compressed is the volume's own to set, and stays as it is
          f
          1
          varve chflags: BASE/plain: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          1
          varve acl get: BASE/plain: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          1

          """)
      try desk.end()
    }

    @Test("Locks that wait are put into force or forgotten, and are not looked for without twins")
    func waitingLocks() throws {
      let script = """
        locks() { varve ls -lO "$1" | grep -o uchg; getfattr -n user.varve.flags "$1" 2>/dev/null | grep -o uchg; echo; }
        touch f; varve chflags uchg f; cp -a f g; cp -a f h; cp -a f i
        locks g; varve chflags 0 g; locks g; varve chflags nouchg i; locks i
        varve chflags waiting h; echo $?; locks h
        """
      let desk = try Desk("twins")
      defer { desk.volume.remove() }
      try desk.expect(script, prints: "uchg\n\n\n\n0\nuchg\nuchg\n\n")
      try desk.end()
      let plain = try Desk("", "touch f")
      defer { plain.volume.remove() }
      try plain.expect(
        "varve chflags waiting f; echo $?",
        prints: """
          varve chflags: f: which locks wait is told only where a volume is mounted with 'twins': unmount it, and mount it with -o twins
          1

          """)
      try plain.end()
    }

    @Test("Names cannot steer a terminal, nor pretend to be entries") func names() throws {
      let desk = try Desk("", "touch \"$(printf 'a\\033[31m\\233b\\302\\233c\\nuser:0 allow full')\"")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve acl get a*
        script -qec "varve ls; varve chmod 600 a*; varve acl set -ne 'user:7001 allow read' a*; varve chmod 9 a*
          varve chmod -vv 611 a*; varve chflags -vv hidden a*; varve chmod -v 622 a*; varve chflags -v nohidden a*
          varve chmod +a 'user:0 inherited allow read' a*; varve acl check --color=never a*" /dev/null |
          LC_ALL=C grep -c "$(printf '[\\033\\233]')"
        """,
        prints: """
          # file: a\\033[31m\\233b\\302\\233c\\012user:0 allow full
          # no access list
          0

          """)
      try desk.end()
    }

    @Test("Paths come from standard input, each ended by a NUL") func paths() throws {
      let desk = try Desk("", "mkdir d; touch d/a \"d/$(printf 'b\\nc')\" d/e")
      defer { desk.volume.remove() }
      try desk.run(
        """
        find d -type f -print0 | varve acl set -0 -e "user:7001 allow read"
        test $(varve acl get -R d | grep -c 'user:7001 allow read') = 3
        find d -type f -print0 | varve acl strip -0 -v | grep -c 'entries$' | grep -qx 3
        test $(varve acl get -R d | grep -c allow) = 0
        """, succeeds: true)
      try desk.end()
    }
  }
}
