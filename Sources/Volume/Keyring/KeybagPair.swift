// The keybag on the disk, twice. Each is replaced as a whole, the first one first, so a crash leaves one that is sound.
//
// A hand, or a backup, can leave two sound ones that differ. Of one volume the newer counts: the older may have slots that
// were removed. Of two volumes the one counts that the log of sessions names, or that is the only sound one; if nothing
// tells, nothing is opened. Nor is it if the only one there is contradicts the log; two that agree are believed rather
// than a log, which may be damaged. A keybag of another volume is never written over, but put aside.

import Ciphers
import JSONForm
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

    /// What has the form of a keybag; why something has not is told at the next unlock.
    fileprivate var keybag: Keybag? {
      guard case .bytes(let bytes) = self else { return nil }
      return try? Keybag(decoding: bytes.span)
    }
  }

  /// One of the two files.
  enum Place {
    case first
    case copy

    var other: Place { self == .first ? .copy : .first }

    fileprivate var file: BookkeepingFile { self == .first ? KeybagPair.first : KeybagPair.copy }
  }

  let first: Found
  let copy: Found
  /// The volume whose files were written here, by the log of sessions; nil where no log says so, or it stands alone.
  let own: Bytes16?

  init(in directory: SharedDescriptor) throws(KeyFailure) {
    first = try KeybagPair.read(KeybagPair.first, in: directory)
    copy = try KeybagPair.read(KeybagPair.copy, in: directory)
    let named = try SessionLogFile.volumeInUse(in: directory)
    let (one, other) = (first.keybag?.volume, copy.keybag?.volume)
    own = one != nil && one == other && one != named ? nil : named
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

  private func found(at place: Place) -> Found { place == .first ? first : copy }

  var isMissing: Bool { first.isMissing && copy.isMissing }

  /// Whether both are there, and alike.
  var areAlike: Bool {
    guard case .bytes(let one) = first, case .bytes(let other) = copy else { return false }
    return one == other
  }

  private func keybag(at place: Place) -> Keybag? { found(at: place).keybag }

  private func isForeign(_ place: Place) -> Bool {
    guard let own, let keybag = keybag(at: place) else { return false }
    return keybag.volume != own
  }

  /// Which is believed rather.
  private var order: [Place] {
    guard let one = keybag(at: .first), let other = keybag(at: .copy), one.volume == other.volume,
      other.generation > one.generation
    else { return [.first, .copy] }
    return [.copy, .first]
  }

  /// Whether they are of two volumes, and nothing but a keyfile can tell which one counts.
  private var isContested: Bool {
    guard own == nil, let one = keybag(at: .first), let other = keybag(at: .copy) else { return false }
    return one.volume != other.volume
  }

  /// The keybag as far as it can be known without a keyfile.
  var likely: Keybag? {
    guard let place = likelyPlace else { return nil }
    return keybag(at: place)
  }

  /// The newest one of a volume, as far as it can be known without a keyfile.
  func newest(of volume: Bytes16) -> Keybag? {
    [Place.first, .copy].compactMap { keybag(at: $0) }.filter { $0.volume == volume }
      .max { $0.generation < $1.generation }
  }

  private var likelyPlace: Place? { order.first { keybag(at: $0) != nil && !isForeign($0) } }

  /// The likely one, with its bytes, for whoever must not be told of a wrong one; nil if both are missing.
  func readable() throws(KeyFailure) -> (keybag: Keybag, bytes: [UInt8])? {
    if isContested { throw .keybagsDiffer }
    if let place = likelyPlace, let keybag = keybag(at: place), case .bytes(let bytes) = found(at: place) {
      return (keybag, bytes)
    }
    if isMissing { return nil }
    throw isForeign(.first) || isForeign(.copy) ? .keybagOfAnother : .damaged(.format(.magic))
  }

  /// Whether a keybag of this volume may be used here.
  func canBe(of volume: Bytes16) -> Bool {
    if let own { return own == volume }
    let present = [Place.first, .copy].compactMap { keybag(at: $0)?.volume }
    return present.isEmpty || present.contains(volume)
  }

  /// Replaces both.
  func write(_ bytes: [UInt8], of volume: Bytes16, in directory: SharedDescriptor) throws(KeyFailure) {
    for place in [Place.first, .copy] { try replace(place, with: bytes, of: volume, in: directory) }
  }

  private func replace(
    _ place: Place, with bytes: [UInt8], of volume: Bytes16, in directory: SharedDescriptor
  ) throws(KeyFailure) {
    if let keybag = keybag(at: place), keybag.volume != volume { try putAside(place, in: directory) }
    try calling { () throws(Errno) in try place.file.replace(with: bytes, in: directory) }
  }

  /// Keeps a keybag of another volume under a name that only these bytes get.
  private func putAside(_ place: Place, in directory: SharedDescriptor) throws(KeyFailure) {
    guard case .bytes(let bytes) = found(at: place) else { return }
    let digest = try ciphering { () throws(CipherFailure) in try SHA256.hash(bytes.span) }
    let tail = JSON.hexadecimal((0..<4).map { digest[$0] })
    try calling { () throws(Errno) in
      try place.file.putAside(as: Array("keybag.other-\(tail)".utf8), in: directory)
    }
  }

  /// Opens the one that counts, or the other if that is missing or damaged, and says which was believed.
  ///
  /// No slot for the keyfile may be damage, too: the key that the other one holds tells whether it is.
  func open(
    with secret: borrowing HandedSecret, _ aead: inout Aead, from place: inout Place
  ) throws(KeyFailure) -> OpenKeybag {
    if isContested, isSound(.first, with: secret, &aead), isSound(.copy, with: secret, &aead) {
      throw .keybagsDiffer
    }
    let failure: KeyFailure
    place = order[0]
    do throws(KeyFailure) {
      return try open(place, with: secret, &aead)
    } catch {
      switch error {
      case .noKeybag, .damaged, .keybagOfAnother, .wrongKey: failure = error
      default: throw error
      }
    }
    place = place.other
    do throws(KeyFailure) {
      let opened = try open(place, with: secret, &aead)
      // One that is sound knows who has a slot: who was removed does not come back by the other.
      if failure == .wrongKey, try isGenuine(place.other, opened) { throw .wrongKey }
      return opened
    } catch {
      throw KeybagPair.weight(of: failure) > KeybagPair.weight(of: error) ? failure : error
    }
  }

  /// Which of two refusals says more.
  private static func weight(of failure: KeyFailure) -> Int {
    switch failure {
    case .noKeybag: 0
    case .damaged(.format): 1
    case .keybagOfAnother: 2
    case .damaged(.slot): 5
    case .damaged: 3
    case .wrongKey: 4
    // What is wrong with the machine says nothing about either.
    default: 6
    }
  }

  private func isGenuine(_ place: Place, _ opened: borrowing OpenKeybag) throws(KeyFailure) -> Bool {
    guard case .bytes(let bytes) = found(at: place) else { return false }
    return try opened.isGenuine(bytes)
  }

  /// Whether it opens, or would with another keyfile.
  private func isSound(_ place: Place, with secret: borrowing HandedSecret, _ aead: inout Aead) -> Bool {
    do throws(KeyFailure) {
      _ = try open(place, with: secret, &aead)
      return true
    } catch {
      if case .damaged = error { return false }
      return true
    }
  }

  /// Whether neither file opens with any keyfile: each is missing, of another volume, or damaged as a whole and not in a slot.
  func isBeyondUse(with secret: borrowing HandedSecret, _ aead: inout Aead) -> Bool {
    isBeyondUse(.first, with: secret, &aead) && isBeyondUse(.copy, with: secret, &aead)
  }

  private func isBeyondUse(
    _ place: Place, with secret: borrowing HandedSecret, _ aead: inout Aead
  ) -> Bool {
    do throws(KeyFailure) {
      _ = try open(place, with: secret, &aead)
      return false
    } catch {
      switch error {
      // A disk may read it another time, a later version may know it, and other slots may open.
      case .damaged(.unreadable), .damaged(.format(.unknown)), .damaged(.slot): return false
      case .noKeybag, .damaged, .keybagOfAnother: return true
      default: return false
      }
    }
  }

  private func open(
    _ place: Place, with secret: borrowing HandedSecret, _ aead: inout Aead
  ) throws(KeyFailure) -> OpenKeybag {
    guard !isForeign(place) else { throw .keybagOfAnother }
    switch found(at: place) {
    case .missing: throw .noKeybag
    case .unreadable(let error): throw .damaged(.unreadable(error))
    case .bytes(let bytes): return try OpenKeybag.open(bytes, with: secret, &aead)
    }
  }

  /// Makes the other file like the one that opened; answers whether there was a need.
  ///
  /// Left alone: what a version made that knows more, and one that is sound and newer, but has a slot that is not.
  func heal(
    from place: Place, _ opened: borrowing OpenKeybag, in directory: SharedDescriptor
  ) throws(KeyFailure) -> Bool {
    guard case .bytes(let bytes) = found(at: place) else { return false }
    if case .bytes(let present) = found(at: place.other) {
      if present == bytes { return false }
      if try isKept(present, opened) { return false }
    }
    try replace(place.other, with: bytes, of: opened.keybag.volume, in: directory)
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
