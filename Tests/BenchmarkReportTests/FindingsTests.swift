import BenchmarkReport
import Testing

// What follows from the numbers: medians, ratios round by round, best peers, targets.

@Suite("Numbers") struct NumberTests {
  @Test("the median is the middle one, or the mean of the two in the middle") func medians() {
    #expect(median([3, 1, 2]) == 2)
    #expect(median([4, 1, 3, 2]) == 2.5)
    #expect(median([]) == nil)
  }

  @Test("in the geometric mean twice as fast and half as fast cancel out") func means() throws {
    let mean = try #require(geometricMean([2, 0.5, 4]))
    #expect(abs(mean - 1.5874) < 0.0001)
    #expect(geometricMean([]) == nil)
    #expect(geometricMean([1, 0]) == nil)
  }

  @Test("numbers are written as people read them") func texts() {
    #expect(fixed(1.005, 1) == "1.0")
    #expect(fixed(2.96, 1) == "3.0")
    #expect(fixed(0.04, 2) == "0.04")
    #expect(fixed(-0.001, 2) == "0.00")
    #expect(fixed(-1.5, 1) == "-1.5")
    #expect(fixed(.infinity, 2) == "-")
    #expect(ratioText(0.0234) == "0.023")
    #expect(ratioText(1.25) == "1.25")
    #expect(ratioText(nil) == "-")
    #expect(Measure.operation.text(seconds: 0.00000325) == "3.25 µs")
    #expect(Measure.run.text(seconds: 0.25) == "250 ms")
    #expect(Measure.bytes.text(seconds: 1 / 2.5e9) == "2.50 GB/s")
    #expect(Measure.bytes.text(seconds: 0) == "-")
  }
}

/// A run in which the times are given.
func findings(_ times: [(Contender, String, [Double?])], rows: [String], rounds: Int = 3) -> Findings {
  var contenders: [Contender] = []
  for (contender, _, _) in times where !contenders.contains(contender) { contenders.append(contender) }
  var result = Findings(
    places: [.tmpfs], rows: rows.compactMap(Row.named), contenders: contenders, rounds: rounds)
  for (contender, row, seconds) in times {
    for (round, seconds) in seconds.enumerated() {
      guard let seconds else { continue }
      result.note(seconds, of: contender, in: row, on: .tmpfs, round: round)
    }
  }
  return result
}

let native = Contender(.native)
let varve = Contender(.varve)
let bindfs = Contender(.bindfs)
let mergerfs = Contender(.mergerfs)

@Suite("Findings") struct FindingsTests {
  @Test("a ratio is the median of the ratios of the rounds, not a ratio of medians") func ratios() throws {
    let found = findings(
      [(native, "create", [1, 10, 4]), (varve, "create", [2, 10, 16])], rows: ["create"])
    let row = try #require(Row.named("create"))
    #expect(found.ratios(of: varve, to: native, in: row, on: .tmpfs) == [0.5, 1, 0.25])
    #expect(found.ratio(of: varve, to: native, in: row, on: .tmpfs) == 0.5)
  }

  @Test("a round without an answer from both is left out") func gaps() throws {
    let found = findings(
      [(native, "create", [1, nil, 4]), (varve, "create", [nil, 10, 8])], rows: ["create"])
    let row = try #require(Row.named("create"))
    #expect(found.ratios(of: varve, to: native, in: row, on: .tmpfs) == [0.5])
    #expect(found.seconds(of: varve, in: row, on: .tmpfs) == [10, 8])
    #expect(found.ratio(of: bindfs, to: native, in: row, on: .tmpfs) == nil)
  }

  @Test("the best peer is the quickest by its median, and the target is about it") func bestPeer() throws {
    let found = findings(
      [
        (varve, "create", [2, 2, 2]), (bindfs, "create", [1, 9, 9]), (mergerfs, "create", [3, 3, 3]),
        (varve, "chmod", [4, 4, 4]), (bindfs, "chmod", [3, 3, 3]), (mergerfs, "chmod", [5, 5, 5]),
      ], rows: ["create", "chmod"])
    let create = try #require(Row.named("create"))
    let chmod = try #require(Row.named("chmod"))
    #expect(found.bestPeer(in: create, on: .tmpfs) == mergerfs)
    #expect(found.reached(in: create, on: .tmpfs) == 1.5)
    #expect(found.isMet(create, on: .tmpfs) == true)
    #expect(found.bestPeer(in: chmod, on: .tmpfs) == bindfs)
    #expect(found.isMet(chmod, on: .tmpfs) == false)
    let mean = try #require(found.meanToBestPeers(on: .tmpfs))
    #expect(abs(mean - (1.5 * 0.75).squareRoot()) < 1e-12)
  }

  @Test("rows about data are held against the directory itself, and are no part of the mean") func data()
    throws
  {
    let found = findings(
      [(native, "random-read", [4]), (varve, "random-read", [5]), (bindfs, "random-read", [1])],
      rows: ["random-read"])
    let row = try #require(Row.named("random-read"))
    #expect(found.reached(in: row, on: .tmpfs) == 0.8)
    #expect(found.isMet(row, on: .tmpfs) == true)
    #expect(found.meanToBestPeers(on: .tmpfs) == nil)
  }

  @Test("without peers nothing is met or missed") func alone() throws {
    let found = findings([(varve, "create", [1])], rows: ["create"])
    let row = try #require(Row.named("create"))
    #expect(found.isMet(row, on: .tmpfs) == nil)
    #expect(found.text.contains("create"))
  }

  @Test("those who tell the price are no subject, no peer and no column") func price() throws {
    let plain = Contender(.varve, servesUser: true)
    let listed = Contender(.varve, hasLists: true, servesUser: true)
    let found = findings(
      [(plain, "create", [9]), (listed, "create", [10]), (varve, "create", [3]), (bindfs, "create", [6])],
      rows: ["create", "create-2"])
    let row = try #require(Row.named("create"))
    #expect(found.subject == varve)
    #expect(found.compared == [varve, bindfs])
    #expect(found.priced == [listed])
    #expect(found.ratio(of: listed, to: listed.withoutLists, in: row, on: .tmpfs) == 0.9)
    let prices = try #require(found.chapters.last)
    #expect(prices.title.hasPrefix("The price of access lists"))
    #expect(prices.table.lines == [["create", "9.00 s", "10.0 s", "0.90", "0.90", "yes"]])
  }
}

@Suite("The rows") struct RowTests {
  @Test("no two have the same name") func unique() {
    #expect(Set(Row.all.map(\.id)).count == Row.all.count)
  }

  @Test("what is promised has its target") func targets() throws {
    #expect(Row.named("sequential-write")?.target == .native(0.95))
    #expect(Row.named("random-write")?.target == .native(0.80))
    #expect(Row.named("stat-hot-4")?.target == .bestPeer(0.95))
    for id in [
      "create", "unlink-4", "rename-2", "chmod", "open-read-close", "small-write", "stat-cold", "readdir",
    ] {
      #expect(Row.named(id)?.target == .bestPeer(1), "\(id)")
    }
    for id in ["ls", "ls-cold", "untar", "cp", "rm", "grep"] {
      #expect(Row.named(id)?.target == .bestPeer(1), "\(id)")
      #expect(Row.named(id)?.isInMean == true, "\(id)")
    }
  }

  @Test("encrypted files are held against their like and against plain ones, and are no peers")
  func encryption()
    throws
  {
    let (plain, sealed) = (
      Contender(.varve, options: "passthrough=off"), Contender(.varve, isEncrypted: true)
    )
    let found = findings(
      [
        (plain, "create", [8, 8, 8]), (sealed, "create", [10, 10, 10]),
        (Contender(.gocryptfs), "create", [30, 10, 40]), (Contender(.securefs), "create", [20, 20, 20]),
      ], rows: ["create", "chmod"])
    let row = try #require(Row.named("create"))
    #expect(found.subject == plain && found.encrypted == sealed && found.compared == [plain])
    #expect(found.bestPeer(in: row, on: .tmpfs) == nil && found.arrangements.isEmpty)
    #expect(found.encryptedMean(to: Contender(.gocryptfs), on: .tmpfs).map { fixed($0, 6) } == "3.000000")
    #expect(found.chapters.map(\.title) == ["Encrypted files on tmpfs"])
    #expect(
      found.chapters[0].table.lines == [
        [
          "create", "30.0 s", "10.0 s", "3.00", "1.00", "4.00", "≥ 2.00", "yes", "8.00 s", "0.80", "≥ 0.70",
          "yes", "20.0 s", "2.00",
        ]
      ])
    #expect(found.chapters[0].note.hasSuffix("3.00; target 1.50: met. Against securefs: 2.00."))
  }
}
