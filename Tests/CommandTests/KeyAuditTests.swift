import MountSupport
import Testing

extension CommandTests {
  @Suite("What is recorded of keys and classes", .timeLimit(.minutes(2))) struct KeyAuditTests {
    @Test(
      "The audit log has each unlock, failed unlock and lock, each change of a class, and what a lock refused"
    )
    func audit() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol; varve mount -o audit="$BASE/log" upper vol; varve key create other
        varve unlock vol other 2>/dev/null; varve unlock vol raw 2>/dev/null; mkdir vol/d; varve protect -q complete vol/d
        echo text >vol/d/f; varve protect -q b vol/d/f; varve protect -q none vol/d/f; varve protect -q complete vol/d/f
        varve lock vol; cat vol/d/f 2>/dev/null; varve lock --all vol; varve umount vol
        sed 's/,"mountPoint":[^,]*,"time":[^,]*,"user":[0-9]*,"userName":"[^"]*"//; s/"group":[0-9]*,"thread":[0-9]*,//' log
        """,
        prints: """
          {"event":"unlockrefused","classes":[],"error":"EKEYREJECTED"}
          {"event":"unlocked","classes":["complete","complete-unless-open","until-first-unlock"]}
          {"event":"changed","path":"d","class":{"old":"none","new":"complete"}}
          {"event":"changed","path":"d/f","class":{"old":"complete","new":"complete-unless-open"}}
          {"event":"changed","path":"d/f","class":{"old":"complete-unless-open","new":"none"}}
          {"event":"changed","path":"d/f","class":{"old":"none","new":"complete"}}
          {"event":"locked","classes":["complete","complete-unless-open"]}
          {"event":"denied","operation":"read","path":"d/f","error":"ENOKEY","about":"item","reason":"locked","because":"class complete is locked; `varve unlock` opens it"}
          {"event":"locked","classes":["until-first-unlock"]}

          """)
    }

    @Test("lsattr shows which files are encrypted, as far as it can open them") func flag() throws {
      let drawer = try KeyDrawer()
      defer { drawer.remove() }
      try drawer.expect(
        """
        mkdir vol; varve mount -o keyfile=raw upper vol 2>/dev/null; mkdir vol/d; varve protect -q complete vol/d
        echo text >vol/d/f; echo text >vol/plain; say() { lsattr vol/d/f vol/plain | sed 's/^[^E ]*\\(E*\\)[^ ]* /[\\1] /'; }
        say; varve lock vol; say; varve umount vol
        """,
        prints: """
          [E] vol/d/f
          [] vol/plain
          lsattr: Required key not available While reading flags on vol/d/f
          [] vol/plain

          """)
    }
  }
}
