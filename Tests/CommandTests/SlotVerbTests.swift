import MountSupport
import Testing

extension CommandTests {
  @Suite("varve key slot and varve key export", .timeLimit(.minutes(2))) struct SlotVerbTests {
    static let none =
      "has no keybag (ENOKEY), so no keyfile opens it; if it had one, bring back .varve, or name an export of the keybag with 'varve unlock --keybag'; if it never had one, 'varve key slot add' without --with makes it"

    @Test("The first keyslot makes the keybag, and others come and go; nothing is unlocked by that")
    func slots() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol plain; varve mount plain vol; for key in a b c; do varve key create $key; done
        first() { varve key slot list vol | head -1; }
        varve key slot list vol; varve key slot list --json vol; varve key slot remove vol a --with a
        varve key slot add vol a --with b; varve unlock vol a; echo $?
        varve key slot add vol a; varve key slot add vol b; varve key slot add vol a --with a; echo $?
        varve key slot add --json vol b --with a; cp b same; varve key slot add vol same --with a
        varve key slot add vol closed --with b --passphrase-file word; cp c d; varve key slot add vol d --with c; echo $?
        varve key slot list vol; test $(first) = $(varve key check --json a | grep -o '[0-9a-f]\\{32\\}') && echo same
        varve key check --json c vol; varve key check a vol | tail -1; states vol
        varve key slot remove vol a 2>&1 | head -1; varve key slot remove vol $(first) --with c
        varve key slot remove --json vol $(first) --with closed --with-passphrase-file word; varve key slot remove vol a --with b
        varve key slot remove vol closed --with b; varve key slot remove vol b --with b; varve key slot remove vol none --with b
        varve unlock vol a; varve unlock -v vol b; varve remount -o ro vol; varve key slot add vol a --with b; echo $?; varve umount vol
        """,
        prints: """
          varve key slot list: vol: has no keyslots; 'varve key slot add' makes the first
          varve key slot list: vol: has no keyslots; 'varve key slot add' makes the first
          {"path": "vol", "slots": []}
          varve key slot remove: vol: \(SlotVerbTests.none)
          varve key slot add: vol: \(SlotVerbTests.none)
          varve unlock: vol: \(SlotVerbTests.none)
          1
          varve key slot add: vol: has a keybag now, and a is the only keyfile; without either, its encrypted files are lost
          varve key slot add: vol: make a second keyfile: varve key create second.key && varve key slot add vol second.key --with a
          varve key slot add: vol: then export the keybag: varve key export vol FILE; and keep the keyfiles and the export in different places
          varve key slot add: vol: has a keybag already: a keyfile that opens it is needed (ENOKEY); name it with --with
          varve key slot add: NEW and OLD are the same keyfile; name with --with one that has a keyslot
          2
          {"path": "vol", "madeKeybag": false, "slots": ["N", "N"]}
          varve key slot add: vol: this keyfile has a keyslot already (EEXIST)
          varve key slot add: vol: does not open with this keyfile: no keyslot is for it (EKEYREJECTED)
          1
          N
          N
          N
          same
          varve key check: vol: does not open with this keyfile: no keyslot is for it (EKEYREJECTED)
          {"path": "c", "upper": "vol", "keyfile": "N", "passphrase": false, "sound": true, "opens": false, "error": "does not open with this keyfile: no keyslot is for it (EKEYREJECTED)"}
          vol: opens with this keyfile, by one of its 3 keyslots
          locked locked locked 
          varve key slot remove: --with is missing: a keyfile that opens the volume is needed
          varve key slot remove: vol: does not open with this keyfile: no keyslot is for it (EKEYREJECTED)
          {"path": "vol", "slots": ["N", "N"]}
          varve key slot remove: vol: no keyslot is for this keyfile; 'varve key slot list' shows which there are
          varve key slot remove: vol: this is its last keyslot, without which nobody could open it (EBUSY); add another one first
          varve key slot remove: none: is neither a keyfile nor the identifier of one, 32 hexadecimal digits; 'varve key slot list' shows them
          varve unlock: vol: does not open with this keyfile: no keyslot is for it (EKEYREJECTED)
          vol unlocked
          varve key slot add: vol: is mounted read-only, and its keybag cannot be changed (EROFS); 'varve remount -o rw' may change that
          1

          """)
    }

    @Test("Where the keybag is lost that is said, and not that there was none") func lostKeybag() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol; varve mount upper vol; varve unlock vol raw 2>/dev/null; mkdir vol/d; varve protect -q a vol/d
        echo text >vol/d/file; varve umount vol; rm -f upper/.varve/keybag*; varve mount upper vol
        for verb in 'slot list vol' 'export vol out' 'export vol out --with raw'; do
          varve key $verb 2>&1 | cut -d '(' -f 1
        done; ls out 2>&1; varve unlock vol raw; varve umount vol
        """,
        prints: """
          varve key slot list: vol: its keybag 
          varve key export: vol: its keybag 
          varve key export: vol: its keybag 
          ls: cannot access 'out': No such file or directory
          varve unlock: vol: its keybag (.varve/keybag) is lost, and no other one opens its encrypted files (ENOKEY); bring it back from a backup of .varve, or name an export of it with 'varve unlock --keybag', and leave .varve/sessions as it is. Without either nobody can read these files again; the others can be copied to a new volume

          """)
    }

    @Test("A keyfile that is made on a volume is remarked on") func keyfileOnVolume() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol; varve mount upper vol; varve key create vol/key; varve key create upper/key2; varve key create key3
        ls vol; varve umount vol
        """,
        prints: """
          varve key create: vol/key: made, but on a Varve volume: it cannot unlock that volume from there, and is lost with it; move it elsewhere
          varve key create: upper/key2: made, but on a Varve volume: it cannot unlock that volume from there, and is lost with it; move it elsewhere
          key
          key2

          """)
    }

    @Test("An exported keybag brings back a volume that has lost its own, and no other") func export() throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol plain more; varve mount plain vol; for key in a b c; do varve key create $key; done
        varve key export vol out; varve key slot add vol a 2>/dev/null; varve key slot add vol b --with a
        varve key export vol out; stat -c %a out; cmp out plain/.varve/keybag; varve key export vol out; varve key export vol no/out
        for directory in . plain/ plain /; do varve key export vol $directory; echo $?; done; ls -A plain
        varve key export vol other --with c; varve key export --json vol other --with b; cmp out other; echo $?
        varve key export vol third --with-passphrase-file word 2>&1 | head -1
        varve unlock vol a; rm plain/.varve/keybag*; varve umount vol; varve mount plain vol
        varve unlock vol a; varve unlock --keybag out vol c; varve unlock -v --keybag out vol b; echo $?
        cmp out plain/.varve/keybag; cmp out plain/.varve/keybag.copy; varve key slot list vol; varve umount vol
        varve mount $UPPER more; varve unlock --keybag out more a; states more; varve umount more
        """,
        prints: """
          varve key export: vol: \(SlotVerbTests.none)
          400
          varve key export: out: already exists (EEXIST), and is not replaced; take another name
          varve key export: no/out: the directory 'no' does not exist (ENOENT); make it first: mkdir -m 700 no
          varve key export: .: names a directory; name a new file in it, such as ./team.keybag
          1
          varve key export: plain/: names a directory; name a new file in it, such as plain/team.keybag
          1
          varve key export: plain: names a directory; name a new file in it, such as plain/team.keybag
          1
          varve key export: /: names a directory; name a new file in it, such as /team.keybag
          1
          .varve
          varve key export: vol: does not open with this keyfile: no keyslot is for it (EKEYREJECTED)
          {"path": "vol", "file": "other", "bytes": 384}
          0
          varve key export: --with-passphrase-file needs --with
          varve unlock: vol: \(SlotVerbTests.none)
          varve unlock: vol: does not open with this keyfile: no keyslot is for it (EKEYREJECTED)
          varve unlock: vol: has taken the exported keybag as its own, with all the keyslots that it had then; 'varve key slot list' shows them
          vol unlocked
          0
          N
          N
          varve unlock: more: the exported keybag is one of another volume (EBADMSG); if this volume's own was made by mistake, unmount it, move keybag, keybag.copy and sessions out of .varve, keep them until all files open, mount it and try again
          locked locked locked 

          """)
    }

    @Test("A lost keyfile is named by its identifier, and on a terminal its removal tells what still opens")
    func lostKeyfile() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol plain; varve mount plain vol; for key in a b c; do varve key create $key; done
        varve key slot add vol a 2>/dev/null; varve key slot add vol b --with a; varve key slot add vol c --with a
        varve key slot remove vol lost/a --with b; varve key slot remove vol ./lost --with b
        typing '"$VARVE" key slot remove vol a --with b'; varve key slot remove vol c --with b; varve umount vol
        """,
        prints: """
          varve key slot remove: lost/a: No such file or directory (ENOENT); if the keyfile is lost, name its identifier, which 'varve key slot list' shows
          varve key slot remove: ./lost: No such file or directory (ENOENT); if the keyfile is lost, name its identifier, which 'varve key slot list' shows
          varve key slot remove: vol: older exports and backups still open with the removed keyfile; make a new export, and destroy the older ones
          = 0

          """)
    }

    @Test("A removed keyfile that opens the volume with an old keybag is told of") func oldKeybag() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol plain; varve mount plain vol; for key in a b; do varve key create $key; done
        varve key slot add vol a 2>/dev/null; varve key slot add vol b --with a; varve key export vol old
        varve unlock --keybag old vol a; echo $?; varve key slot remove vol a --with b; varve lock --all vol
        varve unlock vol a; varve unlock --keybag old vol a; echo $?; varve unlock --keybag old vol b; varve lock --all vol
        varve unlock --json --keybag old vol a 2>/dev/null; varve umount vol
        """,
        prints: """
          0
          varve unlock: vol: does not open with this keyfile: no keyslot is for it (EKEYREJECTED)
          varve unlock: vol: opened with a keybag that is older than its own, which has no keyslot for this keyfile any more
          0
          varve unlock: vol: opened with a keybag that is older than its own
          {"path": "vol", "healed": false, "lostSessions": false, "olderKeybag": true, "lacksKeyslot": true, "wasOpen": false}

          """)
    }
  }
}
