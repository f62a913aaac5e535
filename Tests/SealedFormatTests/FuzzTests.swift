// Any bytes give a value or an error. `LONG=1` runs ten million inputs for each parser.

import CrashDisk
import Randomness
import SealedFormat
import Testing

@Suite struct FuzzTests {
  private let count = many(100_000, 10_000_000)

  /// Random bytes, or good ones with some changes.
  private func inputs(_ name: String, _ good: [[UInt8]], _ body: ([UInt8]) -> Void) {
    var dice = Dice(for: "fuzz of \(name)")
    let edges: [UInt8] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF]
    for _ in 0..<count {
      var bytes = dice.pick(good)
      switch dice.below(8) {
      case 0: bytes = (0..<dice.below(bytes.count + 40)).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
      case 1: bytes.removeLast(dice.below(bytes.count + 1))
      case 2: bytes.append(contentsOf: (0..<dice.below(200)).map { _ in UInt8(0) })
      default: break
      }
      for _ in 0..<dice.below(6) where !bytes.isEmpty {
        let offset = dice.below(min(bytes.count, dice.once(in: 2) ? 128 : bytes.count))
        bytes[offset] = dice.once(in: 2) ? dice.pick(edges) : UInt8(truncatingIfNeeded: dice.next())
      }
      body(bytes)
    }
  }

  @Test func staticSector() {
    var accepted = 0
    inputs("the static sector", [ToyCipher.header]) { bytes in
      guard let sector = try? StaticSector(decoding: bytes.span) else { return }
      accepted += 1
      var again = bytes
      var span = again.mutableSpan
      guard (try? sector.encode(into: &span)) != nil else { return }
      if (try? StaticSector(decoding: again.span)) != sector { Issue.record("\(bytes)") }
    }
    #expect(accepted > 0)
  }

  @Test func slot() throws {
    let slot = Slot(
      sequence: 3, fileSize: 50000, committed: 7, highest: 9, session: 7, committedPages: 12, pages: 14,
      floor: Floor(block: 13, generation: 8))
    let good = try ToyCipher.sealed(slot, random: 1)
    var accepted = 0
    inputs("the slot", [good]) { bytes in
      _ = try? Slot.seal(of: bytes.span)
      guard let slot = try? Slot(decoding: bytes.span) else { return }
      accepted += 1
      var again = bytes
      var span = again.mutableSpan
      guard (try? slot.encode(into: &span)) != nil else { return }
      if (try? Slot(decoding: again.span)) != slot { Issue.record("\(bytes)") }
      // A state made of hostile numbers refuses, and does not trap.
      guard let view = try? FileView(slot, nil, hasEnded: { _ in false }) else { return }
      var state = CommitState(resuming: view)
      if let generations = state.begin(2) { state.end(generations) }
      _ = state.nextSlot()
      _ = state.freeze()
      state.synced()
      _ = CommitState.tail(of: slot.fileSize)
    }
    #expect(accepted > 0)
  }

  @Test func indexSector() throws {
    var sector = CrashDisk.zeros
    for number in UInt64(0)..<6 {
      guard let block = Block(number), let page = Page(number + 1) else { continue }
      var span = sector.mutableSpan
      let version = Version(page: page, generation: 5 + number, random: number, tag: .zero)
      try IndexSector.put(version, into: .first, of: block, in: &span)
      try IndexSector.put(
        Version(holeOf: 20 + number, random: number, tag: .zero), into: .second, of: block, in: &span)
    }
    let rules = ReadingRules(
      isDoubtful: true, committed: 20, floor: Floor(block: 3, generation: 6), blocks: 5)
    let slot = Slot(
      sequence: 1, fileSize: 17000, committed: 20, highest: 24, session: 1, committedPages: 1, pages: 9)
    let view = try FileView(slot, nil, hasEnded: { _ in false })
    inputs("the index sector", [sector, CrashDisk.zeros]) { bytes in
      _ = try? IndexSector.form(bytes.span)
      _ = try? IndexSector.nonce(for: bytes.span, random: 0)
      var recovery = Recovery(view)
      for number in UInt64(0)..<6 {
        guard let block = Block(number), let pair = try? IndexSector.pair(of: block, in: bytes.span) else {
          continue
        }
        var answer = rules.content(of: block, pair)
        var asked = 0
        while case .verify(let version) = answer {
          asked += 1
          answer = rules.afterFailure(of: version, of: block, pair)
        }
        if asked > 2 { Issue.record("\(bytes)") }
        let settled = recovery.settle(pair, of: block) { _ in true }
        if recovery.highest > slot.highest + 12 << 48 { Issue.record("\(recovery.highest)") }
        _ = Recovery.pageInUse(settled)
      }
      _ = CommitState(recovering: recovery, pages: 9, session: 2)
    }
  }

  @Test func keybag() {
    let wrapped = WrappedKey(nonce: Nonce(random: 1, counter: 2), ciphertext: .zero, tag: .zero)
    var keybag = Keybag(
      volume: .zero, checkValue: .zero, first: Keyslot(keyfile: .zero, salt: .zero, wrapped: wrapped))
    let one = keybag.encoded()
    try? keybag.add(Keyslot(keyfile: Bytes16(low: 1, high: 1), salt: .zero, wrapped: wrapped))
    var accepted = 0
    inputs("the keybag", [one, keybag.encoded()]) { bytes in
      guard var keybag = try? Keybag(decoding: bytes.span) else { return }
      accepted += 1
      var expected = bytes
      expected.replaceSubrange(Keybag.code, with: [UInt8](repeating: 0, count: 32))
      if keybag.encoded() != expected { Issue.record("\(bytes)") }
      _ = keybag.order(for: .zero)
      _ = try? keybag.remove(at: 0)
    }
    #expect(accepted > 0)
  }

  @Test func sessionLog() {
    var log = SessionLog(lostIn: .zero)
    for _ in 0..<3 { _ = log.begin(now: 77) }
    var accepted = 0
    inputs("the session log", [log.encoded(), SessionLog(lostIn: .zero).encoded()]) { bytes in
      guard var log = try? SessionLog(decoding: bytes.span) else { return }
      accepted += 1
      if Array(log.encoded().dropLast(32)) != Array(bytes.dropLast(32)) { Issue.record("\(bytes)") }
      if let session = log.begin(now: 5), log.hasEnded(session) { Issue.record("\(bytes)") }
    }
    #expect(accepted > 0)
  }

  @Test func keyfile() {
    let raw = [0x89, 0x45, 0x4B, 0x46, 0x31, 0x0D, 0x0A, 0x1A] + [UInt8](repeating: 0, count: 88)
    var scrypt = raw
    scrypt.replaceSubrange(8..<12, with: [1, 17, 8, 1])
    var accepted = 0
    inputs("the keyfile", [raw, scrypt]) { bytes in
      guard let keyfile = try? Keyfile(decoding: bytes.span) else { return }
      accepted += 1
      if case .scrypt(let cost) = keyfile.kind, cost.memory > 1 << 30 + 1 << 20 { Issue.record("\(bytes)") }
    }
    #expect(accepted > 0)
  }
}
