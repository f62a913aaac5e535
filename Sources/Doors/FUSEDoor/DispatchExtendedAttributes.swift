// Requests about extended attributes.

import CFUSE
import LayeredVolume
import LinuxFiles

/// `XATTR_SIZE_MAX` and `XATTR_LIST_MAX`: what the kernel lets through to callers.
private let largest = 65_536

extension Door {
  func extendedAttribute(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) {
    let (node, caller) = (request.node, request.caller)
    let input = try request.read(fuse_getxattr_in.self)
    let value = try request.withAttributeName { (name) throws(Errno) in
      try volume.extendedAttribute(name, of: node, for: caller)
    }
    try answer(value, room: Int(input.size), &buffer)
  }

  func listExtendedAttributes(_ request: borrowing Request, _ buffer: inout ReplyBuffer) throws(Errno) {
    let input = try request.read(fuse_getxattr_in.self)
    let names = try volume.listExtendedAttributes(of: request.node, for: request.caller)
    try answer(names, room: Int(input.size), &buffer)
  }

  /// Answers with the bytes, or with their number when the caller only asks how much room they need.
  private func answer(_ bytes: [UInt8], room: Int, _ buffer: inout ReplyBuffer) throws(Errno) {
    guard bytes.count <= largest else { throw .tooBig }
    if room == 0 {
      try buffer.appendNeeded(bytes.count)
    } else {
      guard bytes.count <= room else { throw .range }
      try buffer.append(bytes.span)
    }
  }

  func setExtendedAttribute(_ request: borrowing Request) throws(Errno) {
    let (node, caller) = (request.node, request.caller)
    let input = try request.read(lv_fuse_setxattr_in.self)
    guard input.size <= largest else { throw .tooBig }
    guard let setting = AttributeSetting(flags: CInt(truncatingIfNeeded: input.flags)) else { throw .invalid }
    try request.withAttribute(valueCount: input.size) { (name, value) throws(Errno) in
      try volume.setExtendedAttribute(name, of: node, to: value, setting, for: caller)
    }
  }

  func removeExtendedAttribute(_ request: borrowing Request) throws(Errno) {
    let (node, caller) = (request.node, request.caller)
    try request.withAttributeName { (name) throws(Errno) in
      try volume.removeExtendedAttribute(name, of: node, for: caller)
    }
  }
}
