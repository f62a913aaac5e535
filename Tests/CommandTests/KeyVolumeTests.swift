import MountSupport
import Testing

/// Keyfiles beside the volumes that they open.
@Suite("varve key check with a volume", .enabled(if: KeyDrawer.isRoot, "needs root"))
struct KeyVolumeTests {
  @Test("A keyfile opens the keybag or does not, and nothing is changed") func opens() throws {
    let drawer = try KeyDrawer()
    defer { drawer.remove() }
    try drawer.expect(
      """
      state() { find upper -printf '%p %i %m %T@\\n' | sort; cat upper/.varve/*; }
      before=$(state | cksum)
      varve key check raw upper; echo $?; varve key check --json --passphrase-file word closed $UPPER; echo $?
      varve key create other; varve key check other upper; echo $?; varve key check --json other upper; echo $?
      test "$(state | cksum)" = "$before" || echo changed
      """,
      prints: """
        raw: a sound keyfile without a passphrase, id N
        upper: opens with this keyfile, by its only keyslot
        0
        {"path": "closed", "upper": "BASE/upper", "keyfile": "N", "passphrase": true, "sound": true, "opens": true, "slots": 1, "whole": true}
        0
        other: a sound keyfile without a passphrase, id N
        varve key check: upper: does not open with 'other': no keyslot is for this keyfile (EKEYREJECTED)
        1
        varve key check: upper: does not open with 'other': no keyslot is for this keyfile (EKEYREJECTED)
        {"path": "other", "upper": "upper", "keyfile": "N", "passphrase": false, "sound": true, "opens": false, "error": "does not open with 'other': no keyslot is for this keyfile (EKEYREJECTED)"}
        1

        """)
  }

  @Test("Of a keybag that is damaged the copy opens, and is told of") func damaged() throws {
    let drawer = try KeyDrawer()
    defer { drawer.remove() }
    try drawer.expect(
      """
      put() { chmod 600 $1; printf "$3" | dd of=$1 bs=1 seek=$2 conv=notrunc status=none; }
      B=upper/.varve/keybag; cp $B sound
      put $B 200 x; varve key check raw upper; echo $?; rm $B; varve key check --json raw upper
      put $B.copy 200 x; varve key check raw upper; echo $?; cp sound $B; put $B 100 x; rm -f $B.copy
      varve key check raw upper; cp sound $B; put $B 8 '\\2'; varve key check raw upper; echo $?
      rm $B; varve key check raw upper; echo $?; rm -r upper/.varve; varve key check raw upper; echo $?
      mkdir -p upper/.varve; chown 7001 upper/.varve; varve key check raw upper; varve key check raw none; echo $?
      """,
      prints: """
        raw: a sound keyfile without a passphrase, id N
        upper: opens with this keyfile, by its only keyslot
        varve key check: upper: .varve/keybag and .varve/keybag.copy are not alike; one of them opens, and the other is missing, damaged, older or of another volume: the next unlock makes it like the first
        0
        varve key check: upper: .varve/keybag and .varve/keybag.copy are not alike; one of them opens, and the other is missing, damaged, older or of another volume: the next unlock makes it like the first
        {"path": "raw", "upper": "upper", "keyfile": "N", "passphrase": false, "sound": true, "opens": true, "slots": 1, "whole": false}
        raw: a sound keyfile without a passphrase, id N
        varve key check: upper: the keyslot of 'raw' is damaged (EBADMSG); take another keyfile, or a copy of .varve/keybag
        1
        raw: a sound keyfile without a passphrase, id N
        varve key check: upper: its keybag is damaged, and no copy beside it opens (EBADMSG); bring back a copy of .varve/keybag, or name an export of it: 'varve unlock --keybag'
        raw: a sound keyfile without a passphrase, id N
        varve key check: upper: its keybag was made by a later version, which is needed to read it (EBADMSG)
        1
        raw: a sound keyfile without a passphrase, id N
        varve key check: upper: has no keybag (ENOKEY), so no keyfile opens it; if it had one, bring back .varve, or name an export of the keybag with 'varve unlock --keybag'; if it never had one, 'varve key slot add' without --with makes it
        1
        varve key check: upper: is not the upper directory of a Varve volume
        1
        varve key check: upper: '.varve' in the upper directory belongs to user 7001, who alone can mount or check this volume; root takes it over with 'chown -R root: .varve' there, and then trusts the flags and lists that user 7001 has set. Do not remove it: it holds the keybag, without which encrypted files are lost, and those would not count
        varve key check: none: No such file or directory (ENOENT)
        1

        """)
  }

  @Test(
    "A keyfile on the volume itself is not read, and a mounted volume is named by its mount or its upper directory",
    .enabled(if: Machine.canMount, "needs /dev/fuse"))
  func mounted() throws {
    let desk = try Desk("", "mkdir d; varve key create d/inside; varve key create $BASE/outside")
    defer { desk.volume.remove() }
    try desk.expect(
      """
      varve key check d/inside $BASE/upper; varve key check $BASE/upper/d/inside $BASE/upper; echo $?
      mkdir $BASE/bound; mount --bind $BASE/upper/d $BASE/bound; varve key check $BASE/bound/inside $BASE/upper; umount $BASE/bound
      for dir in . $BASE/upper; do varve key check $BASE/outside $dir | sed 's/id .*/id N/'; done
      varve key check $BASE/outside $BASE/upper/d; varve key check $BASE/outside $BASE; echo $?
      varve key check d/inside | sed 's/id .*/id N/'
      """,
      prints: """
        varve key check: d/inside: is on the volume 'BASE/upper' itself: a copy of the volume would contain its key; keep it elsewhere
        varve key check: BASE/upper/d/inside: is inside the upper directory 'BASE/upper': a copy of the volume would contain its key; keep it elsewhere
        1
        varve key check: BASE/bound/inside: is inside the upper directory 'BASE/upper': a copy of the volume would contain its key; keep it elsewhere
        varve key check: .: has no keybag (ENOKEY), so no keyfile opens it; if it had one, bring back .varve, or name an export of the keybag with 'varve unlock --keybag'; if it never had one, 'varve key slot add' without --with makes it
        BASE/outside: a sound keyfile without a passphrase, id N
        varve key check: BASE/upper: has no keybag (ENOKEY), so no keyfile opens it; if it had one, bring back .varve, or name an export of the keybag with 'varve unlock --keybag'; if it never had one, 'varve key slot add' without --with makes it
        BASE/outside: a sound keyfile without a passphrase, id N
        varve key check: BASE/upper/d: is inside the upper directory 'BASE/upper'; name that
        varve key check: BASE: is not the upper directory of a Varve volume
        1
        d/inside: a sound keyfile without a passphrase, id N

        """)
    try desk.end()
  }
}
