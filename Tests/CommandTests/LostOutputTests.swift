import MountSupport
import Testing

extension CommandTests {
  @Suite("When what is printed goes nowhere") struct LostOutputTests {
    /// More names than a pipe holds.
    private static let tree = #"""
      mkdir d; (cd d; touch $(seq -f 'a name of some length to fill what a pipe holds, number %g' 1500 | tr ' ' -))

      """#
    /// `gone VERB ...` runs a verb after the reader of its output has gone away, and prints the status.
    private static let gone = """
      gone() { exec 3> >(:); wait $!; varve "$@" >&3; echo "$1: $?"; exec 3>&-; }

      """

    @Test("A verb that only shows ends silently as by SIGPIPE when its reader goes away") func readerGone()
      throws
    {
      let desk = try Desk("", Self.tree + "varve acl set -R -e 'user:7001 allow read' d")
      defer { desk.volume.remove() }
      try desk.expect(
        Self.gone + #"""
          varve ls -l d | head -1 | cut -c 1-5; echo ${PIPESTATUS[0]}
          gone ls -R d; gone ls --json d; gone acl get -R d; gone acl dump d; gone acl check --json d
          gone chmod -R -n 700 d; gone help chmod; gone why read d; gone check --json .
          (trap '' PIPE; gone ls -R d)
          """#,
        prints: """
          total
          141
          ls: 141
          ls: 141
          acl: 141
          acl: 141
          acl: 141
          chmod: 141
          help: 141
          why: 141
          check: 141
          varve ls: standard output: Broken pipe (EPIPE)
          ls: 3

          """)
      try desk.end()
    }

    @Test("A verb that changes things does all of its work without its reader") func workGoesOn() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        Self.gone + #"""
          varve chmod -qRvv 700 d | head -1; echo ${PIPESTATUS[0]}; find d -perm 700 | wc -l
          gone chflags -q -R -v hidden d; varve ls -O d | grep -c hidden
          gone chown -R -v --json 7001 d d/gone 2> /dev/null; find d -user 7001 | wc -l
          gone acl set -q -R -v -e 'user:7001 allow read,file_inherit' d
          gone acl propagate -q -v --undo $BASE/undo d; varve acl get -R d | grep -c 'user:7001 inherited'
          gone acl restore -q -v $BASE/undo; varve acl get -R d | grep -c 'user:7001 inherited'
          """#,
        prints: """
          d: 040755 [drwxr-xr-x ] -> 040700 [drwx------ ]
          0
          1501
          chflags: 0
          1500
          chown: 1
          1501
          acl: 0
          acl: 0
          1500
          acl: 0
          0

          """)
      try desk.end()
    }

    @Test("A disk that is full is told with a status of its own, and changes are made all the same")
    func diskFull() throws {
      let desk = try Desk("", "mkdir d; touch d/a d/b")
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        full() { varve "$@" > /dev/full; echo $?; }
        full ls d; full acl get d; full status .; full why read d; full access read d/a; full check --json .
        full --version; full chmod -Rvn 700 d
        full chmod -Rv 700 d; full chflags -Rvf hidden d d/gone; full chown -Rvv --json 7001 d d/gone
        stat -c '%a %u' d d/a d/b; varve ls -O d | grep -c hidden
        """#,
        prints: """
          varve ls: standard output: No space left on device (ENOSPC)
          3
          varve acl get: standard output: No space left on device (ENOSPC)
          3
          varve status: standard output: No space left on device (ENOSPC)
          3
          varve why: standard output: No space left on device (ENOSPC)
          3
          varve access: standard output: No space left on device (ENOSPC)
          3
          varve check: standard output: No space left on device (ENOSPC)
          3
          varve: standard output: No space left on device (ENOSPC)
          3
          varve chmod: standard output: No space left on device (ENOSPC)
          3
          varve chmod: standard output: No space left on device (ENOSPC)
          3
          varve chflags: standard output: No space left on device (ENOSPC)
          3
          varve chown: standard output: No space left on device (ENOSPC)
          varve chown: d/gone: No such file or directory (ENOENT)
          3
          700 7001
          700 7001
          700 7001
          2

          """)
      try desk.end()
    }

    @Test("A stream that is closed is told, and nothing else is written where it was") func closed() throws {
      let desk = try Desk("", "mkdir d; touch d/a")
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        varve ls d >&-; echo $?
        varve chmod -v --undo $BASE/undo 700 d/a >&-; echo $?; grep -v ^# $BASE/undo
        varve chmod --undo $BASE/quiet 711 d/a d/gone 2>&-; echo $?; grep -c gone $BASE/quiet
        """#,
        prints: """
          varve ls: standard output: Bad file descriptor (EBADF)
          3
          varve chmod: standard output: Bad file descriptor (EBADF)
          3
          varve-acl 1
          root BASE/mount/d/a
          file - mode=0644 .
          end
          1
          0

          """)
      try desk.end()
    }
  }
}
