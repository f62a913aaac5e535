// The session log on the disk.

import Ciphers
import LinuxFiles
import SealedFormat

/// The file `.varve/sessions`.
struct SessionLogFile: Sendable {
  private static let file = BookkeepingFile(
    name: "sessions", temporary: "sessions.new", longest: SessionLog.longest)

  private let directory: VolumeDirectory

  init(_ directory: VolumeDirectory) {
    self.directory = directory
  }

  /// The log; nil if it is missing or cannot be believed.
  func read(of volume: Bytes16, with key: borrowing Key) throws(KeyFailure) -> SessionLog? {
    guard let bytes = try stored() else { return nil }
    // Bytes that are not a log count as no log.
    guard let log = try? SessionLog(decoding: bytes.span), log.volume == volume else { return nil }
    let covered = SessionLog.covered(bytes.count)
    let code = try SessionLogFile.code(of: bytes.span.extracting(covered), with: key)
    let isGenuine = SHA256.areEqual(code.span, bytes.span.extracting(droppingFirst: covered.count))
    return isGenuine ? log : nil
  }

  private static func code(of bytes: Span<UInt8>, with key: borrowing Key) throws(KeyFailure) -> Digest {
    do throws(CipherFailure) { return try key.code(of: bytes) } catch { throw .ciphers(error) }
  }

  private func stored() throws(KeyFailure) -> [UInt8]? {
    guard let files = directory.descriptor else { return nil }
    return try SessionLogFile.stored(in: files)
  }

  private static func stored(in files: SharedDescriptor) throws(KeyFailure) -> [UInt8]? {
    do throws(Errno) {
      return try SessionLogFile.file.read(in: files)
    } catch {
      // What is wrong with the machine says nothing about the log.
      guard BookkeepingFile.isAboutTheFile(error) else { throw .system(error) }
      return nil
    }
  }

  func write(_ log: SessionLog, with key: borrowing Key) throws(KeyFailure) {
    guard let files = directory.descriptor, directory.isLocked else { throw .system(.readOnly) }
    var bytes = log.encoded()
    let covered = SessionLog.covered(bytes.count)
    let code = try SessionLogFile.code(of: bytes.span.extracting(covered), with: key)
    for index in 0..<SessionLog.codeSize { bytes[covered.count + index] = code[index] }
    do throws(Errno) {
      try SessionLogFile.file.replace(with: bytes, in: files)
    } catch {
      throw .system(error)
    }
  }

  /// Refuses a log of sessions that wrote something: its keybag was lost, and there are files that only that one opens.
  ///
  /// A log in which no session ever began is what a crash leaves of making a keybag.
  func requireUnused() throws(KeyFailure) {
    if let files = directory.descriptor { try SessionLogFile.requireUnused(in: files) }
  }

  static func requireUnused(in files: SharedDescriptor) throws(KeyFailure) {
    guard let bytes = try stored(in: files) else { return }
    let log: SessionLog
    do throws(FormatDamage) {
      log = try SessionLog(decoding: bytes.span)
    } catch {
      throw .keybagLost
    }
    guard log == SessionLog(lostIn: log.volume) else { throw .keybagLost }
  }

  /// The volume under which sessions wrote something; nil where there is no log that says so.
  static func volumeInUse(in files: SharedDescriptor) throws(KeyFailure) -> Bytes16? {
    // Bytes that are not a log name no volume.
    guard let bytes = try stored(in: files), let log = try? SessionLog(decoding: bytes.span),
      log != SessionLog(lostIn: log.volume)
    else { return nil }
    return log.volume
  }

  /// Whether there is no log; making a keybag begins with one.
  static func isMissing(in files: SharedDescriptor) throws(KeyFailure) -> Bool {
    try stored(in: files) == nil
  }

  /// The log of a new keybag, so that a first unlock does not find it missing.
  func makeFirst(of volume: Bytes16, with key: borrowing Key) throws(KeyFailure) {
    try write(SessionLog(lostIn: volume), with: key)
  }
}
