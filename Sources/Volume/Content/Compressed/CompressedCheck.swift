// Compressed files looked at without a mount, for `varve check`.

package import LinuxFiles

/// What is wrong with a compressed file.
package enum CompressedDamage: Equatable, Sendable {
  /// Nothing of it can be read.
  case table(String)
  /// So many bytes cannot be read, from here on the first of them.
  case content(first: UInt64, count: UInt64)
}

/// Looks at compressed files.
package struct CompressedCheck: Sendable {
  private let cache = FrameCache()

  package init() {}

  /// `readsContent`: whether each frame is expanded; until `isInterrupted` says so.
  package func damage(
    of file: borrowing Descriptor, logicalSize: UInt64, readsContent: Bool, isInterrupted: () -> Bool
  ) throws(Errno) -> CompressedDamage? {
    let status = try file.status()
    // It was cut, and its record not yet written.
    guard status.size > 0 else { return nil }
    let frames: FrameFile
    switch try FrameFile.table(of: file, storedSize: status.size, logicalSize: logicalSize) {
    case .failure(let damage): return .table("\(damage)")
    case .success(let table): frames = FrameFile(table, cache)
    }
    guard readsContent else { return nil }
    var buffer = [UInt8](repeating: 0, count: FrameFile.longestFrame)
    var (first, count): (UInt64?, UInt64) = (nil, 0)
    for index in 0..<frames.frameCount where !isInterrupted() {
      guard let range = frames.range(ofFrame: index) else { continue }
      var space = buffer.mutableSpan
      var part = space._mutatingExtracting(0..<Int(range.upperBound - range.lowerBound))
      do throws(Errno) {
        _ = try frames.read(file, at: range.lowerBound, into: &part)
      } catch {
        guard error == .inputOutput else { throw error }
        first = first ?? range.lowerBound
        count += range.upperBound - range.lowerBound
      }
    }
    return first.map { .content(first: $0, count: count) }
  }
}
