import MountSupport
import Testing

extension FrontTests {
  @Suite("Locking before the machine sleeps", .timeLimit(.minutes(2))) struct SleepTests {
    /// Two volumes that are unlocked, `mount` and `second`, and settings that a script can write.
    private static let tools = #"""
      states() { varve status --json $1 | grep -A4 classes | grep -o '": "[a-z]*' | tr -d '": ' | tr '\n' ' '; echo; }
      both() { states mount; states second; }
      mkdir world/etc && cp -a /etc/. world/etc/ && mount --bind world/etc /etc && mkdir -p /etc/varve
      settings() { printf '%s\n' "$@" >/etc/varve/varve.conf; }
      varve key create team.key
      for name in mount second; do
        [ $name = mount ] && upper=upper || upper=other
        varve mount $upper $name; varve key slot add $name team.key 2>/dev/null; varve unlock $name team.key
      done

      """#

    private func output(_ script: String) throws -> String {
      let world = try World()
      defer { world.remove() }
      return try world.output(SleepTests.tools + script)
    }

    @Test("It locks the volumes whose settings say so, and no others") func locksThose() throws {
      let said = try output(
        """
        varve lock --sleep; both
        settings "[$BASE/mount]" 'sleep = lock'; varve lock -v --sleep; both
        varve unlock mount team.key; settings 'sleep = lock' "[$BASE/mount]" 'sleep = nothing'
        varve lock --sleep; both
        varve unlock second team.key; settings 'sleep = lock'; varve lock --sleep --all; both
        varve umount mount; varve umount second; varve lock --sleep
        """)
      #expect(
        said == """
          open open open 
          open open open 
          BASE/mount locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          locked locked open 
          open open open 
          BASE/second locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          open open open 
          locked locked open 
          BASE/mount locked (0 files dropped from memory)
          BASE/second locked (0 files dropped from memory)
          locked locked locked 
          locked locked locked 

          """)
    }

    @Test("Where the settings cannot be read all is locked, and that is said") func mistakes() throws {
      let said = try output(
        """
        settings 'sleep = lokc'; status_of varve lock --sleep; both; varve unlock mount team.key; varve unlock second team.key
        settings "[$BASE/mount]" 'sleep = lock' '[/mnt/third]' 'sorce = /srv'; status_of varve lock --sleep; both
        """)
      let locked = """
        BASE/mount locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
        BASE/second locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
        status 1
        locked locked open 
        locked locked open 

        """
      #expect(
        said == """
          varve lock: /etc/varve/varve.conf, line 1: 'sleep' is 'lock' or 'nothing'; all volumes are locked
          \(locked)varve lock: /etc/varve/varve.conf, line 4: unknown setting 'sorce'; there are 'options', 'sleep' and 'source'; all volumes are locked
          \(locked)
          """)
    }

    @Test("What goes with --sleep and what does not") func usage() throws {
      let said = try output(
        """
        settings 'sleep = lock'
        status_of varve lock --sleep mount | head -n 1; status_of varve lock --sleep --after 5 | head -n 1
        both
        """)
      #expect(
        said == """
          varve lock: --sleep goes neither with --after nor with DIR
          varve lock: --sleep goes neither with --after nor with DIR
          open open open 
          open open open 

          """)
    }

    /// Stops the daemon of `mount`, and lets it go on at the latest when the script ends.
    private static let stop = #"""
      daemon=$(grep -o '"pid":[0-9]*' mount/.varve/status | tr -dc 0-9)
      kill -STOP $daemon; trap "kill -CONT $daemon; cleanup" EXIT

      """#
    private static let secondIsLocked =
      "BASE/second locked (0 files dropped from memory), except the class until-first-unlock, which --all closes\n"

    @Test("A daemon that does not answer keeps no other volume open, and that is said after two seconds")
    func silent() throws {
      let said = try output(
        SleepTests.stop + """
          began=$SECONDS; status_of timeout 30 varve lock; echo $((SECONDS - began < 10)); states second
          kill -CONT $daemon; varve lock; both
          """)
      #expect(
        said == """
          varve lock: BASE/mount: its daemon does not answer; 'varve umount -l' takes the mount away
          \(SleepTests.secondIsLocked)status 1
          1
          locked locked open 
          BASE/mount locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          locked locked open 
          locked locked open 

          """)
    }

    @Test("Before sleep a daemon has longer to answer, and the other volumes are locked meanwhile")
    func slow() throws {
      let said = try output(
        SleepTests.stop + """
          settings 'sleep = lock'; varve lock --sleep >said 2>&1 & sleeper=$!
          until states second | grep -q '^locked'; do sleep 0.01; done
          # Longer than anything else waits.
          sleep 4; kill -CONT $daemon; wait $sleeper; cat said; both
          """)
      #expect(
        said == """
          BASE/mount locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          \(SleepTests.secondIsLocked)locked locked open 
          locked locked open 

          """)
    }

    @Test(
      "Before sleep a daemon that has too many requests is asked again",
      .enabled(if: Programs.has("python3"), "needs python3"))
    func tooMany() throws {
      let said = try output(
        #"""
        python3 -c '
        import os, socket, time
        held = [socket.socket(socket.AF_UNIX) for _ in range(32)]
        for one in held: one.connect(os.getxattr("mount", "system.varve.control"))
        print("held", flush=True); time.sleep(1.5)' >held & until grep -qs held held; do sleep 0.01; done
        settings "[$BASE/mount]" 'sleep = lock'; status_of varve lock mount; varve lock --sleep; both
        """#)
      #expect(
        said == """
          varve lock: mount: the daemon has too many requests; try again
          status 1
          BASE/mount locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          locked locked open 
          open open open 

          """)
    }

    @Test("Root locks the volumes of users, too, and a user only their own") func owners() throws {
      let said = try output(
        """
        mknod fuse c 10 229 && chmod 0666 fuse && mount --bind fuse /dev/fuse
        mkdir user user/upper user/mount; chown -R 65534:65534 user; cp team.key user/user.key
        chown 65534 user/user.key
        as_user "cd user; varve mount upper mount; varve key slot add mount user.key 2>/dev/null; varve unlock mount user.key"
        settings 'sleep = lock'
        as_user "varve lock --sleep"; as_user "cd $BASE; $(declare -f states); states user/mount"; both
        varve unlock -v mount team.key; as_user "varve unlock user/mount user/user.key"
        varve lock --sleep; as_user "cd $BASE; $(declare -f states); states user/mount"; both
        as_user "varve umount user/mount"
        """)
      #expect(
        said == """
          BASE/user/mount locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          locked locked open 
          open open open 
          open open open 
          mount was unlocked already
          BASE/mount locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          BASE/second locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          BASE/user/mount locked (0 files dropped from memory), except the class until-first-unlock, which --all closes
          locked locked open 
          locked locked open 
          locked locked open 

          """)
    }

    @Test(
      "Root locks the volume of a user also where its source lets in nobody but this user",
      .enabled(if: Programs.has("bindfs"), "needs bindfs"))
    func closedSource() throws {
      let said = try output(
        """
        mknod fuse c 10 229 && chmod 0666 fuse && mount --bind fuse /dev/fuse
        mkdir user user/stored user/closed user/mount; chown -R 65534:65534 user; cp team.key user/user.key
        chown 65534 user/user.key; trap "umount -l user/mount user/closed; cleanup" EXIT
        as_user "cd user; bindfs --no-allow-other -o attr_timeout=0 stored closed; mkdir closed/upper; varve mount closed/upper mount
          varve key slot add mount user.key 2>/dev/null; varve unlock mount user.key"
        if ls user/closed 2>/dev/null; then echo open to root; fi
        theirs() { as_user "cd $BASE; $(declare -f states); states user/mount"; }
        settings "[$BASE/user/mount]" 'sleep = lock'; varve lock --sleep; theirs
        as_user "varve unlock user/mount user/user.key"; varve lock -v user/mount; theirs
        """)
      let locked = { (path: String) in
        "\(path) locked (0 files dropped from memory), except the class until-first-unlock, which --all closes\nlocked locked open \n"
      }
      #expect(said == locked("BASE/user/mount") + locked("user/mount"))
    }

    @Test("A daemon whose runtime directory went with its user's session is asked, and locked by root")
    func loggedOut() throws {
      let said = try output(
        """
        mknod fuse c 10 229 && chmod 0666 fuse && mount --bind fuse /dev/fuse
        mkdir user user/upper user/mount user/run; chown -R 65534:65534 user; cp team.key user/user.key
        chown 65534 user/user.key; trap "umount -l user/mount; cleanup" EXIT
        mount -t tmpfs -o uid=65534,mode=700 tmpfs user/run
        as_user "cd user; export XDG_RUNTIME_DIR=$BASE/user/run; varve mount upper mount
          varve key slot add mount user.key 2>/dev/null; varve unlock mount user.key"
        theirs() { as_user "cd $BASE; $(declare -f states); states user/mount"; }
        settings "[$BASE/user/mount]" 'sleep = lock'; ls user/run/varve/*.sock | wc -l
        rm -r user/run/varve; umount -l user/run; rmdir user/run
        varve lock --sleep; theirs; as_user "varve unlock user/mount user/user.key"; varve lock -v user/mount; theirs
        as_user "varve unlock user/mount user/user.key; varve lock"; theirs; ls user/upper/.varve/*.sock | wc -l
        """)
      let locked = { (path: String) in
        "\(path) locked (0 files dropped from memory), except the class until-first-unlock, which --all closes\nlocked locked open \n"
      }
      let byRoot = locked("BASE/user/mount") + locked("user/mount")
      #expect(said == "1\n\(byRoot)\(locked("BASE/user/mount"))1\n")
    }
  }
}
