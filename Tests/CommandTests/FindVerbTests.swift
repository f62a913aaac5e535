import Foundation
import MountSupport
import Testing

extension CommandTests {
  @Suite("varve find") struct FindVerbTests {
    private static let flags =
      "sappnd, arch, schg, restricted, sunlnk, uappnd, uchg, nodump, dump, opaque, hidden, compressed, datavault, dataless"
    private static let scene = """
      chmod 755 .; mkdir -p t/a t/b; touch t/one t/a/two t/b/three; chown -R 1001:2001 t; chmod 700 t/b; chmod 664 t/one
      varve chmod +a 'user:1002 allow write' t/a/two; varve chmod +a 'group:2009 deny read' t/b
      varve chflags uchg t/one; varve chflags uchg,hidden t/a/two; ln -s one t/link; varve chflags -h uchg t/link

      """

    @Test("Items are found by flag, by entry and by what somebody may do") func conditions() throws {
      let desk = try Desk("", FindVerbTests.scene)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        find() { echo "find $*"; varve find "$@" | sort; }
        find -flags uchg t
        find -flags uchg,nohidden t
        find --flags=uchg --flags=hidden t
        find -flags 0 t/b
        find -entry user:1002 t; find -entry group:2009 t; find -entry everyone t
        find -can 1001:2001:write t
        find -can 1002:2009:read -can 1001:2001:search t
        find -flags uchg -can 1003:2009:read t/one t/a
        """,
        prints: """
          find -flags uchg t
          t/a/two
          t/link
          t/one
          find -flags uchg,nohidden t
          t/link
          t/one
          find --flags=uchg --flags=hidden t
          t/a/two
          find -flags 0 t/b
          t/b
          t/b/three
          find -entry user:1002 t
          t/a/two
          find -entry group:2009 t
          t/b
          find -entry everyone t
          find -can 1001:2001:write t
          t
          t/a
          t/b
          t/b/three
          find -can 1002:2009:read -can 1001:2001:search t
          t
          t/a
          find -flags uchg -can 1003:2009:read t/one t/a
          t/a/two
          t/one

          """)
      try desk.end()
    }

    @Test("Everything that is locked is found, by whatever flag, and in JSON with its flags") func locked()
      throws
    {
      let desk = try Desk(
        "",
        """
        chmod 755 .; mkdir t; cd t; touch arch hidden nodump opaque plain restricted sappnd schg sunlnk uappnd uchg
        for name in *; do test $name = plain || varve chflags $name $name; done
        mkdir d; ln -s plain link; varve chflags uchg,hidden d; varve chflags -h uchg link
        """)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        find() { echo "find $*"; varve find "$@" | sort; }
        find -locked t
        find --locked -flags hidden t
        find -locked -can 1001:2001:read t/d t/uchg t/plain t/link
        find --json -locked t/d t/plain t/sunlnk
        varve find -0 -locked t | varve chflags -h0 nouchg,nouappnd,noschg,nosappnd,nosunlnk; find -locked t
        """,
        prints: """
          find -locked t
          t/d
          t/link
          t/sappnd
          t/schg
          t/sunlnk
          t/uappnd
          t/uchg
          find --locked -flags hidden t
          t/d
          find -locked -can 1001:2001:read t/d t/uchg t/plain t/link
          t/d
          t/uchg
          find --json -locked t/d t/plain t/sunlnk
            {"path": "t/d", "kind": "directory", "flags": ["uchg", "hidden"]},
            {"path": "t/sunlnk", "kind": "regular", "flags": ["sunlnk"]}
          [
          ]
          find -locked t

          """)
      try desk.end()
    }

    @Test("Items are found by their class of encryption, and by that alone") func classes() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        ProtectVerbTests.tree + """
          { varve protect complete vol/d/one; varve protect b vol/d/sub; } >/dev/null 2>&1
          find() { echo "find $*"; varve find "$@" vol/d 2>&1 | sort; }
          find -class complete; find -class b; find --class=any; find -class none; find -class any -class b; find -class compleet
          varve lock vol; find -class any; varve umount vol
          """,
        prints: """
          find -class complete
          vol/d/one
          vol/d/sub/again
          find -class b
          vol/d/sub
          find --class=any
          vol/d/one
          vol/d/sub
          vol/d/sub/again
          find -class none
          vol/d
          vol/d/empty
          vol/d/sub/two
          find -class any -class b
          vol/d/sub
          find -class compleet
          varve find: 'compleet' is not a class; did you mean 'complete'?
          find -class any
          vol/d/one
          vol/d/sub
          vol/d/sub/again

          """)
    }

    @Test("What is found is what access says, item by item") func agrees() throws {
      let desk = try Desk("", FindVerbTests.scene)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        mkdir m; for i in {1..60}; do echo > m/$i; chmod $((i % 8))$((i % 5 + 2))$((i % 7)) m/$i; done
        chown -R 1001:2001 m; varve chmod +a 'user:1002 allow execute' m/*5
        for who in 1001:2001 1002:2001 1003:2009; do for op in read write execute delete chmod; do
          varve find -can $who:$op m t | sort > "$BASE/found"
          find m t ! -type l -print0 | while IFS= read -rd '' path; do
            varve why --as $who $op "$path" > /dev/null && echo "$path"
          done | sort > "$BASE/asked"
          cmp "$BASE/found" "$BASE/asked" && wc -l < "$BASE/found"
        done; done | awk '{ lines += $1 } END { print NR, (lines > 120) }'
        """,
        prints: """
          15 1

          """)
      try desk.end()
    }

    @Test("Names of any bytes, NUL and JSON") func output() throws {
      let desk = try Desk("", "mkdir t; cd t; touch a $'n\\n' $'\\377'; varve chflags uchg *")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve find -0 -flags uchg t | sort -z | od -An -c | tr -s ' '
        varve find --json -flags uchg t | sed 's/,$//' | sort
        varve find --json -flags schg t
        """,
        prints: """
           t / a \\0 t / n \\n \\0 t / 377 \\0
            {"path": "t/a", "kind": "regular", "flags": ["uchg"]}
            {"path": "t/n\\n", "kind": "regular", "flags": ["uchg"]}
            {"path": "t/\u{FFFD}", "pathBytes": "742fff", "kind": "regular", "flags": ["uchg"]}
          [
          ]
          []

          """)
      try desk.end()
    }

    @Test("Mistakes are told, and somebody else is asked about where that is allowed") func mistakes() throws
    {
      let desk = try Desk("", FindVerbTests.scene)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        said() { varve find "$@" 2>&1 | head -n 1; echo "${PIPESTATUS[0]}"; }
        said t; said -flags waiting t; said -can write t; said -can 1001:2001:wirte t
        said -flags uchg /proc/sys; said -flags uchg nowhere; said -can no-such-user:read t; said -flags
        chmod 755 t; cp '\(Program.built("varve"))' "$BASE/varve"; chmod 755 "$BASE"
        as() { setpriv --reuid 1003 --regid 2009 --clear-groups "$BASE/varve" find "$@" 2>&1 | sort; }
        as -can 1003:2009:read t/a; as -can 1001:2001:read t/a
        """,
        prints: """
          varve find: one of --flags, --locked, --entry, --class and --can is missing
          2
          varve find: there is no flag 'waiting'; the flags are \(FindVerbTests.flags)
          2
          varve find: 'write' is not USER:OP, as in bob:write
          2
          varve find: 'wirte' is not an operation; did you mean 'write'?; 'varve help why' lists them
          2
          varve find: /proc/sys: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          1
          varve find: nowhere: No such file or directory (ENOENT)
          1
          varve find: there is no user 'no-such-user'; a number will do
          2
          varve find: option '--flags' needs a value: FLAGS
          2
          t/a
          t/a/two
          t/a
          t/a/two

          """)
      try desk.end()
    }

    @Test(
      "Memory is bounded, however many items there are",
      .enabled(if: Programs.has("python3"), "needs python3"))
    func memory() throws {
      // LONG: 200,000 items.
      let many = ProcessInfo.processInfo.environment["LONG"] == "1" ? 100 : 10
      let volume = try MountedVolume()
      defer { volume.remove() }
      try volume.unmount()
      try Program.shell(
        "mkdir -p few/d many; touch few/d/f; for i in $(seq \(many)); do mkdir many/$i; (cd many/$i; touch $(seq -f '%0200.0f' 2000)); done",
        in: volume.upper)
      try volume.mount()
      let desk = Desk(volume)
      let output = try desk.run(
        """
        peak() { python3 -c 'if True:
          import resource, subprocess, sys
          lines = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=True).stdout.count(b"\\n")
          print(lines, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"; }
        for tree in few many; do peak '\(Program.built("varve"))' find -can 0:read "$tree"; done
        """)
      let rows = output.split(separator: "\n").map { $0.split(separator: " ").compactMap { Int($0) } }
      try #require(rows.count == 2 && rows.allSatisfy { $0.count == 2 }, "\(output)")
      #expect(rows[0][0] == 3 && rows[1][0] == many * 2_001 + 1, "\(output)")
      // In kilobytes; all names together are more than that.
      #expect(rows[1][1] - rows[0][1] < 3_072, "\(output)")
      try desk.end()
    }
  }
}
