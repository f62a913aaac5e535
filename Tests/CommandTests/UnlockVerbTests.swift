import MountSupport
import Testing

extension CommandTests {
  /// The upper directory of these has a keybag, and no session log.
  @Suite("varve unlock and varve lock", .timeLimit(.minutes(2))) struct UnlockVerbTests {
    private static let lost =
      "varve unlock: vol: its session log (.varve/sessions) was lost: every encrypted file counts as one that was being "
      + "written when the machine crashed, until 'varve fsck --repair --keyfile' on the unmounted volume has looked at it"

    @Test("A keyfile opens the volume from wherever it comes, twice too, and a lock closes it, twice too")
    func opens() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol; varve mount upper vol; states vol; varve unlock vol raw; echo $?; states vol
        for arguments in 'raw' '--passphrase-file word closed' '-' 'fd:5' 'cred:raw'; do
          CREDENTIALS_DIRECTORY=$BASE varve unlock -v vol $arguments <raw 5<raw 2>/dev/null; done; states vol
        varve lock -v vol; states vol; varve lock -v vol; echo $?; varve unlock --json vol raw 2>/dev/null
        # Of all volumes, only ours may be locked: a namespace does not show the others of this machine.
        alone 'varve lock --all'; states vol; varve unlock -v vol raw 2>/dev/null
        cd vol; varve lock --json .; varve lock -v --all .; cd ..; states vol; varve umount vol; varve lock vol; echo $?
        """,
        prints: """
          locked locked locked 
          \(UnlockVerbTests.lost)
          0
          open open open 
          vol was unlocked already
          vol was unlocked already
          vol was unlocked already
          vol was unlocked already
          vol was unlocked already
          open open open 
          vol locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          locked locked open 
          vol was locked already
          0
          {"path": "vol", "healed": false, "lostSessions": false, "wasOpen": false}
          BASE/vol locked (0 files dropped from memory)
          locked locked locked 
          vol unlocked
          {"path": ".", "closed": ["complete", "complete-unless-open"], "purged": 0, "unwritten": [], "kept": [], "cached": [], "stillOpen": ["until-first-unlock"], "processes": []}
          . locked (0 files dropped from memory)
          locked locked locked 
          varve lock: vol: not on a Varve volume; 'varve status' lists the volumes
          1

          """)
    }

    @Test("A passphrase is asked for on the terminal") func asks() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol; varve mount upper vol; varve unlock vol raw 2>/dev/null; varve lock --all vol
        typing '"$VARVE" unlock vol closed 2>&1' wrong; states vol
        typing '"$VARVE" unlock -v vol closed 2>&1 | grep -v lost' "$(cat word)"; states vol
        setsid -w "$VARVE" unlock vol closed; varve umount vol
        """,
        prints: """
          Passphrase of closed: 
          varve unlock: closed: the passphrase is wrong, or the keyfile is damaged, which cannot be told apart (EKEYREJECTED); try again, or use another copy of it, or another keyfile that has a keyslot
          = 1
          locked locked locked 
          Passphrase of closed: 
          vol unlocked
          = 0
          open open open 
          varve unlock: closed: there is no terminal to ask for the passphrase on (ENXIO); name a source with --passphrase-file

          """)
    }

    @Test("Every mistake has a sentence of its own, and changes nothing, open or locked") func mistakes()
      throws
    {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      let said = """
        varve unlock: vol: does not open with this keyfile: no keyslot is for it (EKEYREJECTED)
        1
        varve unlock: closed: the passphrase is wrong, or the keyfile is damaged, which cannot be told apart (EKEYREJECTED); try again, or use another copy of it, or another keyfile that has a keyslot
        varve unlock: short: is not a keyfile, or a damaged one: it has 50 bytes, and a keyfile has 96 (EBADMSG)
        varve unlock: -: is not a keyfile, or a damaged one: only 50 bytes came, and a keyfile has 96 (EBADMSG)
        varve unlock: -: is not a keyfile, or a damaged one: more than 96 bytes came, and a keyfile has 96 (EBADMSG)
        varve unlock: damaged: is damaged: its checksum does not fit (EBADMSG); use another copy of it
        varve unlock: wide: others than its owner may read it (mode 0644); 'chmod 400 wide' closes it, and a stick with FAT is mounted with fmask=0177
        varve unlock: link: is a symbolic link to 'raw', which may be exchanged; name the keyfile itself (ELOOP)
        varve unlock: pipe: is a FIFO, and a keyfile is a regular file; copy the keyfile to a file, and name that
        varve unlock: none: No such file or directory (ENOENT)
        varve unlock: upper: is a directory, and a keyfile is a regular file; copy the keyfile to a file, and name that
        varve unlock: vol/inside: is on the volume 'BASE/upper' itself: a copy of the volume would contain its key; keep it elsewhere
        varve unlock: upper/inside: is inside the upper directory 'BASE/upper': a copy of the volume would contain its key; keep it elsewhere
        varve unlock: fd:9: is not open; the caller of this program opens it, in a shell with '9<FILE'
        varve unlock: cred:raw: this program was given no credentials ($CREDENTIALS_DIRECTORY is not set); LoadCredential= of a systemd unit gives them
        varve unlock: raw: not on a Varve volume; 'varve status' lists the volumes
        varve unlock: none: No such file or directory (ENOENT)
        varve unlock: vol: the exported keybag is damaged, or none, or made by a later version (EBADMSG)
        varve unlock: pipe: is not a regular file, and an exported keybag is one
        {"path": "vol", "error": "does not open with this keyfile: no keyslot is for it (EKEYREJECTED)"}
        1

        """
      try drawer.expect(
        """
        mkdir vol; varve mount upper vol; varve unlock vol raw 2>/dev/null
        varve key create other; head -c 50 raw >short; cp raw damaged; cp raw wide; cp raw vol/inside; ln -s raw link; mkfifo -m 600 pipe
        chmod 600 damaged; printf x | dd of=damaged bs=1 seek=60 conv=notrunc status=none; chmod 400 short vol/inside; chmod 644 wide
        for _ in open locked; do varve unlock vol other; echo $?; echo wrong | varve unlock --passphrase-file - vol closed
          varve unlock vol short; varve unlock vol - <short; cat raw raw | varve unlock vol -
          for file in damaged wide link pipe none upper vol/inside upper/inside fd:9 cred:raw; do varve unlock vol $file; done
          varve unlock raw raw; for file in none word pipe; do varve unlock vol raw --keybag $file; done
          varve unlock --json vol other 2>/dev/null; echo $?; states vol; varve lock --all vol; done
        varve unlock vol 2>&1 | head -1; varve unlock --after 0 vol raw; varve unlock --passphrase-file - vol -
        varve lock --now --after 5 vol 2>&1 | head -1; varve lock --after x vol; echo $?; varve umount vol
        """,
        prints: said + "open open open \n" + said
          + "locked locked locked \nvarve lock: vol: was locked already\n" + """
            varve unlock: KEYFILE is missing
            varve unlock: --after takes a number of seconds from 1 to 31,536,000
            varve unlock: the keyfile and its passphrase cannot both come from '-'; name another source for one of them
            varve lock: --after goes neither with --now nor with --all
            varve lock: --after takes a number of seconds from 0 to 31,536,000
            2

            """)
    }

    @Test("A keyfile that others can get at, or that is none, unlocks nothing and locks nothing")
    func refused() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      let refusals = [
        "link": "is a symbolic link to 'raw', which may be exchanged; name the keyfile itself (ELOOP)",
        "pipe": "is a FIFO, and a keyfile is a regular file; copy the keyfile to a file, and name that",
        "readable":
          "others than its owner may read it (mode 0440); 'chmod 400 readable' closes it, and a stick with FAT is mounted with fmask=0177",
        "writable":
          "others than its owner may write it (mode 0420); 'chmod 400 writable' closes it, and a stick with FAT is mounted with fmask=0177",
        "vol/inside":
          "is on the volume 'BASE/upper' itself: a copy of the volume would contain its key; keep it elsewhere",
        "upper/inside":
          "is inside the upper directory 'BASE/upper': a copy of the volume would contain its key; keep it elsewhere",
      ]
      let files = refusals.keys.sorted()
      let said = { (states: String) in
        files.map { "varve unlock: \($0): \(refusals[$0] ?? "")\n1\n\(states) \n" }.joined()
      }
      try drawer.expect(
        """
        mkdir vol; varve mount upper vol; varve unlock vol raw 2>/dev/null; cp raw vol/inside; chmod 400 vol/inside
        ln -s raw link; mkfifo -m 600 pipe; cp raw readable; chmod 440 readable; cp raw writable; chmod 420 writable
        refuse() { for file in \(files.joined(separator: " ")); do varve unlock vol $file; echo $?; states vol; done; }
        refuse; varve lock vol; refuse; varve lock --all vol; refuse; varve unlock vol raw; states vol; varve umount vol
        """,
        prints: said("open open open") + said("locked locked open") + said("locked locked locked")
          + "open open open \n")
    }

    @Test("Where the source is named, and not the volume, the mount point is told") func source() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      let told =
        "not on a Varve volume, but in the source of the one that is mounted on BASE/vol; name that"
      try drawer.expect(
        """
        mkdir vol upper/inner upperside; varve mount upper vol; varve unlock upper raw; echo $?; varve lock upper/inner
        ln -s upper link; varve key slot list link/; varve lock upperside; varve umount vol; varve unlock upper raw
        """,
        prints: """
          varve unlock: upper: \(told)
          1
          varve lock: upper/inner: \(told)
          varve key slot list: link/: \(told)
          varve lock: upperside: not on a Varve volume; 'varve status' lists the volumes
          varve unlock: upper: not on a Varve volume; 'varve status' lists the volumes

          """)
    }

    @Test(
      "Nobody but root and the owner unlocks, locks or sees keyslots, and a daemon reads no more than was announced",
      .enabled(if: Programs.has("setpriv", "python3"), "needs setpriv and python3"))
    func others() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      let refused = { (deed: String) in
        "{\"ok\": false, \"status\": 1, \"error\": \"only root and the owner of the mount may \(deed)\"}"
      }
      let error = { (sentence: String) in "{\"ok\": false, \"status\": 1, \"error\": \"\(sentence)\"}" }
      try drawer.expect(
        #"""
        mkdir -m 777 vol; varve mount upper vol; varve unlock vol raw 2>/dev/null; cp raw theirs; chown 7001 theirs
        as_user '
          varve unlock vol theirs; varve lock vol; varve key slot list vol; varve key slot add vol theirs
          varve key export vol /tmp/none; varve key check theirs vol; varve lock; echo $?'
        cat >ask.py <<'END'
        import os, socket, sys
        s = socket.socket(socket.AF_UNIX)
        s.connect(os.getxattr("vol", "system.varve.control"))
        s.sendall(sys.argv[1].encode() + b"\n" + (open(sys.argv[2], "rb").read()[16:80] if len(sys.argv) > 2 else b""))
        print(s.makefile().readline().strip())
        END
        as_user 'for verb in unlock lock keys; do
            python3 ask.py "{\"verb\":\"$verb\",\"do\":\"list\",\"secrets\":1}" theirs; done'
        ask() { python3 ask.py "$@"; }
        ask '{"verb":"unlock"}'; ask '{"verb":"unlock","secrets":2}'; ask '{"verb":"unlock","secrets":"1"}'
        ask '{"verb":"unlock","secrets":1,"keybag":99999}'; ask '{"verb":"unlock","secrets":1,"after":0}'
        ask '{"verb":"unlock","secrets":1}' raw; ask '{"verb":"unlock","secrets":1}'; ask '{"verb":"lock","secrets":1}'
        ask '{"verb":"keys","do":"add","secrets":3}'; ask '{"verb":"keys","do":"forget"}'
        ask '{"verb":"keys","do":"remove","keyfile":"12","secrets":1}'; ask '{"verb":"lock","now":1}'
        ask '{"verb":"lock","after":5,"all":true}'; states vol; varve umount vol
        """#,
        prints: """
          varve unlock: vol: only root and the owner of the mount may unlock it
          varve lock: vol: only root and the owner of the mount may lock it
          varve key slot list: vol: only root and the owner of the mount may see or change its keyslots
          varve key slot add: vol: only root and the owner of the mount may see or change its keyslots
          varve key export: vol: only root and the owner of the mount may see or change its keyslots
          varve key check: vol: only root and the owner of the mount may check keyfiles with it; name its upper directory
          varve lock: you have mounted no volume
          0
          \(refused("unlock it"))
          \(refused("lock it"))
          \(refused("see or change its keyslots"))
          \(error("'secrets' is the number of secrets that follow the line, here 1"))
          \(error("'secrets' is the number of secrets that follow the line, here 1"))
          \(error("'secrets' is the number of secrets that follow the line, here 1"))
          \(error("'keybag' is the length of a keybag, from 1 to 8320 bytes"))
          \(error("'after' is a number of seconds from 1 to 31536000"))
          \(error("more bytes follow the line than it announces (EBADMSG)"))
          \(error("the secret did not come within a second (ETIMEDOUT)"))
          \(error("'secrets' is the number of secrets that follow the line, here 0"))
          \(error("'secrets' is the number of secrets that follow the line, here 1 or 2"))
          \(error("'do' is add, remove, list, export or check"))
          \(error("'keyfile' is the identifier of a keyfile, 32 hexadecimal digits"))
          \(error("'now' is true or false"))
          \(error("'after' goes neither with 'now' nor with 'all'"))
          open open open 

          """)
    }

    @Test("A volume locks by itself when nobody uses it, unless that is taken back") func byItself() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol; varve mount upper vol; open() { varve unlock "$@" vol raw 2>/dev/null; }
        closes() { for ((i = 0; i < 200; i++)); do states vol | grep -q '^locked' && break; sleep 0.05; done; states vol; }
        after() { varve status vol | grep -c 'lockAfter: *100$'; }
        open; varve lock --after 100 vol; after; varve lock --after 1 -v vol; closes; after
        open --after 1; closes
        # What comes later is in force.
        open --after 1; varve lock --after 0 -v vol; open --after 1; varve lock --after 600 vol; open --after 1; open
        sleep 1.5; states vol
        # Who uses a file that no lock closes holds up none.
        mkdir vol/always; varve protect until-first-unlock vol/always;
        varve lock --after 1 vol
        for ((i = 0; i < 60; i++)); do echo more >>vol/always/file; sleep 0.05; done; states vol; open
        varve lock --after 0 vol; varve lock vol; varve lock -v --after 5 vol; varve umount vol
        """,
        prints: """
          1
          vol: locks after 1 s without use
          locked locked open 
          0
          locked locked open 
          vol: does not lock by itself
          open open open 
          locked locked open 
          vol is locked already

          """)
    }

    @Test("Who has files open is named, and the volumes of the caller are all locked") func own() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol more plain bare; varve mount upper vol; varve mount plain more; varve key slot add more raw 2>/dev/null
        varve unlock vol raw 2>/dev/null; varve unlock more raw; alone 'varve lock -v' | sort; states vol; states more
        exec 7>vol/file; varve unlock vol raw 2>/dev/null; varve lock -v vol >out 2>&1
        varve unlock vol raw 2>/dev/null; varve lock -v --json vol 2>/dev/null >>out; exec 7>&-; sed "s/$$/PID/" out
        varve unlock vol raw 2>/dev/null; alone 'varve lock; varve lock'; varve umount vol; varve umount more; alone 'varve lock -v'; echo $?
        varve mount bare more; varve lock more; alone 'varve lock; varve lock --json'
        varve mount upper vol; alone 'varve lock'; varve umount vol; varve umount more
        """,
        prints: """
          BASE/more locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          BASE/vol locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          locked locked open 
          locked locked open 
          varve lock: vol: process PID (bash) still has a file of it open
          vol locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          {"path": "vol", "closed": ["complete", "complete-unless-open"], "purged": 0, "unwritten": [], "kept": [], "cached": [], "stillOpen": ["until-first-unlock"], "processes": [PID]}
          BASE/vol locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          varve lock: all volumes that you have mounted were locked already
          varve lock: you have mounted no volume
          0
          varve lock: more: has no keybag, so there is nothing to lock
          varve lock: no volume that you have mounted has a keybag, so there is nothing to lock
          [{"path": "BASE/more", "closed": [], "purged": 0, "unwritten": [], "kept": [], "cached": [], "stillOpen": [], "keybag": false, "processes": []}]
          varve lock: all volumes that you have mounted were locked already, or have no keybag

          """)
    }

    @Test("From the first secret on the daemon leaves no core, and before it knows nothing of libcrypto")
    func cores() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        daemon() { echo /proc/$(varve status --json $1 | sed -n 's/.*"pid": \\([0-9]*\\).*/\\1/p'); }
        use() { echo one >$1/f && echo two >>$1/f && cat $1/f && mkdir $1/d && mv $1/f $1/d/g && ln $1/d/g $1/h && chmod 640 $1/h &&
          touch -d @1 $1/h && sync $1/h && truncate -s 1 $1/h && ls -lR $1 && ! cat $1/f && rm -r $1/d $1/h; } >/dev/null 2>&1
        mkdir vol bare more; varve mount bare more; use more && grep -c libcrypto $(daemon more)/maps; varve umount more
        varve mount upper vol; P=$(daemon vol); use vol && grep -c libcrypto $P/maps; test $((16#$(cat $P/coredump_filter))) -gt 0 && echo usual
        varve unlock vol raw 2>/dev/null; cat $P/coredump_filter; grep -o 'core file size *[0-9]* *[0-9]*' $P/limits
        grep -q libcrypto $P/maps && echo loaded; tr '\\0' ' ' <$P/cmdline | sed "s,$BASE,BASE,g"; echo; varve umount vol
        """,
        prints: """
          0
          0
          usual
          00000000
          core file size        0                    0
          loaded
          varved --ready-fd 3 -- BASE/upper BASE/vol 

          """)
    }
  }
}
