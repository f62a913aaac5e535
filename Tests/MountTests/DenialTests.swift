// What the list of denials and the audit log hold after something was refused or changed.

import CMountSupport
import Glibc
import JSONForm
import LinuxFiles
import MountSupport
import Testing
import TextForms

extension MountTests {
  @Suite("Denials and the audit log") struct DenialTests {
    private func lines(_ path: String) -> [JSON] {
      guard let text = try? Text.read(path) else { return [] }
      return text.split(separator: "\n").compactMap { JSON(Array($0.utf8)) }
    }

    /// Waits for a log that is written behind the callers' backs.
    private func wait(_ condition: () -> Bool) -> Bool {
      for _ in 0..<500 {
        if condition() { return true }
        usleep(10_000)
      }
      return condition()
    }

    @Test("Every kind of refusal is in the list by its word, with path, error and rule") func words() throws {
      let volume = try MountSupport.MountedVolume()
      defer { volume.remove() }
      let client = try WhyClient(volume)
      let file = try volume.file("file", 1001, 2001, 0o600)
      let directory = try volume.directory("dir", 1001, 2001, 0o700)
      let open = try volume.directory("open", 1001, 2001, 0o755)
      // Whoever could not write to it would be refused the link by fs.protected_hardlinks, where that is set.
      _ = try volume.file("open/in", 1001, 2001, 0o666)
      let base = volume.path
      let attempts: [(word: String, path: String, error: String, run: @Sendable () -> Errno?)] = [
        ("read", "file", "EACCES", { Calls.open(file, O_RDONLY) }),
        ("write", "file", "EACCES", { Calls.open(file, O_WRONLY) }),
        ("read,write", "file", "EACCES", { Calls.open(file, O_RDWR) }),
        ("append", "file", "EACCES", { Calls.open(file, O_WRONLY | O_APPEND) }),
        ("write", "file", "EACCES", { Calls.answer(truncate(file, 0)) }),
        ("list", "dir", "EACCES", { Calls.open(directory, O_RDONLY | O_DIRECTORY) }),
        ("search", "dir/x", "EACCES", { Calls.status(directory + "/x").refusal }),
        ("create", "open/new", "EACCES", { Calls.create(open + "/new") }),
        ("create", "open/new", "EACCES", { Calls.answer(mkfifo(open + "/new", 0o600)) }),
        ("create", "open/new", "EACCES", { Calls.answer(symlink("x", open + "/new")) }),
        ("mkdir", "open/new", "EACCES", { Calls.answer(mkdir(open + "/new", 0o700)) }),
        ("delete", "open/in", "EACCES", { Calls.answer(unlink(open + "/in")) }),
        ("delete", "dir", "EACCES", { Calls.answer(rmdir(directory)) }),
        ("rename", "open/in", "EACCES", { Calls.answer(rename(open + "/in", base + "/moved")) }),
        ("link", "open/in", "EACCES", { Calls.answer(link(open + "/in", base + "/linked")) }),
        ("chmod", "file", "EPERM", { Calls.answer(chmod(file, 0o777)) }),
        ("chown", "file", "EPERM", { Calls.answer(chown(file, 1002, .max)) }),
        ("writeattr", "file", "EACCES", { Calls.setTimes(file, access: Calls.now, modification: Calls.now) }),
        ("chflags", "file", "EPERM", { Attribute.set(file, Attribute.flags, "hidden") }),
        ("writeacl", "file", "EPERM", { Attribute.set(file, Attribute.list, "user:1002 allow read") }),
        ("readxattr", "file", "EACCES", { Attribute.get(file, "user.x").refusal }),
        ("writexattr", "file", "EACCES", { Attribute.set(file, "user.x", "1") }),
        ("access", "file", "EACCES", { Calls.answer(access(file, R_OK)) }),
      ]
      for attempt in attempts {
        let outcome = TestUser.bob.run { attempt.run() }
        #expect(outcome?.name == attempt.error, "\(attempt.word)")
        let answer = try client.ask("denials", [JSON.Member("count", .number(1))])
        guard case .array(let denials)? = answer["denials"], let last = denials.first else {
          Issue.record("no denial after \(attempt.word)")
          continue
        }
        #expect(last["operation"]?.string == attempt.word)
        #expect(last["path"]?.string == attempt.path, "\(attempt.word)")
        #expect(last["error"]?.string == attempt.error)
        #expect(last["user"]?.integer == 1002)
        #expect(last["because"]?.string?.isEmpty == false)
      }
      try volume.unmount()
    }

    @Test("What is allowed after all, or only tried out by the volume, is no denial") func noDenials() throws
    {
      let volume = try MountSupport.MountedVolume()
      defer { volume.remove() }
      let directory = try volume.directory("dir", 1001, 2001, 0o755)
      let file = try volume.file("dir/file", 1001, 2001, 0o666)
      let pipe = directory + "/pipe"
      #expect(mkfifo(pipe, 0o600) == 0 && chmod(pipe, 0o602) == 0)
      TestUser.bob.run {
        #expect(Calls.open(file, O_RDWR | O_CREAT) == nil)
        #expect(Calls.status(pipe).refusal == nil)
        #expect(Calls.status(directory + "/missing").refusal == .noSuchFile)
      }
      let answer = try WhyClient(volume).ask("denials", [])
      #expect(answer["denials"] == .array([]))
      try volume.unmount()
    }

    @Test("The list keeps the latest 512") func ring() throws {
      let volume = try MountSupport.MountedVolume()
      defer { volume.remove() }
      let directory = try volume.directory("dir", 1001, 2001, 0o700)
      TestUser.bob.run { for number in 0..<700 { _ = Calls.status("\(directory)/n\(number)") } }
      let answer = try WhyClient(volume).ask("denials", [JSON.Member("count", .number(512))])
      guard case .array(let denials)? = answer["denials"] else { throw TestFailure("no denials") }
      #expect(denials.map { $0["path"]?.string } == (188..<700).reversed().map { "dir/n\($0)" })
      try volume.unmount()
    }

    @Test("The audit log has every denial and every change of policy, old and new, and is its owner's alone")
    func audit() throws {
      let base = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(base) }
      let log = base + "/audit.log"
      let volume = try MountSupport.MountedVolume("audit=\(log)")
      defer { volume.remove() }
      let file = try volume.file("file", 1001, 2001, 0o640, list: ["user:1002 deny read"], flags: "hidden")
      TestUser.bob.run { _ = Calls.open(file, O_RDONLY) }
      TestUser.alice.run { #expect(chmod(file, 0o640) == 0) }
      #expect(wait { lines(log).contains { $0["event"]?.string == "denied" } })
      let status = try Calls.status(log).get()
      #expect(status.st_mode & 0o7777 == 0o600)
      let events = lines(log)
      let denied = events.first { $0["event"]?.string == "denied" }
      #expect(denied?["entryText"]?.string == "user:1002 deny read")
      #expect(denied?["user"]?.integer == 1002)
      #expect(events.allSatisfy { $0["mountPoint"]?.string == volume.path })
      func change(_ key: String) -> JSON? { events.lazy.compactMap { $0[key] }.first }
      #expect(change("mode")?.text == #"{"old": "0644", "new": "0640"}"#)
      #expect(change("owner")?["old"]?.string == "user:root")
      #expect(change("flags")?.text == #"{"old": "", "new": "hidden"}"#)
      #expect(change("acl")?["new"] == .array([.string("user:1002 deny read")]))
      // A chmod to the mode there is changes nothing.
      #expect(events.count { $0["mode"] != nil } == 1)
      try volume.unmount()
    }

    @Test("A remount is in the audit log, with the options before and after") func remounts() throws {
      let base = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(base) }
      let log = base + "/audit.log"
      let volume = try MountSupport.MountedVolume("audit=\(log)")
      defer { volume.remove() }
      func remount(_ options: String...) throws -> Int32 {
        try Program.run(Program.built("varve"), ["remount"] + options + [volume.path]).exit
      }
      // What is refused, or only tried, is no change.
      #expect(try remount("-o", "securelevel=0,nonsense") == 1)
      #expect(try remount("-f", "-o", "ro") == 0)
      #expect(try remount("-o", "noacl,securelevel=1") == 0)
      #expect(wait { !lines(log).isEmpty })
      let events = lines(log)
      #expect(events.count == 1 && events[0]["event"]?.string == "remounted")
      #expect(events[0]["user"]?.integer == 0 && events[0]["mountPoint"]?.string == volume.path)
      let options = events[0]["options"]
      #expect(options?["old"]?.string == "audit=\(log)")
      #expect(options?["new"]?.string?.contains("noacl,securelevel=1") == true)
    }

    @Test("Refusals by the thousand keep no change out of the audit log") func flooded() throws {
      let base = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(base) }
      let log = base + "/audit.log"
      let volume = try MountSupport.MountedVolume("audit=\(log)")
      defer { volume.remove() }
      let closed = try volume.directory("closed", 1001, 2001, 0o700)
      let file = try volume.file("program", 1001, 2001, 0o755)
      let (end, refused) = (Signal(), Signal())
      let flooders = try (0..<8).map { flooder in
        ThreadBox(
          try PlainThread {
            TestUser.bob.run {
              var number = 0
              while !end.isGiven {
                _ = Calls.status("\(closed)/\(flooder)-\(number)")
                number += 1
                refused.countOne()
              }
            }
          })
      }
      for _ in 0..<20 {
        // The queue of refusals is full by then.
        let before = refused.count
        #expect(wait { refused.count > before + 2_000 })
        TestUser.alice.run { #expect(chmod(file, 0o4755) == 0 && chmod(file, 0o755) == 0) }
      }
      end.give()
      for flooder in flooders { flooder.join() }
      try volume.unmount()
      let modes = lines(log).compactMap {
        $0["event"]?.string == "changed" ? $0["mode"]?["new"]?.string : nil
      }
      #expect(modes.count { $0 == "4755" } == 20, "\(modes)")
      #expect(!lines(log).contains { $0["event"]?.string == "dropped" && $0["what"]?.string == "changed" })
    }

    @Test("Set-id bits that go when somebody writes are in the audit log, whoever takes them away")
    func stripping() throws {
      for options in ["", ",passthrough=off", ",no_killpriv_v2"] {
        let base = try TemporaryDirectory.make()
        defer { TemporaryDirectory.remove(base) }
        let log = base + "/audit.log"
        let volume = try MountSupport.MountedVolume("audit=\(log)\(options)")
        defer { volume.remove() }
        let ways: [(name: String, write: @Sendable (String) -> Void)] = [
          ("written", { path in #expect(Calls.write(path, "x", 0) == nil) }),
          ("emptied", { path in #expect(Calls.open(path, O_WRONLY | O_TRUNC) == nil) }),
          ("shortened", { path in #expect(truncate(path, 1) == 0) }),
        ]
        for (name, write) in ways {
          let path = try volume.file(name, 1001, 2001, 0o6777)
          TestUser.bob.run { write(path) }
          #expect(try Calls.status(path).get().st_mode & 0o7777 == 0o777, "\(name)\(options)")
          func changes() -> [JSON] {
            lines(log).filter { $0["path"]?.string == name && $0["user"]?.integer == 1002 }
          }
          #expect(wait { !changes().isEmpty }, "\(name)\(options)")
          #expect(
            changes().map { $0["mode"]?.text } == [#"{"old": "6777", "new": "0777"}"#], "\(name)\(options)")
        }
        try volume.unmount()
      }
    }

    @Test("A log that was moved away is made anew; a link in its place is not followed") func rotation()
      throws
    {
      let base = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(base) }
      let log = base + "/audit.log"
      let volume = try MountSupport.MountedVolume("audit=\(log)")
      defer { volume.remove() }
      // Each time another file: what is repeated would be told later.
      let files = try (0..<4).map { try volume.file("file\($0)", 1001, 2001, 0o600) }
      func refuse(_ number: Int) { TestUser.bob.run { _ = Calls.open(files[number], O_RDONLY) } }
      func denied(_ path: String) -> Int { lines(path).count { $0["event"]?.string == "denied" } }
      refuse(0)
      #expect(wait { denied(log) == 1 })
      #expect(rename(log, log + ".1") == 0)
      refuse(1)
      #expect(wait { denied(log) == 1 })
      #expect(denied(log + ".1") == 1)
      // Somebody puts a link there.
      let victim = base + "/victim"
      #expect(Calls.write(victim, "") == nil)
      #expect(unlink(log) == 0 && symlink(victim, log) == 0)
      refuse(2)
      usleep(200_000)
      #expect(try Text.read(victim).isEmpty)
      // What was lost is counted as soon as there is a log again.
      #expect(unlink(log) == 0)
      refuse(3)
      #expect(wait { lines(log).contains { $0["event"]?.string == "dropped" && $0["count"] == .number(1) } })
      try volume.unmount()
    }

    @Test("What was refused right before the daemon is told to end twice is in the log") func ends() throws {
      let base = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(base) }
      let log = base + "/audit.log"
      let volume = try MountSupport.MountedVolume("audit=\(log)")
      defer { volume.remove() }
      let file = try volume.file("file", 1001, 2001, 0o600)
      let daemon = try #require(volume.daemon)
      // Keeps the first request to end from being the last.
      let held = open(file, O_RDONLY)
      defer { close(held) }
      TestUser.bob.run { for _ in 0..<3_000 { _ = Calls.open(file, O_RDONLY) } }
      #expect(Glibc.kill(daemon, SIGTERM) == 0)
      #expect(wait { (try? Text.read("/proc/self/mountinfo").contains(volume.path)) == false })
      #expect(Glibc.kill(daemon, SIGTERM) == 0)
      #expect(wait { !MountSupport.MountedVolume.isRunning(daemon) })
      let events = lines(log)
      let dropped = events.compactMap { $0["event"]?.string == "dropped" ? $0["count"]?.integer : nil }
      let denied = events.filter { $0["event"]?.string == "denied" }.map { $0["repeated"]?.integer ?? 1 }
      #expect(denied.reduce(0, +) + dropped.reduce(0, +) == 3_000)
    }

    @Test(
      "Without its log a volume is not mounted: no directory, a relative path, a pipe, a link, another's file"
    )
    func refused()
      throws
    {
      let base = try TemporaryDirectory.make()
      defer { TemporaryDirectory.remove(base) }
      #expect(mkfifo(base + "/pipe", 0o600) == 0)
      #expect(symlink("/dev/null", base + "/link") == 0)
      // Somebody else's, one that others can read, and one with a second name.
      for name in ["others", "open", "twice"] { #expect(Calls.write("\(base)/\(name)", "") == nil) }
      #expect(chmod(base + "/others", 0o600) == 0 && chown(base + "/others", 1001, 0) == 0)
      #expect(chmod(base + "/open", 0o640) == 0)
      #expect(chmod(base + "/twice", 0o600) == 0 && link(base + "/twice", base + "/again") == 0)
      let places =
        [base + "/missing/log", "relative", "/dev/full"]
        + ["pipe", "link", "others", "open", "twice"].map { "\(base)/\($0)" }
      for path in places {
        #expect(throws: TestFailure.self, "\(path)") {
          let volume = try MountSupport.MountedVolume("audit=\(path)", base: base)
          volume.remove()
        }
      }
    }
  }
}
