// `.varve/status`: one JSON object about the volume as it is mounted now.

import Decisions
package import JSONForm
import LinuxFiles
import SealedFormat

extension Volume {
  /// One JSON object, on one line.
  package func statusText() -> String { status().compactText + "\n" }

  package func status() -> JSON {
    var object: [JSON.Member] = []
    object.add("version", Version.text)
    object.add("pid", Int(CurrentProcess.identifier))
    object.add("uuid", directory.uuid)
    object.add("records", directory.namespace.rawValue)
    object.add("recordsExist", directory.recordsExist)
    if let group = groupOwningRoot { object.add("ownerGroup", Int(group)) }
    object += options.members
    if let lock = directory.lockDescription { object.add("lock", lock) }
    object.add("threads", mounted.threads)
    object.add("options", list: words)
    let warnings = warnings
    if !warnings.isEmpty {
      object.add("warnings", .array(warnings.map { .string($0) }))
    }
    if directory.hasPosixLists {
      object.add(
        "posixLists",
        "the masks of POSIX lists count as the rights of groups, and the rest of the lists does not count; 'varve acl "
          + "import' makes entries of them")
    }
    let inside = mountsInside
    if inside > 0 {
      object.add("mountsInside", inside)
      object.add(
        "warning",
        "what is mounted inside the volume is unmounted when a user closes a directory on the way to it")
    }
    if resolver.stack != nil { object += layerMembers() }
    if let former = layerHistory.formerLowers { object.add("formerLowers", former) }
    if let replaced = layerHistory.replacedLowers { object.add("replacedLowers", replaced) }
    if layerHistory.isRestored { object.add("upperDirectory", LayerHistory.restored) }
    if keyring.volume != nil {
      object.add("classes", .object(keyring.classMembers))
      if let lockAfter = sealed.lockAfter { object.add("lockAfter", Int(clamping: lockAfter)) }
      object.add("encryptedFiles", .object(encryptedMembers()))
    }
    if views.count > 0 || indexes.count > 0 { object.add("views", .object(viewMembers())) }
    object.add("nodes", nodeCount)
    object.add("handles", handleCount)
    object.add("residentBytes", Int(ResourceLimits.residentBytes() ?? 0))
    var kernel: [JSON.Member] = []
    for feature in link?.features() ?? [] { kernel.add(feature.name, feature.value) }
    kernel += features.members
    kernel.add("local", localDescription)
    object.add("kernel", .object(kernel))
    var requests: [JSON.Member] = []
    for request in link?.requests() ?? [] { requests.add(request.name, Int(clamping: request.count)) }
    object.add("requests", .object(requests))
    return .object(object)
  }
}

extension Volume {
  /// Whether the upper directory is taken for one of this machine.
  private var localDescription: String {
    if mounted.disabledFeatures.contains("local") { return "off: switched off" }
    return isOfThisMachine ? "on" : "off: the upper directory is on another machine, or served by a program"
  }

  /// The group that owns the root in place of a user.
  private var groupOwningRoot: UInt32? {
    let facts = try? locks.holding(.shared(root.stripe)) { () throws(Errno) in try directoryFacts(root) }
    return facts?.item.ownerGroup
  }

  /// How many encrypted files were met that have lost their mark.
  package var unmarkedFiles: Int { store.heads.unmarkedFiles }

  /// What views take: directories the kernel holds, indexes and their memory, and directories too large for one.
  private func viewMembers() -> [JSON.Member] {
    var members: [JSON.Member] = []
    members.add("directories", views.count)
    members.add("indexes", indexes.count)
    members.add("indexBytes", indexes.bytes)
    members.add("tooLarge", indexes.directoriesTooLarge)
    return members
  }

  /// What is known of encrypted files: of each class those whose content was opened since the kernel has known them, what
  /// a crash would leave in doubt, and what was met.
  private func encryptedMembers() -> [JSON.Member] {
    var members: [JSON.Member] = []
    // There can be a million of them: they are gone through once.
    var (opened, inUse): ([UInt8: Int], [UInt8: Int]) = ([:], [:])
    for (_, content) in sealed.registered(in: .all) {
      let protection = ClassSet(content.protection).rawValue
      opened[protection, default: 0] += 1
      if content.object?.hasUsers ?? false { inUse[protection, default: 0] += 1 }
    }
    for protection in StaticSector.ProtectionClass.allCases {
      var counts: [JSON.Member] = []
      counts.add("opened", opened[ClassSet(protection).rawValue] ?? 0)
      counts.add("inUse", inUse[ClassSet(protection).rawValue] ?? 0)
      members.add(protection.word, .object(counts))
    }
    let sessions = keyring.sessions
    let isRunning = !sessions.running.isEmpty
    members.add(
      "session", !isRunning ? "none" : sealed.hasUnfinished || sealed.isOwed ? "unfinished" : "running")
    if let listed = sessions.listedBefore { members.add("sessionsNotEnded", listed) }
    let met = sealed.counted
    members.add("doubtful", Int(clamping: met.doubtfulFiles))
    members.add("recovered", Int(clamping: met.recoveredFiles))
    members.add("unmarked", store.heads.unmarkedFiles)
    members.add("damagedBlocks", met.damagedBlocks)
    members.add("lostBlocks", Int(clamping: met.lostBlocks))
    return members
  }
}

extension LiveSettings {
  /// What is in force, by the names of `.varve/status`.
  package var members: [JSON.Member] {
    var (copy, telling) = (self, TellingWalk())
    copy.walk(&telling)
    return telling.members
  }
}

private struct TellingWalk: LiveOptionWalk {
  private(set) var members: [JSON.Member] = []

  mutating func option<Value: LiveValue>(_ name: String, _ value: inout Value) {
    if let shown = value.shown { members.add(name, shown) }
  }
}

/// The version of this program.
package enum Version {
  package static let text = "0.1.0"
}
