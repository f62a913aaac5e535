// Volumes whose daemon runs although no mount of them can be seen from here: after `umount -l` a program may have a file
// open still, and another mount namespace may keep the mount. Only the control socket leads to the daemon then.

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// A control socket that was found in the directory where daemons of this user, or of root, put theirs.
struct FoundSocket {
  /// The number of the mount's device.
  let device: String
  /// The user whose daemon it is.
  let owner: UInt32
  let path: Word
  let address: ControlAddress

  /// All at which somebody listens.
  ///
  /// Those of other users are not looked for: their directories may be file systems of theirs.
  static func all() -> [FoundSocket] {
    var devices: Set<String> = []
    return directories.flatMap { sockets(in: $0) }.filter {
      !devices.contains($0.device) && $0.address.isServed && devices.insert($0.device).inserted
    }
  }

  /// The one of a volume without a mount here that has this source, or was mounted on this path.
  static func serving(_ path: Word) -> FoundSocket? {
    guard let path = try? realPath(path), let table = try? volumeTable() else { return nil }
    let devices = Set(table.filter(\.isOurs).map(\.device))
    return all().first { socket in
      guard !devices.contains(socket.device), let volume = VolumeServedElsewhere(socket) else { return false }
      return volume.source == path || volume.mountPoint == path
    }
  }

  /// The one of a device.
  static func of(_ device: String) -> FoundSocket? {
    directories.flatMap { sockets(in: $0) }.first { $0.device == device && $0.address.isServed }
  }

  /// Where `RuntimeDirectory` puts them.
  private static var directories: [Word] {
    guard !CurrentProcess.isRoot else { return [Array("/run/varve".utf8)] }
    let parents = [environment("XDG_RUNTIME_DIR") ?? [], Array("/run/user/\(CurrentProcess.user)".utf8)]
    return parents.filter { $0.first == slash }.map { joined($0, Array("varve".utf8)) }
  }

  private static func sockets(in path: Word) -> [FoundSocket] {
    // Whatever is wrong with it: no daemon would have put a socket there.
    guard let directory = try? Descriptor.item(atPath: path, .held), let status = try? directory.status(),
      status.kind == .directory, status.user == CurrentProcess.user, status.mode & 0o022 == 0,
      let names = try? directory.listing().names()
    else { return [] }
    let shared = SharedDescriptor(directory)
    return names.sorted { $0.lexicographicallyPrecedes($1) }.compactMap { name in
      let words = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      guard words.count == 3, words[2].elementsEqual("sock".utf8),
        let item = try? shared.descriptor.item(named: name, .held),
        (try? item.knownStatus())?.kind == .socket
      else { return nil }
      return FoundSocket(
        device: String(decoding: words[0], as: UTF8.self), owner: status.user, path: joined(path, name),
        address: ControlAddress(name, in: shared, of: status.user))
    }
  }
}

/// A volume that is served, and has no mount here.
struct VolumeServedElsewhere {
  /// What its daemon tells of it; nil if it tells nothing.
  let status: JSON?
  /// Where it was mounted; if the daemon does not tell, the path of its socket stands for it.
  let mountPoint: Word
  let source: Word

  /// All but those of some devices.
  static func all(except devices: Set<String>) -> [VolumeServedElsewhere] {
    FoundSocket.all().filter { !devices.contains($0.device) }.compactMap { VolumeServedElsewhere($0) }
  }

  /// Nil for one that ends meanwhile.
  fileprivate init?(_ socket: FoundSocket) {
    let patience = UInt64(MountState.patience) &* 1_000_000
    let answer = try? socket.address.ask("status", patience: patience)
    guard answer != nil || socket.address.isServed else { return nil }
    status = answer?["status"]
    mountPoint = answer?.nameBytes("mountPoint") ?? socket.path
    source = answer?.nameBytes("source") ?? []
  }

  /// What a list says of it.
  var remark: String {
    guard status != nil else { return "its mount point is gone from here, and its daemon does not answer" }
    let remedy =
      EncryptionState(status)?.isOpen == true
      ? "; 'varve lock --all \(shellWord(source))' closes its encrypted files" : ""
    return "gone from here: served to programs that still use it, or to another mount namespace\(remedy)"
  }
}

/// Whether the encrypted files of a volume can be read, in a word.
enum EncryptionState {
  case locked
  /// Only the class that a lock leaves open.
  case partlyLocked
  case unlocked

  /// Nil without a keybag.
  init?(_ status: JSON?) {
    guard case .object(let classes)? = status?["classes"], !classes.isEmpty else { return nil }
    let open = classes.filter { $0.value != .string("locked") }.map(\.name)
    self = open.isEmpty ? .locked : open == ["until-first-unlock"] ? .partlyLocked : .unlocked
  }

  var isOpen: Bool {
    switch self {
    case .locked: false
    case .partlyLocked, .unlocked: true
    }
  }

  var words: String {
    switch self {
    case .locked: "locked"
    case .partlyLocked: "locked except until-first-unlock"
    case .unlocked: "unlocked"
    }
  }
}
