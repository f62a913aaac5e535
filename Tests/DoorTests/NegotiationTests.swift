// INIT: what is taken of what is offered, and how the reply changes on its way.

import Arguments
import CFUSE
import Glibc
import LinuxFiles
import Testing

@testable import FUSEDoor

@Suite("INIT") struct NegotiationTests {
  /// Linux 6.18 as seen: everything up to bit 42, less what it never offers.
  static let modern = Offer(major: 7, minor: 45, flags: 0x000_02FF_F3FF_FFFB)

  @Test("Of a modern kernel exactly the wanted features are taken") func modernKernel() {
    let agreement = Agreement(to: Self.modern, disabled: [], pageSize: 4096, stackDepth: 1)
    let wanted: UInt64 =
      1 << 0 | 1 << 3 | 1 << 5 | 1 << 11 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 18 | 1 << 22 | 1 << 28
      | 1 << 30 | 1 << 37
    #expect(agreement.flags == wanted)
    #expect(agreement.maxWrite == 1 << 20)
    #expect(agreement.maxPages == 256)
  }

  @Test("Each feature can be switched off by a mount option, and nothing else") func words() {
    #expect(
      MountOptionTable.kernelFeatures
        == Set(Feature.allCases.map(\.rawValue)).union([
          "epoch", "statx", "tmpfile", "noreplace", "exchange", "unlinked", "capability", "birthtime",
          "trusted", "local",
        ]))
  }

  @Test("Pages are kept until told where there are encrypted files and nothing else has pages") func pages() {
    func flags(_ offer: Offer, _ disabled: Set<String> = [], stackDepth: UInt32 = 1, encrypts: Bool) -> UInt64
    {
      Agreement(to: offer, disabled: disabled, pageSize: 4096, stackDepth: stackDepth, encrypts: encrypts)
        .flags
    }
    let (auto, told): (UInt64, UInt64) = (1 << 12, 1 << 25)
    let plain = flags(Self.modern, encrypts: false)
    #expect(flags(Self.modern, encrypts: true) == plain & ~auto | told)
    for feature in [Feature.explicitInvalidation, .passthrough] {
      let without = Offer(major: 7, minor: 45, flags: Self.modern.flags & ~feature.bit)
      #expect(flags(without, encrypts: true) == flags(without, encrypts: false))
      let disabled: Set = [feature.rawValue]
      #expect(flags(Self.modern, disabled, encrypts: true) == flags(Self.modern, disabled, encrypts: false))
    }
    #expect(flags(Self.modern, stackDepth: 0, encrypts: true) & (auto | told) == auto)
  }

  @Test("Nothing is taken that is not offered or that is switched off") func subset() {
    for feature in Feature.allCases where feature != .explicitInvalidation {
      let without = Offer(major: 7, minor: 45, flags: Self.modern.flags & ~feature.bit)
      #expect(!Agreement(to: without, disabled: [], pageSize: 4096, stackDepth: 1).includes(feature))
      let disabled = Agreement(to: Self.modern, disabled: [feature.rawValue], pageSize: 4096, stackDepth: 1)
      #expect(!disabled.includes(feature))
      #expect(
        disabled.flags | feature.bit
          == Agreement(to: Self.modern, disabled: [], pageSize: 4096, stackDepth: 1).flags)
      let reason = disabled.describe(canExpireNames: true, backingRefusal: nil).first {
        $0.name == feature.rawValue
      }?.value
      #expect(reason == "off: switched off")
    }
    #expect(
      Agreement(to: Offer(major: 7, minor: 23, flags: 0), disabled: [], pageSize: 4096, stackDepth: 1).flags
        == 0)
  }

  @Test("Without MAX_PAGES transfers are as small as such a kernel's") func smallTransfers() {
    let agreement = Agreement(to: Self.modern, disabled: ["max_pages"], pageSize: 4096, stackDepth: 1)
    #expect(agreement.maxWrite == 131_072)
    #expect(agreement.maxPages == 0)
  }

  @Test("Larger pages make fewer of them") func largePages() {
    #expect(Agreement(to: Self.modern, disabled: [], pageSize: 65_536, stackDepth: 1).maxPages == 16)
    #expect(Agreement(to: Self.modern, disabled: [], pageSize: 0, stackDepth: 1).maxPages > 0)
  }

  @Test("The second word counts only when the kernel says that it sends one") func secondWord() {
    var request = fuse_init_in()
    request.flags2 = 0xFFFF_FFFF
    #expect(Offer(request).flags == 0)
    request.flags = 1 << 30
    #expect(Offer(request).flags == 0xFFFF_FFFF_4000_0000)
  }

  /// Plays libfuse: shows a request to a handshake and gives it the reply to change.
  static func exchange(
    _ handshake: Handshake, request: [UInt8], unique: UInt64, error: Int32 = 0
  ) -> (agreement: Agreement?, reply: fuse_init_out) {
    var head = fuse_out_header(len: 80, error: error, unique: unique)
    var reply = fuse_init_out()
    reply.major = 7
    reply.minor = 31
    reply.max_readahead = 131_072
    reply.time_gran = 1
    reply.flags = 0xFFFF_FFFF
    let agreement: Agreement? = unsafe withUnsafeMutableBytes(of: &head) { head in
      unsafe withUnsafeMutableBytes(of: &reply) { body in
        unsafe request.withUnsafeBytes { unsafe handshake.sawRequest($0) }
        var pieces = unsafe [
          iovec(iov_base: head.baseAddress, iov_len: head.count),
          iovec(iov_base: body.baseAddress, iov_len: body.count),
        ]
        return unsafe pieces.withUnsafeMutableBufferPointer { unsafe handshake.changeReply($0) }
      }
    }
    return (agreement, reply)
  }

  static func initRequest(minor: UInt32 = 45, unique: UInt64 = 2, opcode: UInt32 = 26) -> [UInt8] {
    var body = fuse_init_in()
    body.major = 7
    body.minor = minor
    body.flags = UInt32(truncatingIfNeeded: modern.flags)
    body.flags2 = UInt32(truncatingIfNeeded: modern.flags >> 32)
    return requestBytes(opcode, unique: unique, node: 0, bytes(of: body))
  }

  @Test("The reply is changed where it must be and nowhere else") func changedReply() throws {
    let handshake = Handshake(disabled: [], pageSize: 4096, stackDepth: 1)
    let (agreement, reply) = Self.exchange(handshake, request: Self.initRequest(), unique: 2)
    #expect(agreement == Agreement(to: Self.modern, disabled: [], pageSize: 4096, stackDepth: 1))
    #expect(reply.flags == UInt32(truncatingIfNeeded: try #require(agreement).flags))
    #expect(reply.flags2 == 1 << 5 && reply.unused.0 == 1)
    #expect(reply.max_write == 1 << 20 && reply.max_pages == 256)
    #expect(reply.max_background == 64 && reply.congestion_threshold == 48)
    #expect(reply.minor == 31 && reply.max_readahead == 131_072 && reply.time_gran == 1)
    // Not agreed before it is delivered.
    #expect(handshake.agreement == nil)
    handshake.conclude(try #require(agreement))
    #expect(handshake.agreement == agreement)
  }

  @Test("Other replies, refusals and kernels that are too old stay as they are") func unchanged() {
    let rows: [(String, request: [UInt8], unique: UInt64, error: Int32)] = [
      ("another request's number", Self.initRequest(), 3, 0),
      ("a refusal", Self.initRequest(), 2, -71),
      ("a request that is not INIT", Self.initRequest(opcode: 3), 2, 0),
      ("a kernel before 7.23", Self.initRequest(minor: 22), 2, 0),
      ("a request without a body", requestBytes(26, unique: 2, node: 0, []), 2, 0),
      ("less than a header", [1, 2, 3], 2, 0),
    ]
    for row in rows {
      let handshake = Handshake(disabled: [], pageSize: 4096, stackDepth: 1)
      let (agreement, reply) = Self.exchange(
        handshake, request: row.request, unique: row.unique, error: row.error)
      #expect(agreement == nil, "\(row.0)")
      #expect(reply.flags == 0xFFFF_FFFF, "\(row.0)")
    }
  }

  @Test("A shorter INIT of an older kernel is read as far as it goes") func shortInit() {
    let handshake = Handshake(disabled: [], pageSize: 4096, stackDepth: 1)
    let short = Array(Self.initRequest(minor: 31).prefix(40 + 16))
    let (agreement, _) = Self.exchange(handshake, request: short, unique: 2)
    #expect(agreement?.offer.minor == 31)
    // The word behind the end is zero, though the bit says that there is one.
    #expect(agreement?.offer.flags == Self.modern.flags & 0xFFFF_FFFF)
  }
}

@Suite("Mount options") struct MountOptionTests {
  private func text(_ options: MountOptions, isPrivileged: Bool) -> String {
    String(decoding: options.words(isPrivileged: isPrivileged), as: UTF8.self)
  }

  @Test("A source is handed on byte for byte") func bytes() {
    let words = MountOptions(source: [0x2F, 0xFF, 0x2C, 0xC3]).words(isPrivileged: false)
    #expect(words == Array("fsname=/".utf8) + [0xFF, 0x5C, 0x2C, 0xC3] + Array(",subtype=varve,rw".utf8))
  }

  @Test("Everything off: only names and rw") func plain() {
    let options = MountOptions(source: Array("/srv/tree".utf8))
    #expect(text(options, isPrivileged: false) == "fsname=/srv/tree,subtype=varve,rw")
    // libfuse would add nosuid and nodev if nobody said otherwise.
    #expect(text(options, isPrivileged: true) == "fsname=/srv/tree,subtype=varve,rw,suid,dev")
  }

  @Test("Everything on") func everything() {
    var options = MountOptions(source: Array("a,b\\c".utf8))
    options.isReadOnly = true
    options.allowsOthers = true
    options.ignoresSetID = true
    options.ignoresDevices = true
    options.forbidsExecution = true
    options.keepsAccessTimes = true
    options.isSynchronous = true
    options.isSynchronousForNames = true
    #expect(
      text(options, isPrivileged: true)
        == "fsname=a\\,b\\\\c,subtype=varve,ro,allow_other,nosuid,nodev,noexec,noatime,sync,dirsync")
  }

  @Test("A mount point that is none is named, and the reason said") func mountPoints() throws {
    let scratch = try Scratch()
    let file = "\(scratch.path)/file"
    _ = try scratch.descriptor.createFile(FileName("file"), mode: 0o644)
    let rows = [
      ("\(scratch.path)/missing", "No such file or directory"), (file, "it is not a directory"),
      ("", "No such file or directory"),
    ]
    for (path, words) in rows {
      do {
        _ = try MountPoint(Array(path.utf8))
        Issue.record("'\(path)' was accepted")
      } catch {
        #expect(error.path == Array(path.utf8))
        #expect(error.sentence.hasPrefix("cannot be mounted on: "))
        #expect(error.sentence.contains(words))
      }
    }
    #expect(
      try MountPoint(Array("\(scratch.path)/../\(scratch.path.split(separator: "/").last ?? "")".utf8)).path
        == Array(scratch.path.utf8))
  }
}
