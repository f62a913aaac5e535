// `why` and what really happens: the same user, the same moment, the same answer.

import CMountSupport
import Glibc
import JSONForm
import LinuxFiles
import MountSupport
import Randomness
import Testing
import TextForms

/// One thing to ask about and to try.
private struct Attempt: Sendable {
  let operation: String
  let path: String
  let newPath: String?

  init(_ operation: String, _ path: String, to newPath: String? = nil) {
    self.operation = operation
    self.path = path
    self.newPath = newPath
  }

  static let all: [Attempt] = {
    let item = [
      "read", "write", "append", "execute", "search", "list", "readattr", "writeattr", "readxattr",
      "writexattr", "readacl", "writeacl", "chown", "chmod", "chflags",
    ].map { Attempt($0, "way/node") }
    return item + [
      Attempt("create", "way/new"), Attempt("mkdir", "way/new"), Attempt("delete", "way/node"),
      Attempt("rename", "way/node", to: "target/victim"), Attempt("rename", "way/node", to: "way/new"),
      Attempt("link", "way/node", to: "target/new"), Attempt("create", "way/node/new"),
      Attempt("delete", "way/nothing"), Attempt("search", "target"), Attempt("chmod", "way"),
    ]
  }()

  /// Whether the scene is another one after it succeeded.
  var changesScene: Bool {
    ["create", "mkdir", "delete", "rename", "link", "chown", "writeacl", "write", "append"].contains(
      operation)
  }

  /// Does it, as the calling thread.
  func run(_ place: String, _ scene: WhyScene, _ user: TestUser) -> Errno? {
    let path = "\(place)/\(self.path)"
    let isDirectory = self.path == "way/node" ? scene.nodeIsDirectory : !self.path.contains("/")
    let mode = self.path == "way" ? scene.way.mode : scene.node.mode
    switch operation {
    case "read": return Calls.open(path, O_RDONLY)
    case "write" where isDirectory: return Calls.create(path + "/new")
    case "write": return Calls.open(path, O_WRONLY)
    case "append" where isDirectory: return Calls.answer(mkdir(path + "/new", 0o755))
    case "append": return Calls.open(path, O_WRONLY | O_APPEND)
    case "search": return found(Calls.status(path + "/nothing").refusal)
    case "execute" where isDirectory: return found(Calls.status(path + "/nothing").refusal)
    case "execute": return Calls.execute(path)
    case "list": return Calls.open(path, O_RDONLY | O_DIRECTORY)
    case "create": return Calls.create(path)
    case "mkdir": return Calls.answer(mkdir(path, 0o755))
    case "delete": return Calls.answer(isDirectory ? rmdir(path) : unlink(path))
    case "rename": return Calls.answer(rename(path, "\(place)/\(newPath ?? "")"))
    case "link": return Calls.answer(link(path, "\(place)/\(newPath ?? "")"))
    case "readattr": return Calls.status(path).refusal
    case "writeattr": return Calls.setTimes(path, access: Calls.now, modification: Calls.now)
    case "readxattr": return found(Attribute.get(path, "user.test").refusal)
    case "writexattr": return Attribute.set(path, "user.test", "x")
    case "readacl": return found(Attribute.get(path, Attribute.list).refusal)
    case "writeacl": return Attribute.set(path, Attribute.list, "user:4711 allow read")
    case "chown": return Calls.answer(chown(path, user.user, .max))
    case "chmod": return Calls.answer(chmod(path, mode))
    case "chflags":
      return Attribute.set(path, Attribute.flags, (scene.node.flags + ["nodump"]).joined(separator: ","))
    default: return .notImplemented
    }
  }

  /// That there is nothing is what somebody hears who was let through.
  private func found(_ error: Errno?) -> Errno? {
    error == .noSuchFile || error == .noData ? nil : error
  }
}

extension MountTests {
  @Suite("Why") struct WhyTests {
    static let users = [
      TestUser(1001, group: 2001, groups: [2003]), .bob, TestUser(1003, group: 2001, groups: [2002]), .root,
    ]

    /// Mount options, and how many scenes are tried with each.
    static let arrangements: [(options: String, scenes: Int)] =
      Arrangement.all.map { ($0, 6) } + [
        ("admin_group=2003", 15), ("securelevel=1", 10), ("noexec", 5), ("noowners", 10),
      ]

    /// Mount options under which no scene could be built: it is there before.
    static let frozen: [(options: String, scenes: Int)] = [("ro,noexec", 8), ("noacl", 6)]

    @Test("What why says is what happens, for every operation, in random scenes, cold and warm")
    func agrees() throws {
      var dice = Dice(for: "why")
      var tally = Tally()
      for (options, scenes) in WhyTests.arrangements {
        let volume = try MountSupport.MountedVolume(options)
        defer { volume.remove() }
        let client = try WhyClient(volume)
        for _ in 0..<scenes {
          let scene = WhyScene(using: &dice)
          for user in WhyTests.users {
            var name: String?
            for (number, attempt) in Attempt.all.enumerated() {
              if name == nil {
                tally.builds += 1
                try scene.build("\(volume.path)/s\(tally.builds)")
              }
              let present = "s\(tally.builds)"
              let outcome = try compare(
                Trial(scene: scene, user: user, attempt: attempt, name: present), number, volume, client)
              tally.count(outcome)
              name = attempt.changesScene && outcome == nil ? nil : present
            }
          }
        }
        try volume.unmount()
      }
      print("why: \(tally.cases) cases, \(tally.denials) of them denied")
      #expect(tally.cases > 10_000)
      // Neither "always yes" nor "always no" would pass for a test.
      #expect(tally.denials > tally.cases / 5 && tally.denials < tally.cases * 4 / 5)
    }

    @Test("The same on volumes that are mounted read-only, or without lists") func agreesWhereFrozen() throws
    {
      var dice = Dice(for: "why, frozen")
      for (options, scenes) in WhyTests.frozen {
        let volume = try MountSupport.MountedVolume()
        defer { volume.remove() }
        var trials: [Trial] = []
        for _ in 0..<scenes {
          let scene = WhyScene(using: &dice)
          for user in WhyTests.users {
            for attempt in Attempt.all {
              let trial = Trial(scene: scene, user: user, attempt: attempt, name: "s\(trials.count)")
              try scene.build("\(volume.path)/\(trial.name)")
              trials.append(trial)
            }
          }
        }
        try volume.unmount()
        let again = try MountSupport.MountedVolume(options, base: volume.base)
        let client = try WhyClient(again)
        for (number, trial) in trials.enumerated() { _ = try compare(trial, number, again, client) }
        try again.unmount()
      }
    }

    @Test("The same where a bind mount is read-only and the volume is not") func agreesWhereBound() throws {
      var dice = Dice(for: "why, bound")
      let volume = try MountSupport.MountedVolume()
      defer { volume.remove() }
      let bound = "\(volume.base)/bound"
      try require(mkdir(bound, 0o755))
      try require(mount(volume.path, bound, nil, UInt(MS_BIND), nil))
      defer {
        _ = umount2(bound, CInt(MNT_DETACH))
        rmdir(bound)
      }
      let flags = [MS_REMOUNT, MS_BIND, MS_RDONLY, MS_NOEXEC, MS_NOSUID, MS_NODEV]
      try require(mount(nil, bound, nil, flags.reduce(0) { $0 | UInt($1) }, nil))
      let client = try WhyClient(volume, mount: ["readOnly", "noexec"])
      for round in 0..<8 {
        let scene = WhyScene(using: &dice)
        for (index, user) in WhyTests.users.enumerated() {
          let name = "s\(round)-\(index)"
          try scene.build("\(volume.path)/\(name)")
          for (number, attempt) in Attempt.all.enumerated() {
            let trial = Trial(scene: scene, user: user, attempt: attempt, name: name)
            _ = try compare(trial, number, volume, client, at: bound)
          }
        }
      }
      try require(umount2(bound, 0))
      try volume.unmount()
    }

    private func require(_ result: CInt) throws {
      guard result == 0 else { throw Errno.current }
    }

    private struct Tally {
      var builds = 0
      var cases = 0
      var denials = 0

      mutating func count(_ outcome: Errno?) {
        cases += 1
        if outcome != nil { denials += 1 }
      }
    }

    private struct Trial: Sendable {
      let scene: WhyScene
      let user: TestUser
      let attempt: Attempt
      /// The scene's directory in the volume.
      let name: String
    }

    /// Asks, tries, and answers what came of it; a difference ends the test with the whole story.
    private func compare(
      _ trial: Trial, _ number: Int, _ volume: MountSupport.MountedVolume, _ client: WhyClient,
      at mountPoint: String? = nil
    ) throws -> Errno? {
      let (user, attempt) = (trial.user, trial.attempt)
      let place = "\(mountPoint ?? volume.path)/\(trial.name)"
      let question = WhyClient.question(
        attempt.operation, "\(trial.name)/\(attempt.path)",
        to: attempt.newPath.map { "\(trial.name)/\($0)" })
      let isWarm = number.isMultiple(of: 2)
      // Asked by the user, or by root about the user: the answers are the same.
      let asksAboutOwn = number.isMultiple(of: 3)
      let own = user.run { () -> Result<JSON?, TestFailure> in
        if isWarm { walk(place) }
        do { return .success(asksAboutOwn ? try client.explain([question])[0] : nil) } catch {
          return .failure(TestFailure("\(error)"))
        }
      }
      let answer = try own.get() ?? client.explain([question], as: user)[0]
      let outcome = user.run { attempt.run(place, trial.scene, user) }
      let said = answer["error"]?.string
      guard said == outcome?.name else {
        let story = ExplanationText(answer, mountPoint: Array(volume.path.utf8)).lines
        throw TestFailure(
          """
          \(user), \(attempt.operation) \(attempt.path) \(attempt.newPath ?? ""): why says \(said ?? "allowed"), \
          it came to \(outcome?.name ?? "allowed")
          \(trial.scene)
          \(story.joined(separator: "\n"))
          """)
      }
      return outcome
    }

    /// Lets the kernel remember what it may.
    private func walk(_ place: String) {
      for path in ["", "/way", "/way/node", "/target", "/target/victim", "/way/new"] {
        _ = Calls.status(place + path)
        _ = Calls.list(place + path)
      }
    }
  }
}
