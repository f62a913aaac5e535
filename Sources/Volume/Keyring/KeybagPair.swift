// The keybag on the disk, twice. Each is replaced as a whole, the first one first, so a crash leaves one that is sound.

import Ciphers
import LinuxFiles
import SealedFormat

/// The two files of a keybag, as they were read.
struct KeybagPair {
  private static let first = BookkeepingFile(
    name: "keybag", temporary: "keybag.new", longest: Keybag.longest)
  private static let copy = BookkeepingFile(
    name: "keybag.copy", temporary: "keybag.copy.new", longest: Keybag.longest)

  enum Found {
    case missing
    case bytes([UInt8])
    case unreadable(Errno)

    var isMissing: Bool { if case .missing = self { true } else { false } }
  }

  let first: Found
  let copy: Found

  init(in directory: SharedDescriptor) throws(KeyFailure) {
    first = try KeybagPair.read(KeybagPair.first, in: directory)
    copy = try KeybagPair.read(KeybagPair.copy, in: directory)
  }

  /// What is wrong with the machine is no reason to believe the other file; what is wrong with this one is.
  private static func read(
    _ file: BookkeepingFile, in directory: SharedDescriptor
  ) throws(KeyFailure) -> Found {
    do throws(Errno) {
      return try file.read(in: directory).map { .bytes($0) } ?? .missing
    } catch {
      guard BookkeepingFile.isAboutTheFile(error) else { throw .system(error) }
      return .unreadable(error)
    }
  }

  var isMissing: Bool { first.isMissing && copy.isMissing }

  /// What can be known without a keyfile: the first that has the form of a keybag.
  var readable: Keybag? { firstReadable?.keybag }

  /// The bytes of the same.
  var readableBytes: [UInt8]? { firstReadable?.bytes }

  private var firstReadable: (keybag: Keybag, bytes: [UInt8])? {
    for found in [first, copy] {
      // Why it has not is told at the next unlock.
      if case .bytes(let bytes) = found, let keybag = try? Keybag(decoding: bytes.span) {
        return (keybag, bytes)
      }
    }
    return nil
  }

  static func write(_ bytes: [UInt8], in directory: SharedDescriptor) throws(Errno) {
    try first.replace(with: bytes, in: directory)
    try copy.replace(with: bytes, in: directory)
  }

  /// Opens the first, or the copy if the first is missing or damaged, and says which bytes were believed.
  func open(
    with secret: borrowing HandedSecret, _ aead: inout Aead, from source: inout Source
  ) throws(KeyFailure) -> OpenKeybag {
    let failure: KeyFailure
    source = .first
    do throws(KeyFailure) {
      return try KeybagPair.open(first, with: secret, &aead)
    } catch {
      switch error {
      case .noKeybag, .damaged: failure = error
      default: throw error
      }
    }
    source = .copy
    do throws(KeyFailure) {
      return try KeybagPair.open(copy, with: secret, &aead)
    } catch {
      // Which of the two refusals says more.
      switch (failure, error) {
      case (.damaged, .noKeybag), (.damaged(.slot), .wrongKey): throw failure
      default: throw error
      }
    }
  }

  /// Whether neither file opens with any keyfile: each is missing, or damaged as a whole and not in a slot.
  func isBeyondUse(with secret: borrowing HandedSecret, _ aead: inout Aead) -> Bool {
    KeybagPair.isBeyondUse(first, with: secret, &aead) && KeybagPair.isBeyondUse(copy, with: secret, &aead)
  }

  private static func isBeyondUse(
    _ found: Found, with secret: borrowing HandedSecret, _ aead: inout Aead
  ) -> Bool {
    do throws(KeyFailure) {
      _ = try open(found, with: secret, &aead)
      return false
    } catch {
      switch error {
      // A disk may read it another time, a later version may know it, and other slots may open.
      case .damaged(.unreadable), .damaged(.format(.unknown)), .damaged(.slot): return false
      case .noKeybag, .damaged: return true
      default: return false
      }
    }
  }

  enum Source {
    case first
    case copy
  }

  private static func open(
    _ found: Found, with secret: borrowing HandedSecret, _ aead: inout Aead
  ) throws(KeyFailure) -> OpenKeybag {
    switch found {
    case .missing: throw .noKeybag
    case .unreadable(let error): throw .damaged(.unreadable(error))
    case .bytes(let bytes): return try OpenKeybag.open(bytes, with: secret, &aead)
    }
  }

  /// Makes the other file like the one that opened; answers whether there was a need.
  ///
  /// Left alone: what a version made that knows more, and a copy that is sound and newer than the first.
  func heal(
    from source: Source, _ opened: borrowing OpenKeybag, in directory: SharedDescriptor
  ) throws(KeyFailure) -> Bool {
    let (good, other) = source == .first ? (first, copy) : (copy, first)
    guard case .bytes(let bytes) = good else { return false }
    if case .bytes(let present) = other {
      if present == bytes { return false }
      if try isKept(present, opened) { return false }
    }
    let file = source == .first ? KeybagPair.copy : KeybagPair.first
    try calling { () throws(Errno) in try file.replace(with: bytes, in: directory) }
    return true
  }

  private func isKept(_ present: [UInt8], _ opened: borrowing OpenKeybag) throws(KeyFailure) -> Bool {
    let keybag: Keybag
    do throws(FormatDamage) {
      keybag = try Keybag(decoding: present.span)
    } catch {
      if case .unknown = error { return true }
      return false
    }
    guard keybag.generation > opened.keybag.generation else { return false }
    return try opened.isGenuine(present)
  }
}
