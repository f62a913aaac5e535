// What chflags(1) of macOS documents: its keywords, its example, and each of its sentences.

import MountSupport
import Testing

extension CommandTests {
  @Suite("chflags(1)") struct ChflagsManualTests {
    @Test("The example and every sentence of the page", arguments: keywords + options + statuses)
    func sentence(_ session: Transcript) throws { try session.check() }

    /// A tree with links into it: `top` leads to `foobar`, `foobar/away` to `other`.
    private static let tree = """
      mkdir -p foobar/sub other; : > foobar/sub/file1; : > other/file2; ln -s foobar top
      ln -s ../other foobar/away
      flags() { for item in foobar foobar/sub foobar/sub/file1 other other/file2; do shown $item; done; }
      shown() { echo "$(varve ls -lOd "$1" | awk '{ print $5 }') $1"; }

      """

    static let keywords = [
      Transcript(
        "the example: every flag of a hierarchy is cleared",
        before: tree + "chflags -R uchg,hidden foobar; chflags schg foobar/sub/file1",
        """
        # flags
        uchg,hidden foobar
        uchg,hidden foobar/sub
        schg,uchg,hidden foobar/sub/file1
        - other
        - other/file2
        # chflags -R 0 foobar
        # flags
        - foobar
        - foobar/sub
        - foobar/sub/file1
        - other
        - other/file2
        """),
      Transcript(
        "every keyword sets, and with no in front clears",
        before: "file file1; mkdir file2; shown() { varve ls -lOd $1 | awk '{ print $5 }'; }",
        """
        # for word in arch archived sappnd sappend; do chflags $word file1; shown file1; chflags no$word file1; done
        arch
        arch
        sappnd
        sappnd
        # for word in schg schange simmutable; do chflags $word file1; shown file1; chflags no$word file1; done
        schg
        schg
        schg
        # for word in uappnd uappend; do chflags $word file1; shown file1; chflags no$word file1; done
        uappnd
        uappnd
        # for word in uchg uchange uimmutable; do chflags $word file1; shown file1; chflags no$word file1; done
        uchg
        uchg
        uchg
        # for word in opaque hidden; do chflags $word file2; shown file2; chflags no$word file2; done
        opaque
        hidden
        # chflags nodump file1; shown file1; chflags dump file1
        nodump
        # shown file1; shown file2
        -
        -
        """),
      Transcript(
        "a list has commas between keywords; the others stay", before: "file file1",
        """
        # chflags uchg,nodump file1
        # chflags nouchg,hidden file1
        # ls -lO
        -rw-r--r--@ 1 juser  wheel  nodump,hidden 0 Apr 28  2006 file1
        """),
      Transcript(
        "an octal number takes the place of all flags", before: "file file1; chflags opaque file1",
        """
        # chflags -vv 0100003 file1
        file1: 010 -> 0100003
        # ls -lO
        -rw-r--r--@ 1 juser  wheel  uchg,nodump,hidden 0 Apr 28  2006 file1
        # chflags -vv 0 file1
        file1: 0100003 -> 00
        """),
      Transcript(
        "what is no flag is said before a file is touched", before: "file file1",
        """
        # chflags uchg,uhcg file1
        varve chflags: unknown flag 'uhcg'; did you mean 'uchg'?
        [2]
        # chflags nonodump file1
        varve chflags: unknown flag 'nonodump'; did you mean 'nodump'?
        [2]
        # chflags 08 file1
        varve chflags: unknown flag '08'; 'varve help chflags' lists them
        [2]
        # chflags uunlnk file1
        varve chflags: there is no flag uunlnk here: only root's sunlnk keeps an item from being removed; for your own use uchg, or deny it: varve chmod +a "everyone deny delete" PATH
        [2]
        # ls -lO
        -rw-r--r--  1 juser  wheel  - 0 Apr 28  2006 file1
        """),
    ]

    static let options = [
      Transcript(
        "-v names what changes, -vv shows old and new flags, in octal", before: "file file1; file file2",
        """
        # chflags -v uchg file1 file2
        file1
        file2
        # chflags -v uchg file1
        # chflags -vv nouchg,hidden file1
        file1: 02 -> 0100000
        # chflags -v -v schg file2
        file2: 02 -> 0400002
        """),
      Transcript(
        "-f: silence, and the status stays 0", before: "file file1",
        """
        # chflags hidden gone file1
        varve chflags: gone: No such file or directory (ENOENT)
        [1]
        # chflags -f nodump gone file1
        # ls -lO
        -rw-r--r--@ 1 juser  wheel  nodump,hidden 0 Apr 28  2006 file1
        """),
      Transcript(
        "-h: the link itself, not what it leads to", before: "file file1; ln -s file1 link1",
        """
        # chflags -h uchg link1
        # chflags hidden link1
        # ls -lO | awk '{ print $1, $5 }'
        -rw-r--r--@ hidden
        lrwxrwxrwx uchg
        """),
      Transcript(
        "-R: the hierarchy, what a directory holds before it, and no link", before: tree,
        """
        # chflags -Rv uchg foobar
        foobar/sub/file1
        foobar/sub
        foobar
        # chflags -R 0 foobar
        # chflags -Rv uchg top
        # chflags -RPv uchg top
        # chflags -RHv uchg top
        top/sub/file1
        top/sub
        top
        """),
      Transcript(
        "-L: every link", before: tree,
        """
        # chflags -RL hidden top
        # flags
        hidden foobar
        hidden foobar/sub
        hidden foobar/sub/file1
        hidden other
        hidden other/file2
        """),
      Transcript(
        "the last of -H, -L and -P is in force, and without -R none is", before: tree,
        """
        # chflags -R -L -H -P hidden top
        # chflags -R -P -L -H hidden top
        # flags
        hidden foobar
        hidden foobar/sub
        hidden foobar/sub/file1
        - other
        - other/file2
        # chflags -P nohidden top
        # shown foobar
        - foobar
        """),
      Transcript(
        "-x: not over mount points", before: tree + "mount -t tmpfs none foobar/sub",
        """
        # : > foobar/sub/inside
        # chflags -Rxv hidden foobar
        foobar
        # chflags -Rv nohidden foobar
        varve chflags: foobar/sub/inside: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
        foobar
        [1]
        """),
    ]

    static let statuses = [
      Transcript(
        "nothing to change it with is an error of usage", before: "file file1",
        """
        # chflags
        varve chflags: FLAGS is missing
        Usage: varve chflags [-fhnqvx0] [-R [-H | -L | -P]] FLAGS PATH...
        'varve help chflags' tells more.
        [2]
        # chflags uchg
        varve chflags: PATH is missing
        Usage: varve chflags [-fhnqvx0] [-R [-H | -L | -P]] FLAGS PATH...
        'varve help chflags' tells more.
        [2]
        # chflags -z uchg file1
        varve chflags: unknown option '-z'
        Usage: varve chflags [-fhnqvx0] [-R [-H | -L | -P]] FLAGS PATH...
        'varve help chflags' tells more.
        [2]
        """),
      Transcript(
        "the flags of the system are root's", before: "file file1; file file2; chflags schg file2",
        """
        # juser chflags uchg file1; juser ls -lO file1
        -rw-r--r--  1 juser  wheel  uchg 0 Apr 28  2006 file1
        # juser chflags arch file1
        varve chflags: file1: only root may set or clear arch (EPERM)
        [1]
        # juser chflags noschg file2
        varve chflags: file2: only root may set or clear schg (EPERM)
        [1]
        # guest chflags 0 file1
        varve chflags: file1: Operation not permitted (EPERM): this needs the right writesecurity, which the owner and root have; 'varve acl get' shows who else
        [1]
        """),
    ]
  }
}
