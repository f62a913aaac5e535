import LinuxFiles
import Testing

extension LinuxFilesTests {
  @Suite("Names") struct NameTests {
    struct Row: Sendable, CustomTestStringConvertible {
      let testDescription: String
      let name: [UInt8]
      let failure: Errno?
    }

    static let rows = [
      Row(testDescription: "an empty name is not a file", name: [], failure: .noSuchFile),
      Row(testDescription: "a dot is refused", name: bytes("."), failure: .invalid),
      Row(testDescription: "two dots are refused", name: bytes(".."), failure: .invalid),
      Row(testDescription: "three dots are a name", name: bytes("..."), failure: nil),
      Row(testDescription: "a hidden name is a name", name: bytes(".a"), failure: nil),
      Row(testDescription: "a dot behind a letter is a name", name: bytes("a."), failure: nil),
      Row(testDescription: "a slash is refused", name: bytes("a/b"), failure: .invalid),
      Row(testDescription: "a slash at the end is refused", name: bytes("a/"), failure: .invalid),
      Row(testDescription: "a NUL inside is refused", name: [97, 0, 98], failure: .invalid),
      Row(testDescription: "bytes that are not UTF-8 are a name", name: [0xFF, 0xFE, 0x80], failure: nil),
      Row(testDescription: "255 bytes are a name", name: .init(repeating: 120, count: 255), failure: nil),
      Row(
        testDescription: "256 bytes are too long", name: .init(repeating: 120, count: 256),
        failure: .nameTooLong),
    ]

    @Test(arguments: rows) func areCheckedOnce(_ row: Row) {
      do throws(Errno) {
        let copy = try FileName.with(row.name) { name throws(Errno) in
          let (same, longer) = (name.equals(row.name), name.equals(row.name + [1]))
          #expect(same && !longer)
          return name.copy()
        }
        #expect(row.failure == nil)
        #expect(copy == row.name)
      } catch {
        #expect(error == row.failure)
      }
    }

    @Test("a pointer without a terminator where it is promised is refused")
    func terminatorIsChecked() throws {
      let text: [CChar] = [97, 98, 99, 0]
      text.withUnsafeBufferPointer { text in
        guard let start = text.baseAddress else { return }
        expectFailure(.invalid) { () throws(Errno) in _ = try FileName(borrowing: start, count: 2) }
        expectFailure(.invalid) { () throws(Errno) in _ = try FileName(borrowing: start + 1, count: 1)
        }
      }
    }

    @Test("a C string becomes a name, and a name of 256 bytes or more does not")
    func cString() throws {
      let long = [CChar](repeating: 97, count: 300) + [0]
      long.withUnsafeBufferPointer { text in
        guard let start = text.baseAddress else { return }
        expectFailure(.nameTooLong) { () throws(Errno) in _ = try FileName(borrowing: start) }
      }
      let name = try FileName("lock")
      let same = name.equals(bytes("lock"))
      #expect(same && name.count == 4)
    }

    @Test("attribute names know their prefixes")
    func attributePrefixes() throws {
      let name = try AttributeName("trusted.varve.x")
      let (trusted, user, rest) = (
        name.hasPrefix("trusted."), name.hasPrefix("user."), name.copy(droppingFirst: 8)
      )
      #expect(trusted && !user)
      #expect(rest == bytes("varve.x"))
      let (whole, part, array) = (
        name.equals("trusted.varve.x"), name.equals("trusted."), name.equals(bytes("trusted.varve.x"))
      )
      #expect(whole && !part && array)
      let beyond = name.copy(droppingFirst: 99)
      #expect(beyond.isEmpty)
    }

    @Test("an attribute name is put together from prefix and rest")
    func attributeNameInTwoPieces() throws {
      let joined = try AttributeName.with(prefix: "trusted.", bytes("é")) { name throws(Errno) in name.copy()
      }
      #expect(joined == bytes("trusted.é"))
      expectFailure(.range) { () throws(Errno) in
        try AttributeName.with(prefix: "user.", [UInt8](repeating: 97, count: 251)) { _ throws(Errno) in }
      }
      expectFailure(.range) { () throws(Errno) in try AttributeName.with([]) { _ throws(Errno) in } }
      expectFailure(.invalid) { () throws(Errno) in try AttributeName.with([97, 0]) { _ throws(Errno) in } }
    }

    @Test("an error says its words and its name")
    func errorText() {
      #expect(Errno.noSuchFile.description == "No such file or directory (ENOENT)")
      // ENOTSUP is the same number.
      let names = ["Operation not supported (EOPNOTSUPP)", "Operation not supported (ENOTSUP)"]
      #expect(names.contains(Errno.unsupported.description))
      #expect(Errno(rawValue: 99_999).description == "error 99999")
    }

    @Test("kinds translate to both spellings of Linux and back")
    func kinds() {
      for kind in FileKind.allCases {
        #expect(FileKind(modeBits: kind.modeBits | 0o755) == kind)
        #expect(FileKind(directoryType: kind.directoryType) == kind)
      }
      #expect(FileKind.directory.modeBits == 0o040000)
      #expect(FileKind.symbolicLink.modeBits == 0o120000)
      #expect(FileKind(directoryType: 0) == nil)
      #expect(FileKind(modeBits: 0o600) == nil)
    }
  }
}
