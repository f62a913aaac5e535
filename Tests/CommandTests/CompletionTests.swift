import Glibc
import MountSupport
import Testing

extension CommandTests {
  @Suite("Completion") struct CompletionTests {
    @Test("bash completes verbs, options, values and files") func completion() throws {
      let desk = try Desk("", "touch report.txt; mkdir reports")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        source <(varve completion bash)
        complete() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _varve; echo "${COMPREPLY[*]}"; }
        complete varve ac
        complete varve acl re
        complete varve acl propagate --u
        complete varve key s
        complete varve key slot re
        complete varve key slot add --with-
        complete varve key slot add rep
        complete varve acl get --format z
        complete varve acl get --format = n
        complete varve acl get rep
        complete varve acl set -F rep
        complete varve completion z
        complete varve chflags u
        complete varve chflags -R uc
        complete varve chflags uchg rep
        complete varve chflags uchg,uap
        complete varve access read,wri
        complete varve mount -o rep
        complete varve why --as roo
        complete varve help c
        touch "glob*" globular "two  words"
        complete varve acl get glob
        complete varve acl get two
        complete varve mount -o ro,noe
        complete varve mount -o ro,cache
        complete varve mount -o ro,cache =
        complete varve mount -o ro,cache = s
        complete varve mount -o ro,cache = none,passt
        complete varve mount --options = ro,clo
        complete varve acl get --format z,z
        complete varve chflags nou
        complete varve chflags uchg,nod
        complete varve help acl res
        complete varve help key slot re
        complete varve help key slot remove ""
        complete varve umount "$PWD"
        complete varve umount rep
        complete varve chmod +a '"every'
        complete varve chmod +a every
        complete varve chmod +a '"user:roo'
        complete varve chmod +a user : roo
        complete varve chmod = a# 0 '"everyone deny appe'
        complete varve chmod -a# 0 rep
        complete varve chmod -R +ai '"everyone deny exec'
        complete varve chmod +a '"everyone allow read,read'
        complete varve acl set -e 'everyone allow chow'
        complete varve find --entry group : every
        complete varve find -flags uch
        complete varve find -lo
        complete varve find -can roo
        complete varve chown roo
        complete varve chown root : roo
        complete varve chown : group = roo
        complete varve chown root rep
        complete varve chmod +a#
        varve completion tcsh; echo $?
        """,
        prints: """
          acl access
          restore
          --undo
          slot
          remove
          --with-passphrase-file
          report.txt reports
          zfs
          nfs4
          report.txt reports
          report.txt reports
          zsh
          uappnd uchg
          uchg
          report.txt reports
          uchg,uappnd
          read,write read,writeattr read,writexattr read,writeacl

          root
          chflags chmod chown check compress completion
          glob* globular
          two  words
          ro,noexec
          ro,cache=shared ro,cache=exclusive ro,cache=none
          shared exclusive none
          shared
          none,passthrough=auto none,passthrough=off
          ro,clone_fd

          nouappnd nouchg
          uchg,nodump uchg,nodatavault
          restore
          remove

          BASE/mount
          report.txt reports
          everyone allow everyone deny
          "everyone allow "everyone deny
          user:root allow user:root deny
          root root
          everyone deny append everyone deny append,
          report.txt reports
          everyone deny execute everyone deny execute,
          everyone allow read,readattr everyone allow read,readextattr everyone allow read,readonly everyone allow read,readsecurity
          "everyone allow chown "everyone allow chown,
          everyone
          uchg
          -locked
          root
          root
          root
          root
          report.txt reports
          +a#
          varve completion: 'tcsh' is not a shell known here: bash, zsh and fish are
          2

          """)
      for shell in ["bash", "zsh", "fish"] {
        try desk.run(
          "command -v \(shell) > /dev/null || exit 0; varve completion \(shell) > $BASE/script; \(shell) -n $BASE/script",
          succeeds: true)
      }
      try desk.end()
    }

    /// Command lines up to the cursor, and what is offered there.
    private static let offers = """
      varve acl re => restore
      varve acl get --format=n => --format=nfs4
      varve chflags uc => uchg
      varve chflags uchg,uap => uchg,uappnd
      varve access read,writea => read,writeacl read,writeattr
      varve access rep => report.txt
      varve acl get rep => report.txt
      varve mount -o noe => noexec
      varve mount -o ro,noe => ro,noexec
      varve mount -o ro,cache=s => ro,cache=shared
      varve mount --options ro,clo => ro,clone_fd
      varve mount --options=ro,clo => --options=ro,clone_fd
      varve remount -o ro,noac => ro,noacl
      varve chflags nouc => nouchg
      varve help acl re => restore
      varve help key slot re => remove
      varve chmod +a "every => everyone allow everyone deny
      varve chmod +a# 0 "everyone deny exec => everyone deny execute everyone deny execute,
      varve acl set -e "everyone allow read,readse => everyone allow read,readsecurity everyone allow read,readsecurity,
      varve find --entry every => everyone
      varve find -entry every => everyone
      varve find -flags uchg,noop => uchg,noopaque
      varve find -can roo => root
      varve chown roo => root
      varve chown root:roo => root:root
      varve chown :group=roo => :group=root
      varve chown root rep => report.txt
      varve umount BASE/mou => BASE/mount

      """

    private static func has(_ shell: String) -> Bool {
      ["/bin/", "/usr/bin/", "/usr/local/bin/"].contains { access($0 + shell, X_OK) == 0 }
    }

    /// `offered` is a function of bash that prints what a shell offers for a line, a word each.
    private func check(_ offered: String) throws {
      let desk = try Desk("", "touch report.txt")
      defer { desk.volume.remove() }
      // Completion asks for what depends on the machine.
      try desk.run("mkdir $BASE/bin; ln -s '\(Program.built("varve"))' $BASE/bin", succeeds: true)
      let lines = Self.offers.replacing("BASE", with: desk.volume.base).split(separator: "\n").map {
        $0.prefix { $0 != ">" }.dropLast(2)
      }
      let script =
        "export HOME=$BASE PATH=$BASE/bin:$PATH\n\(offered)\n"
        + lines.map { "echo '\($0) => '$(offered '\($0)' | LC_ALL=C sort -u)\n" }.joined()
      try desk.expect(script, prints: Self.offers)
      try desk.end()
    }

    @Test("fish offers them, behind commas too", .enabled(if: has("fish"), "needs fish"))
    func fish() throws {
      try check(
        """
        varve completion fish > "$BASE/script"
        offered() { fish --no-config -c "source $BASE/script; complete -C '$1'" | cut -f 1; }
        """)
    }

    @Test("zsh offers them, behind commas too", .enabled(if: has("zsh"), "needs zsh"))
    func zsh() throws {
      try check(
        """
        mkdir "$BASE/functions"
        varve completion zsh > "$BASE/functions/_varve"
        cat > "$BASE/harness" <<'END'
        \(Self.zshHarness)
        END
        offered() { timeout 50 zsh -f "$BASE/harness" "$1"; }
        """)
    }

    /// Types a line and a tab at an interactive zsh, and prints the words its completion adds.
    private static let zshHarness = #"""
      zmodload zsh/zpty
      cat > $BASE/zshrc <<'RC'
      PROMPT=
      fpath=($BASE/functions $fpath)
      autoload -Uz compinit && compinit -u -D
      bindkey '^I' complete-word
      compadd() {
        if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return $?; fi
        local -a offered hidden suffix prefix
        builtin compadd -A offered "$@"
        builtin compadd "$@"
        zparseopts -E P:=prefix S:=suffix p:=hidden
        local word
        for word in $offered; do print -r -- "OFFER $IPREFIX${prefix[2]}${hidden[2]}$word"; done
      }
      ended() { print "EN""D" }
      comppostfuncs=( ended )
      print "REA""DY"
      RC
      zpty shell zsh -f -i
      zpty -w shell "source $BASE/zshrc"
      zpty -r shell output '*READY*'
      zpty -w -n shell "$1"$'\t'
      zpty -r shell output '*END*'
      zpty -d shell
      print -r -- $output | tr -d '\r' | sed -n 's/^.*OFFER //p'
      """#
  }
}
