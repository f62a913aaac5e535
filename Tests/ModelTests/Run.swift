// One run: a fresh volume and a fresh model do the same, until one of them does something else.

import Decisions
import Glibc
import LinuxFiles
import MountSupport
import Randomness

/// How a volume is mounted and which rules follow from that.
struct Setting: Sendable, CustomStringConvertible {
  var options: String
  var rules = VolumeRules()
  /// Every file is.
  var isEncrypted = false
  /// Again and again, what there is becomes a lower.
  var hasLowers = false

  init(_ options: String, _ change: (inout VolumeRules) -> Void = { _ in }) {
    self.options = options
    change(&rules)
  }

  var model: Model {
    Model(
      rules, protectsHardLinks: Machine.protectsHardLinks,
      passesThrough: Machine.passesThrough && !options.contains("passthrough=off")
        && !options.contains("no_local") && !isEncrypted,
      kernelStrips: !Machine.offers("killpriv_v2") || options.contains("no_killpriv_v2"),
      namesUnnamed: !options.contains("no_tmpfile"),
      hasUserRecords: options.contains("no_trusted"),
      exchangesNames: !options.contains("no_exchange"), hasLowers: hasLowers)
  }

  static let encrypted: Setting = {
    var setting = Setting("")
    setting.isEncrypted = true
    return setting
  }()

  var overLowers: Setting {
    var setting = self
    setting.hasLowers = true
    return setting
  }

  var description: String {
    let words = (options.isEmpty ? "default options" : "-o \(options)") + (hasLowers ? ", over lowers" : "")
    return isEncrypted ? "encrypted, \(words)" : words
  }
}

/// Where the model and the real world parted.
struct Difference: Sendable {
  var number: Int
  var text: String
}

/// The real side of a run.
final class Stage {
  let volume: MountedVolume
  let world: RealWorld
  let actors: [Actor]
  /// The topmost first.
  private var lowers: [String] = []
  /// All that the lowers were when they became such, with all times.
  private var before: [String: String] = [:]

  init(_ setting: Setting) throws {
    let volume = try MountedVolume(setting.options)
    self.volume = volume
    _ = chmod(volume.path, 0o777)
    world = RealWorld(volume.path)
    do {
      if setting.hasLowers { (lowers, before) = try Stage.makeLower(of: volume, over: [], [:]) }
      if setting.isEncrypted {
        try volume.addKeys()
        try volume.protect()
      }
      actors = try Actor.all()
    } catch {
      volume.remove()
      throw error
    }
  }

  func perform(_ operation: Operation) -> Outcome {
    let box = OutcomeBox()
    let world = world
    actors[operation.user].run { box.outcome = world.perform(operation.call) }
    return box.outcome
  }

  /// What there is becomes the topmost lower; the new upper directory is like the one before.
  private static func makeLower(
    of volume: MountedVolume, over lowers: [String], _ before: [String: String]
  ) throws -> ([String], [String: String]) {
    try volume.unmount()
    if lowers.isEmpty { try TemporaryDirectory.countReads(in: volume.base) }
    let lowers = ["\(volume.base)/lower\(lowers.count)"] + lowers
    // In a directory that has something in it records count from the beginning: that of the root is copied.
    try Program.shell(
      "mv '\(volume.upper)' '\(lowers[0])'; mkdir '\(volume.upper)'; touch '\(volume.upper)/something'")
    let copy = try Program.shell("rsync -aX --exclude='*' '\(lowers[0])/' '\(volume.upper)/'")
    guard copy.exit == 0 else { throw TestFailure(copy.output) }
    let state = try Stage.times(of: lowers[0])
    try volume.mount(more: "lower=" + lowers.joined(separator: ":"))
    _ = unlink("\(volume.upper)/something")
    return (lowers, before.merging([lowers[0]: state]) { $1 })
  }

  private static func times(of lower: String) throws -> String {
    try Program.shell("\(ScriptShell.times)times '\(lower)'").output
  }

  func makeLower() throws {
    world.closeAll()
    (lowers, before) = try Stage.makeLower(of: volume, over: lowers, before)
  }

  /// The lowers that are not what they were.
  func changedLowers() throws -> [String] {
    try before.filter { try Stage.times(of: $0.key) != $0.value }.keys.sorted()
  }

  func clear() {
    for actor in actors { actor.stop() }
    world.closeAll()
    volume.remove()
  }
}

/// `@unchecked`: written by the actor before it signals, read after that.
private final class OutcomeBox: @unchecked Sendable {
  var outcome = Outcome.skipped
}

struct Run {
  let setting: Setting
  /// After so many operations the whole trees are compared.
  static let treeInterval = 400
  /// After so many the upper becomes a lower, where there are any.
  static let lowerInterval = 900

  /// Does random operations; answers what was done and the first difference.
  func random(seed: UInt64, operations count: Int, _ tally: inout Tally) throws -> ([Operation], Difference?)
  {
    let model = setting.model
    var generator = Generator(dice: Dice(seed: seed), model: model)
    var done: [Operation] = []
    let difference = try perform(on: model, &tally) {
      guard done.count < count else { return nil }
      let isTurn = setting.hasLowers && done.count % Run.lowerInterval == Run.lowerInterval - 1
      let operation = isTurn ? Operation(user: 0, call: .makeLower) : generator.next()
      done.append(operation)
      return operation
    }
    return (done, difference)
  }

  /// Does the same again.
  func repeated(_ operations: [Operation]) throws -> Difference? {
    var rest = operations[...]
    var tally = Tally()
    let model = setting.model
    return try perform(on: model, &tally) { rest.popFirst() }
  }

  private func perform(
    on model: Model, _ tally: inout Tally, _ next: () -> Operation?
  ) throws -> Difference? {
    let stage = try Stage(setting)
    defer { stage.clear() }
    var number = 0
    while let operation = next() {
      number += 1
      if model.leavesOpen(operation) { continue }
      let operation = model.fitted(operation)
      let expected = setting.isEncrypted ? model.perform(operation).withoutAccess : model.perform(operation)
      if case .makeLower = operation.call {
        do { try stage.makeLower() } catch { return Difference(number: number, text: "makeLower: \(error)") }
        continue
      }
      let real = perform(operation, on: stage, model, expected)
      guard expected.isMet(by: real) else {
        return Difference(number: number, text: "\(operation)\n    model: \(expected)\n    real:  \(real)")
      }
      tally.note(operation.call, expected)
      guard number % Run.treeInterval == 0 else { continue }
      tally.note(treeSize: model.tree(isFull: false).count)
      if let text = compareMappings(model, stage) ?? compareTrees(model, stage) {
        return Difference(number: number, text: text)
      }
    }
    if let text = compareMappings(model, stage) ?? compareTrees(model, stage) {
      return Difference(number: number, text: text)
    }
    let changed = try stage.changedLowers()
    return changed.isEmpty
      ? nil : Difference(number: number, text: "changed or read with a trace: \(changed)")
  }

  /// A mapping that shows what was refused has until a deadline to show what is there.
  private func perform(
    _ operation: Operation, on stage: Stage, _ model: Model, _ expected: Outcome
  ) -> Outcome {
    var real = stage.perform(operation)
    guard case .readMapped(let number, _, _) = operation.call, let thing = model.mappings[number]?.thing,
      thing.mayShowRefused
    else { return real }
    for _ in 0..<2_000 where !expected.isMet(by: real) {
      usleep(1_000)
      real = stage.perform(operation)
    }
    thing.mayShowRefused = false
    return real
  }

  private func compareMappings(_ model: Model, _ stage: Stage) -> String? {
    for number in model.mappings.keys.sorted() {
      let look = model.fitted(
        Operation(user: 0, call: .readMapped(number, offset: 0, count: Mapping.length)))
      let expected = model.perform(look)
      let real = perform(look, on: stage, model, expected)
      if !expected.isMet(by: real) { return "mapping \(number)\n    model: \(expected)\n    real:  \(real)" }
    }
    return nil
  }

  private func compareTrees(_ model: Model, _ stage: Stage) -> String? {
    let differences =
      TreeText.differences(
        "mount", model.tree(isFull: true), RealWorld.tree(stage.volume.path, isFull: true))
      // What is in the backing files of encrypted ones, others look at; over lowers not all of it is in the upper.
      + (setting.isEncrypted || setting.hasLowers
        ? []
        : TreeText.differences(
          "backing", model.tree(isFull: false), RealWorld.tree(stage.volume.upper, isFull: false)))
    return differences.isEmpty ? nil : differences.joined(separator: "\n")
  }
}

extension Machine {
  static let protectsHardLinks = (try? Text.read("/proc/sys/fs/protected_hardlinks")) != "0\n"
}
