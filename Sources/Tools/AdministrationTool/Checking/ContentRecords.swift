// What `varve fsck` reads and writes of the records of items.

import Arguments
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import RecordFormat
import SealedFormat

/// The records of items, as far as they tell of encryption.
struct ContentRecords {
  private let inspection: VolumeInspection
  private let name: Word

  init(_ inspection: VolumeInspection) {
    self.inspection = inspection
    name = Array("\(inspection.recordPrefix).m".utf8)
  }

  /// Nil if the item has none.
  func record(of item: VisitedItem) throws(Refusal) -> CoreRecord? { try record(item.held) }

  private func record(_ held: SharedDescriptor) throws(Refusal) -> CoreRecord? {
    let bytes = try attempt(
      AttributeName.with(name) { (name) throws(Errno) in try held.descriptor.attribute(name) })
    guard let bytes else { return nil }
    do { return try CoreRecord(decoding: bytes.span) } catch {
      throw Refusal("its record is damaged; 'varve check' tells more")
    }
  }

  func mark(_ item: VisitedItem, _ protection: StaticSector.ProtectionClass) throws(Refusal) {
    try write(protection, item.held) { $0.isEncrypted = true }
  }

  /// The same of a file that is still empty.
  func markEmpty(_ file: Word, _ protection: StaticSector.ProtectionClass) throws(Refusal) {
    let held = try hold(file)
    guard try attempt(held.descriptor.status()).size == 0 else { return }
    try write(protection, held) { $0.isEncrypted = true }
  }

  func needsClass(_ directory: Word) throws(Refusal) -> Bool {
    try record(hold(directory)).map { $0.protectionClass == .none } ?? true
  }

  /// Nil for none.
  func protectionClass(of directory: Word) throws(Refusal) -> StaticSector.ProtectionClass? {
    try record(hold(directory)).flatMap {
      StaticSector.ProtectionClass(rawValue: $0.protectionClass.rawValue)
    }
  }

  func hasNone(_ directory: Word) throws(Refusal) -> Bool { try record(hold(directory)) == nil }

  func giveClass(_ directory: Word, _ protection: StaticSector.ProtectionClass) throws(Refusal) {
    try write(protection, hold(directory)) { _ in }
  }

  private func hold(_ directory: Word) throws(Refusal) -> SharedDescriptor {
    SharedDescriptor(try attempt(Descriptor.item(atPath: directory, .held)))
  }

  private func write(
    _ protection: StaticSector.ProtectionClass, _ held: SharedDescriptor,
    _ change: (inout CoreRecord) -> Void
  ) throws(Refusal) {
    // While the volume file says that there are no records, this one would not count.
    if case .sound(recordsExist: true) = inspection.header {
    } else {
      try attempt(inspection.letRecordsCount())
    }
    var record = try record(held) ?? CoreRecord()
    record.protectionClass = CoreRecord.ProtectionClass(rawValue: protection.rawValue) ?? .none
    change(&record)
    let bytes = record.encoded()
    try attempt(inspection.requireLock())
    try attempt(
      AttributeName.with(name) { (name) throws(Errno) in
        try held.descriptor.setAttribute(name, to: bytes.span)
      })
  }
}
