import MountSupport
import Testing

/// Passphrases that are typed at a terminal.
@Suite("varve key on a terminal", .enabled(if: Programs.has("python3"), "needs python3"))
struct KeyPromptTests {
  /// Prints the status, and whether the terminal is as it was.
  private static let after = #"; echo $?; stty -a | grep -owE -e "-?(echo|icanon)""#

  @Test("A passphrase is asked for without showing, twice when it is set") func asks() throws {
    let drawer = try KeyDrawer()
    defer { drawer.remove() }
    try drawer.expect(
      """
      typing '$VARVE key create --passphrase new\(Self.after)' "o  ne" "o  ne"
      typing '$VARVE key check new\(Self.after)' "o  ne"
      typing '$VARVE key check new' one
      typing '$VARVE key passphrase new\(Self.after)' "o  ne" two two
      printf two | varve key check --passphrase-file - new
      typing '$VARVE key passphrase --remove new' two; varve key check new
      typing '$VARVE key passphrase new > out 2>&1 < /dev/null' three three; cat out
      typing '$VARVE key check --passphrase-file - new' three
      typing '$VARVE key check --passphrase-file /dev/tty new' three
      """,
      prints: """
        New passphrase of new:\u{20}
        The same again:\u{20}
        0
        icanon
        echo
        = 0
        Passphrase of new:\u{20}
        new: a sound keyfile with a passphrase, id N
        0
        icanon
        echo
        = 0
        Passphrase of new:\u{20}
        varve key check: new: the passphrase is wrong, or the keyfile is damaged, which cannot be told apart (EKEYREJECTED); try again, or use another copy of it, or another keyfile that has a keyslot
        = 1
        Passphrase of new:\u{20}
        New passphrase of new:\u{20}
        The same again:\u{20}
        0
        icanon
        echo
        = 0
        new: a sound keyfile with a passphrase, id N
        Passphrase of new:\u{20}
        = 0
        new: a sound keyfile without a passphrase, id N
        New passphrase of new:\u{20}
        The same again:\u{20}
        = 0
        Passphrase of new:\u{20}
        new: a sound keyfile with a passphrase, id N
        = 0
        Passphrase of new:\u{20}
        new: a sound keyfile with a passphrase, id N
        = 0

        """)
  }

  @Test("What is not one passphrase, twice, sets none") func refuses() throws {
    let drawer = try KeyDrawer()
    defer { drawer.remove() }
    try drawer.expect(
      """
      typing '$VARVE key create --passphrase new' one two; typing '$VARVE key create --passphrase new' ""
      typing '$VARVE key create --passphrase new' ^D; typing '$VARVE key create --passphrase new' one ^D
      typing '$VARVE key create --passphrase new\(Self.after)' $(head -c 2000 /dev/zero | tr '\\0' a); ls new
      typing '$VARVE key create --passphrase raw'; typing '$VARVE key create --passphrase none/new'
      setsid -w $VARVE key create --passphrase new; setsid -w $VARVE key check closed; echo $?; ls new
      """,
      prints: """
        New passphrase of new:\u{20}
        The same again:\u{20}
        varve key create: new: the two passphrases differ; nothing was written
        = 1
        New passphrase of new:\u{20}
        varve key create: new: the passphrase from the terminal is empty; a passphrase has at least one byte
        = 1
        New passphrase of new:\u{20}
        varve key create: new: the passphrase from the terminal is empty; a passphrase has at least one byte
        = 1
        New passphrase of new:\u{20}
        The same again:\u{20}
        varve key create: new: the passphrase from the terminal is empty; a passphrase has at least one byte
        = 1
        New passphrase of new:\u{20}
        varve key create: new: the passphrase from the terminal is too long; it has 1,024 bytes at most
        1
        icanon
        echo
        = 0
        ls: cannot access 'new': No such file or directory
        varve key create: raw: already exists (EEXIST), and is not replaced; take another name
        = 1
        varve key create: none/new: the directory 'none' does not exist (ENOENT); make it first: mkdir -m 700 none
        = 1
        varve key create: new: there is no terminal to ask for the passphrase on (ENXIO); name a source with --passphrase-file
        varve key check: closed: there is no terminal to ask for the passphrase on (ENXIO); name a source with --passphrase-file
        1
        ls: cannot access 'new': No such file or directory

        """)
  }

  @Test("A signal finds the terminal as it was, and who was stopped is asked again") func signals() throws {
    let drawer = try KeyDrawer()
    defer { drawer.remove() }
    try drawer.expect(
      """
      typing 'trap : INT; $VARVE key create --passphrase new\(Self.after)' ^C
      typing 'trap : INT; $VARVE key create --passphrase new\(Self.after)' one ^C
      typing 'ulimit -c 0; trap : QUIT; $VARVE key create --passphrase new 2>&1\(Self.after)' '^\\'
      ls new
      typing 'set -m; $VARVE key create --passphrase new > out\(Self.after); fg > out\(Self.after)' ^Z one one |
        grep -v Stopped
      varve key check --passphrase-file <(echo one) new
      for signal in TERM HUP ALRM; do
        typing '$VARVE key check closed & until stty -a | grep -qw -e -echo; do :; done
          kill -'$signal' $!; wait $! 2> out\(Self.after)'
      done
      """,
      prints: """
        New passphrase of new:\u{20}
        130
        icanon
        echo
        = 0
        New passphrase of new:\u{20}
        The same again:\u{20}
        130
        icanon
        echo
        = 0
        New passphrase of new:\u{20}
        Quit
        131
        icanon
        echo
        = 0
        ls: cannot access 'new': No such file or directory
        New passphrase of new:\u{20}

        148
        icanon
        echo
        New passphrase of new:\u{20}
        The same again:\u{20}
        0
        icanon
        echo
        = 0
        new: a sound keyfile with a passphrase, id N
        Passphrase of closed:\u{20}
        143
        icanon
        echo
        = 0
        Passphrase of closed:\u{20}
        129
        icanon
        echo
        = 0
        Passphrase of closed:\u{20}
        142
        icanon
        echo
        = 0

        """)
  }
}
