import LinuxFiles
import Randomness
import RecordFormat
import Testing

@testable import LayeredVolume

@Suite("The volume file") struct VolumeFileTests {
  private func text(_ lines: String...) -> [UInt8] { Array((lines.joined(separator: "\n") + "\n").utf8) }

  /// The same with a checksum: how an earlier version's file is written anew.
  private func summed(_ bytes: [UInt8]) -> [UInt8] {
    let first = Array("varve-volume 1\n".utf8)
    let rest = Array(bytes.dropFirst(first.count))
    return first + Array("crc = \(CRC32C.digits(of: rest.span))\n".utf8) + rest
  }

  private func header(_ bytes: [UInt8]) -> Result<VolumeHeader, VolumeFailure> {
    do { return .success(try VolumeHeader(parsing: bytes)) } catch { return .failure(error) }
  }

  private func refusal(_ bytes: [UInt8]) -> String? {
    if case .failure(let failure) = header(bytes) { failure.message } else { nil }
  }

  @Test("What is written can be read, and unknown keys are kept") func roundTrip() throws {
    let bytes = text(
      "varve-volume 1", "uuid = 1f", "created = 12", "xattr = user", "incompat = 0", "ro_compat = 0",
      "compat = 1", "policy.names = french")
    let parsed = try header(bytes).get()
    #expect(parsed.recordsExist)
    #expect(parsed.namespace == .user)
    #expect(parsed.text == summed(bytes))
    #expect(try header(parsed.text).get() == parsed)
    #expect(VolumeHeader.hasChecksum(parsed.text) && !VolumeHeader.hasChecksum(bytes))
    // An earlier version keeps the checksum as a line that it does not know, and does not renew it.
    var lines = String(decoding: parsed.text, as: UTF8.self).split(separator: "\n")
    lines.append(lines.remove(at: 1))
    let moved = lines.joined(separator: "\n") + "\n"
    let kept = Array(moved.replacing("compat = 1\np", with: "compat = 3\np").utf8)
    var changed = parsed
    changed.compatible = 3
    #expect(try header(kept).get() == changed)
  }

  @Test("A flipped bit anywhere is refused, with the remedy, or changes nothing") func everyBit() throws {
    let written = try header(
      text(
        "varve-volume 1", "uuid = 1f", "created = 12", "xattr = user", "incompat = 0", "ro_compat = 3",
        "compat = 1", "lower = /a:/b", "root = 1 2", "fs.1 = 0123456789abcdef 3 4 /a")
    ).get()
    let whole = written.text
    for bit in 0..<whole.count * 8 {
      var damaged = whole
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      guard case .success(let read) = header(damaged) else {
        // The first line and what makes the second one a checksum can be read wrong, the rest is corrected.
        let salvaged = VolumeHeader.salvaged(from: damaged, recordsIn: .user)
        if bit / 8 >= 21 { #expect(salvaged == written, "bit \(bit)") }
        continue
      }
      // Only where it is a checksum no more.
      #expect((15..<21).contains(bit / 8), "bit \(bit)")
      let rest = String(decoding: read.text, as: UTF8.self).split(separator: "\n").dropFirst(2)
      let expected = String(decoding: whole, as: UTF8.self).split(separator: "\n").dropFirst(2)
      #expect(rest.starts(with: expected), "bit \(bit)")
    }
    // By which flags, lists and classes would count for nothing.
    let silent = String(decoding: whole, as: UTF8.self).replacing("\ncompat = 1", with: "\ncompat = 0")
    #expect(
      refusal(Array(silent.utf8))
        == "the volume file is damaged: its checksum does not fit; 'varve check --repair' mends it")
  }

  @Test("Saying that records exist changes that bit and nothing else") func announces() throws {
    let parsed = try header(
      text("varve-volume 1", "uuid = 1f", "created = 12", "xattr = trusted", "compat = 8000000000000000")
    ).get()
    #expect(!parsed.recordsExist)
    #expect(parsed.withRecords.recordsExist)
    #expect(parsed.withRecords.compatible == 0x8000_0000_0000_0001)
  }

  @Test("A file that is not ours is refused with a sentence")
  func foreign() {
    #expect(refusal([0xFF, 0xFE]) != nil)
    #expect(refusal([]) != nil)
    #expect(refusal(text("varve-volume 2", "uuid = 1", "xattr = user"))?.contains("varve-volume 2") == true)
    #expect(refusal(text("varve-volume 1", "uuid = 1", "xattr = moon"))?.contains("moon") == true)
    #expect(refusal(text("varve-volume 1", "uuid = 1")) != nil)
    #expect(refusal(text("varve-volume 1", "xattr = user")) != nil)
    #expect(refusal(text("varve-volume 1", "uuid = 1", "xattr = user", "nonsense")) != nil)
    #expect(refusal(text("varve-volume 1", "uuid = 1", "xattr = user", "incompat = xyz")) != nil)
  }

  @Test(
    "A line about layers that says nothing makes the file damaged, and so do layers that are not announced")
  func layers() throws {
    let good = [
      "varve-volume 1", "uuid = 1f", "created = 12", "xattr = trusted", "incompat = 0", "ro_compat = 1",
      "compat = 1", "lower = /a:/b", "lower-roots = 3 4:5 6", "root = 1 2", "fs.1 = 0123456789abcdef 3 4 /a",
    ]
    func bytes(_ lines: [String]) -> [UInt8] { Array((lines.joined(separator: "\n") + "\n").utf8) }
    #expect(try header(bytes(good)).get().text == summed(bytes(good)))
    for (index, line) in [
      (7, "lower = a"), (7, "lower = /a:"), (7, "lower = \\"), (8, "lower-roots = 3 4:"),
      (8, "lower-roots = 3"),
      (9, "root = 1"), (9, "root = g 1"), (10, "fs.1 = 0123456789abcdef 3 4 "),
      (10, "fs.0 = 0123456789abcdef 3 4 /a"), (10, "fs. = "),
    ] {
      var lines = good
      lines[index] = line
      let refusal = refusal(bytes(lines))
      #expect(refusal?.contains("has a line '\(line)'") == true, "\(line)")
      #expect(refusal?.hasSuffix("; 'varve check --repair' mends it") == true, "\(line)")
      // All the rest of it is kept.
      lines.remove(at: index)
      #expect(
        VolumeHeader.salvaged(from: bytes(lines + [line, "", "nonsense"]), recordsIn: .trusted).text
          == summed(bytes(lines)))
    }
    var lines = good
    lines[5] = "ro_compat = 0"
    #expect(refusal(bytes(lines))?.contains("says that there are none") == true)
    #expect(VolumeHeader.salvaged(from: bytes(lines), recordsIn: .trusted).text == summed(bytes(good)))
  }

  @Test("What a complaint quotes of the file is short, and steers no terminal") func quoted() {
    let long = refusal(text("\u{1B}[2J" + String(repeating: "x", count: 500)))
    #expect(long?.contains("'?[2J\(String(repeating: "x", count: 36))…'") == true)
    #expect(
      refusal([UInt8](repeating: 0x78, count: 70_000))
        == "the volume file is longer than any that varve writes")
  }

  @Test("Unknown features are refused as far as they reach") func features() throws {
    let fresh = VolumeHeader.fresh()
    #expect(throws: Never.self) { try fresh.checkFeatures(readOnly: false) }
    var incompatible = fresh
    incompatible.incompatible = 4
    #expect(throws: VolumeFailure.self) { try incompatible.checkFeatures(readOnly: true) }
    var readOnly = fresh
    readOnly.readOnlyCompatible = 4
    #expect(throws: VolumeFailure.self) { try readOnly.checkFeatures(readOnly: false) }
    #expect(throws: Never.self) { try readOnly.checkFeatures(readOnly: true) }
  }

  @Test("No bytes make the reader trap") func noise() {
    var dice = Dice(seed: 7)
    let good = text("varve-volume 1", "uuid = 1f", "created = 12", "xattr = user", "compat = 1")
    for index in good.indices {
      _ = header(Array(good[..<index]))
      for _ in 0..<8 {
        var damaged = good
        damaged[index] = UInt8.random(in: .min ... .max, using: &dice)
        _ = header(damaged)
      }
    }
  }
}
