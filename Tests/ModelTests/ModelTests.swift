import Decisions
import Dispatch
import MountSupport
import Testing

/// Users at work on a real mount and in a model of docs/SEMANTICS.md.
///
/// `VARVE_SEED` chooses what they do, `VARVE_MODEL_OPERATIONS` how much.
@Suite(.serialized, .enabled(if: Machine.canMount, "needs root and /dev/fuse"))
struct ModelTests {
  /// The options that change what is decided, but for `ro`, with which nothing happens.
  static let variants: [Setting] = [
    Setting("suiddir") { $0.handsOverOwnership = true },
    Setting("noowners") { $0.ignoresOwnership = true },
    Setting("admin_group=2002") { $0.adminGroup = 2002 },
    Setting("securelevel=1") { $0.secureLevel = 1 },
    Setting("noacl") { $0.usesLists = false },
    Setting("noexec") { $0.forbidsExecution = true },
  ]
  /// A run has one mount; many of middling length find more than one that has grown old.
  static let runLength = 10_000

  @Test("A volume does what the model of these rules does, whatever its users do")
  func plainMount() throws {
    guard let tally = try act(Setting(""), operations: Wish.operations) else { return }
    print(tally)
    guard Wish.operations >= 20_000 else { return }
    // Users who could do nothing would prove nothing.
    #expect(tally.rarelySuccessful(below: Wish.operations / 10_000).isEmpty)
    #expect(tally.count(of: "ok") > Wish.operations / 4)
    #expect(tally.count(of: "EACCES") > Wish.operations / 50)
    #expect(tally.count(of: "EPERM") > Wish.operations / 50)
  }

  @Test("It does so with every option that changes what is decided", arguments: variants)
  func withOptions(_ setting: Setting) throws {
    _ = try act(setting, operations: Wish.operations / 8)
  }

  @Test("It does so where every file is encrypted")
  func encrypted() throws { _ = try act(.encrypted, operations: Wish.operations / (Wish.isLong ? 4 : 8)) }

  @Test(
    "It does so of items that lie in lowers, while the upper becomes a lower again and again",
    .enabled(if: Programs.has("rsync")), arguments: ["passthrough=off", ""])
  func overLowers(options: String) throws {
    _ = try act(Setting(options).overLowers, operations: Wish.isLong ? Wish.operations : Wish.operations / 16)
  }

  @Test(
    "It does so of items in lowers with every option that changes what is decided",
    .enabled(if: Programs.has("rsync")), arguments: variants)
  func overLowersWithOptions(_ setting: Setting) throws {
    _ = try act(setting.overLowers, operations: Wish.operations / (Wish.isLong ? 8 : 40))
  }

  static let arrangements = Arrangement.all.map { Setting($0) }

  @Test(
    "It does so in every arrangement of threads, routes, caches and kernel",
    arguments: arrangements)
  func arranged(_ setting: Setting) throws {
    _ = try act(setting, operations: Wish.operations / (Wish.isLong ? 10 : 16))
  }

  @Test(
    "It does so without what some stores do not have",
    arguments: StoreFallback.all.map { Setting($0) })
  func withoutFeatures(_ setting: Setting) throws {
    _ = try act(setting, operations: Wish.operations / (Wish.isLong ? 4 : 40))
  }

  /// Answers what happened, or nothing after a difference, which is reported.
  private func act(_ setting: Setting, operations count: Int) throws -> Tally? {
    var tally = Tally()
    let start = DispatchTime.now()
    var left = count
    var seed = Wish.seed
    while left > 0 {
      let run = Run(setting: setting)
      let length = min(left, ModelTests.runLength)
      let (done, difference) = try run.random(seed: seed, operations: length, &tally)
      if let difference {
        report(difference, after: done, seed: seed, run)
        return nil
      }
      left -= length
      seed &+= 1
    }
    let seconds = Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9
    print("model, \(setting): VARVE_SEED=\(Wish.seed), \(count) operations in \(seconds) s")
    return tally
  }

  private func report(_ difference: Difference, after done: [Operation], seed: UInt64, _ run: Run) {
    let last = done.suffix(30).map { "  \($0)" }.joined(separator: "\n")
    let short = run.shrunk(done, within: 60)
    let again = (try? run.repeated(short))?.text ?? "the short run did not fail again"
    let listed = short.map { "  \($0)" }.joined(separator: "\n")
    Issue.record(
      """
      \(run.setting): VARVE_SEED=\(seed), operation \(difference.number)
      \(difference.text)
      the last operations:
      \(last)
      a short run that fails:
      \(listed)
      which ends in
      \(again)
      """)
  }
}
