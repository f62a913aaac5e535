import Foundation
import MountSupport
import Testing

extension CommandTests {
  @Suite("varve why beyond the volume") struct WhyOutsideTests {
    private static let scene = """
      chmod 755 .; mkdir team; echo text > team/plan; chmod 640 team/plan; chown -R 1001:2001 team
      ln -s "$BASE/mount/team" back; ln -s "$BASE/away/again" round; ln -s ../mount/team/plan up
      ln -s "$BASE/mount/loop" loop; mkdir "$BASE/away"; ln -s "$BASE/mount/team" "$BASE/away/again"
      touch "$BASE/away/file"; ln -s "$BASE/away" out; ln -s /no/such/place dead

      """

    @Test("Links that lead out of the volume and back into it are followed, whatever is on the way")
    func back() throws {
      let desk = try Desk("", WhyOutsideTests.scene)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve why --as 1002:2009 write back/plan; echo $?
        varve why --as 1001:2001 read round/plan; echo $?
        varve why --as 1001:2001 read up | tail -n 2
        varve why --as 1002:2009 rename back/plan round/new | head -n 1
        varve why delete back | tail -n 1
        varve why read loop | tail -n 2; varve why read loop > /dev/null; echo $?
        varve access --as 1001:2001 read,write up back/plan
        """,
        prints: """
          denied: user 1002 may not write BASE/mount/back/plan (EACCES)
            BASE/mount: search allowed by its mode (other r-x)
            back: is a link to 'BASE/mount/team'
            BASE/mount: search allowed by its mode (other r-x)
            team: search allowed by its mode (other r-x)
            team/plan: write denied by its mode (other ---)
          1
          allowed: user 1001 may read BASE/mount/round/plan
            BASE/mount: search allowed by its mode (other r-x)
            round: is a link to 'BASE/away/again'
            BASE/mount: search allowed by its mode (other r-x)
            team: search allowed by its mode (owner rwx)
            team/plan: read allowed by its mode (owner rw-)
          0
            team: search allowed by its mode (owner rwx)
            team/plan: read allowed by its mode (owner rw-)
          denied: user 1002 may not rename BASE/mount/back/plan to BASE/mount/round/new (EACCES)
            back: delete allowed: root: only flags could stop this
            the link loops (80 more steps)
            loop: too many links on the way (ELOOP)
          2
          up:
          read        yes  team/plan: read by its mode (owner rw-)
          write       yes  team/plan: write by its mode (owner rw-)

          back/plan:
          read        yes  team/plan: read by its mode (owner rw-)
          write       yes  team/plan: write by its mode (owner rw-)

          """)
      try desk.end()
    }

    @Test("Of a path that stays outside it is said where it leads, and nothing is decided") func outside()
      throws
    {
      let desk = try Desk("", WhyOutsideTests.scene)
      defer { desk.volume.remove() }
      let kind = try desk.run("findmnt -no FSTYPE,TARGET -T \"$BASE/away\"")
        .split(separator: " ").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
      try desk.expect(
        """
        varve why read out/file; echo $?
        varve why read dead | tail -n 1
        varve why --json read out/file | grep -e outcome -e '"outside"' -e '"error"'
        varve access out/file; echo $?
        """,
        prints: """
          outside: whether root may read BASE/mount/out/file is decided outside of the volume
            BASE/mount: search allowed: root: only flags could stop this
            out: is a link to 'BASE/away'
            out: leads out of the volume, to BASE/away/file, on \(kind[0]) at \(kind[1])
          2
            dead: leads out of the volume, to /no/such/place: No such file or directory (ENOENT); there is no /no
            "outcome": "outside",
                "reason": "outside",
          varve access: out/file: out: leads out of the volume, to BASE/away/file, on \(kind[0]) at \(kind[1])
          2

          """)
      try desk.end()
    }

    @Test("Nothing is renamed or linked out of the volume, and the reason is that") func across() throws {
      let desk = try Desk("", WhyOutsideTests.scene)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve why rename team/plan "$BASE/away/new"; echo $?
        varve why link "$BASE/away/file" team/new | tail -n 1
        varve why rename team/plan out/new | tail -n 1 | cut -d, -f1; varve why rename team/plan out/new | head -n 1
        varve why rename team/plan/x "$BASE/away/new" | tail -n 1
        varve why rename team/plan "$BASE/nowhere/new"; varve why rename /a /b
        chmod 700 team; varve why --as 1002:2009 rename team/plan "$BASE/away/new" | tail -n 1
        varve why link team | tail -n 1; varve why link "$BASE/mount" new | tail -n 1
        for target in team/plan/x "$BASE/away/new"; do
          perl -e 'use POSIX; link($ARGV[0], $ARGV[1]) or rename($ARGV[0], $ARGV[1]) or print POSIX::strerror($!), "\\n"' \
            team/plan "$target"
        done
        """,
        prints: """
          impossible: root cannot rename BASE/mount/team/plan to BASE/away/new (EXDEV)
            BASE/mount: search allowed: root: only flags could stop this
            team: search allowed: root: only flags could stop this
            BASE/away/new: is on another file system; only a copy can be made there (EXDEV)
          2
            BASE/away/file: is on another file system; only a copy can be made there (EXDEV)
            out: leads out of the volume
          impossible: root cannot rename BASE/mount/team/plan to BASE/mount/out/new (EXDEV)
            team/plan: is not a directory (ENOTDIR)
          varve why: BASE/nowhere/new: No such file or directory (ENOENT)
          varve why: /a: not on a Varve volume; 'varve status' lists the volumes
            team: search denied by its mode (other ---)
            team: link denied: a directory has one name only
            BASE/mount: link denied: a directory has one name only
          Not a directory
          Invalid cross-device link

          """)
      try desk.end()
    }

    @Test("What is asked about .varve on the mount is answered as it comes out") func ownNames() throws {
      let desk = try Desk("", "touch f")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        errno() { perl -e '$! = 0; my $ok = eval $ARGV[0]; print $ok ? "ok" : "$!", "\\n"' "$1"; }
        told() { varve why "$@" | tail -n 1 | sed 's/^ *//'; }
        told read .varve/status;       errno 'open(F, "<", ".varve/status")'
        told write .varve/status;      errno 'open(F, "+<", ".varve/status")'
        told list .varve;              errno 'opendir(D, ".varve")'
        told search .varve;            errno 'chdir(".varve")'
        told create .varve/new;        errno 'open(F, ">", ".varve/new")'
        told delete .varve/status;     errno 'unlink(".varve/status")'
        told chmod .varve/status;      errno 'chmod(0600, ".varve/status")'
        told rename f .varve/new;      errno 'rename("f", ".varve/new")'
        told read .varve/missing;      errno 'open(F, "<", ".varve/missing")'
        told read .varve/status/x;     errno 'open(F, "<", ".varve/status/x")'
        told read .varve/../f;         errno 'open(F, "<", ".varve/../f")'
        chmod 700 .; varve why --as 1002:2009 read .varve/status | tail -n 1
        varve remount -o ro .
        told write .varve/status;      errno 'open(F, "+<", ".varve/status")'
        told create .varve/new;        errno 'open(F, ">", ".varve/new")'
        """,
        prints: """
          .varve/status: is the volume's own, and open to all who may search the root
          ok
          .varve/status: is the volume's own, and can only be read (EACCES)
          Permission denied
          .varve: is not listed; the names in it have to be known (EACCES)
          Permission denied
          .varve: is the volume's own, and open to all who may search the root
          ok
          .varve/new: the name is the volume's own (EPERM)
          Operation not permitted
          .varve/status: the name is the volume's own (EPERM)
          Operation not permitted
          .varve/status: the name is the volume's own (EPERM)
          Operation not permitted
          .varve/new: the name is the volume's own (EPERM)
          Operation not permitted
          .varve/missing: does not exist (ENOENT)
          No such file or directory
          .varve/status/x: is not a directory (ENOTDIR)
          Not a directory
          f: read allowed: root: only flags could stop this
          ok
            BASE/mount: search denied by its mode (other ---)
          .varve/status: write denied: the volume is mounted read-only
          Read-only file system
          .varve/new: create denied: the volume is mounted read-only
          Read-only file system

          """)
      try desk.end()
    }

    @Test("With nomagic .varve is not there") func withoutOwnNames() throws {
      let desk = try Desk("nomagic", "")
      defer { desk.volume.remove() }
      try desk.expect(
        "varve why read .varve/status | tail -n 1; varve why mkdir .varve | tail -n 1",
        prints: """
            .varve: does not exist (ENOENT)
            .varve: the name is the volume's own (EPERM)

          """)
      try desk.end()
    }
  }
}
