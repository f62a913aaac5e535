import Glibc
import LinuxFiles
import Testing

/// All tests of this module, one after the other: the switches for older kernels are the process's.
@Suite("Linux files", .serialized) enum LinuxFilesTests {}

/// What this machine lets a test do.
enum Machine {
  static let isRoot = geteuid() == 0
}

/// How the module talks to the kernel: every answer must be the same both ways.
enum Way: CaseIterable, Sendable {
  case thisKernel, olderKernel

  func run(_ body: () throws -> Void) rethrows {
    let isNew = self == .thisKernel
    Capabilities.hasOpenat2 = isNew
    Capabilities.hasAttributeAt = isNew
    Capabilities.hasChangeModeAt2 = isNew
    Capabilities.hasEmptyPath = isNew
    defer {
      Capabilities.hasOpenat2 = true
      Capabilities.hasAttributeAt = true
      Capabilities.hasChangeModeAt2 = true
      Capabilities.hasEmptyPath = true
    }
    try body()
  }
}

/// A new directory in /tmp that goes with this object, whatever is in it.
final class TemporaryDirectory: Sendable {
  let path: String
  let descriptor: Descriptor

  init() throws {
    var template = [CChar]("/tmp/linux-files-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Errno.current }
    let bytes = template.dropLast().map { UInt8(bitPattern: $0) }
    path = String(decoding: bytes, as: UTF8.self)
    descriptor = try Descriptor.directory(atPath: path)
  }

  deinit {
    // What cannot be removed stays in /tmp; the test itself has spoken already.
    try? emptyDirectory(descriptor)
    _ = rmdir(path)
  }
}

/// Removes everything below `directory`.
func emptyDirectory(_ directory: borrowing Descriptor) throws(Errno) {
  try directory.seekDirectory(to: 0)
  var page = EntryBuffer()
  while try directory.readEntries(into: &page) > 0 {
    while let entry = try page.next() {
      guard entry.role == .child else { continue }
      try page.withName(of: entry) { name throws(Errno) in
        if entry.kind == .directory {
          try emptyDirectory(try directory.open(name, [.readOnly, .directory]))
          try directory.removeDirectory(name)
        } else {
          try directory.removeFile(name)
        }
      }
    }
  }
}

/// Records an issue unless `body` fails with exactly `wanted`.
func expectFailure(
  _ wanted: Errno, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws(Errno) -> Void
) {
  do throws(Errno) {
    try body()
    Issue.record("nothing failed; wanted \(wanted)", sourceLocation: sourceLocation)
  } catch {
    #expect(error == wanted, sourceLocation: sourceLocation)
  }
}

/// The bytes of a text.
func bytes(_ text: String) -> [UInt8] { [UInt8](text.utf8) }

/// What tests do to a name in a directory: they hold on to it first, as the volume does.
extension Descriptor {
  borrowing func setAttribute(
    _ attribute: borrowing AttributeName, of name: borrowing FileName, to value: [UInt8],
    _ change: AttributeSetting = .createOrReplace
  ) throws(Errno) {
    try openPath(name).setAttribute(attribute, to: value, change)
  }

  borrowing func removeAttribute(
    _ attribute: borrowing AttributeName, of name: borrowing FileName
  ) throws(Errno) {
    try openPath(name).removeAttribute(attribute)
  }

  borrowing func attributeNames(of name: borrowing FileName) throws(Errno) -> AttributeNames {
    try openPath(name).attributeNames()
  }

  borrowing func changeOwner(of name: borrowing FileName, user: UInt32?, group: UInt32?) throws(Errno) {
    try openPath(name).changeOwner(user: user, group: group)
  }

  borrowing func changeTimes(
    of name: borrowing FileName, access: TimeChange, modification: TimeChange
  ) throws(Errno) {
    try openPath(name).changeTimes(access: access, modification: modification)
  }

  borrowing func link(
    _ name: borrowing FileName, to directory: borrowing Descriptor, as newName: borrowing FileName
  ) throws(Errno) {
    try directory.linkObject(openPath(name), as: newName)
  }
}
