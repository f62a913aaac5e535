// Varve beside the directory itself and beside its peers. `VolumeBenchmark --help` says what can be asked,
// docs/performance.md what is measured and why.

import BenchmarkReport
import Foundation

@main struct VolumeBenchmark {
  static func main() {
    do {
      let request = try Request(Array(CommandLine.arguments.dropFirst()))
      if request.wantsHelp {
        print(Request.usage)
        for row in Row.all { print("  \(row.id): \(row.title)") }
        return
      }
      try perform(request)
    } catch let problem as UsageProblem {
      say("VolumeBenchmark: \(problem.message)\n\(Request.usage)")
      exit(2)
    } catch let failure as Failure {
      say("VolumeBenchmark: \(failure.message)")
      exit(1)
    } catch is Interruption {
      say("VolumeBenchmark: interrupted; everything is unmounted")
      exit(130)
    } catch {
      say("VolumeBenchmark: \(error)")
      exit(1)
    }
  }

  private static func perform(_ request: Request) throws {
    guard getuid() == 0, FileManager.default.fileExists(atPath: "/dev/fuse") else {
      throw Failure(
        "root and /dev/fuse are needed: to mount, and to make the kernel forget what it has cached")
    }
    let builds = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
      .path
    let folders = request.places.map { place in
      (place: place, folder: "\(place == .tmpfs ? request.tmpfs : request.disk)/\(Mounts.prefix)\(getpid())")
    }
    Programs.listenForSignals()
    if let load = Double(Machine.load), load > 0.5 {
      say("the machine has other work (load \(load)): ratios will scatter, take more rounds")
    }
    for parent in [request.tmpfs, request.disk] { Mounts.removeLeftovers(in: parent) }
    let stocks = "\(request.tmpfs)/\(Mounts.prefix)\(getpid())/stock"
    defer {
      for entry in folders { Mounts.removeAll(below: entry.folder) }
      Mounts.removeAll(below: "\(request.tmpfs)/\(Mounts.prefix)\(getpid())")
    }
    let stock = try Stock(in: stocks)
    let stage = Stage(load: "\(builds)/VolumeLoad", stock: stock, request: request)
    var rounds = Rounds(stage: stage, request: request, builds: builds)
    for entry in folders {
      try rounds.run(on: entry.place, below: entry.folder)
      // The next place must not share the memory with this one.
      for name in (try? FileManager.default.contentsOfDirectory(atPath: entry.folder)) ?? []
      where name != "stock" {
        try? FileManager.default.removeItem(atPath: "\(entry.folder)/\(name)")
      }
    }
    rounds.describeFailures()
    try publish(rounds.findings, request)
    // A peer that dies has been left out, and the table says so.
    let failures = rounds.failures.filter { !$0.contender.isPeer }
    if !failures.isEmpty {
      throw Failure(
        "\(failures.count) measurement(s) failed:\n" + failures.map(\.sentence).joined(separator: "\n"))
    }
  }

  private static func publish(_ findings: Findings, _ request: Request) throws {
    print(findings.text)
    if let path = request.json {
      try findings.jsonText.write(toFile: path, atomically: true, encoding: .utf8)
    }
    guard let folder = request.documents else { return }
    if request.subject == .files {
      try Picture(findings).svg.write(toFile: "\(folder)/performance.svg", atomically: true, encoding: .utf8)
    }
    let path = "\(folder)/performance.md"
    let document = try String(contentsOfFile: path, encoding: .utf8)
    guard let renewed = Document.replacingPart(of: document, with: findings.markdown, about: request.subject)
    else {
      throw Failure("\(path) lacks the markers")
    }
    try renewed.write(toFile: path, atomically: true, encoding: .utf8)
  }
}
