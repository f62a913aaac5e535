// Which processors the kernel reckons with.

/// The processors of this machine, by the kernel's lists of them.
package struct Processors: Equatable, Sendable {
  /// Those that may ever be there: the kernel numbers its queues by them.
  package let possible: [Int]
  /// Those that run now.
  package let online: Set<Int>

  package init(possible: [Int], online: Set<Int>) {
    self.possible = possible
    self.online = online
  }

  /// What /sys says; nil where it is not mounted.
  package static var ofThisMachine: Processors? {
    guard let possible = list("possible"), let online = list("online") else { return nil }
    return Processors(possible: possible, online: Set(online))
  }

  private static func list(_ name: String) -> [Int]? {
    do throws(Errno) {
      let file = try Descriptor.open(path: "/sys/devices/system/cpu/\(name)", .readOnly)
      return Processors.parse(try file.read(upTo: 4096))
    } catch {
      return nil
    }
  }

  /// Reads a list such as `0-3,8`; nil when it is none.
  package static func parse(_ text: [UInt8]) -> [Int]? {
    var numbers: [Int] = []
    for part in text.prefix(while: { $0 != 0x0A }).split(separator: UInt8(ascii: ",")) {
      let ends = part.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        .map { Int(String(decoding: $0, as: UTF8.self)) }
      guard ends.count <= 2, let first = ends.first ?? nil, let last = ends.last ?? nil, 0 <= first,
        first <= last, last < 65_536
      else { return nil }
      numbers += first...last
    }
    return numbers.isEmpty ? nil : numbers
  }
}
