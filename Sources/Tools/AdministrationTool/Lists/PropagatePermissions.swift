// `varve acl propagate --owner --group --mode`: a directory's owner, group and mode for everything below it.

import AccessControl
import AccessForms
import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms

/// What of a directory is handed down.
struct PermissionParts {
  let owner: Bool
  let group: Bool
  let mode: Bool

  /// Nil if lists are meant.
  init?(_ invocation: Invocation) {
    owner = invocation.has(.handDownOwner)
    group = invocation.has(.handDownGroup)
    mode = invocation.has(.handDownMode)
    guard owner || group || mode else { return nil }
  }
}

func propagatePermissions(
  _ parts: PermissionParts, _ invocation: Invocation, _ console: Console, _ paths: PathOperands
) throws(UsageError) -> Int32 {
  let run = try ItemRun(invocation, console, paths)
  let propagation = PermissionPropagation(parts, run)
  // Contents first: a user who gives a tree away needs their rights in a directory until its contents are done.
  var walk = ItemWalk(isRecursive: true, order: .contentsFirst, console)
  walk.links = .named
  walk.staysOnFileSystem = true
  run.go(walk) { path, held throws(Refusal) in
    try propagation.begin(path, held)
  } _: { item throws(Refusal) in
    try propagation.apply(to: item)
  }
  return run.finish()
}

/// Gives what is below a directory the directory's own owner, group and mode.
private final class PermissionPropagation {
  private let parts: PermissionParts
  private let run: ItemRun
  private var model = ItemFacts()

  init(_ parts: PermissionParts, _ run: ItemRun) {
    self.parts = parts
    self.run = run
  }

  /// Begins with another directory.
  func begin(_ path: Word, _ held: SharedDescriptor) throws(Refusal) {
    model = try permissions(path, held)
    guard try attempt(held.descriptor.knownStatus(), { Refusal($0) }).kind == .directory else {
      throw Refusal("not a directory: there is nothing below it")
    }
  }

  func apply(to item: VisitedItem) throws(Refusal) {
    // The directory itself is the model.
    guard item.depth > 0 else { return run.ignore() }
    let before = try permissions(item.path, item.held)
    let isLink = item.status.kind == .symbolicLink
    var after = before
    if parts.owner { after.owner = model.owner }
    if parts.group { after.group = model.group }
    if parts.mode, !isLink, let mode = model.mode, let present = before.mode {
      let copied = UInt16(truncatingIfNeeded: mode).handedDownMode(
        to: UInt16(truncatingIfNeeded: present), ofDirectory: item.status.kind == .directory)
      after.mode = UInt32(copied)
    }
    guard after != before else { return }
    let owner = after.owner == before.owner ? nil : after.owner
    let group = after.group == before.group ? nil : after.group
    // A new owner takes set-id bits away, so the mode comes last.
    let mode = after.mode == before.mode ? nil : after.mode
    let changes = AskedChange.changes(of: owner, group: group) + (mode.map { [.mode($0)] } ?? [])
    var kept = before
    if isLink { kept.mode = nil }
    let (ledger, console, told) = (run.ledger, run.console, after)
    try run.change(item, facts: kept, changes: changes) { error in
      Refusal.change(error, item.path, item.held.descriptor, needs: owner == nil ? "writesecurity" : "chown")
    } tell: { _ in
      guard ledger.tells || ledger.tellsCounts || ledger.isDryRun else { return nil }
      return ToldChange {
        .object(before.members)
      } after: {
        .object(told.members)
      } line: {
        console.printPath(item.path, ": \(differences(before, told).joined(separator: ", "))")
      }
    } _: { () throws(Errno) in
      if owner != nil || group != nil { try item.held.descriptor.changeOwner(owner, group: group) }
      if let mode { try item.held.descriptor.changeMode(UInt16(truncatingIfNeeded: mode)) }
    }
  }

  private func permissions(_ path: [UInt8], _ held: SharedDescriptor) throws(Refusal) -> ItemFacts {
    let failed = { (error: Errno) in Refusal.change(error, path, held.descriptor, needs: "readattr") }
    let status = try attempt(held.descriptor.knownStatus(), failed)
    let owner = try attempt(held.descriptor.owner(status), failed)
    return ItemFacts(owner: owner, group: status.group, mode: UInt32(status.mode))
  }
}
