// The rounds: all contenders side by side, scene by scene, and each time another one begins.

import BenchmarkReport
import Foundation

/// A run in all its places.
struct Rounds {
  let stage: Stage
  let request: Request
  let builds: String
  private(set) var findings: Findings
  /// What went wrong; the others went on.
  private(set) var failures: [(contender: Contender, sentence: String)] = []

  init(stage: Stage, request: Request, builds: String) {
    self.stage = stage
    self.request = request
    self.builds = builds
    findings = Findings(
      places: request.places, rows: request.rows, contenders: request.contenders, rounds: request.rounds)
  }

  mutating func run(on place: Request.Place, below folder: String) throws {
    let scenes = Scene.all.filter(stage.isWanted)
    var arenas: [Arena] = []
    defer { for arena in arenas { arena.unmount() } }
    for (number, contender) in request.contenders.enumerated() {
      let arena = try Arena(contender, on: place, below: folder, number: number, builds: builds)
      if let missing = arena.whatIsMissing {
        say("\(contender.name): \(missing); left out")
        continue
      }
      try stage.stock.furnish(arena, for: scenes, load: stage.load)
      arenas.append(arena)
    }
    describe(arenas)
    for round in 0..<request.rounds {
      let playing = try mount(arenas)
      for (number, scene) in scenes.enumerated() {
        let begun = ContinuousClock.now
        let cast = playing.filter { scene.includes($0.contender) }
        for turn in cast.indices {
          // What the one before left to be written must not burden the next.
          if place == .disk { try Programs.run(["sync"]) }
          try play(scene, in: cast[(turn + round + number) % cast.count], round: round)
        }
        let seconds = (ContinuousClock.now - begun).components.seconds
        say("\(place.rawValue), round \(round + 1) of \(request.rounds): \(scene.title), \(seconds) s")
      }
      for arena in arenas { arena.unmount() }
    }
  }

  private mutating func play(_ scene: Scene, in arena: Arena, round: Int) throws {
    do {
      for sample in try stage.play(scene, in: arena) {
        findings.note(
          sample.seconds, of: arena.contender, in: sample.row, on: arena.place, round: round)
      }
    } catch let interruption as Interruption {
      throw interruption
    } catch {
      note(error, of: arena)
    }
  }

  /// Mounts everybody; who fails is out for this round.
  private mutating func mount(_ arenas: [Arena]) throws -> [Arena] {
    var mounted: [Arena] = []
    for arena in arenas {
      do {
        try arena.mount()
        mounted.append(arena)
      } catch let interruption as Interruption {
        throw interruption
      } catch {
        arena.unmount()
        note(error, of: arena)
      }
    }
    return mounted
  }

  private mutating func note(_ error: any Error, of arena: Arena) {
    let what = (error as? Failure)?.message ?? error.localizedDescription
    let sentence = "\(arena.place.rawValue), \(arena.contender.name): \(what)"
    say(sentence)
    failures.append((arena.contender, sentence))
  }

  /// Says beside the numbers who could not be measured everywhere.
  mutating func describeFailures() {
    for contender in request.contenders {
      let count = failures.count { $0.contender == contender }
      guard count > 0 else { continue }
      findings.surroundings.append(
        (contender.name, "failed \(count) time(s); its cells are of the other rounds"))
    }
  }

  private mutating func describe(_ arenas: [Arena]) {
    guard findings.surroundings.isEmpty else { return }
    findings.surroundings = Machine.description(request) + [("tree", stage.stock.description)]
    for arena in arenas where arena.contender.kind != .native {
      findings.surroundings.append((arena.contender.name, "`\(arena.describedCommand)`"))
    }
  }
}

/// What the numbers depend on.
enum Machine {
  static func description(_ request: Request) -> [(name: String, value: String)] {
    let memory = ProcessInfo.processInfo.physicalMemory >> 30
    var result: [(name: String, value: String)] = [
      ("kernel", line(of: ["uname", "-r"])),
      ("processor", "\(ProcessInfo.processInfo.activeProcessorCount) × \(processor)"),
      ("memory", "\(memory + 1) GiB"),
      ("disk", "\(line(of: ["stat", "-f", "-c", "%T", request.disk])) on \(request.disk)"),
      ("load before the run", load),
      ("rounds", "\(request.rounds)"),
    ]
    for (name, words) in versions where request.contenders.contains(where: { $0.kind == name }) {
      result.append(("\(name.rawValue) version", line(of: words, with: name.rawValue)))
    }
    return result
  }

  private static let versions: [(Contender.Kind, [String])] = [
    (.bindfs, ["bindfs", "--version"]), (.mergerfs, ["mergerfs", "--version"]),
    (.overlay, ["fuse-overlayfs", "--version"]), (.gocryptfs, ["gocryptfs", "-version"]),
    (.securefs, ["dpkg-query", "-W", "securefs"]),
  ]

  /// What else the machine was doing, as the mean of a minute: above 0.5 the numbers are not worth much.
  static var load: String {
    let text = (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8)) ?? ""
    return text.split(separator: " ").first.map(String.init) ?? "unknown"
  }

  private static var processor: String {
    let table = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
    let line = table.split(separator: "\n").first { $0.hasPrefix("model name") }
    return line?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
  }

  /// The first line that holds a word.
  private static func line(of words: [String], with word: String = "") -> String {
    let answer = (try? Programs.run(words)) ?? "unknown"
    let lines = answer.split(separator: "\n").map(String.init)
    return lines.first { word.isEmpty || $0.contains(word) } ?? "unknown"
  }
}
