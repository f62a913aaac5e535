// Why a class could not be changed, in words.

import JSONForm
import LinuxFiles
import LinuxPrograms
import Synchronization
import TextForms

/// Makes the sentences of one run; what the volume is asked for them is asked once.
final class ClassRefusals: Sendable {
  private struct State {
    /// Of each volume: the classes that are open; nil if it has no keybag.
    var volumes: [UInt64: Volume] = [:]
  }

  private struct Volume {
    var hasKeybag = true
    var closed: Set<String> = []
    var mountPoint: [UInt8] = []
  }

  private let wanted: String
  private let users = FileUsers()
  private let state: Mutex<State> = Mutex(State())

  init(to wanted: String) {
    self.wanted = wanted
  }

  func refusal(_ error: Errno, _ item: VisitedItem, from before: String) -> Refusal {
    let held = item.held
    switch error {
    case .busy: return Refusal("is in use (EBUSY) and stays as it is: \(users.sentence(about: item))")
    case .noKey: return noKey(item, from: before)
    case .accessDenied, .notPermitted:
      if let locked = Refusal.locked(item.path, held.descriptor) {
        return Refusal("\(locked) (\(error.name))")
      }
      if let refusal = FormRun.refusalOfCapability(error, item) { return refusal }
      let present = before == "none" ? "" : ", and writesecurity because it has a class"
      return Refusal(
        item.status.kind == .directory
          ? "\(error): this needs the rights add_file and writeattr in the directory\(present)"
          : "\(error): this needs the rights read, write and writeattr of the file\(present)"
            + modeAdvice(item))
    case .noSpace, .quotaExceeded:
      // Between classes only its key is stored anew.
      let need = before == "none" || wanted == "none" ? "a second copy of it" : "a note about the change"
      return Refusal("\(error): there is no room for \(need), which is needed meanwhile; it is as it was")
    case .inputOutput:
      return Refusal("\(error): it is damaged, or the disk fails; the log of its daemon says more")
    default: return Refusal.change(error, item.path, held.descriptor, needs: "writeattr")
    }
  }

  /// What gives owners the right to write that their own mode lacks.
  private func modeAdvice(_ item: VisitedItem) -> String {
    guard item.status.user == CurrentProcess.user, item.status.mode & 0o200 == 0 else { return "" }
    return "; 'chmod u+w \(shellWord(item.path))' gives you write"
  }

  private func noKey(_ item: VisitedItem, from before: String) -> Refusal {
    guard let volume = volume(of: item) else {
      return Refusal("\(Errno.noKey): its class or the new one is locked; 'varve unlock' opens the volume")
    }
    let directory = shellWord(volume.mountPoint)
    guard volume.hasKeybag else {
      // What is encrypted had one.
      guard before == "none" else {
        return Refusal(
          "the volume has lost its keybag (ENOKEY), without which no keyfile opens this; bring it back, or name an export of "
            + "it: 'varve unlock --keybag EXPORT \(directory) KEYFILE'", isAboutVolume: true)
      }
      return Refusal(
        "the volume has no keybag yet (ENOKEY); 'varve key slot add \(directory) KEYFILE' makes one",
        isAboutVolume: true)
    }
    let closed = [wanted, before].first { volume.closed.contains($0) }
    if closed == nil, CurrentProcess.isRoot, before != "none" { return ClassRefusals.foreign }
    return Refusal(
      "the class \(closed ?? wanted) is locked (ENOKEY); 'varve unlock \(directory) KEYFILE' opens it",
      isAboutVolume: closed == wanted)
  }

  /// The sentence about the content of a file whose key is not there.
  func refusalToVerify(_ item: VisitedItem) -> Refusal {
    // To others the volume also refuses what lacks its mark.
    if CurrentProcess.isRoot, let volume = volume(of: item), volume.hasKeybag,
      let word = try? item.held.descriptor.protectionWord(), !volume.closed.contains(word)
    {
      return ClassRefusals.foreign
    }
    return Refusal("its class is locked (ENOKEY); 'varve unlock' opens it")
  }

  private static var foreign: Refusal {
    Refusal(
      "belongs to the keybag of another volume (ENOKEY), and only a volume with that keybag can read it; or it was locked "
        + "when it was asked for, and is not any more: try again")
  }

  private func volume(of item: VisitedItem) -> Volume? {
    let device = item.status.device
    if let known = state.withLock({ $0.volumes[device] }) { return known }
    guard let path = try? item.held.descriptor.heldPath(), let table = try? volumeTable(),
      let mount = try? VolumePath(held: path, table).mount, let status = try? volumeStatus(mount)
    else { return nil }
    var volume = Volume(mountPoint: mount.mountPoint)
    if case .object(let classes)? = status["classes"] {
      volume.closed = Set(classes.filter { $0.value != .string("open") }.map(\.name))
    } else {
      volume.hasKeybag = false
    }
    state.withLock { $0.volumes[device] = volume }
    return volume
  }
}
