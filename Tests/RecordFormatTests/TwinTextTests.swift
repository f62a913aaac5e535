import AccessControl
import FlagRules
import RecordFormat
import Testing

@Suite("The text of twins") struct TwinTextTests {
  static let list = AccessList(
    [
      AccessEntry(.deny, .user(1000), .delete),
      AccessEntry(.allow, .group(12), [.read, .execute], [.fileInherit, .directoryInherit]),
      AccessEntry(.allow, .everyone, .synchronize, .inherited),
    ], flags: AccessList.Flags(rawValue: 0x20000))

  @Test("It is what the format says, byte by byte") func golden() {
    #expect(
      String(decoding: TwinText.flags([.userImmutable, .hidden]), as: UTF8.self)
        == "varve-flags 1 d73a978c\nuchg,hidden\n")
    let list = AccessList([AccessEntry(.deny, .user(1000), .delete)])
    #expect(
      String(decoding: TwinText.list(list, for: .file), as: UTF8.self)
        == "varve-acl 1 3b5915bf\nuser:1000 deny delete\n")
  }

  @Test("Every set of flags and every list comes back as it was") func roundTrip() {
    for bits in UInt32(0)..<0x400 {
      // Every bit of both halves, in every mixture of eight neighbours.
      for shift in [0, 8, 16, 22] {
        let flags = FileFlags(rawValue: bits << shift)
        #expect(TwinText.readFlags(TwinText.flags(flags)) == flags)
      }
    }
    for kind in [ObjectKind.file, .directory] {
      #expect(TwinText.readList(TwinText.list(Self.list, for: kind)) == Self.list)
    }
    #expect(TwinText.readList(TwinText.list(AccessList(), for: .file)) == AccessList())
  }

  @Test("One byte that is another, missing or too many makes it nothing") func damage() {
    for text in [TwinText.flags([.userImmutable, .hidden]), TwinText.list(Self.list, for: .directory)] {
      for position in text.indices {
        for value in [UInt8(0), 0x0A, 0x20, 0x30, 0x7F, 0xFF] where value != text[position] {
          var other = text
          other[position] = value
          #expect(TwinText.readFlags(other) == nil && TwinText.readList(other) == nil)
        }
        var shorter = text
        shorter.remove(at: position)
        #expect(TwinText.readFlags(shorter) == nil && TwinText.readList(shorter) == nil)
      }
      #expect(TwinText.readFlags(text + [0x0A]) == nil && TwinText.readList(text + [0x0A]) == nil)
    }
    #expect(TwinText.readFlags([]) == nil && TwinText.readList([]) == nil)
  }
}
