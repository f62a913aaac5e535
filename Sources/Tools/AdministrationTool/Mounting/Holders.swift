// Who keeps a mount busy, or alive after it was taken away here: a process, another mount namespace, another mount.

import LinuxFiles
import LinuxPrograms
import TextForms

/// A process that holds a mount.
struct Holder {
  enum Hold: Equatable {
    /// It has a file, a program or its working directory there.
    case uses
    /// It has a file there in its memory, which it need not have open.
    case maps
    /// The mount is in its mount namespace still.
    case seesMount
    /// It has a file there open.
    case hasFiles
    /// It has the file asked about open.
    case hasFile
    /// It has it in its memory.
    case mapsFile
  }

  let process: Int
  let name: String
  let hold: Hold
  /// Of one that uses the mount, a path of what it uses; of one that sees nothing but a view, where.
  var path: [UInt8] = []

  /// `process 4711 (bash) works in it`.
  var sentence: String {
    switch hold {
    case .uses:
      "process \(process) (\(name)) works in it or has a file open\(path.isEmpty ? "" : ": \(shownPath)")"
    case .maps: "process \(process) (\(name)) has a file of it mapped\(path.isEmpty ? "" : ": \(shownPath)")"
    case .mapsFile: "process \(process) (\(name)) has it mapped"
    case .hasFile: "process \(process) (\(name)) has it open"
    case .hasFiles: "process \(process) (\(name)) still has a file of it open"
    case .seesMount:
      (path.isEmpty ? "it" : "the view at \(shownPath)")
        + " is still mounted in the mount namespace of process \(process) (\(name))"
    }
  }

  private var shownPath: String { PathText.escaped(path) }
}

/// Why a mount cannot be taken away: who works in it, or what is mounted in it.
func whyBusy(_ mount: MountedVolume) -> String {
  let table = (try? volumeTable()) ?? []
  // A process in another mount of the volume does not keep this one. A path of another mount namespace leads elsewhere
  // here, or is empty: its mount may be a copy that is unmounted together with this one.
  func keeps(_ path: [UInt8]) -> Bool {
    guard let serving = MountedVolume.serving(path, in: table) else { return true }
    return serving.number == mount.number || serving.device != mount.device
  }
  var users = holders(ofDevice: mount.device, except: Int(CurrentProcess.identifier), where: keeps).filter {
    $0.hold == .uses && keeps($0.path)
  }
  if users.isEmpty { users = mappers(ofDevice: mount.device, where: keeps) }
  if let user = users.first {
    return "busy: \(user.sentence) (EBUSY)" + (users.count > 1 ? ", and \(users.count - 1) more do" : "")
  }
  if let inner = table.last(where: { $0.parent == mount.number }) {
    let program = inner.isOurs ? "varve umount" : "umount"
    return "busy: \(PathText.escaped(inner.mountPoint)) is mounted in it; unmount that first: "
      + "\(program) \(shellWord(inner.mountPoint)) (EBUSY)"
  }
  return CurrentProcess.isRoot
    ? "busy: no process here uses it, but a loop device, an NFS export or a container may (EBUSY)"
    : "busy: none of your processes uses it, but one of another user may; as root 'varve umount "
      + "\(shellWord(mount.mountPoint))' names it (EBUSY)"
}

/// The processes found to hold the file system of a device, `0:98`; without root, only those of the caller.
///
/// Of several paths that a process uses there, one that `isWanted` is preferred. Asks the file system itself nothing: its
/// daemon may be waiting for one of them.
func holders(
  ofDevice device: String, except daemon: Int?, where isWanted: ([UInt8]) -> Bool = { _ in true }
) -> [Holder] {
  let own = namespace(of: "self")
  var seen: Set<[UInt8]> = own.map { [$0] } ?? []
  var users: [Holder] = []
  var viewers: [Holder] = []
  for process in processes() where process != daemon {
    let name = name(of: process)
    if let path = used(by: process, device, where: isWanted) {
      users.append(Holder(process: process, name: name, hold: .uses, path: path))
    } else if let namespace = namespace(of: "\(process)"), seen.insert(namespace).inserted,
      let mount = mount(of: process, device)
    {
      let path = mount.view == nil ? [] : mount.mountPoint
      viewers.append(Holder(process: process, name: name, hold: .seesMount, path: path))
    }
  }
  return users + viewers
}

/// The processes found to have files of a file system in their memory; without root, only those of the caller.
private func mappers(ofDevice device: String, where isWanted: ([UInt8]) -> Bool) -> [Holder] {
  let numbers = device.split(separator: ":").compactMap { UInt32($0) }
  guard numbers.count == 2 else { return [] }
  let written = Mapping.written(DeviceNumber(major: numbers[0], minor: numbers[1]))
  return others().compactMap { process in
    let found = Mapping.first(of: process) { $0.device.elementsEqual(written) && isWanted($0.path) }
    return found.map { Holder(process: process, name: name(of: process), hold: .maps, path: $0.path) }
  }
}

/// The processes found to have one of these files in their memory; without root, only those of the caller.
func mappers(of files: Set<ObjectKey>) -> [Holder] {
  let written = files.map { (Mapping.written(DeviceNumber(packed: $0.device)), Array("\($0.inode)".utf8)) }
  return others().compactMap { process in
    let found = Mapping.first(of: process) { mapping in
      written.contains { mapping.device.elementsEqual($0.0) && mapping.inode.elementsEqual($0.1) }
    }
    return found.map { _ in Holder(process: process, name: name(of: process), hold: .mapsFile) }
  }
}

/// A line of /proc/PID/maps.
///
/// Asked last: the kernel answers only between two changes of that memory.
private struct Mapping {
  let device: ArraySlice<UInt8>
  let inode: ArraySlice<UInt8>
  let path: [UInt8]

  static func first(of process: Int, where isWanted: (Mapping) -> Bool) -> Mapping? {
    guard let table = try? contents("/proc/\(process)/maps") else { return nil }
    for line in table.split(separator: UInt8(ascii: "\n")) {
      // Addresses, permissions, offset, device, number of the file, blanks, path.
      let words = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
      guard words.count > 4 else { continue }
      let path = words.count > 5 ? Array(words[5].drop { $0 == UInt8(ascii: " ") }) : []
      let mapping = Mapping(device: words[3], inode: words[4], path: path)
      if isWanted(mapping) { return mapping }
    }
    return nil
  }

  /// As it is written there: `08:01`.
  static func written(_ device: DeviceNumber) -> [UInt8] {
    Array("\(digits(device.major, radix: 16, width: 2)):\(digits(device.minor, radix: 16, width: 2))".utf8)
  }
}

/// The processes found to have regular files of a file system open, or to run one; without root, only those of the caller.
///
/// Asks the file system itself nothing.
func usersOfFiles(onDevice device: String) -> [Holder] {
  others().filter { hasFile($0, device) }
    .map { Holder(process: $0, name: name(of: $0), hold: .hasFiles) }
}

/// The processes found to have one of these files open, or to run it; without root, only those of the caller.
///
/// Other file systems than theirs are asked nothing: the daemon of one may have stopped.
func users(of files: Set<ObjectKey>) -> [Holder] {
  let devices = Set(files.map { DeviceNumber(packed: $0.device) }.map { "\($0.major):\($0.minor)" })
  // The descriptors of this program, and those of the daemon, only lead there.
  return others().map { Holder(process: $0, name: name(of: $0), hold: .hasFile) }.filter { holder in
    holder.name != "varved"
      && openFiles(of: holder.process).contains { link in
        let path = Array("/proc/\(holder.process)/\(link)".utf8)
        guard let open = try? Descriptor.item(atPath: path, .followed), let device = try? open.knownDevice(),
          devices.contains(device), let status = try? open.knownStatus()
        else { return false }
        return files.contains(ObjectKey(status))
      }
  }
}

private func openFiles(of process: Int) -> [String] {
  ["exe"] + names(in: "/proc/\(process)/fd").map { "fd/\($0)" }
}

private func hasFile(_ process: Int, _ device: String) -> Bool {
  openFiles(of: process).contains { link in
    guard let file = try? Descriptor.item(atPath: Array("/proc/\(process)/\(link)".utf8), .followed),
      (try? file.knownDevice()) == device
    else { return false }
    return (try? file.isKnownRegular()) ?? false
  }
}

private func name(of process: Int) -> String {
  String(decoding: (try? contents("/proc/\(process)/comm")) ?? [], as: UTF8.self)
    .split(separator: "\n").first.map(String.init) ?? "?"
}

private func contents(_ path: String) throws(Errno) -> [UInt8] {
  try Descriptor.reading(Array(path.utf8)).readToEnd()
}

private func processes() -> [Int] {
  names(in: "/proc").compactMap { Int($0) }.filter { $0 > 0 }.sorted()
}

/// All but this one.
private func others() -> [Int] { processes().filter { $0 != Int(CurrentProcess.identifier) } }

private func names(in path: String) -> [String] {
  // A process that ended, or belongs to another user, holds nothing that can be found.
  let names = try? Descriptor.item(atPath: Array(path.utf8), .followed).listing().names()
  return names?.map { String(decoding: $0, as: UTF8.self) } ?? []
}

/// What tells one mount namespace from another.
private func namespace(of process: String) -> [UInt8]? {
  try? Descriptor.item(atPath: Array("/proc/\(process)/ns/mnt".utf8), .held).readLink()
}

/// A mount of the file system that the process sees, which is no view if there is one.
private func mount(of process: Int, _ device: String) -> MountedVolume? {
  guard let text = try? contents("/proc/\(process)/mountinfo") else { return nil }
  let mounts = MountedVolume.table(text).filter { $0.device == device }
  return mounts.first { $0.view == nil } ?? mounts.first
}

/// The path of something of the file system that a process uses, preferably one that `isWanted`; empty if it cannot be told.
private func used(
  by process: Int, _ device: String, where isWanted: ([UInt8]) -> Bool
) -> [UInt8]? {
  var first: [UInt8]?
  let links = ["cwd", "root", "exe"] + names(in: "/proc/\(process)/fd").map { "fd/\($0)" }
  for link in links.map({ Array("/proc/\(process)/\($0)".utf8) })
  where (try? Descriptor.item(atPath: link, .followed).knownDevice()) == device {
    let path = (try? Descriptor.item(atPath: link, .held).readLink()) ?? []
    guard !isWanted(path) else { return path }
    first = first ?? path
  }
  return first
}
