import LinuxFiles
import Testing

extension LinuxFilesTests {
  @Suite("Extended attributes") struct AttributeTests {
    let world: TemporaryDirectory

    init() throws {
      world = try TemporaryDirectory()
      let file = try FileName("file")
      let folder = try FileName("folder")
      let link = try FileName("link")
      let fifo = try FileName("fifo")
      _ = try world.descriptor.createFile(file, mode: 0o600)
      try world.descriptor.makeDirectory(folder, mode: 0o700)
      try world.descriptor.makeSymbolicLink(link, target: bytes("file"))
      try world.descriptor.makeNode(fifo, kind: .fifo, mode: 0o600)
    }

    @Test(
      "a trusted attribute lives on every kind of object, by name and by held place",
      .enabled(if: Machine.isRoot, "trusted attributes need root"), arguments: Way.allCases)
    func everyKind(_ way: Way) throws {
      let attribute = try AttributeName("trusted.varve.test")
      try way.run {
        for name in ["file", "folder", "link", "fifo"] {
          let value = bytes("value of \(name)")
          try FileName.with(bytes(name)) { name throws(Errno) in
            let held = try world.descriptor.openPath(name)
            let absent = try (held.attribute(attribute), world.descriptor.attribute(attribute, of: name))
            #expect(absent == (nil, nil))
            try world.descriptor.setAttribute(attribute, of: name, to: value)
            let (byPlace, byName) = try (
              held.attribute(attribute), world.descriptor.attribute(attribute, of: name)
            )
            #expect(byPlace == value && byName == value)
            let names = try (held.attributeNames().copies, world.descriptor.attributeNames(of: name).copies)
            #expect(names.0 == [bytes("trusted.varve.test")] && names.1 == names.0)
            try held.setAttribute(attribute, to: [], .replace)
            let empty = try world.descriptor.attribute(attribute, of: name)
            #expect(empty == [])
            try held.removeAttribute(attribute)
            expectFailure(.noData) { () throws(Errno) in
              try world.descriptor.removeAttribute(attribute, of: name)
            }
            try held.setAttribute(attribute, to: value, .create)
            try world.descriptor.removeAttribute(attribute, of: name)
          }
        }
      }
    }

    @Test("a user attribute is refused on links and fifos", arguments: Way.allCases)
    func refusals(_ way: Way) throws {
      let attribute = try AttributeName("user.test")
      try way.run {
        for name in ["link", "fifo"] {
          try FileName.with(bytes(name)) { name throws(Errno) in
            let held = try world.descriptor.openPath(name)
            expectFailure(.notPermitted) { () throws(Errno) in
              try held.setAttribute(attribute, to: [1])
            }
            expectFailure(.notPermitted) { () throws(Errno) in
              try world.descriptor.setAttribute(attribute, of: name, to: [1])
            }
          }
        }
      }
    }

    @Test("creating and replacing keep to what is there", arguments: Way.allCases)
    func createAndReplace(_ way: Way) throws {
      let attribute = try AttributeName("user.test")
      let name = try FileName("file")
      try way.run {
        let file = try world.descriptor.open(name, .readWrite)
        expectFailure(.noData) { () throws(Errno) in
          try file.setAttribute(attribute, to: [1], .replace)
        }
        try file.setAttribute(attribute, to: [1], .create)
        expectFailure(.exists) { () throws(Errno) in
          try world.descriptor.setAttribute(attribute, of: name, to: [2], .create)
        }
        try world.descriptor.setAttribute(attribute, of: name, to: [2], .replace)
        let value = try file.attribute(attribute)
        #expect(value == [2])
        try file.removeAttribute(attribute)
        let gone = try file.attribute(attribute)
        #expect(gone == nil)
      }
      #expect(AttributeSetting(flags: 0) == .createOrReplace && AttributeSetting(flags: 1) == .create)
      #expect(AttributeSetting(flags: 2) == .replace && AttributeSetting(flags: 4) == nil)
    }

    @Test("a value beyond the first buffer is read whole", arguments: Way.allCases)
    func long(_ way: Way) throws {
      let attribute = try AttributeName("user.test")
      let name = try FileName("file")
      let value = [UInt8](repeating: 9, count: 1_000)
      try way.run {
        try world.descriptor.setAttribute(attribute, of: name, to: value)
        let held = try world.descriptor.openPath(name)
        let byName = try world.descriptor.attribute(attribute, of: name)
        #expect(byName == value)
        let grown = try held.attribute(attribute)
        #expect(grown == value)
        try held.removeAttribute(attribute)
      }
    }

    @Test("all names are listed, also when they fill more than the first buffer", arguments: Way.allCases)
    func manyNames(_ way: Way) throws {
      let name = try FileName("file")
      let wanted = (0..<8).map { bytes("user." + String(repeating: "x", count: 100) + String($0)) }
      try way.run {
        for attribute in wanted {
          try AttributeName.with(attribute) { attribute throws(Errno) in
            try world.descriptor.setAttribute(attribute, of: name, to: [])
          }
        }
        let names = try world.descriptor.attributeNames(of: name)
        #expect(Set(names.copies) == Set(wanted))
        var lent: [[UInt8]] = []
        try names.forEach { attribute throws(Errno) in
          lent.append(attribute.copy())
          try world.descriptor.removeAttribute(attribute, of: name)
        }
        let left = try world.descriptor.attributeNames(of: name)
        #expect(lent == names.copies && left.bytes.isEmpty)
      }
    }

    @Test("a missing name is a missing file", arguments: Way.allCases)
    func missing(_ way: Way) throws {
      let attribute = try AttributeName("user.test")
      let name = try FileName("none")
      way.run {
        expectFailure(.noSuchFile) { () throws(Errno) in
          _ = try world.descriptor.attribute(attribute, of: name)
        }
      }
    }
  }
}
