// What the probes of a store find where the calls fail that they try.

import Faults
import Foundation
import JSONForm
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Probes of a store") struct StoreProbeTests {
  private static let words = ["tmpfile", "noreplace", "exchange", "unlinked", "capability"]

  /// What is said to be missing after the call with this number, of those of a kind, has failed; nil if there was none.
  private func missing(_ fault: Fault) throws -> Set<String>? {
    let tree = try Tree { file("old") }
    let workshop = SharedDescriptor(try Descriptor.directory(atPath: tree.path))
    let features = StoreFeatures(switchedOff: [], namespace: Tree.isRoot ? .trusted : .user)
    let (result, hits) = fault.during { features.probe(workshop) }
    try result.get()
    // What cannot be removed is left to the next mount.
    let left = try FileManager.default.contentsOfDirectory(atPath: tree.path)
    #expect(left == ["old"] || fault.kinds.contains(.name), "\(left)")
    guard hits > 0 else { return nil }
    return Set(
      features.members.filter { member in
        Self.words.contains(member.name)
          && member.value.string == "off: the file system of the upper directory does not have it"
      }.map(\.name))
  }

  /// Every word that one failure of these calls takes away.
  private func found(_ kinds: CallKinds, _ error: Errno) throws -> Set<String> {
    var found = Set<String>()
    for number in 0..<100 {
      guard let missing = try missing(Fault(kinds, error, after: number)) else {
        #expect(number > 0)
        return found
      }
      #expect(missing.count <= 1, "call \(number): \(missing)")
      found.formUnion(missing)
    }
    Issue.record("there was no end of calls")
    return found
  }

  @Test("A call that the store does not know takes away what needs it, and nothing else") func missing()
    throws
  {
    #expect(try found(.make, .unsupported) == ["tmpfile"])
    #expect(try found(.name, .invalid) == ["noreplace", "exchange"])
    #expect(try found([.mode, .attribute], .stale) == ["unlinked"])
    #expect(try found(.look, .unsupported) == ["capability"])
  }

  @Test("A store that can give no name without taking it from another file is refused, and left as it was")
  func noSafeNames() throws {
    let tree = try Tree { file("old") }
    let workshop = SharedDescriptor(try Descriptor.directory(atPath: tree.path))
    for error in [Errno.unsupported, .notImplemented] {
      let fault = Fault(.name, error, count: 100)
      let (result, _) = fault.during { try Workshop.requireSafeNames(in: workshop) }
      let failure = #expect(throws: VolumeFailure.self) { try result.get() }
      #expect(failure?.message.contains("neither hard links nor RENAME_NOREPLACE") == true)
    }
  }

  @Test("A disk that is full says nothing of what the store can do") func full() throws {
    for kinds in [CallKinds.make, .name, .attribute] {
      #expect(try found(kinds, .noSpace) == [])
    }
  }
}
