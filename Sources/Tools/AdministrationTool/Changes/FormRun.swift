// What `varve compress` and `varve protect` share: how the content of files is stored is set through a door, file by file.

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// The counts of such a run.
protocol FormTally {
  func summary(isPlan: Bool) -> String
  func members(isPlan: Bool) -> [JSON.Member]
}

/// One run of such a verb.
final class FormRun {
  /// The kernel tells the volume late that a file was closed: nobody is named as its user then.
  private static let patience: UInt64 = 1_500_000_000

  let items: ItemRun
  let isRecursive: Bool
  private let door: StaticString
  /// Files with several names that were met by one.
  private var linked: Set<ObjectKey> = []

  init(_ invocation: Invocation, _ paths: PathOperands, door: StaticString) throws(UsageError) {
    items = try ItemRun(
      invocation, Console(invocation), paths, tells: invocation.has(.listChanged) || invocation.has(.json))
    isRecursive = invocation.has(.recursive)
    self.door = door
  }

  /// A directory comes before what is in it: what is made in it from then on is of its class, and all that was there
  /// before is met by the walk, which reads the directory afterwards.
  func go(_ invocation: Invocation, _ visit: (VisitedItem) throws(Refusal) -> Void) {
    var walk = ItemWalk(invocation, .directoryFirst, items.console)
    walk.staysOnFileSystem = true
    // Never through a link, also not one that is named.
    walk.actsOnLinks = true
    items.go(walk) { item throws(Refusal) in try visit(item) }
  }

  /// Whether a file was met by another of its names.
  func wasMet(_ item: VisitedItem) -> Bool {
    item.status.kind == .regular && item.status.linkCount > 1
      && !linked.insert(ObjectKey(item.status)).inserted
  }

  /// Why the door of an item cannot be read.
  static func unreadable(_ error: Errno, _ item: VisitedItem) -> Refusal {
    error == .unsupported || error == .accessDenied
      ? Refusal.change(error, item.path, item.held.descriptor, needs: "readattr") : Refusal(error)
  }

  func set(_ item: VisitedItem, _ word: String) throws(Errno) {
    let start = Clock.monotonicNanoseconds
    while true {
      do throws(Errno) {
        return try item.held.descriptor.setAttribute(
          AttributeName(door), to: Array(word.utf8).span, unless: { Interruption.isRequested })
      } catch .busy {
        guard Clock.monotonicNanoseconds &- start < FormRun.patience, !Interruption.isRequested,
          !FileUsers.areSeen(of: item)
        else { throw .busy }
        Clock.pause(milliseconds: 50)
      }
    }
  }

  /// The sentence about a file with a capability on a mount of a user's, whose daemon could not give it back.
  static func refusalOfCapability(_ error: Errno, _ item: VisitedItem) -> Refusal? {
    let held = item.held
    guard error == .notPermitted, item.status.kind == .regular,
      (try? held.descriptor.attribute(AttributeName("security.capability"))) != nil,
      let path = try? held.descriptor.heldPath(), let table = try? volumeTable(),
      let mount = try? VolumePath(held: path, table).mount, mount.owner != 0
    else { return nil }
    return Refusal(
      "has a capability, which goes when the file is written anew, and which only root can give back (EPERM); "
        + "let root mount the directory and change the file there, or remove the capability with 'setcap -r'")
  }

  func report(_ refusal: Refusal, of item: VisitedItem, _ members: [JSON.Member]) {
    items.ledger.report(
      failureOf: item.path, members + [JSON.Member("error", .string(refusal.sentence))])
  }

  /// `warnings`: what to know once it is done.
  func finish(_ tally: some FormTally, tells: Bool, warnings: () -> [String] = { [] }) -> Int32 {
    // Only when all of a dry run was asked is it known what to add.
    items.finish { [items] in
      let (console, isDryRun) = (items.console, items.ledger.isDryRun)
      if !isDryRun, !console.isQuiet {
        let summary = tells && !items.ledger.tellsCounts ? tally.summary(isPlan: false) : ""
        for note in [summary] + warnings() where !note.isEmpty { console.note(note) }
      }
      return ChangeLedger.Addition(
        sentence: tally.summary(isPlan: true), members: tally.members(isPlan: isDryRun))
    }
  }
}
