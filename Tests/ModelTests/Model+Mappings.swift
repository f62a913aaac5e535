// Mappings: they outlive the handle that they were made by, and show what the file holds, whoever changes it and however.

import FlagRules
import LinuxFiles

/// A shared mapping of the beginning of a file.
struct Mapping {
  static let length = 32_768

  let thing: Thing
  let isWritable: Bool
}

extension Model {
  func answerOnMapping(_ call: Call) throws(Errno) -> Outcome {
    switch call {
    case .map(let number, let slot, let writes):
      mappings[number] = nil
      guard let file = slots[slot] else { return .skipped }
      guard file.canRead, file.canWrite || !writes else { throw .accessDenied }
      file.thing.accessed = nil
      mappings[number] = Mapping(thing: file.thing, isWritable: writes)
      return .done
    case .readMapped(let number, let offset, let count):
      guard let thing = mappings[number]?.thing else { return .skipped }
      thing.accessed = nil
      return .bytes(Array(thing.bytes[offset..<(offset + count)]))
    case .writeMapped(let number, let offset, let byte, let count, let syncs):
      guard let mapping = mappings[number], mapping.isWritable else { return .skipped }
      let thing = mapping.thing
      for place in offset..<(offset + count) { thing.bytes[place] = byte }
      (thing.accessed, thing.modified, thing.mayBeUnsynced) = (nil, nil, !syncs)
      return .number(count)
    case .unmap(let number):
      return mappings.removeValue(forKey: number) == nil ? .skipped : .done
    default:
      return .skipped
    }
  }

  /// The same call, but behind the end of a file nothing is read or written by a mapping, which would be SIGBUS.
  func fitted(_ operation: Operation) -> Operation {
    func part(_ number: Int, _ offset: Int, _ count: Int) -> (offset: Int, count: Int) {
      let end = min(mappings[number]?.thing.bytes.count ?? 0, Mapping.length)
      return (min(offset, end), min(count, end - min(offset, end)))
    }
    switch operation.call {
    case .readMapped(let number, let offset, let count):
      let part = part(number, offset, count)
      return Operation(
        user: operation.user, call: .readMapped(number, offset: part.offset, count: part.count))
    case .writeMapped(let number, let offset, let byte, let count, let syncs):
      let part = part(number, offset, count)
      return Operation(
        user: operation.user,
        call: .writeMapped(number, offset: part.offset, byte: byte, count: part.count, syncs: syncs))
    default:
      return operation
    }
  }

  /// Whether nobody specifies what a mapping does.
  func leavesOpenOfMapping(_ call: Call) -> Bool {
    switch call {
    case .map(_, let slot, _):
      // SEMANTICS 2.3: ENODEV, but for handles from before the flag; and who opened it while it had that may still have it open.
      guard let thing = slots[slot]?.thing else { return false }
      return thing.wasOpenedToGrow || thing.flags.isAppendOnly
    case .writeMapped(let number, _, _, _, _):
      // The same of the flag; and the kernel tells of no single write, so whether one takes bits away depends on the way.
      guard let thing = mappings[number]?.thing else { return false }
      return thing.flags.isAppendOnly || thing.mode & 0o6000 != 0 || thing.mayShowRefused
    case .setFlags(let path, _), .setFlagsText(let path, _):
      // What was written before may meet the flag.
      return peekBehindLink(path)?.mayBeUnsynced ?? false
    default:
      return false
    }
  }
}
