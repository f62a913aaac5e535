// That every call of this module can be made to fail, and is repeated when it was interrupted.

import Faults
import Glibc
import LinuxFiles
import Testing

extension LinuxFilesTests {
  @Suite("Calls that fail on purpose") struct FaultTests {
    struct Call: Sendable, CustomTestStringConvertible {
      let testDescription: String
      let kinds: CallKinds
      let make: @Sendable (borrowing Descriptor) throws -> Void

      init(
        _ name: String, _ kinds: CallKinds, _ make: @escaping @Sendable (borrowing Descriptor) throws -> Void
      ) {
        (testDescription, self.kinds, self.make) = (name, kinds, make)
      }
    }

    private static func attribute(_ body: (borrowing AttributeName) throws(Errno) -> Void) throws(Errno) {
      try body(try AttributeName("user.test"))
    }

    /// Each with the file `f` in the directory, which has the attribute `user.test`.
    static let calls = [
      Call("open", .open) { _ = try $0.open(try FileName("f"), .readOnly) },
      Call("openPath", .open) { _ = try $0.openPath(try FileName("f")) },
      Call("reopen", .open) { _ = try $0.reopen([.readOnly, .directory]) },
      Call("createFile", .make) { _ = try $0.createFile(try FileName("new"), mode: 0o600) },
      Call("createUnnamed", .make) { _ = try $0.createUnnamed(mode: 0o600) },
      Call("makeDirectory", .make) { try $0.makeDirectory(try FileName("new"), mode: 0o700) },
      Call("makeNode", .make) {
        try $0.makeNode(
          try FileName("new"), kind: .fifo, mode: 0o600, device: DeviceNumber(major: 0, minor: 0))
      },
      Call("makeSymbolicLink", .make) { try $0.makeSymbolicLink(try FileName("new"), target: [65]) },
      Call("status", .look) { _ = try $0.status(of: try FileName("f")) },
      Call("readLink", .look) { _ = try $0.readLink(try FileName("l")) },
      Call("names", .look) { _ = try $0.names() },
      Call("attribute of a name", .look) { directory in
        try attribute { name throws(Errno) in _ = try directory.attribute(name, of: try FileName("f")) }
      },
      Call("attribute", .look) { directory in
        let file = try directory.open(try FileName("f"), .readOnly)
        try attribute { name throws(Errno) in _ = try file.attribute(name) }
      },
      Call("attributeNames", .look) { _ = try $0.attributeNames(of: try FileName("f")) },
      Call("setAttribute of a name", .attribute) { directory in
        try attribute { name throws(Errno) in
          try directory.setAttribute(name, of: try FileName("f"), to: [1])
        }
      },
      Call("setAttribute", .attribute) { directory in
        let file = try directory.openPath(try FileName("f"))
        try attribute { name throws(Errno) in try file.setAttribute(name, to: [1]) }
      },
      Call("removeAttribute of a name", .attribute) { directory in
        try attribute { name throws(Errno) in try directory.removeAttribute(name, of: try FileName("f")) }
      },
      Call("removeAttribute", .attribute) { directory in
        let file = try directory.open(try FileName("f"), .readOnly)
        try attribute { name throws(Errno) in try file.removeAttribute(name) }
      },
      Call("changeMode", .mode) { try $0.open(try FileName("f"), .readOnly).changeMode(0o600) },
      Call("changeOwner", .owner) { try $0.changeOwner(of: try FileName("f"), user: geteuid(), group: nil) },
      Call("changeTimes", .times) {
        try $0.changeTimes(of: try FileName("f"), access: .now, modification: .now)
      },
      Call("rename", .name) { try $0.rename(try FileName("f"), to: $0, as: try FileName("new")) },
      Call("linkObject", .name) { directory in
        try directory.linkObject(try directory.openPath(try FileName("f")), as: try FileName("new"))
      },
      Call("removeFile", .name) { try $0.removeFile(try FileName("f")) },
      Call("removeDirectory", .name) { try $0.removeDirectory(try FileName("d")) },
      Call("read", .read) { _ = try $0.open(try FileName("f"), .readOnly).read(upTo: 10) },
      Call("write", .write) { try $0.open(try FileName("f"), .readWrite).writeAll([1, 2], at: 0) },
      Call("truncate", .write) { try $0.open(try FileName("f"), .readWrite).truncate(to: 1) },
      Call("sync", .sync) { try $0.sync() },
    ]

    private func withDirectory(_ body: (borrowing Descriptor) throws -> Void) throws {
      let scratch = try TemporaryDirectory()
      _ = try scratch.descriptor.createFile(try FileName("f"), mode: 0o644)
      try scratch.descriptor.makeDirectory(try FileName("d"), mode: 0o755)
      try scratch.descriptor.makeSymbolicLink(try FileName("l"), target: [65])
      try scratch.descriptor.setAttribute(try AttributeName("user.test"), of: try FileName("f"), to: [0])
      try body(scratch.descriptor)
    }

    @Test("Every call tells its error", arguments: calls, Way.allCases) func fails(
      _ call: Call, way: Way
    ) throws {
      try way.run {
        try withDirectory { directory in
          // Where an older kernel is served in two ways, both fail.
          let (result, hits) = Fault(call.kinds, .inputOutput, count: .max).during {
            try call.make(directory)
          }
          #expect(hits > 0)
          #expect(throws: Errno.inputOutput) { try result.get() }
        }
      }
    }

    @Test("Every interrupted call is made again", arguments: calls, Way.allCases)
    func repeated(_ call: Call, way: Way) throws {
      try way.run {
        try withDirectory { directory in
          let (result, hits) = Fault(call.kinds, .interrupted, count: 3).during { try call.make(directory) }
          #expect(hits == 3)
          #expect(throws: Never.self) { try result.get() }
        }
      }
    }

    @Test("Without a fault all of them succeed, and a fault ends with its body", arguments: calls)
    func succeeds(_ call: Call) throws {
      try withDirectory { directory in
        let before = Fault(call.kinds, .inputOutput, after: 1_000).during { try call.make(directory) }
        #expect(before.hits == 0)
        #expect(throws: Never.self) { try before.result.get() }
      }
    }
  }
}
