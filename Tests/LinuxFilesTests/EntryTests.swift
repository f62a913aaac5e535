import LinuxFiles
import Testing

extension LinuxFilesTests {
  @Suite("Entries of a directory") struct EntryTests {
    let world: TemporaryDirectory

    init() throws {
      world = try TemporaryDirectory()
    }

    @Test("every kind of object can be made and recognized")
    func makesEveryKind() throws {
      let fifo = try FileName("fifo")
      let socket = try FileName("socket")
      let file = try FileName("file")
      let folder = try FileName("folder")
      let link = try FileName("link")
      try world.descriptor.makeNode(fifo, kind: .fifo, mode: 0o600)
      try world.descriptor.makeNode(socket, kind: .socket, mode: 0o600)
      try world.descriptor.makeNode(file, kind: .regular, mode: 0o640)
      try world.descriptor.makeDirectory(folder, mode: 0o1700)
      try world.descriptor.makeSymbolicLink(link, target: [0xFF, 47, 0x80])
      let kinds = try [
        world.descriptor.status(of: fifo).kind, world.descriptor.status(of: socket).kind,
        world.descriptor.status(of: file).kind, world.descriptor.status(of: folder).kind,
        world.descriptor.status(of: link).kind,
      ]
      #expect(kinds == [.fifo, .socket, .regular, .directory, .symbolicLink])
      let (fileMode, folderMode) = try (
        world.descriptor.status(of: file).mode, world.descriptor.status(of: folder).mode
      )
      #expect(fileMode == 0o640 && folderMode == 0o1700)
      let (byName, held) = try (
        world.descriptor.readLink(link), world.descriptor.openPath(link).readLink()
      )
      #expect(byName == [0xFF, 47, 0x80] && held == byName)
      expectFailure(.notEmpty) { () throws(Errno) in
        let inner = try world.descriptor.openDirectoryPath(folder)
        try inner.makeDirectory(folder, mode: 0o700)
        try world.descriptor.removeDirectory(folder)
      }
      expectFailure(.isDirectory) { () throws(Errno) in try world.descriptor.removeFile(folder) }
      expectFailure(.notDirectory) { () throws(Errno) in try world.descriptor.removeDirectory(file) }
    }

    @Test("a device keeps its number", .enabled(if: Machine.isRoot, "devices need root"))
    func makesDevices() throws {
      let name = try FileName("device")
      let number = DeviceNumber(major: 511, minor: 70_000)
      try world.descriptor.makeNode(name, kind: .characterDevice, mode: 0o600, device: number)
      let status = try world.descriptor.status(of: name)
      #expect(status.kind == .characterDevice && status.specialDevice == number)
    }

    @Test("the longest target of a link comes back whole, and a longer one is refused")
    func linkTargets() throws {
      let link = try FileName("link")
      let other = try FileName("other")
      let longest = [UInt8](repeating: 120, count: 4_095)
      try world.descriptor.makeSymbolicLink(link, target: longest)
      let read = try world.descriptor.readLink(link)
      #expect(read == longest)
      for (target, failure) in [(longest + [1], Errno.nameTooLong), ([], .noSuchFile), ([97, 0], .invalid)] {
        expectFailure(failure) { () throws(Errno) in
          try world.descriptor.makeSymbolicLink(other, target: target)
        }
      }
      expectFailure(.invalid) { () throws(Errno) in
        try world.descriptor.makeDirectory(other, mode: 0o700)
        _ = try world.descriptor.readLink(other)
      }
    }

    @Test("renaming replaces, refuses to replace, exchanges and leaves a whiteout")
    func renames() throws {
      let one = try FileName("one")
      let two = try FileName("two")
      _ = try world.descriptor.createFile(one, mode: 0o600)
      _ = try world.descriptor.createFile(two, mode: 0o600)
      let (first, second) = try (
        world.descriptor.status(of: one).inode, world.descriptor.status(of: two).inode
      )
      expectFailure(.exists) { () throws(Errno) in
        try world.descriptor.rename(one, to: world.descriptor, as: two, .noReplace)
      }
      try world.descriptor.rename(one, to: world.descriptor, as: two, .exchange)
      let swapped = try (world.descriptor.status(of: one).inode, world.descriptor.status(of: two).inode)
      #expect(swapped == (second, first))
      try world.descriptor.rename(one, to: world.descriptor, as: two)
      let replaced = try world.descriptor.status(of: two).inode
      #expect(replaced == second)
      guard Machine.isRoot else { return }
      try world.descriptor.rename(two, to: world.descriptor, as: one, .whiteout)
      let whiteout = try world.descriptor.status(of: two)
      #expect(whiteout.kind == .characterDevice && whiteout.specialDevice == .none)
    }

    @Test("a file without a name gets one, once, and not over another", arguments: Way.allCases)
    func namesTheUnnamed(_ way: Way) throws {
      let name = try FileName("name")
      let taken = try FileName("taken")
      _ = try world.descriptor.createFile(taken, mode: 0o600)
      try way.run {
        let file = try world.descriptor.createUnnamed(mode: 0o640)
        try file.writeAll(bytes("text"), at: 0)
        let before = try file.status().linkCount
        expectFailure(.exists) { () throws(Errno) in try world.descriptor.linkObject(file, as: taken) }
        try world.descriptor.linkObject(file, as: name)
        let status = try world.descriptor.status(of: name)
        #expect(before == 0 && status.linkCount == 1 && status.size == 4 && status.mode == 0o640)
      }
    }

    @Test("a held file or symbolic link gets a second name", arguments: Way.allCases)
    func linksHeldObjects(_ way: Way) throws {
      let file = try FileName("file")
      let link = try FileName("link")
      let again = try FileName("again")
      let linkAgain = try FileName("link again")
      let third = try FileName("third")
      _ = try world.descriptor.createFile(file, mode: 0o600)
      try world.descriptor.makeSymbolicLink(link, target: bytes("nowhere"))
      try way.run {
        let held = try world.descriptor.openPath(file)
        try world.descriptor.linkObject(held, as: again)
        try world.descriptor.linkObject(world.descriptor.openPath(link), as: linkAgain)
        try world.descriptor.link(link, to: world.descriptor, as: third)
        let (count, kind, thirdKind) = try (
          held.status().linkCount, world.descriptor.status(of: linkAgain).kind,
          world.descriptor.status(of: third).kind
        )
        #expect(count == 2 && kind == .symbolicLink && thirdKind == .symbolicLink)
        try world.descriptor.removeFile(file)
        try world.descriptor.removeFile(again)
        expectFailure(.noSuchFile) { () throws(Errno) in try world.descriptor.linkObject(held, as: again) }
      }
    }

    @Test("names of 255 bytes and names that are not text work everywhere", arguments: Way.allCases)
    func strangeNames(_ way: Way) throws {
      try way.run {
        for stored in [[UInt8](repeating: 0xC3, count: 255), [0xFF], [0x0A], bytes(" "), bytes("...")] {
          try FileName.with(stored) { name throws(Errno) in
            let file = try world.descriptor.createFile(name, mode: 0o600)
            let (held, found) = try (
              world.descriptor.openPath(name).status().inode, world.descriptor.status(of: name).inode
            )
            #expect(held == found)
            let attribute = try AttributeName("user.a")
            try world.descriptor.setAttribute(attribute, of: name, to: [1, 2])
            let value = try file.attribute(attribute)
            #expect(value == [1, 2])
            try world.descriptor.changeMode(of: name, 0o400)
            try world.descriptor.removeFile(name)
          }
        }
      }
    }
  }
}
