import LinuxFiles
import Testing

extension LinuxFilesTests {
  @Suite("Listing a directory") struct ListingTests {
    static let count = 5_000

    /// Every name of the listing from where the directory stands, with the offset behind it.
    static func list(
      _ directory: borrowing Descriptor, into page: inout EntryBuffer
    ) throws(Errno) -> [(name: [UInt8], entry: DirectoryEntry)] {
      var found: [(name: [UInt8], entry: DirectoryEntry)] = []
      while try directory.readEntries(into: &page) > 0 {
        while let entry = try page.next() {
          let name = try page.withNameBytes(of: entry) { name throws(Errno) in
            var copy: [UInt8] = []
            for index in name.indices { copy.append(name[index]) }
            return copy
          }
          found.append((name, entry))
        }
      }
      return found
    }

    @Test("five thousand entries come once each, in pages of any size, and a seek goes on where it says")
    func thousands() throws {
      let world = try TemporaryDirectory()
      for number in 0..<Self.count {
        try FileName.with(bytes("entry number \(number)")) { name throws(Errno) in
          try world.descriptor.makeNode(name, kind: number % 2 == 0 ? .regular : .fifo, mode: 0o600)
        }
      }
      let directory = try Descriptor.directory(atPath: world.path)
      for capacity in [1, 4_096, 1 << 20] {
        try directory.seekDirectory(to: 0)
        var page = EntryBuffer(capacity: capacity)
        let found = try Self.list(directory, into: &page)
        let children = found.filter { $0.entry.role == .child }
        #expect(Set(children.map(\.name)).count == Self.count && children.count == Self.count)
        #expect(found.count { $0.entry.role == .itself } == 1)
        #expect(found.count { $0.entry.role == .parent } == 1)
        #expect(children.count { $0.entry.kind == .fifo } == Self.count / 2)
        for place in [0, 1, 17, Self.count / 2, found.count - 1] {
          try directory.seekDirectory(to: found[place].entry.nextOffset)
          let rest = try Self.list(directory, into: &page)
          #expect(rest.map(\.name) == found[(place + 1)...].map(\.name))
        }
      }
    }

    @Test("names come as they are, and a reader may go back")
    func names() throws {
      let world = try TemporaryDirectory()
      let stored: Set<[UInt8]> = [[0xFF, 0xFE], .init(repeating: 0xE9, count: 255), bytes("...")]
      for bytes in stored {
        try FileName.with(bytes) { name throws(Errno) in
          try world.descriptor.makeDirectory(name, mode: 0o700)
        }
      }
      var page = EntryBuffer()
      let size = try world.descriptor.readEntries(into: &page)
      #expect(size > 0)
      var found: Set<[UInt8]> = []
      while let entry = try page.next() {
        page.goBack(to: entry)
        let again = try page.next()
        #expect(again?.inode == entry.inode && again?.nextOffset == entry.nextOffset)
        if entry.role == .child {
          try page.withName(of: entry) { name throws(Errno) in
            found.insert(name.copy())
            let status = try world.descriptor.status(of: name)
            #expect(status.inode == entry.inode && entry.kind == .directory && entry.nameCount == name.count)
          }
        } else {
          expectFailure(.invalid) { () throws(Errno) in try page.withName(of: entry) { _ throws(Errno) in } }
        }
      }
      let isExhausted = page.isExhausted
      #expect(found == stored && isExhausted)
      let end = try world.descriptor.readEntries(into: &page)
      let nothing = try page.next()
      #expect(end == 0 && nothing == nil)
    }

    @Test("an entry of an earlier page is an error or a name, never a wild read")
    func staleEntries() throws {
      let world = try TemporaryDirectory()
      for number in 0..<50 {
        try FileName.with(bytes("some entry \(number)")) { name throws(Errno) in
          try world.descriptor.makeDirectory(name, mode: 0o700)
        }
      }
      var page = EntryBuffer()
      var stale: [DirectoryEntry] = []
      try world.descriptor.readEntries(into: &page)
      while let entry = try page.next() { stale.append(entry) }
      let empty = try Descriptor.directory(atPath: world.path + "/some entry 0")
      try empty.readEntries(into: &page)
      for entry in stale.suffix(40) {
        expectFailure(.inputOutput) { () throws(Errno) in
          try page.withName(of: entry) { _ throws(Errno) in }
        }
        page.goBack(to: entry)
      }
      let first = try page.next()
      #expect(first != nil)
    }

    @Test("what is not a directory cannot be listed")
    func refusals() throws {
      let world = try TemporaryDirectory()
      let file = try world.descriptor.createFile(try FileName("file"), mode: 0o600)
      var page = EntryBuffer()
      do throws(Errno) {
        try file.readEntries(into: &page)
        Issue.record("a file was listed")
      } catch {
        #expect(error == .notDirectory)
      }
    }
  }
}
