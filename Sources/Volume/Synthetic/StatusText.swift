// `.varve/status`: one JSON object about the volume as it is mounted now.

import Decisions
package import JSONForm
import LinuxFiles

extension Volume {
  /// One JSON object, on one line.
  package func statusText() -> String { status().compactText + "\n" }

  package func status() -> JSON {
    let options = options
    var object: [JSON.Member] = []
    object.add("version", Version.text)
    object.add("pid", Int(CurrentProcess.identifier))
    object.add("uuid", directory.uuid)
    object.add("records", directory.namespace.rawValue)
    object.add("recordsExist", directory.recordsExist)
    object.add("readOnly", options.isReadOnly)
    object.add("acl", options.rules.usesLists)
    object.add("noowners", options.rules.ignoresOwnership)
    object.add("securelevel", options.rules.secureLevel)
    object.add("suiddir", options.rules.handsOverOwnership)
    object.add("noexec", options.rules.forbidsExecution)
    if let group = options.rules.adminGroup { object.add("adminGroup", Int(group)) }
    object.add("cache", options.cache.rawValue)
    object.add("groups", options.groups.rawValue)
    object.add("chattr", options.chattr.rawValue)
    object.add("debug", options.debug)
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

/// The version of this program.
package enum Version {
  package static let text = "0.1.0"
}
