// When set-id bits and capabilities go because bytes change, for all callers and modes there can be.

import AccessControl
import Decisions
import DirectoryModes
import Testing

@Suite("Set-id bits that writing takes away") struct SetIDTests {
  private struct Opener {
    let user: UInt32
    /// CAP_FSETID.
    let isSpared: Bool
  }

  private static let openers = [
    Opener(user: 0, isSpared: true), Opener(user: 0, isSpared: false),
    Opener(user: World.alice, isSpared: false), Opener(user: World.bob, isSpared: false),
    Opener(user: World.unknown, isSpared: false),
  ]

  @Test("Nothing goes when root with CAP_FSETID writes, and nothing stays when others do") func changes() {
    for user in [0, World.alice, World.bob, World.unknown] {
      for isForeign in [false, true] {
        // Of a write the kernel always says it.
        #expect(Judge.strips(.write(isForeign: isForeign), by: user) == isForeign)
        #expect(Judge.strips(.size(isForeign: isForeign), by: user) == (isForeign || user != 0))
      }
      #expect(Judge.strips(.space, by: user) == (user != 0))
    }
  }

  @Test("An open lets bits be of those who cannot write unseen, who own the file, or whom Linux spares")
  func opens() {
    var cases = 0
    for bits: UInt16 in 0...0o7777 where bits & 0o555 == 0 {
      for owner in [World.alice, World.unknown, 0] {
        for ownerGroup in [nil, World.team] {
          var item = World.file(bits, owner: owner)
          item.ownerGroup = ownerGroup
          let hasBits = bits & 0o6000 != 0
          for opener in SetIDTests.openers {
            for way in 0..<8 {
              let request = OpenRequest(reads: way & 1 != 0, writes: way & 2 != 0, executes: way & 4 != 0)
              var wasAsked = false
              let strips = Judge.strips(openedFor: request, of: item, by: opener.user) {
                wasAsked = true
                return opener.isSpared
              }
              // Bits that are not shown.
              let areHidden = hasBits && (ownerGroup != nil || owner == World.unknown)
              let maps = request.reads || request.executes
              let mayStay =
                !request.writes
                || !areHidden
                  && (!maps || opener.user == owner || opener.user == 0 && (!hasBits || opener.isSpared))
              cases += 1
              if strips == mayStay || wasAsked && (opener.user != 0 || !hasBits) {
                Issue.record("\(opener) \(request) of \(item): \(strips), asked: \(wasAsked)")
              }
            }
          }
        }
      }
    }
    #expect(cases > 10_000)
  }

  @Test("A chmod strips if it takes set-id bits of a file and nothing else") func modes() {
    for kind in World.kinds {
      for (present, wanted) in product(Array(UInt16(0)...0o77), Array(UInt16(0)...0o77)) {
        // The three special bits, and one of each class.
        func mode(_ bits: UInt16) -> UInt16 { bits & 7 << 9 | (bits >> 3 & 7) * 0o111 }
        for isShared in [false, true] {
          var item = World.item(kind, mode(present))
          if isShared { item.ownerGroup = World.team }
          let shown = item.shownMode.bits
          let gone = [0o4000, 0o2000, 0o6000].first { (bits: UInt16) in
            shown & bits == bits && mode(wanted) | shown & 0o1000 == shown & ~bits
          }
          let left = Judge.stripped(by: Mode(mode(wanted)), of: item)
          if left != (kind == .file ? gone.map { Mode(shown & ~$0) } : nil) {
            Issue.record("chmod \(mode(wanted)) of \(item): \(String(describing: left))")
          }
        }
      }
    }
  }
}
