// What of a layout the caller is not permitted, found out before anything is made: half a tree helps nobody.
//
// About what is there the daemon is asked, as a dry run asks it. What is new belongs to the caller, who may do everything
// with it but what only root may: give it away, and set flags of the system. And with noacl nobody sets lists.

import AccessControl
import FlagRules
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// Collects what would be made or changed, and says what of it is not permitted.
final class LayoutRights {
  private struct Making {
    let path: [UInt8]
    let operation: String
    let right: String
    /// The directory that it would be made in.
    let above: SharedDescriptor
    let abovePath: [UInt8]
  }

  private let console: Console
  private let root: [UInt8]
  private let asker: DryRun
  private var makings: [Making] = []
  private var refused: [(path: [UInt8], sentence: String)] = []
  /// What would not belong to the caller, and to whom it would.
  private var foreign: [String] = []
  private var owner: UInt32?
  /// What would get flags that only root sets.
  private var locked: [String] = []
  private var lockingFlags: FileFlags = []
  /// Whether something new would get an entry.
  private var needsLists = false

  init(_ console: Console, root: [UInt8]) {
    (self.console, self.root) = (console, root)
    asker = DryRun(console)
  }

  /// A directory that is new: `name` is that of its row.
  func make(_ name: String, _ steps: [LayoutStep]) {
    for step in steps {
      if case .entry = step { needsLists = true }
    }
    guard !CurrentProcess.isRoot else { return }
    for step in steps {
      switch step {
      case .owner(let owner) where owner.user != CurrentProcess.user:
        foreign.append(name)
        self.owner = owner.user
      case .flags(let flags) where !flags.isDisjoint(with: .systemDomain):
        locked.append(name)
        lockingFlags.formUnion(flags)
      default: break
      }
    }
  }

  /// Something that is made in a directory that is there: a directory, or a marker.
  ///
  /// Of several only the first is asked about.
  func make(_ path: [UInt8], isDirectory: Bool, in above: SharedDescriptor, at abovePath: [UInt8]) {
    let (operation, right) = isDirectory ? ("mkdir", "add_subdirectory") : ("create", "add_file")
    guard !makings.contains(where: { $0.operation == operation && $0.abovePath == abovePath }) else { return }
    makings.append(
      Making(path: path, operation: operation, right: right, above: above, abovePath: abovePath))
  }

  /// What lacks of a directory that is there.
  func change(_ path: [UInt8], _ held: SharedDescriptor, _ steps: [LayoutStep]) throws(Refusal) {
    var changes: [AskedChange] = []
    for step in steps {
      if case .marker = step {
        make(joined(path, LayoutStep.markerName), isDirectory: false, in: held, at: path)
      } else if let change = try step.asked(held.descriptor) {
        changes.append(change)
      }
    }
    guard !changes.isEmpty else { return }
    let item = ItemChange(
      location: ItemLocation(root: path, above: [], name: []), held: held, changes: changes,
      refusal: { error, deed in
        let right = deed == "chown" ? "chown" : "writesecurity"
        return Refusal.change(error, path, held.descriptor, needs: right)
      }, tell: { _ in nil })
    asker.add(item, note)
  }

  private func note(_ item: ItemChange, _ prospect: Prospect) {
    guard let refusal = prospect.refusal else { return }
    refused.append((item.location.path, refusal.sentence))
  }

  /// Complains about everything that is not permitted; answers whether all of it is.
  func settle() -> Bool {
    asker.ask(note)
    for making in makings { ask(making) }
    let volume = volume
    if needsLists, volume?["acl"] == .bool(false) { refuseLists() }
    for (path, sentence) in refused { console.complain(path, sentence) }
    var words: [String] = []
    if let owner, onlyRootGivesAway(volume) {
      let name = NameBook.machine.userName(owner) ?? "user \(owner)"
      words.append("\(listed(foreign)) would belong to \(name)")
    }
    if !locked.isEmpty { words.append("\(listed(locked)) would get \(lockingFlags.text)") }
    if !words.isEmpty {
      console.complain(root, "only root can do this: \(words.joined(separator: ", and ")) (EPERM)")
    }
    return refused.isEmpty && words.isEmpty
  }

  /// Says once of everything new what is said of each directory that is there.
  private func refuseLists() {
    guard let above = makings.first?.above else { return }
    let refusal = Refusal.change(.unsupported, root, above.descriptor, needs: "writesecurity")
    guard !refused.contains(where: { $0.sentence == refusal.sentence }) else { return }
    refused.append((root, refusal.sentence))
  }

  /// What the daemon says of the volume; nil if it says nothing.
  private var volume: JSON? {
    guard let table = try? volumeTable(), let mount = try? VolumePath(root, table).mount else { return nil }
    return try? volumeStatus(mount)
  }

  /// Whether a change of owner would certainly be refused to the caller.
  ///
  /// Members of admin_group may do it, and with noowners it succeeds without effect. There the call itself decides.
  private func onlyRootGivesAway(_ volume: JSON?) -> Bool {
    guard let volume else { return false }
    return volume["adminGroup"] == nil && volume["noowners"] == .bool(false)
  }

  private func ask(_ making: Making) {
    // What cannot be asked is found out when it is made.
    guard let table = try? volumeTable(), let path = try? VolumePath(making.path, table),
      let answer = try? askWhy([WhyQuestion(operation: making.operation, path: path)], nil).first,
      answer["outcome"]?.string == "denied", let name = answer["error"]?.string
    else { return }
    let errors: [Errno] = [.accessDenied, .notPermitted, .readOnly]
    guard let error = errors.first(where: { $0.name == name }) else { return }
    let refusal = Refusal.change(error, making.abovePath, making.above.descriptor, needs: making.right)
    refused.append((making.abovePath, refusal.sentence))
  }

  private func listed(_ names: [String]) -> String {
    guard names.count > 4 else { return names.joined(separator: ", ") }
    return names.prefix(3).joined(separator: ", ") + " and \(names.count - 3) more"
  }
}
