// Bits of what a volume keeps of its layers are flipped, while it is mounted and between mounts: the item is closed and named by a
// check, everything else stays as it is, nothing outside of the layers is reached, and the daemon goes on.

import Foundation
import MountSupport
import Randomness
import Testing

extension CommandTests {
  @Suite("Flipped bits of layers", .timeLimit(.minutes(60))) struct LayerDamageTests {
    /// `LONG=1`: every bit of every value.
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

    /// A record that is not sound, or the mark of a directory.
    struct Target: Sendable, CustomTestStringConvertible {
      /// An expression of the shell: the file that has the attribute.
      let file: String
      let attribute: String
      /// Paths in the mount that are closed with it.
      let closed: String
      /// What a check says of it.
      let named: String

      var testDescription: String { "\(attribute) of \(file)" }
    }

    static let targets = [
      Target(
        file: "$UP/d/1", attribute: "trusted.varve.m", closed: "d/1", named: "/upper/d/1: (record|newer):"),
      Target(
        file: "$UP/both", attribute: "trusted.varve.m", closed: "both", named: "/upper/both: (record|newer):"),
      Target(
        file: "$UP/moved", attribute: "trusted.varve.m", closed: "moved",
        named: "/upper/moved: (record|newer):"),
      Target(
        file: "$UP/moved", attribute: "trusted.overlay.redirect", closed: "moved",
        named: "/upper/moved: redirect:"),
      Target(file: "$UP/g", attribute: "trusted.overlay.opaque", closed: "g", named: "/upper/g: opaque:"),
      // An inode with an entry in the index of hard links, and an entry that only counts.
      Target(file: "$UP/a", attribute: "trusted.varve.m", closed: "a|b|sub/c", named: "index/.*: index:"),
      Target(
        file: "$(find $UP/.varve/index -type f -size 0)", attribute: "trusted.varve.m", closed: "x|sub/z",
        named: "index/.*: index:"),
    ]

    private func desk() throws -> Desk {
      let base = try TemporaryDirectory.make()
      let made = try Program.run(
        "/bin/bash",
        [
          "-ec",
          """
          mkdir -p one/d/e/f one/g one/both one/sub two/both outside upper; echo secret > outside/secret; cd one
          for i in 1 2 3; do echo $i > d/$i; echo $i > d/e/$i; done; echo f > d/e/f/f; echo old > g/old; echo both > both/one
          echo two > ../two/both/two; echo a > a; ln a b; ln a sub/c; echo x > x; ln x y; ln x sub/z; echo low > low
          """,
        ], in: base)
      guard made.exit == 0 else { throw TestFailure(made.output) }
      let desk = Desk(try MountedVolume("cache=none,lower=\(base)/one:\(base)/two", base: base))
      try desk.run(
        """
        echo more >> d/1; rm d/2; mv d/e moved; echo more >> moved/1; rm -r g; mkdir g; echo new > g/new
        echo more >> both/two; echo more >> a; rm y; touch own
        """, succeeds: true)
      try desk.volume.unmount()
      return desk
    }

    private static let prelude = #"""
      cd $BASE; UP=$BASE/upper M=$BASE/mount
      mounted() {
        varve mount -o cache=none,lower=$BASE/one:$BASE/two $UP $M || return
        daemon=$(sed 's/.*"pid":\([0-9]*\).*/\1/' $M/.varve/status | head -n 1)
      }
      all() { (cd $M; find . -path ./.varve -prune -o -printf '%P|%y %m %i %n %s\n' -type f -exec md5sum {} +) 2>&1 | sort; }
      others() { all | grep -vE "(^|\./)($1)(\||'|:|$|/)"; }
      # What no operation may change: times of reading excepted, which a check moves in directories.
      below() { (cd $BASE; find one two outside -printf '%p %y %m %i %n %s %T@ %C@\n' | sort; cat outside/secret); }
      bits() { echo $((4 * ($(getfattr --absolute-names -h -e hex -n $2 "$1" | sed -n 's/.*=0x//p' | wc -c) - 1))); }
      # flip FILE ATTRIBUTE NUMBER
      flip() {
        local hex=$(getfattr --absolute-names -h -e hex -n $2 "$1" | sed -n 's/.*=0x//p') at=$(($3 / 8 * 2))
        setfattr -h -n $2 -v 0x${hex:0:$at}$(printf %02x $((0x${hex:$at:2} ^ (1 << $3 % 8))))${hex:$((at + 2))} "$1"
      }
      use() { if [ -d $M/$1 ]; then ls $M/$1; else cat $M/$1; fi; }
      refused() {
        local said
        said=$("$@" 2>&1) && echo "$story: $* was done"
        [[ $said == *"Input/output error"* ]] || echo "$story: $*: $said"
      }
      deeds() {
        refused use $1; refused chmod 700 $M/$1; refused touch $M/$1; refused mv $M/$1 $M/elsewhere
        refused setfattr -n user.x -v y $M/$1
      }
      named() {
        local status=0
        varve check $UP > said 2>&1 || status=$?
        [ $status = 1 ] && grep -qE "$1" said || { echo "$story: the check ends with $status:"; cat said; }
      }
      same() { [ "$2" = "$3" ] || { echo "$story: $1:"; diff <(echo "$2") <(echo "$3"); }; }
      mounted; whole=$(all) lowers=$(below); varve check $UP || echo "a check before says $?"
      # damage FILE ATTRIBUTE CLOSED NAMED NUMBER
      damage() {
        local item bit=$(($5 % $(bits "$1" $2)))
        story="bit $bit of $2 of ${1#$BASE/}"
        rest=$(others "$3")
        flip "$1" $2 $bit
        same "the others" "$rest" "$(others "$3")"
        # The mark of a directory in use is not read again.
        for item in ${3//|/ }; do if [ $2 = trusted.varve.m ]; then deeds $item; else use $item > /dev/null 2>&1; fi; done
        named "$4"; kill -0 $daemon || echo "$story: the daemon has ended"
        varve umount $M; named "$4"; mounted
        same "the others, mounted again" "$rest" "$(others "$3")"
        for item in ${3//|/ }; do
          case $2 in
            *.m) deeds $item ;;
            # What the upper has in it still shows where its path leads to nothing.
            *redirect) use $item > said 2>&1 && { grep -qxE '1' said && [ "$(wc -l < said)" = 1 ] || cat said; } ;;
            *) refused use $item ;;
          esac
        done
        kill -0 $daemon || echo "$story: the daemon has ended"
        flip "$1" $2 $bit; varve umount $M; mounted
        same "mended" "$whole" "$(all)"
      }

      """#

    @Test("A damaged record or mark closes what has it, and a check names it", arguments: targets)
    func marks(_ target: Target) throws {
      let desk = try desk()
      defer { desk.volume.remove() }
      var dice = Dice(for: "flipped bits of \(target.testDescription)")
      // A record has no more than 64 bytes here.
      let numbers =
        LayerDamageTests.isLong ? Array(0..<512) : (0..<2).map { _ in dice.below(1 << 20) }
      let words = "\"\(target.file)\" \(target.attribute) '\(target.closed)' '\(target.named)'"
      let said = try desk.run(
        LayerDamageTests.prelude + """
          \(LayerDamageTests.isLong ? "most=$(bits \"\(target.file)\" \(target.attribute))" : "most=100000000")
          for number in \(numbers.map(String.init).joined(separator: " ")); do
            [ $number -lt $most ] && damage \(words) $number
          done
          same "what is below" "$lowers" "$(below)"; varve umount $M; varve check $UP; echo "status $?"
          """)
      #expect(said == "status 0\n", "\(said)")
    }

    @Test("With a damaged volume file a mount is refused in a line or shows nothing else, and a check ends")
    func volumeFile() throws {
      let desk = try desk()
      defer { desk.volume.remove() }
      var dice = Dice(for: "flipped bits of the volume file")
      let count = LayerDamageTests.isLong ? 3_000 : 12
      let numbers = (0..<count).map { LayerDamageTests.isLong ? $0 : dice.below(1 << 20) }
      let said = try desk.run(
        LayerDamageTests.prelude + #"""
          cp $UP/.varve/volume kept; hex=$(od -An -v -tx1 kept | tr -d ' \n')
          for number in \#(numbers.map(String.init).joined(separator: " ")); do
            bit=$((number % (4 * ${#hex}))) at=$((number % (4 * ${#hex}) / 8 * 2)) status=0
            story="bit $bit of the volume file"
            flipped=${hex:0:$at}$(printf %02x $((0x${hex:$at:2} ^ (1 << bit % 8))))${hex:$((at + 2))}
            printf "$(sed 's/../\\x&/g' <<< $flipped)" > $UP/.varve/volume
            # It is not read while the volume is mounted.
            same "live" "$whole" "$(all)"
            varve check $UP > said 2>&1 || status=$?
            [ $status -le 2 ] || { echo "$story: the check ends with $status:"; cat said; }
            [ $status = 0 ] || [ -s said ] || echo "$story: the check says nothing"
            kill -0 $daemon || echo "$story: the daemon has ended"
            varve umount $M
            if mounted > said 2>&1; then
              # Of what was brought up other names may show what it was: not what it never was.
              all | grep -E '^[0-9a-f]{32} ' | grep -vE "$(cd one; md5sum a x | cut -d' ' -f1 | paste -sd'|')" > shown
              echo "$whole" | grep -E '^[0-9a-f]{32} ' | cat - shown | sort | uniq -c | grep '^ *1 ' | grep -vE '\./(a|b|sub/c|x|sub/z)$'
              kill -0 $daemon || echo "$story: the daemon has ended"
              varve umount $M
            else
              [ "$(grep -vc '^varved: ' said)" = 1 ] || { echo "$story:"; cat said; }
            fi
            cp kept $UP/.varve/volume; mounted
            same "mended" "$whole" "$(all)"
          done
          same "what is below" "$lowers" "$(below)"; varve umount $M; varve check $UP; echo "status $?"
          """#)
      #expect(said == "status 0\n", "\(said)")
    }

    @Test("A repair keeps of a damaged volume file what can be read, and so its layers") func repaired()
      throws
    {
      let desk = try desk()
      defer { desk.volume.remove() }
      let said = try desk.run(
        LayerDamageTests.prelude + #"""
          varve umount $M; cp $UP/.varve/volume kept
          for row in '/^uuid/s/.*/uuid/' 's/^xattr.*/xattr = moon/' 's/^ro_compat.*/ro_compat = x/' 's/^ro_compat.*/ro_compat = 0/' \
            '/^lower/s/=.*/= relative/' '/^root/s/=.*/= x/' 's/^varve-volume 1/varve-volume I/' '$s/$/\nno line/'; do
            sed "$row" kept > $UP/.varve/volume
            varve mount -o lower=$BASE/one:$BASE/two $UP $M > said 2>&1 && { echo "$row: mounted"; varve umount $M; }
            [ "$(wc -l < said)" = 1 ] || { echo "$row:"; cat said; }
            varve check $UP | grep -q '/volume: header: ' || { echo "$row:"; varve check $UP; }
            varve check --repair -y -q $UP; varve check $UP 2> /dev/null; echo $?
            varve mount $UP $M 2>&1 | grep -c "name them with 'lower='"
            mounted; same "$row" "$whole" "$(all)"; varve umount $M; cp kept $UP/.varve/volume
          done
          """#)
      #expect(said == String(repeating: "0\n1\n", count: 8), "\(said)")
    }
  }
}
