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
      exchangesNames: !options.contains("no_exchange"))
  }

  static let encrypted: Setting = {
    var setting = Setting("")
    setting.isEncrypted = true
    return setting
  }()

  var description: String {
    let words = options.isEmpty ? "default options" : "-o \(options)"
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

  init(_ setting: Setting) throws {
    let volume = try MountedVolume(setting.options)
    self.volume = volume
    _ = chmod(volume.path, 0o777)
    world = RealWorld(volume.path)
    do {
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

  /// Does random operations; answers what was done and the first difference.
  func random(seed: UInt64, operations count: Int, _ tally: inout Tally) throws -> ([Operation], Difference?)
  {
    let model = setting.model
    var generator = Generator(dice: Dice(seed: seed), model: model)
    var done: [Operation] = []
    let difference = try perform(on: model, &tally) {
      guard done.count < count else { return nil }
      let operation = generator.next()
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
      let expected = setting.isEncrypted ? model.perform(operation).withoutAccess : model.perform(operation)
      let real = stage.perform(operation)
      guard expected.isMet(by: real) else {
        return Difference(number: number, text: "\(operation)\n    model: \(expected)\n    real:  \(real)")
      }
      tally.note(operation.call, expected)
      guard number % Run.treeInterval == 0 else { continue }
      tally.note(treeSize: model.tree(isFull: false).count)
      if let text = compareTrees(model, stage) {
        return Difference(number: number, text: text)
      }
    }
    return compareTrees(model, stage).map { Difference(number: number, text: $0) }
  }

  private func compareTrees(_ model: Model, _ stage: Stage) -> String? {
    let differences =
      TreeText.differences(
        "mount", model.tree(isFull: true), RealWorld.tree(stage.volume.path, isFull: true))
      // What is in the backing files of encrypted ones, others look at.
      + (setting.isEncrypted
        ? []
        : TreeText.differences(
          "backing", model.tree(isFull: false), RealWorld.tree(stage.volume.upper, isFull: false)))
    return differences.isEmpty ? nil : differences.joined(separator: "\n")
  }
}

extension Machine {
  static let protectsHardLinks = (try? Text.read("/proc/sys/fs/protected_hardlinks")) != "0\n"
}
