// A mount that is unlocked as it begins, or does not come about.

import MountSupport
import Testing

extension FrontTests {
  @Suite("Mounting with a keyfile", .timeLimit(.minutes(2))) struct KeyfileMountTests {
    private static let tools = #"""
      states() { varve status --json mount | grep -A4 classes | grep -o '": "[a-z]*' | tr -d '": ' | tr '\n' ' '; echo; }
      is_mounted() { findmnt -no FSTYPE mount || echo not mounted; }
      for key in team second; do varve key create $key.key; done
      varve mount upper mount; varve key slot add mount team.key 2>/dev/null; varve umount mount

      """#

    private func output(_ script: String) throws -> String {
      let world = try World()
      defer { world.remove() }
      return try world.output(KeyfileMountTests.tools + script)
    }

    @Test("fstab names the keyfile, and no table of mounts and no daemon does") func fstab() throws {
      let said = try output(
        """
        fstab "$BASE/upper $BASE/mount fuse.varve noauto,keyfile=$BASE/team.key 0 0"
        mount mount; states; grep -c team.key /proc/self/mountinfo || true
        cat /proc/$(pgrep -n varved)/cmdline mount/.varve/status | tr '\\0' ' ' | grep -c team.key || true
        mount -o remount,ro mount; varve lock --all mount; states; umount mount
        """)
      #expect(
        said == """
          open open open 
          0
          0
          locked locked locked 

          """)
    }

    @Test("The keyfile comes from wherever the mount is told, and in the foreground too") func sources()
      throws
    {
      let said = try output(
        """
        varve mount -o keyfile=fd:7 upper mount 7<team.key; states; varve umount mount
        cat team.key | varve mount -o keyfile=- upper mount; states; varve umount mount
        CREDENTIALS_DIRECTORY=$BASE varve mount -o ro,keyfile=cred:team.key upper mount; states; varve umount mount
        varve mount --foreground -o keyfile=fd:7 upper mount 7<team.key &
        for ((i = 0; i < 400; i++)); do findmnt mount >/dev/null && break; sleep 0.05; done; states
        ls -l /proc/$!/fd | grep -c team.key || true; varve umount mount; wait
        """)
      #expect(said == String(repeating: "open open open \n", count: 4) + "0\n")
    }

    @Test("The passphrase of the keyfile comes from where fstab or the mount says") func passphrase() throws {
      let said = try output(
        """
        echo word >word; chmod 400 word; varve key create --passphrase-file word closed.key
        varve mount upper mount; varve key slot add mount closed.key --passphrase-file word --with team.key
        varve umount mount
        fstab "$BASE/upper $BASE/mount fuse.varve noauto,keyfile=$BASE/closed.key,passphrase_file=$BASE/word 0 0"
        mount mount; states; cat mount/.varve/status | grep -c passphrase_file || true
        mount -o remount,ro mount; umount mount
        CREDENTIALS_DIRECTORY=$BASE varve mount -o keyfile=closed.key,passphrase_file=cred:word upper mount
        states; varve umount mount
        varve mount -o keyfile=fd:7,passphrase_file=- upper mount 7<closed.key <word; states; varve umount mount
        varve mount -o keyfile=team.key,passphrase_file=none upper mount; states; varve umount mount
        echo wrong >wrong; chmod 400 wrong
        for words in keyfile=closed.key,passphrase_file=wrong keyfile=closed.key,passphrase_file=none passphrase_file=word \
          keyfile=-,passphrase_file=fd:0 keyfile=closed.key,passphrase_file; do
          status_of varve mount -o $words upper mount </dev/null 2>&1 | sed 's/ (E.*//'; is_mounted
        done
        """)
      #expect(
        said == """
          open open open 
          0
          open open open 
          open open open 
          open open open 
          varve mount: BASE/mount: the keyfile 'closed.key': the passphrase is wrong, or the keyfile is damaged, which cannot be told apart
          status 32
          not mounted
          varve mount: BASE/mount: the keyfile 'closed.key': the passphrase file 'none' cannot be opened: No such file or directory
          status 32
          not mounted
          varve mount: BASE/mount: 'passphrase_file' needs 'keyfile'
          status 1
          not mounted
          varve mount: BASE/mount: the keyfile and its passphrase cannot both come from '-'
          status 1
          not mounted
          varve mount: BASE/mount: 'passphrase_file' needs a value
          status 1
          not mounted

          """)
    }

    @Test("What is refused without a look at the passphrase is refused before it is asked for")
    func words() throws {
      let said = try output(
        """
        echo word >word; chmod 400 word; varve key create --passphrase-file word closed.key
        for words in keyfile=closed.key,passphrase-file=word keyfile=closed.key,acls key=team.key; do
          status_of varve mount -o $words upper mount </dev/null
        done
        status_of varve mount -o keyfile=team.key mount upper; is_mounted; ls -A mount
        """)
      #expect(
        said == """
          varve mount: BASE/mount: unknown mount option 'passphrase-file'; did you mean 'passphrase_file'?
          status 1
          varve mount: BASE/mount: unknown mount option 'acls'; did you mean 'acl'?
          status 1
          varve mount: BASE/mount: unknown mount option 'key'; did you mean 'keyfile'?
          status 1
          varve mount: BASE/upper: has a keybag, and the source has none; did you mean: varve mount -o keyfile=team.key upper mount
          status 1
          not mounted

          """)
    }

    @Test("Where both files of the keybag are damaged or lost, the refusal says what brings an export in")
    func lostKeybag()
      throws
    {
      let said = try output(
        """
        varve mount -o keyfile=team.key upper mount; mkdir mount/d; varve protect complete mount/d; echo text >mount/d/f
        varve key export mount out; varve umount mount
        spoil() { chmod u+w upper/.varve/keybag*; echo x >upper/.varve/keybag; echo x >upper/.varve/keybag.copy; }
        for harm in spoil 'rm -f upper/.varve/keybag upper/.varve/keybag.copy'; do
          $harm; status_of varve mount -o keyfile=team.key upper mount 2>&1 | grep -v varved:
          cp out upper/.varve/keybag; varve mount -o keyfile=team.key upper mount 2>/dev/null; cat mount/d/f; varve umount mount
          $harm; varve mount upper mount 2>/dev/null; varve unlock --keybag out mount team.key 2>/dev/null; cat mount/d/f; varve umount mount
        done
        """)
      let export =
        "put a copy or an export of it in place as .varve/keybag, or mount the volume without 'keyfile' and give an export to 'varve unlock --keybag'"
      #expect(
        said == """
          varve mount: BASE/mount: the volume is not unlocked: its keybag is damaged, and no copy beside it opens (EBADMSG); \(export)
          status 32
          text
          text
          varve mount: BASE/mount: the volume is not unlocked: its keybag (.varve/keybag) is lost, and no other one opens its encrypted files (ENOKEY); \(export), and leave .varve/sessions as it is. Without either nobody can read these files again; the others can be copied to a new volume
          status 32
          text
          text

          """)
    }

    @Test("What does not unlock is not mounted") func failures() throws {
      let said = try output(
        """
        status_of varve mount -o keyfile=team.key other mount; is_mounted; ls -A other
        status_of mount -t fuse.varve -o keyfile=$BASE/second.key $BASE/upper $BASE/mount; is_mounted
        chmod 644 second.key; status_of varve mount -o keyfile=second.key upper mount
        cp team.key upper/inside; chmod 400 upper/inside; status_of varve mount -o keyfile=upper/inside upper mount
        for option in -v -f; do status_of varve mount $option -o keyfile=none upper mount; done
        status_of varve mount -f -o keyfile=team.key upper mount; status_of varve mount -o keyfile upper mount
        status_of varve mount -o keyfile=fd:x upper mount; status_of varve mount -o keyfile=fd:7 upper mount
        status_of varved -o keyfile=team.key upper mount; status_of varved --key-fd 9 upper mount 9</dev/null
        (sleep 3 | status_of varved --key-fd 9 upper mount 9<&0)
        echo word >word; chmod 400 word; varve key create --passphrase-file word closed.key
        status_of setsid -w varve mount -o keyfile=closed.key upper mount </dev/null; is_mounted
        status_of setsid -w varve mount -f -o keyfile=closed.key upper mount </dev/null
        head -c 50 team.key >short.key; (cat team.key; echo) >long.key; (head -c 48 team.key; head -c 48 team.key) >other.key
        for name in short long other; do
          chmod 400 $name.key; status_of varve mount -f -o keyfile=$name.key upper mount
        done
        status_of varve mount -f -o keyfile=fd:7 upper mount 7<other.key; is_mounted
        """)
      let none =
        "has no keybag (ENOKEY), so no keyfile opens it; if it had one, bring back .varve, or mount the volume without 'keyfile' and give an export to 'varve unlock --keybag'; if it never had one, mount it without 'keyfile', and 'varve key slot add' makes it"
      #expect(
        said == """
          varve mount: BASE/mount: the volume is not unlocked: \(none)
          status 32
          not mounted
          mount.varve: BASE/mount: the volume is not unlocked: does not open with this keyfile: no keyslot is for it (EKEYREJECTED)
          status 32
          not mounted
          varve mount: BASE/mount: the keyfile 'second.key': others than its owner may read it (mode 0644); 'chmod 400 second.key' closes it, and a stick with FAT is mounted with fmask=0177
          status 32
          varve mount: BASE/mount: the keyfile 'upper/inside': is inside the upper directory 'BASE/upper': a copy of the volume would contain its key; keep it elsewhere
          status 32
          varve mount: BASE/mount: the keyfile 'none': No such file or directory (ENOENT)
          status 32
          varve mount: BASE/mount: the keyfile 'none': No such file or directory (ENOENT)
          status 32
          status 0
          varve mount: BASE/mount: 'keyfile' needs a value
          status 1
          varve mount: BASE/mount: 'fd:x' does not name a descriptor; 'fd:3' does
          status 1
          varve mount: BASE/mount: the keyfile 'fd:7': is not open; the caller of this program opens it, in a shell with '7<FILE'
          status 32
          varved: mount: 'keyfile' is for 'varve mount', which hands the secret over with '--key-fd'
          status 1
          varved: mount: the secret of the keyfile did not come through '--key-fd': Invalid argument (EINVAL)
          status 32
          varved: mount: the secret of the keyfile did not come through '--key-fd': Connection timed out (ETIMEDOUT)
          status 32
          varve mount: BASE/mount: the keyfile 'closed.key': there is no terminal to ask for the passphrase on (ENXIO); name a source with 'passphrase_file', or mount without 'keyfile' and use 'varve unlock'
          status 32
          not mounted
          status 0
          varve mount: BASE/mount: the keyfile 'short.key': is not a keyfile, or a damaged one: it has 50 bytes, and a keyfile has 96 (EBADMSG)
          status 32
          varve mount: BASE/mount: the keyfile 'long.key': is not a keyfile, or a damaged one: it has 97 bytes, and a keyfile has 96 (EBADMSG)
          status 32
          varve mount: BASE/mount: the keyfile 'other.key': is damaged: its checksum does not fit (EBADMSG); use another copy of it
          status 32
          varve mount: BASE/mount: the keyfile 'fd:7': is damaged: its checksum does not fit (EBADMSG); use another copy of it
          status 32
          not mounted

          """)
    }
  }
}
