// What is stored about the name of an object, in an attribute of its own that the record announces.

import LinuxFiles
import RecordFormat

extension MetadataStore {
  /// The names record of an object whose record announces one; EIO where it is missing or damaged, which is logged.
  func namesRecord(
    of status: FileStatus, _ read: (borrowing AttributeName) throws(Errno) -> [UInt8]?
  ) throws(Errno) -> NamesRecord {
    let bytes = try AttributeName.with(namesName) { name throws(Errno) in try read(name) }
    guard let bytes else {
      Log.damage("inode \(status.inode): the names record is missing")
      throw .inputOutput
    }
    do {
      return try NamesRecord(decoding: bytes.span)
    } catch {
      Log.damage("inode \(status.inode): the names record cannot be read: \(error)")
      throw .inputOutput
    }
  }

  /// Writes a names record, or takes it away if it says nothing; what the object says then.
  ///
  /// A crash between the two steps leaves a names record that nobody looks at.
  func rewrite(
    _ names: NamesRecord, over present: StoredRecord, to object: borrowing Descriptor
  ) throws(Errno) -> StoredRecord {
    var core = present.core
    core.hasNames = !names.isVoid
    if !names.isVoid {
      let bytes = names.encoded()
      try writing(to: object) { () throws(Errno) in
        try AttributeName.with(namesName) { name throws(Errno) in try object.setAttribute(name, to: bytes) }
      }
    }
    let stored = core == present.core ? present : try rewrite(core, list: .keep, over: present, to: object)
    if names.isVoid {
      try writing(to: object) { () throws(Errno) in try remove(namesName, from: object) }
    }
    return stored
  }
}
