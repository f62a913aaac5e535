// Where the socket stands: under a name nobody can guess, and in place of what a dead daemon left.

import Glibc
import LinuxFiles
import Testing

@testable import ControlDoor

@Suite("The place of a control socket") struct PlaceTests {
  private func names(_ base: String) -> Set<String> {
    guard let listing = opendir(base) else { return [] }
    defer { closedir(listing) }
    var names: Set<String> = []
    while let entry = readdir(listing) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.insert(name) }
    }
    return names
  }

  @Test func eachMountHasAnotherNameAndTakesThePlaceOfADeadOneOnItsDevice() throws {
    var template = Array("/tmp/varve-place-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno.current }
    let base = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer {
      for name in names(base) { unlink("\(base)/\(name)") }
      rmdir(base)
    }
    func place() throws -> SocketLocation {
      SocketLocation(
        in: SharedDescriptor(try Descriptor.directory(atPath: base)), path: Array(base.utf8), device: "0:98")
    }
    // Left by daemons that died, of this version and an earlier one; and another mount's.
    for name in ["0:98.abc.sock", "0:98.sock", "0:98.new", "0:981.abc.sock", "10:98.abc.sock"] {
      close(creat("\(base)/\(name)", 0o600))
    }
    let others: Set = ["0:981.abc.sock", "10:98.abc.sock"]
    let first = try place()
    _ = try first.listen()
    let firstName = try #require(names(base).subtracting(others).first)
    #expect(names(base) == others.union([firstName]))
    #expect(Array("\(base)/\(firstName)".utf8) == first.path)
    #expect(firstName.hasPrefix("0:98.") && firstName.hasSuffix(".sock"))
    var status = stat()
    #expect(stat("\(base)/\(firstName)", &status) == 0)
    #expect(status.st_mode & 0o777 == 0o666)
    let second = try place()
    #expect(second.path != first.path)
    _ = try second.listen()
    #expect(names(base).subtracting(others).map { Array("\(base)/\($0)".utf8) } == [second.path])
    try second.remove()
    #expect(names(base) == others)
  }
}
