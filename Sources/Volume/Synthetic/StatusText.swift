// `.varve/status`: one JSON object about the volume as it is mounted now.

import Decisions
package import JSONForm
import LinuxFiles

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
    object += options.members
    object.add("threads", mounted.threads)
    object.add("options", list: words)
    let inside = mountsInside
    if inside > 0 {
      object.add("mountsInside", inside)
      object.add(
        "warning",
        "what is mounted inside the volume is unmounted when a user closes a directory on the way to it")
    }
    object.add("nodes", nodeCount)
    object.add("handles", handleCount)
    object.add("residentBytes", Int(ResourceLimits.residentBytes() ?? 0))
    var kernel: [JSON.Member] = []
    for feature in link?.features() ?? [] { kernel.add(feature.name, feature.value) }
    kernel.add("tmpfile", unnamedFiles.description)
    object.add("kernel", .object(kernel))
    var requests: [JSON.Member] = []
    for request in link?.requests() ?? [] { requests.add(request.name, Int(clamping: request.count)) }
    object.add("requests", .object(requests))
    return .object(object)
  }
}

extension LiveSettings {
  /// What is in force, by the names of `.varve/status`.
  package var members: [JSON.Member] {
    var members: [JSON.Member] = []
    members.add("readOnly", isReadOnly)
    members.add("acl", rules.usesLists)
    members.add("noowners", rules.ignoresOwnership)
    members.add("securelevel", rules.secureLevel)
    members.add("suiddir", rules.handsOverOwnership)
    members.add("noexec", rules.forbidsExecution)
    if let group = rules.adminGroup { members.add("adminGroup", Int(group)) }
    members.add("cache", cache.rawValue)
    members.add("groups", groups.rawValue)
    members.add("chattr", chattr.rawValue)
    members.add("debug", debug)
    return members
  }
}

/// The version of this program.
package enum Version {
  package static let text = "0.1.0"
}
