// What of an object of a lower its copy in the upper gets: bytes, owner, attributes, mode, times.

import LayerRules
import LinuxFiles
import RecordFormat

/// Copies parts of objects.
enum ObjectCopy {
  private static let pieceSize: UInt64 = 16 << 20

  enum Sharing {
    case shared
    /// Not this file.
    case refused
    /// No file of these two file systems.
    case impossible
  }

  /// Lets an empty file share the blocks of another, so that nothing is left to be copied.
  static func share(
    _ source: borrowing Descriptor, with target: borrowing Descriptor
  ) throws(Errno) -> Sharing {
    do throws(Errno) {
      try source.clone(to: target)
      return .shared
    } catch {
      if [.crossDevice, .unsupported, .notTerminal].contains(error) { return .impossible }
      guard error == .invalid || error == .notPermitted else { throw error }
      return .refused
    }
  }

  /// Fills an empty file with the bytes of another, holes as holes.
  ///
  /// `isDense`: it is known to have no holes. `goOn` is asked after each piece. What is copied goes to the disk meanwhile, so that
  /// the sync at the end, which nothing interrupts, is short.
  static func bytes(
    of source: borrowing Descriptor, size length: UInt64, isDense: Bool, to target: borrowing Descriptor,
    goOn: () throws(Errno) -> Void
  ) throws(Errno) {
    var copiesInKernel = true
    var position: UInt64 = 0
    while position < length,
      let data = isDense
        ? position..<length : try SparseCopy.data(in: source, from: position, to: length)
    {
      position = data.lowerBound
      while position < data.upperBound {
        let count = min(pieceSize, data.upperBound - position)
        if copiesInKernel {
          do throws(Errno) {
            let copied = try source.copyRange(
              from: Int64(position), to: target, at: Int64(position), length: Int(count))
            // Shorter than it was: a program changes the layer.
            guard copied > 0 else { throw Errno.inputOutput }
            writeBack(position..<position + UInt64(copied), of: target)
            position += UInt64(copied)
            try goOn()
            continue
          } catch {
            guard [.crossDevice, .invalid, .unsupported, .notImplemented].contains(error) else { throw error }
            copiesInKernel = false
          }
        }
        try SparseCopy.copyByHand(position..<position + count, of: source, to: target)
        writeBack(position..<position + count, of: target)
        position += count
        try goOn()
      }
    }
    // Behind the last data there may be a hole.
    if !isDense { try target.truncate(to: length) }
  }

  /// The piece itself is begun, the one before it waited for.
  private static func writeBack(_ piece: Range<UInt64>, of target: borrowing Descriptor) {
    guard piece.count >= pieceSize else { return }
    target.writeBack(piece, waiting: false)
    guard piece.lowerBound >= pieceSize else { return }
    target.writeBack(piece.lowerBound - pieceSize..<piece.lowerBound, waiting: true)
  }

  /// The attributes of a source that its copy gets, but for its record; `security.capability` last, as every change of an
  /// owner takes it away.
  ///
  /// Lists and names of the volume come along as they are stored. POSIX lists do not: the mount has none.
  static func attributes(
    of source: SharedDescriptor, to target: borrowing Descriptor, except record: [UInt8]
  ) throws(Errno) {
    let names: [[UInt8]]
    do throws(Errno) { names = try source.descriptor.attributeNames().copies } catch .unsupported { return }
    for name in names where isCopied(name, except: record) {
      let value: [UInt8]?
      do throws(Errno) {
        value = try AttributeName.with(name) { name throws(Errno) in try source.descriptor.attribute(name) }
      } catch {
        // What a user may not read is not theirs to copy.
        guard !CurrentProcess.isRoot, error == .accessDenied || error == .notPermitted else { throw error }
        continue
      }
      guard let value else { continue }
      do throws(Errno) {
        try AttributeName.with(name) { name throws(Errno) in try target.setAttribute(name, to: value) }
      } catch {
        guard mayBeLeftOut(name, error) else { throw error }
        Log.notice(
          "'\(String(decoding: name, as: UTF8.self))' of a file that was brought up is left out: \(error)")
      }
    }
  }

  private static func isCopied(_ name: [UInt8], except record: [UInt8]) -> Bool {
    name != record && !Marks.isReserved(name.span) && !name.starts(with: "system.".utf8)
  }

  /// A label of another security module; never a capability, nor anything of a user's.
  private static func mayBeLeftOut(_ name: [UInt8], _ error: Errno) -> Bool {
    name.starts(with: "security.".utf8) && !name.elementsEqual("security.capability".utf8)
      && (error == .unsupported || error == .notPermitted || error == .accessDenied || error == .invalid)
  }
}
