// Conversations about open files, directories and attributes, against a volume on a directory.

import CFUSE
import Glibc
import LayeredVolume
import LinuxFiles
import Testing

@testable import FUSEDoor

@Suite("Conversations about files") struct FileConversations {
  func write(_ talk: Conversation, _ handle: HandleID, at offset: UInt64, _ data: [UInt8]) throws -> Answer {
    var input = fuse_write_in()
    input.fh = handle
    input.offset = offset
    input.size = UInt32(data.count)
    return try talk.kernel.ask(.write, 1, bytes(of: input) + data)
  }

  func read(_ talk: Conversation, _ handle: HandleID, at offset: UInt64, _ size: UInt32) throws -> [UInt8] {
    try talk.kernel.get(.read, 1, bytes(of: fuse_read_in.listing(handle, offset, size))).body
  }

  @Test("What is written is read") func content() throws {
    let talk = try Conversation()
    let (node, handle) = try talk.create("f")
    #expect(try write(talk, handle, at: 3, Array("bytes".utf8)).read(fuse_write_out.self).size == 5)
    #expect(try read(talk, handle, at: 0, 100) == [0, 0, 0] + Array("bytes".utf8))
    #expect(try read(talk, handle, at: 4, 2) == Array("yt".utf8))
    #expect(try read(talk, handle, at: 8, 100) == [])
    #expect(try read(talk, handle, at: 1 << 40, 100) == [])
    #expect(
      try talk.kernel.get(
        .flush, node, bytes(of: fuse_flush_in(fh: handle, unused: 0, padding: 0, lock_owner: 0))
      ).body == [])
    #expect(
      try talk.kernel.get(.fsync, node, bytes(of: fuse_fsync_in(fh: handle, fsync_flags: 1, padding: 0))).body
        == [])
    try talk.release(handle)
    #expect(try talk.kernel.ask(.read, node, bytes(of: fuse_read_in.listing(handle, 0, 1))).error == EBADF)
    #expect(talk.volume.handleCount == 0)
  }

  @Test("A read longer than the buffer is as long as the buffer") func longRead() throws {
    let talk = try Conversation()
    let (_, handle) = try talk.create("f")
    let data = [UInt8](repeating: 7, count: 100_000)
    #expect(try write(talk, handle, at: 0, data).read(fuse_write_out.self).size == 100_000)
    #expect(try write(talk, handle, at: 100_000, data).error == 0)
    #expect(try read(talk, handle, at: 0, .max).count == 1 << 17)
  }

  @Test("Opening says what may be kept, and asks for no FLUSH") func opening() throws {
    let talk = try Conversation()
    let (node, first) = try talk.create("f")
    try talk.release(first)
    let opened = try talk.kernel.get(
      .open, node, bytes(of: fuse_open_in(flags: UInt32(O_RDONLY), open_flags: 0)))
    let out = try opened.read(fuse_open_out.self)
    #expect(opened.body.count == 16)
    #expect(out.open_flags & UInt32(FOPEN_NOFLUSH) != 0)
    try talk.release(out.fh)
  }

  @Test("Attributes by node, by handle, and with the time of birth") func attributes() throws {
    let talk = try Conversation()
    let (node, handle) = try talk.create("f")
    _ = try write(talk, handle, at: 0, [1, 2, 3])
    let plain = try talk.kernel.get(.getattr, node, bytes(of: fuse_getattr_in())).read(fuse_attr_out.self)
    let byHandle = try talk.kernel.get(
      .getattr, node, bytes(of: fuse_getattr_in(getattr_flags: 1, dummy: 0, fh: handle)))
    #expect(plain.attr.size == 3)
    #expect(try byHandle.read(fuse_attr_out.self).attr.size == 3)
    var input = lv_fuse_statx_in()
    input.sx_mask = LV_STATX_BASIC_STATS | LV_STATX_BTIME
    let extended = try talk.kernel.get(.statx, node, bytes(of: input))
    #expect(extended.body.count == 288)
    let status = try extended.read(lv_fuse_statx_out.self).stat
    #expect(status.size == 3 && UInt32(status.mode) == plain.attr.mode && status.ino == plain.attr.ino)
  }

  @Test("STATX switched off says so for good") func noStatx() throws {
    let talk = try Conversation { $0.disabledFeatures = ["statx"] }
    #expect(try talk.kernel.ask(.statx, 1, bytes(of: lv_fuse_statx_in())).error == ENOSYS)
  }

  @Test("SETATTR changes what it names") func changes() throws {
    let talk = try Conversation()
    let (node, handle) = try talk.create("f")
    var input = fuse_setattr_in()
    // As truncate(2) says it.
    input.valid = UInt32(FATTR_SIZE | FATTR_MTIME | FATTR_MTIME_NOW)
    input.size = 10
    input.mtime = 1_000_000_000
    let cut = try talk.kernel.get(.setattr, node, bytes(of: input)).read(fuse_attr_out.self)
    #expect(cut.attr.size == 10 && cut.attr.mtime > 1_000_000_000)
    input.valid = UInt32(FATTR_MODE | FATTR_MTIME)
    input.mode = 0o600
    let out = try talk.kernel.get(.setattr, node, bytes(of: input)).read(fuse_attr_out.self)
    #expect(out.attr.mode == 0o100600 && out.attr.size == 10 && out.attr.mtime == 1_000_000_000)
    try talk.release(handle)
  }

  @Test("ACCESS is always answered") func access() throws {
    let talk = try Conversation()
    for mask in UInt32(0)...7 {
      let error = try talk.kernel.ask(.access, 1, as: 4711, bytes(of: fuse_access_in(mask: mask, padding: 0)))
        .error
      #expect(error == 0 || error == EACCES)
    }
  }

  @Test("Holes are found and ranges copied") func ranges() throws {
    let talk = try Conversation()
    let (_, from) = try talk.create("from")
    let (_, to) = try talk.create("to")
    _ = try write(talk, from, at: 0, Array("0123456789".utf8))
    let seek = fuse_lseek_in(fh: from, offset: 0, whence: 4, padding: 0)
    #expect(try talk.kernel.get(.lseek, 1, bytes(of: seek)).read(UInt64.self) == 10)
    var copy = fuse_copy_file_range_in()
    copy.fh_in = from
    copy.off_in = 2
    copy.fh_out = to
    copy.len = 5
    #expect(try talk.kernel.get(.copyFileRange, 1, bytes(of: copy)).read(fuse_write_out.self).size == 5)
    copy.off_out = 5
    let long = try talk.kernel.get(.copyFileRange64, 1, bytes(of: copy))
    #expect(long.body == bytes(of: UInt64(5)))
    #expect(try read(talk, to, at: 0, 100) == Array("2345623456".utf8))
    copy.flags = 1
    #expect(try talk.kernel.ask(.copyFileRange, 1, bytes(of: copy)).error == EINVAL)
  }

  @Test("A file without a name is answered like CREATE") func unnamed() throws {
    let talk = try Conversation()
    let input = fuse_create_in(flags: UInt32(O_RDWR), mode: 0o100600, umask: 0, open_flags: 0)
    let answer = try talk.kernel.ask(.tmpfile, 1, bytes(of: input) + text("/"))
    // Not every file system under the volume can.
    guard answer.error == 0 else {
      #expect(answer.error == EOPNOTSUPP)
      return
    }
    #expect(answer.body.count == 144)
    #expect(try answer.read(fuse_entry_out.self).attr.nlink == 0)
    try talk.release(try answer.read(fuse_open_out.self, at: 128).fh)
  }

  @Test("How full the volume is") func space() throws {
    let talk = try Conversation()
    let answer = try talk.kernel.get(.statfs)
    #expect(answer.body.count == 80)
    #expect(try answer.read(fuse_statfs_out.self).st.bsize > 0)
  }
}

@Suite("Conversations about listings") struct ListingConversations {
  /// Reads a whole directory in pages of `size` bytes.
  func list(_ talk: Conversation, _ opcode: Opcode, size: UInt32) throws -> [(name: String, node: NodeID)] {
    let handle = try talk.kernel.get(.opendir, 1, bytes(of: fuse_open_in())).read(fuse_open_out.self).fh
    var names: [(name: String, node: NodeID)] = []
    var offset: UInt64 = 0
    while true {
      let page = try talk.kernel.get(opcode, 1, bytes(of: fuse_read_in.listing(handle, offset, size)))
      #expect(page.body.count <= Int(size))
      guard !page.body.isEmpty else { break }
      var at = 0
      while at < page.body.count {
        let node = opcode == .readdirplus ? try page.read(UInt64.self, at: at) : 0
        if opcode == .readdirplus { at += 128 }
        offset = try page.read(UInt64.self, at: at + 8)
        let count = Int(try page.read(UInt32.self, at: at + 16))
        try #require(count > 0 && at + 24 + count <= page.body.count)
        names.append((String(decoding: page.body[(at + 24)..<(at + 24 + count)], as: UTF8.self), node))
        at += (24 + count + 7) / 8 * 8
      }
      #expect(at == page.body.count)
    }
    try talk.release(handle, .releasedir)
    return names
  }

  @Test("Every name once, whatever the size of the page", arguments: [Opcode.readdir, .readdirplus])
  func everyName(_ opcode: Opcode) throws {
    let talk = try Conversation()
    var expected: Set<String> = [".", ".."]
    for number in 0..<150 {
      let name = String(repeating: "n", count: number % 60 + 1) + "\(number)"
      try talk.release(try talk.create(name).handle)
      expected.insert(name)
    }
    for size in [UInt32(512), 4096, 65_536] {
      let names = try list(talk, opcode, size: size).map(\.name)
      #expect(names.count == expected.count)
      #expect(Set(names) == expected)
    }
  }

  @Test("Entries of a listing are the nodes of a lookup, and count as references") func references() throws {
    let talk = try Conversation()
    let (node, handle) = try talk.create("f")
    try talk.release(handle)
    talk.forget(node)
    let before = talk.volume.nodeCount
    let listed = try list(talk, .readdirplus, size: 4096)
    #expect(listed.filter { $0.name == "." || $0.name == ".." }.allSatisfy { $0.node == 0 })
    let entry = try #require(listed.first { $0.name == "f" })
    // A directory that not everybody may search hands out no entries.
    guard entry.node != 0 else { return }
    #expect(talk.volume.nodeCount == before + 1)
    #expect(try talk.lookup("f").nodeid == entry.node)
    talk.forget(entry.node, 2)
    #expect(talk.volume.nodeCount == before)
  }
}

@Suite("Conversations about extended attributes and flags") struct AttributeConversations {
  func set(
    _ talk: Conversation, _ node: NodeID, _ name: String, _ value: [UInt8], flags: UInt32 = 0
  ) throws -> CInt {
    let input = lv_fuse_setxattr_in(size: UInt32(value.count), flags: flags)
    return try talk.kernel.ask(.setxattr, node, bytes(of: input) + text(name) + value).error
  }

  func get(_ talk: Conversation, _ node: NodeID, _ name: String, room: UInt32) throws -> Answer {
    try talk.kernel.ask(.getxattr, node, bytes(of: fuse_getxattr_in(size: room, padding: 0)) + text(name))
  }

  @Test("Set, ask the size, get, list, remove") func roundTrip() throws {
    let talk = try Conversation()
    let (node, _) = try talk.create("f")
    #expect(try set(talk, node, "user.a", [1, 2, 3]) == 0)
    #expect(try get(talk, node, "user.a", room: 0).body == hex("03000000 00000000"))
    #expect(try get(talk, node, "user.a", room: 3).body == [1, 2, 3])
    #expect(try get(talk, node, "user.a", room: 2).error == ERANGE)
    #expect(try get(talk, node, "user.b", room: 100).error == ENODATA)
    #expect(try set(talk, node, "user.a", [4], flags: 1) == EEXIST)
    #expect(try set(talk, node, "user.b", [4], flags: 2) == ENODATA)
    #expect(try set(talk, node, "user.b", [4], flags: 8) == EINVAL)

    let room = bytes(of: fuse_getxattr_in(size: 65_536, padding: 0))
    let names = try talk.kernel.get(.listxattr, node, room).body
    let listed = names.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    #expect(listed.contains("user.a"))
    let size = try talk.kernel.get(.listxattr, node, bytes(of: fuse_getxattr_in())).read(UInt32.self)
    #expect(Int(size) == names.count)

    #expect(try talk.kernel.ask(.removexattr, node, text("user.a")).error == 0)
    #expect(try talk.kernel.ask(.removexattr, node, text("user.a")).error == ENODATA)
  }

  @Test("A value beyond 64 KiB is refused before it is looked at") func tooLarge() throws {
    let talk = try Conversation()
    let input = lv_fuse_setxattr_in(size: 65_537, flags: 0)
    let request = bytes(of: input) + text("user.a") + [UInt8](repeating: 0, count: 65_537)
    #expect(try talk.kernel.ask(.setxattr, 1, request).error == E2BIG)
  }

  func control(
    _ talk: Conversation, _ node: NodeID, _ command: UInt32, _ data: [UInt8] = [], out: UInt32 = 0
  ) throws -> Answer {
    let input = fuse_ioctl_in(
      fh: 0, flags: 0, cmd: command, arg: 0, in_size: UInt32(data.count), out_size: out)
    return try talk.kernel.ask(.ioctl, node, bytes(of: input) + data)
  }

  @Test("The flags of lsattr are 4 bytes, those of the generic call 28, and both agree") func flags() throws {
    let talk = try Conversation()
    let (node, _) = try talk.create("f")
    let short = try control(talk, node, 0x8008_6601, out: 4)
    #expect(short.error == 0 && short.body.count == 16 + 4)
    let long = try control(talk, node, 0x801C_581F, out: 28)
    #expect(long.error == 0 && long.body.count == 16 + 28)
    // nodump
    let word = try short.read(UInt32.self, at: 16) | 0x40
    #expect(try control(talk, node, 0x4008_6602, bytes(of: word)).body.count == 16)
    #expect(try control(talk, node, 0x8008_6601, out: 4).read(UInt32.self, at: 16) & 0x40 != 0)
    #expect(try control(talk, node, 0x801C_581F, out: 28).read(UInt32.self, at: 16) & 0x80 != 0)
    #expect(try control(talk, node, 0x8008_7601, out: 8).body.count == 16 + 4)
  }

  @Test("Unknown ioctls are ENOTTY, never ENOSYS") func unknownControl() throws {
    let talk = try Conversation()
    for command in [UInt32(0x5401), 0, .max, 0x8008_6602] {
      #expect(try control(talk, 1, command, out: 64).error == ENOTTY)
    }
  }

  @Test("A buffer that is too small, and sizes nobody keeps, are refused") func refusedControl() throws {
    let talk = try Conversation()
    #expect(try control(talk, 1, 0x8008_6601, out: 3).error == EINVAL)
    #expect(try control(talk, 1, 0x801C_581F, out: 27).error == EINVAL)
    var wanted = lv_fsxattr()
    wanted.project = 5
    #expect(try control(talk, 1, 0x401C_5820, bytes(of: wanted)).error == EOPNOTSUPP)
    #expect(try control(talk, 1, 0x4008_6602, [1, 2]).error == EIO)
  }
}
