// Records of what its owner may not write: in attributes `user.*` the daemon first has to let itself in, as it has no more
// privilege than the owner.

import AccessControl
import Faults
import LinuxFiles
import RecordFormat
import Testing

@testable import LayeredVolume

@Suite("Records of what its owner may not write") struct ReadOnlyRecordTests {
  private static let list = "system.varve.acl"

  private static let changes: [@Sendable (Tree) throws -> Void] = [
    { try $0.setAttribute("f", list, "user:1002 deny write") },
    { try $0.removeAttribute("f", list) },
    { try $0.setAttribute("f", "system.varve.flags", "nodump") },
    {
      let denial = AccessList([AccessEntry(.deny, .user(1003), .read)])
      let bytes = NFSv4List.encodeNumbers(denial, mode: 0o444, for: .file)
      try $0.setAttribute("f", "system.nfs4_acl_xdr", bytes: bytes)
    },
  ]

  private func tree() throws -> Tree {
    let tree = try Tree({ $0.disabledFeatures = ["trusted"] }) {}
    try tree.create("f", mode: 0o440)
    try tree.setAttribute("f", Self.list, "user:1001 deny read")
    return tree
  }

  /// To root nothing is refused, so a fault does it; the one after that meets the daemon when it has let itself in.
  @Test(
    "They are changed or not, and the mode is as it was afterwards", arguments: changes.indices, [1, 2, 3])
  func refused(number: Int, count: Int) throws {
    let change = Self.changes[number]
    let changed = try tree()
    try change(changed)
    let wanted = try changed.state()
    for after in 0..<50 {
      let tree = try tree()
      let before = try tree.state()
      let fault = Fault(.attribute, .accessDenied, after: after, count: count)
      let (result, hits) = fault.during { try change(tree) }
      let story: Comment = "at call \(after): \(result)"
      var error: Errno?
      if case .failure(let failure) = result { error = failure as? Errno }
      #expect(error == nil || error == .accessDenied, story)
      let expected = error == nil ? wanted : before
      #expect(try tree.state() == expected, story)
      #expect(try tree.storedState() == expected, story)
      guard hits > 0 else {
        #expect(after > 0 && error == nil, story)
        return
      }
    }
    Issue.record("there was no end of calls")
  }
}
