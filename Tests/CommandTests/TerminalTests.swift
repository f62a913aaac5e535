// A terminal of 80 columns, other widths, colour, and pipes.

import MountSupport
import Testing

extension CommandTests {
  @Suite("On terminals and in pipes") struct TerminalTests {
    private static let tree = #"""
      mkdir d; : > d/plan; : > d/data
      varve acl set -e "user:7001 deny delete" -e "group:bin inherited allow read" d/plan
      varve chflags uchg d/data
      """#

    @Test("Colour is for terminals, and NO_COLOR, TERM and --color are obeyed") func colors() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        terminal "varve acl get d/plan" | cat -v
        terminal "NO_COLOR=1 varve acl get d/plan" | cat -v
        terminal "TERM=dumb varve acl get d/plan" | cat -v
        terminal "varve acl get --color=never d/plan; varve access read d/plan; varve why read d/plan | cat" | cat -v
        varve acl get d/plan
        NO_COLOR=1 varve acl get --color=always d/plan | cat -v
        varve why --color=always --as 7001:7001 write d/data | cat -v
        varve access --color=always --as 7001:7001 read,write,search d/data | cat -v
        varve acl check --color=always d/plan | cat -v; varve acl get --color=blue d/plan; echo $?
        """#,
        prints: #"""
          ^[[2m# file: d/plan^[[0m
          ^[[31muser:7001 deny delete^[[0m
          ^[[2;32mgroup:bin inherited allow read^[[0m
          # file: d/plan
          user:7001 deny delete
          group:bin inherited allow read
          # file: d/plan
          user:7001 deny delete
          group:bin inherited allow read
          # file: d/plan
          user:7001 deny delete
          group:bin inherited allow read
          read        ^[[32myes^[[0m  root: only flags could stop this
          allowed: root may read BASE/mount/d/plan
            BASE/mount: search allowed: root: only flags could stop this
            d: search allowed: root: only flags could stop this
            d/plan: read allowed: root: only flags could stop this
          # file: d/plan
          user:7001 deny delete
          group:bin inherited allow read
          ^[[2m# file: d/plan^[[0m
          ^[[31muser:7001 deny delete^[[0m
          ^[[2;32mgroup:bin inherited allow read^[[0m
          ^[[31mdenied: user 7001 may not write BASE/mount/d/data (EPERM)^[[0m
            BASE/mount: search allowed by its mode (other r-x)
            d: search allowed by its mode (other r-x)
            d/data: write denied by its flag uchg
          read        ^[[32myes^[[0m  by its mode (other r--)
          write       ^[[31mno ^[[0m  by its flag uchg
          search      ^[[2m-  ^[[0m  is not a directory (ENOTDIR)
          d/plan: ^[[33munknown-account^[[0m: entry 0: no user has the number 7001
          d/plan: ^[[33mstale^[[0m: does not inherit what the directory above hands down now; 'varve acl inherit' renews it
          varve acl get: 'blue' is not a way to colour: auto, always and never are
          2

          """#)
      try desk.end()
    }

    @Test("ls and status are coloured likewise, and columns stay where they are") func coloredLists() throws {
      let desk = try Desk(
        "", Self.tree + "\nmkdir d/dir; ln -s plan d/link; : > d/run; chmod 755 d/run; mkfifo d/pipe\n")
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        terminal "varve ls d" | cat -v; varve ls --color=always d | cat -v
        terminal "varve ls -G d" | cat -v | grep dir; varve ls -G d | grep dir
        varve ls -leO --color=always d > $BASE/colored; varve ls -leO d > $BASE/plain
        sed 's/\x1b\[[0-9;]*m//g' $BASE/colored | cmp - $BASE/plain; cat -v $BASE/colored |
          sed -nE 's/^.*root  (.*) +[0-9]+ [A-Z].* (.*)/\1 \2/p; /^ [0-9]/p' | tr -s ' '
        varve ls --json --color=always d | grep -c "$(printf '\033')"
        varve ls --color=blue d; echo $?; varve status --color=blue; echo $?
        varve status --color=always d | head -1 | cat -v; terminal "varve status --color=never d" | head -1 | cat -v
        """#,
        prints: #"""
          data
          ^[[1;34mdir^[[0m
          ^[[36mlink^[[0m
          ^[[33mpipe^[[0m
          plan
          ^[[32mrun^[[0m
          data
          ^[[1;34mdir^[[0m
          ^[[36mlink^[[0m
          ^[[33mpipe^[[0m
          plan
          ^[[32mrun^[[0m
          ^[[1;34mdir^[[0m
          dir
          ^[[33muchg^[[0m data
          - ^[[1;34mdir^[[0m
          - plan
          - ^[[33mpipe^[[0m
          - plan
           0: ^[[31muser:7001 deny delete^[[0m
           1: ^[[2;32mgroup:bin inherited allow read^[[0m
          - ^[[32mrun^[[0m
          0
          varve ls: 'blue' is not a way to colour: auto, always and never are
          2
          varve status: 'blue' is not a way to colour: auto, always and never are
          2
          ^[[1mBASE/upper on BASE/mount^[[0m
          BASE/upper on BASE/mount

          """#)
      try desk.end()
    }

    @Test("Help and usage fit into 80 columns, whatever the terminal") func help() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        verbs=$(varve completion bash | sed -n "s/^ *'\([a-z ]*\)')$/\1/p")
        echo "$verbs" | head -2
        for width in 80 200; do
          while IFS= read -r verb; do WIDTH=$width terminal "varve $verb --help; varve $verb --no-such-option"; done <<< "$verbs" |
            awk 'length > 80'
          WIDTH=$width terminal "varve --help; varve help acl; varve acl --help; varve" | awk 'length > 80'
        done
        varve help access | diff - <(varve access --help)
        """#,
        prints: #"""
          mount
          remount

          """#)
      try desk.end()
    }

    @Test("why and access break long lines at blanks, at the width of the terminal or at COLUMNS")
    func folding() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        mkdir -p d/a-rather-long-name-of-a-directory/that-goes-on; : > d/a-rather-long-name-of-a-directory/that-goes-on/x
        long=d/a-rather-long-name-of-a-directory/that-goes-on/x
        terminal "varve why --as 7001:7001 --color=never write $long" | sed -n '/^  d: /,$p'
        terminal "COLUMNS=40 varve access --as 7001:7001 --color=never write,delete $long"
        WIDTH=40 terminal "varve access --as 7001:7001 --color=never delete $long"
        terminal "varve access --as 7001:7001 --color=never delete $long"
        varve access --as 7001:7001 write,delete $long; COLUMNS=40 varve access --as 7001:7001 delete $long | cat
        COLUMNS=none varve why --as 7001:7001 delete d/plan | tail -1
        """#,
        prints: #"""
            d: search allowed by its mode (other r-x)
            d/a-rather-long-name-of-a-directory: search allowed by its mode (other r-x)
            d/a-rather-long-name-of-a-directory/that-goes-on: search allowed by its mode
              (other r-x)
            d/a-rather-long-name-of-a-directory/that-goes-on/x: write denied by its mode
              (other r--)
          write       no   by its mode (other r--)
          delete      no   d/a-rather-long-name-of-a-directory/that-goes-on:
                           delete_child by its
                           mode (other r-x)
          delete      no   d/a-rather-long-name-of-a-directory/that-goes-on:
                           delete_child by its
                           mode (other r-x)
          delete      no   d/a-rather-long-name-of-a-directory/that-goes-on: delete_child
                           by its mode (other r-x)
          write       no   by its mode (other r--)
          delete      no   d/a-rather-long-name-of-a-directory/that-goes-on: delete_child by its mode (other r-x)
          delete      no   d/a-rather-long-name-of-a-directory/that-goes-on: delete_child by its mode (other r-x)
            d/plan: delete denied by entry 0 of its list: user:7001 deny delete

          """#)
      try desk.end()
    }

    @Test("Progress is one line that fits, and is gone at the end") func progress() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        export TERM=xterm
        cat > "$BASE/work" <<'END'
        { for round in 1 2 3; do for item in {1..256}; do printf 'd/plan\0'; done; sleep 0.3; done; } | varve acl explicit -0
        END
        shown() { script -qec "stty cols $1; bash $BASE/work" /dev/null | tr '\r' '\n' | cat -v | sed -E 's/[0-9,]+ items/N items/'; }
        shown 80 | sort -u
        shown 20 | sort -u
        bash "$BASE/work"
        """#,
        prints: #"""

          ^[[Kvarve acl explicit: N items, 1 changed, 0 failed
          varve acl explicit: N items^[[K

          ^[[Kvarve acl explicit: N items, 0 changed, 0 failed
          varve acl explicit:^[[K

          """#)
      try desk.end()
    }
  }
}
