// The layers of a volume that is not mounted, as a check needs them.

import LayerRules
package import LinuxFiles

/// Something that is wrong with what a volume keeps of its layers.
package struct LayerFinding {
  package enum Kind: String, Sendable {
    /// A whiteout that hides nothing.
    case whiteout
    /// Where the layers below have a directory.
    case redirect
    /// The mark that closes a directory.
    case opaque
    /// From which item of a lower an item was copied.
    case origin
    /// Whether a directory says that items in it were copied.
    case impure
    /// A file without its data, as overlayfs makes them.
    case hollow
    /// What the index of hard links has, or lacks.
    case index
    /// How many names an item of a lower has.
    case links
    /// The record or the list of an item of a lower.
    case record
  }

  /// An item that lies in a lower.
  package struct LowerItem {
    /// 1 is the topmost.
    package let number: Int
    package let lower: [UInt8]
    package let root: SharedDescriptor
    package let object: SharedDescriptor
  }

  package let kind: Kind
  /// From the upper directory; of an item of a lower, where the volume shows it.
  package let path: [UInt8]
  package let text: String
  /// What a repair would do, as a question; nil where this version can do nothing.
  package let remedy: String?
  package let repair: () throws(Errno) -> Void
  /// The attribute that a repair replaces.
  package var damaged: (name: String, value: [UInt8])?
  /// What a check of its lower repairs, and this one does not.
  package var lowerItem: LowerItem?

  init(
    kind: Kind, path: [UInt8], text: String, remedy: String?, repair: @escaping () throws(Errno) -> Void
  ) {
    (self.kind, self.path, self.text, self.remedy, self.repair) = (kind, path, text, remedy, repair)
  }
}

/// The layers of one volume, opened for a check.
package final class LayerInspection {
  /// Which lowers the volume is checked with.
  package enum Lowers {
    /// Those of the last mount for writing, if they are still what they were.
    case recorded
    case named([[UInt8]])
  }

  let directory: VolumeDirectory
  let stack: LayerStack
  let lowers: [LowerRoot]
  /// Why the volume is checked without its lowers, if it is.
  package let missing: String?
  /// The upper directory is another one than it was: the tree was copied or restored.
  package let isRestored: Bool
  private let root: InodeMark
  /// The lowers are not the directories that were the lowers at the last mount: they were moved or restored, or are others.
  let areOthers: Bool
  /// The tags that a mount over these lowers would write down.
  let fileSystems: FileSystemTable

  /// `root`: the upper directory, open; `inspection` is that of its bookkeeping.
  ///
  /// Nil for a volume that has no layers.
  package init?(
    _ inspection: VolumeInspection, of root: SharedDescriptor, at path: [UInt8], over wanted: Lowers
  ) throws(VolumeFailure) {
    directory = try inspection.volumeDirectory(of: root)
    let stored = directory.storedLayers
    if case .recorded = wanted, !stored.isLayered { return nil }
    let upper = try UpperRoot(path, openedAs: root)
    (lowers, missing) = try LayerInspection.lowers(wanted, of: directory)
    let mark: InodeMark
    do {
      let status = try root.descriptor.status()
      mark = InodeMark(status)
      let numbering = try LayerNumbering(upper, over: lowers, known: directory.fileSystems)
      fileSystems = numbering.announced.fileSystems
      stack = try LayerInspection.stack(upper, lowers, numbering, directory)
    } catch let failure as VolumeFailure {
      throw failure
    } catch {
      throw VolumeFailure("\(error)")
    }
    isRestored = stored.root.map { $0 != mark } ?? false
    areOthers = !lowers.isEmpty && stored.isOver(othersThan: lowers)
    self.root = mark
  }

  private static func lowers(
    _ wanted: Lowers, of directory: VolumeDirectory
  ) throws(VolumeFailure) -> ([LowerRoot], missing: String?) {
    switch wanted {
    case .named(let paths):
      var lowers: [LowerRoot] = []
      for path in paths { lowers.append(try opened(path)) }
      return (lowers, nil)
    case .recorded:
      guard let text = directory.storedLayers.lowers, let paths = StoredPath.paths(of: text) else {
        return ([], "the volume file does not say which lowers it has")
      }
      var lowers: [LowerRoot] = []
      for path in paths {
        do throws(VolumeFailure) {
          let lower = try opened(path)
          guard isRecorded(lower, directory.fileSystems) else {
            return ([], "\(StoredPath.text(of: path)) is another directory than at the last mount")
          }
          lowers.append(lower)
        } catch {
          return ([], error.problem)
        }
      }
      return (lowers, nil)
    }
  }

  private static func opened(_ path: [UInt8]) throws(VolumeFailure) -> LowerRoot {
    do throws(VolumeFailure) { return try LowerRoot(path) } catch {
      throw VolumeFailure("\(StoredPath.text(of: path)): \(error.problem)", remedy: error.remedy)
    }
  }

  /// Whether a lower is on a file system that the volume knows, and is the directory that had its path.
  private static func isRecorded(_ lower: LowerRoot, _ known: FileSystemTable) -> Bool {
    guard let status = try? lower.status() else { return false }
    if let entry = known.entries.last(where: { $0.path == lower.path }) {
      return entry.root == InodeMark(status)
    }
    return known.entries.contains { $0.identifier == lower.identifier }
  }

  private static func stack(
    _ upper: UpperRoot, _ lowers: [LowerRoot], _ numbering: LayerNumbering, _ directory: VolumeDirectory
  ) throws -> LayerStack {
    let (live, heads) = (LiveOptions(LiveSettings()), SealedHeads())
    let store = MetadataStore(
      namespace: directory.namespace, records: RecordsExist(true) { throw Errno.readOnly },
      memory: RecordMemory(live, trustsChangeTimes: false), heads: heads, numbers: numbering.numbers.first,
      logsDamage: false)
    let top = Layer(root: LayerDirectory(upper.directory), store: store, tag: nil)
    return try LayerStack(upper: top, over: lowers, numbering, live, heads)
  }

  /// Looks at everything, and tells what is wrong: `found` may repair it at once.
  ///
  /// `renewsOrigins`: that items which were brought up have other inodes than they say is taken for the work of a restore, and
  /// mended without asking; answers how many there were. `failed` is told what could not be looked at.
  package func check(
    renewsOrigins: Bool, found: (LayerFinding) -> Void, failed: ([UInt8], Errno) -> Void,
    isInterrupted: () -> Bool
  ) -> Int {
    let round = LayerRepairRound()
    var renewable: Int?
    repeat {
      round.begin()
      var check = LayerCheck(self, renewsOrigins: renewsOrigins)
      let isFirst = renewable == nil
      check.run(
        { finding in if round.tells(finding) { found(round.watched(finding)) } },
        { path, error in if isFirst { failed(path, error) } }, isInterrupted)
      renewable = renewable ?? check.renewable
    } while round.wantsAnother && !isInterrupted()
    return renewable ?? 0
  }

  /// Writes down which directory the upper is now; after all origins were renewed.
  package func settleRoot() throws(Errno) {
    try directory.announceRoot(root)
  }
}
