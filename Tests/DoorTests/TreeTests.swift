// Conversations about names and attributes, against a volume on a directory.

import CFUSE
import Glibc
import LayeredVolume
import LinuxFiles
import Testing

@testable import FUSEDoor

/// A volume on a scratch directory and somebody to ask it.
struct Conversation {
  let scratch: Scratch
  let volume: Volume
  let kernel: Kernel

  init(_ change: (inout VolumeOptions) -> Void = { _ in }) throws {
    scratch = try Scratch()
    volume = try scratch.volume(change)
    kernel = Kernel(volume)
    // Names may be remembered as on a kernel that can be told to forget them.
    volume.attach(
      KernelLink(
        canExpireNames: true, stripsItself: false, features: { [] }, requests: { [] }, expireNames: {},
        dropPages: { _ in }, expireAttributes: { _ in }, takesPaths: { false }, openBacking: { _ in nil },
        closeBacking: { _ in }))
  }

  /// Makes a file by CREATE and answers its node and handle, both held.
  func create(
    _ name: String, in parent: NodeID = 1, mode: UInt32 = 0o644, flags: CInt = O_RDWR | O_CREAT
  ) throws -> (
    node: NodeID, handle: HandleID
  ) {
    let input = fuse_create_in(
      flags: UInt32(flags), mode: mode | 0o100000, umask: 0o022, open_flags: 0)
    let answer = try kernel.get(.create, parent, bytes(of: input) + text(name))
    let entry = try answer.read(fuse_entry_out.self)
    let open = try answer.read(fuse_open_out.self, at: 128)
    #expect(answer.body.count == 144)
    return (entry.nodeid, open.fh)
  }

  /// Looks a name up and answers its entry, held.
  func lookup(_ name: String, in parent: NodeID = 1) throws -> fuse_entry_out {
    try kernel.get(.lookup, parent, text(name)).read(fuse_entry_out.self)
  }

  func release(_ handle: HandleID, _ opcode: Opcode = .release) throws {
    var input = fuse_release_in()
    input.fh = handle
    _ = try kernel.get(opcode, 1, bytes(of: input))
  }

  func forget(_ node: NodeID, _ references: UInt64 = 1) {
    let request = requestBytes(Opcode.forget.rawValue, node: node, bytes(of: references))
    #expect(kernel.send(request) == nil)
  }
}

@Suite("Conversations about names") struct NameConversations {
  @Test("The root has attributes") func root() throws {
    let talk = try Conversation()
    let answer = try talk.kernel.get(.getattr, 1, bytes(of: fuse_getattr_in()))
    let out = try answer.read(fuse_attr_out.self)
    #expect(out.attr.mode & 0o170000 == 0o040000)
    #expect(answer.body.count == 104)
  }

  @Test("A name that is not there: ENOENT, or an entry without a node") func missing() throws {
    let talk = try Conversation()
    let before = talk.volume.nodeCount
    let answer = try talk.kernel.ask(.lookup, 1, text("nothing"))
    if answer.error == 0 {
      #expect(try answer.read(fuse_entry_out.self).nodeid == 0)
    } else {
      #expect(answer.error == ENOENT)
    }
    #expect(talk.volume.nodeCount == before)
  }

  @Test("Directories are made, found, and removed; the node goes when it is forgotten") func directories()
    throws
  {
    let talk = try Conversation()
    let before = talk.volume.nodeCount
    let input = fuse_mkdir_in(mode: 0o40755, umask: 0o022)
    let made = try talk.kernel.get(.mkdir, 1, bytes(of: input) + text("d")).read(fuse_entry_out.self)
    #expect(made.attr.mode == 0o040755)
    #expect(made.attr.ino != 0)
    let found = try talk.lookup("d")
    #expect(found.nodeid == made.nodeid)
    #expect(talk.volume.nodeCount == before + 1)
    _ = try talk.kernel.get(.rmdir, 1, text("d"))
    #expect(try talk.kernel.ask(.rmdir, 1, text("d")).error == ENOENT)
    talk.forget(made.nodeid)
    #expect(talk.volume.nodeCount == before + 1)
    talk.forget(made.nodeid)
    #expect(talk.volume.nodeCount == before)
  }

  @Test("Many are forgotten at once, and a list that ends early counts as far as it goes") func forgetMany()
    throws
  {
    let talk = try Conversation()
    let before = talk.volume.nodeCount
    let input = fuse_mkdir_in(mode: 0o755, umask: 0)
    var nodes: [NodeID] = []
    for name in ["a", "b", "c"] {
      nodes.append(
        try talk.kernel.get(.mkdir, 1, bytes(of: input) + text(name)).read(fuse_entry_out.self).nodeid)
    }
    #expect(talk.volume.nodeCount == before + 3)
    var list = bytes(of: fuse_batch_forget_in(count: 100, dummy: 0))
    for node in nodes { list += bytes(of: fuse_forget_one(nodeid: node, nlookup: 1)) }
    #expect(talk.kernel.send(requestBytes(Opcode.batchForget.rawValue, node: 0, list)) == nil)
    #expect(talk.volume.nodeCount == before)
  }

  @Test("Links: symbolic, read back, and hard") func links() throws {
    let talk = try Conversation()
    let link = try talk.kernel.get(.symlink, 1, text("s") + text("over/there")).read(fuse_entry_out.self)
    #expect(link.attr.mode & 0o170000 == 0o120000)
    #expect(try talk.kernel.get(.readlink, link.nodeid).body == Array("over/there".utf8))

    let (file, handle) = try talk.create("f")
    try talk.release(handle)
    let second = try talk.kernel.get(.link, 1, bytes(of: file) + text("g")).read(fuse_entry_out.self)
    #expect(second.nodeid == file)
    #expect(second.attr.nlink == 2)
  }

  @Test("A node of each kind; a mode without a kind is a file, with an impossible one an error") func nodes()
    throws
  {
    let talk = try Conversation()
    func make(_ name: String, _ mode: UInt32, _ device: UInt32 = 0) throws -> Answer {
      let input = fuse_mknod_in(mode: mode, rdev: device, umask: 0, padding: 0)
      return try talk.kernel.ask(.mknod, 1, bytes(of: input) + text(name))
    }
    #expect(try make("fifo", 0o010600).read(fuse_entry_out.self).attr.mode == 0o010600)
    #expect(try make("file", 0o600).read(fuse_entry_out.self).attr.mode == 0o100600)
    #expect(try make("odd", 0o170600).error == EINVAL)
    #expect(try make("directory", 0o040700).error != 0)
    if geteuid() == 0 {
      let device = try make("null", 0o020600, 0x0010_0103)
      if device.error == 0 {
        #expect(try device.read(fuse_entry_out.self).attr.rdev == 0x0010_0103)
      }
    }
  }

  @Test("Renames: plain, onto, not onto, and one against the other") func renames() throws {
    let talk = try Conversation()
    for name in ["a", "b"] { try talk.release(try talk.create(name).handle) }
    let (a, b) = (try talk.lookup("a").nodeid, try talk.lookup("b").nodeid)
    func rename(_ from: String, _ to: String, _ flags: UInt32) throws -> CInt {
      let input = fuse_rename2_in(newdir: 1, flags: flags, padding: 0)
      return try talk.kernel.ask(.rename2, 1, bytes(of: input) + text(from) + text(to)).error
    }
    #expect(try rename("a", "b", 1) == EEXIST)
    #expect(try rename("a", "b", 4) == EINVAL)
    #expect(try rename("a", "b", 2) == 0)
    #expect(try talk.lookup("a").nodeid == b)
    #expect(try talk.kernel.ask(.rename, 1, bytes(of: UInt64(1)) + text("a") + text("b")).error == 0)
    #expect(try talk.lookup("b").nodeid == b)
    #expect(try talk.kernel.ask(.unlink, 1, text("a")).error == ENOENT)
    #expect(try talk.kernel.ask(.unlink, 1, text("b")).error == 0)
    #expect(a != b)
  }

  @Test("An answer that does not arrive takes its node and handle back") func undelivered() throws {
    let talk = try Conversation()
    let before = talk.volume.nodeCount
    let handles = talk.volume.handleCount
    let mkdir = bytes(of: fuse_mkdir_in(mode: 0o755, umask: 0))
    _ = try talk.kernel.get(.mkdir, 1, mkdir + text("d"), delivers: false)
    let create = bytes(
      of: fuse_create_in(flags: UInt32(O_RDWR | O_CREAT), mode: 0o644, umask: 0, open_flags: 0))
    _ = try talk.kernel.get(.create, 1, create + text("f"), delivers: false)
    _ = try talk.kernel.get(.symlink, 1, text("s") + text("t"), delivers: false)
    for name in ["d", "f", "s"] { _ = try talk.kernel.get(.lookup, 1, text(name), delivers: false) }
    _ = try talk.kernel.get(.opendir, 1, bytes(of: fuse_open_in()), delivers: false)
    #expect(talk.volume.nodeCount == before)
    #expect(talk.volume.handleCount == handles)

    let directory = try talk.kernel.get(.opendir, 1, bytes(of: fuse_open_in())).read(fuse_open_out.self).fh
    let input = fuse_read_in.listing(directory, 0, 4096)
    _ = try talk.kernel.get(.readdirplus, 1, bytes(of: input), delivers: false)
    #expect(talk.volume.nodeCount == before)
    // The objects are there all the same.
    for name in ["d", "f", "s"] { _ = try talk.lookup(name) }
    #expect(talk.volume.nodeCount == before + 3)
  }
}

extension fuse_read_in {
  static func listing(_ handle: HandleID, _ offset: UInt64, _ size: UInt32) -> fuse_read_in {
    fuse_read_in(fh: handle, offset: offset, size: size, read_flags: 0, lock_owner: 0, flags: 0, padding: 0)
  }
}
