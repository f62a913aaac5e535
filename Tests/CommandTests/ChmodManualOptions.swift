// The options of chmod(1) of macOS, with modes and with access lists.

extension CommandTests.ChmodManualTests {
  /// A tree with links into it: `top` leads to `real`, `real/away` to `other`.
  private static let tree = """
    mkdir -p real/sub other; : > real/sub/file1; : > other/file2; ln -s real top; ln -s ../other real/away
    modes() { stat -c '%a %n' real real/sub real/sub/file1 other other/file2; }

    """

  static let options = [
    Transcript(
      "what fails is named, the others are changed, and the status is 1",
      before: "file file1; file file2",
      """
      # chmod 600 file1 gone gone/file1 file1/file2 file2
      varve chmod: gone: No such file or directory (ENOENT)
      varve chmod: gone/file1: No such file or directory (ENOENT); there is no gone
      varve chmod: file1/file2: Not a directory (ENOTDIR); file1 is not a directory
      [1]
      # chmod +a "guest allow read" gone file2
      varve chmod: gone: No such file or directory (ENOENT)
      [1]
      # ls -le
      -rw-------  1 juser  wheel  0 Apr 28  2006 file1
      -rw-------+ 1 juser  wheel  0 Apr 28  2006 file2
       0: user:guest allow read
      """),
    Transcript(
      "-f: silence, and the status stays 0", before: "file file1; file file2; chflags uchg file1",
      """
      # chmod 600 file1 file2
      varve chmod: file1: is locked by uchg; clear it first: varve chflags nouchg file1 (EPERM)
      [1]
      # chmod -f 640 file1 gone file2
      # chmod -f +a "guest allow read" file1 gone file2
      # chmod -f -a "others deny read" file2
      # ls -le
      -rw-r--r--  1 juser  wheel  0 Apr 28  2006 file1
      -rw-r-----+ 1 juser  wheel  0 Apr 28  2006 file2
       0: user:guest allow read
      """),
    Transcript(
      "-v names what changes, -vv shows both modes, octal and symbolic", before: "file file1; file file2",
      """
      # chmod -v 600 file1 file2
      file1
      file2
      # chmod -v 600 file1
      # chmod -vv u+x,go=r file1
      file1: 0100600 [-rw------- ] -> 0100744 [-rwxr--r-- ]
      # chmod -v -v 4755 file2
      file2: 0100600 [-rw------- ] -> 0104755 [-rwsr-xr-x ]
      # chmod -v +a "guest allow read" file1
      file1
      # chmod -vv +a "admin deny read" file1
      file1: 1 -> 2 entries
      """),
    Transcript(
      "-R: the hierarchy, and no link in it", before: tree,
      """
      # chmod -R 700 real
      # modes
      700 real
      700 real/sub
      700 real/sub/file1
      755 other
      644 other/file2
      # chmod -R 711 top
      # modes
      700 real
      700 real/sub
      700 real/sub/file1
      755 other
      644 other/file2
      # chmod -RP 711 top
      # chmod -RH 710 top
      # modes
      710 real
      710 real/sub
      710 real/sub/file1
      755 other
      644 other/file2
      # chmod -RL 701 top
      # modes
      701 real
      701 real/sub
      701 real/sub/file1
      701 other
      701 other/file2
      """),
    Transcript(
      "the last of -H, -L and -P is in force, and without -R none is", before: tree,
      """
      # chmod -R -L -H -P 700 top
      # chmod -R -P -L -H 750 top
      # modes
      750 real
      750 real/sub
      750 real/sub/file1
      755 other
      644 other/file2
      # chmod -P 711 top
      # modes
      711 real
      750 real/sub
      750 real/sub/file1
      755 other
      644 other/file2
      """),
    Transcript(
      "access lists go down with -R as modes do", before: tree,
      """
      # chmod -RH +a "guest allow delete" top
      # ls -leR real | grep -c "0: user:guest allow delete"
      2
      # ls -led other | tail -n +2
      """),
    Transcript(
      "-h: the link itself, not what it leads to", before: "file file1; ln -s file1 link1; ln -s gone link2",
      """
      # chmod -h 600 link1
      varve chmod: link1: a link has no mode of its own on Linux (ENOTSUP)
      [1]
      # chmod 600 link1
      # ls -le file1
      -rw-------  1 juser  wheel  0 Apr 28  2006 file1
      # chmod -h +a "guest allow read" link1
      # chmod +a "guest allow read" link2
      varve chmod: link2: No such file or directory (ENOENT); it is a link to gone
      [1]
      # chmod -R -h 600 link1 2>&1 | head -1
      varve chmod: -R and -h exclude each other
      """),
  ]
}
