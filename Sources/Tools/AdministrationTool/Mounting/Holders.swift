// Who keeps a mount alive that has been taken away here: another mount namespace, or an open file.

import LinuxFiles
import LinuxPrograms
import TextForms

/// A process that holds a mount.
struct Holder {
  enum Hold: Equatable {
    /// It has a file, a program or its working directory there.
    case uses
    /// The mount is in its mount namespace still.
    case seesMount
    /// It has a file there open.
    case hasFiles
    /// It has the file asked about open.
    case hasFile
  }

  let process: Int
  let name: String
  let hold: Hold
  /// Of one that uses the mount, a path of what it uses.
  var path: [UInt8] = []

  /// `process 4711 (bash) works in it`.
  var sentence: String {
    switch hold {
    case .uses: "process \(process) (\(name)) works in it or has a file open"
    case .hasFile: "process \(process) (\(name)) has it open"
    case .hasFiles: "process \(process) (\(name)) still has a file of it open"
    case .seesMount: "it is still mounted in the mount namespace of process \(process) (\(name))"
    }
  }
}

/// The processes found to hold the file system of a device, `0:98`; without root, only those of the caller.
///
/// Asks the file system itself nothing: its daemon may be waiting for one of them.
func holders(ofDevice device: String, except daemon: Int?) -> [Holder] {
  let own = namespace(of: "self")
  var seen: Set<[UInt8]> = own.map { [$0] } ?? []
  var users: [Holder] = []
  var viewers: [Holder] = []
  for process in processes() where process != daemon {
    let name = name(of: process)
    if let path = used(by: process, device) {
      users.append(Holder(process: process, name: name, hold: .uses, path: path))
    } else if let namespace = namespace(of: "\(process)"), seen.insert(namespace).inserted,
      hasMount(process, device)
    {
      viewers.append(Holder(process: process, name: name, hold: .seesMount))
    }
  }
  return users + viewers
}

/// The processes found to have regular files of a file system open, or to run one; without root, only those of the caller.
///
/// Asks the file system itself nothing.
func usersOfFiles(onDevice device: String) -> [Holder] {
  processes().filter { $0 != Int(CurrentProcess.identifier) && hasFile($0, device) }
    .map { Holder(process: $0, name: name(of: $0), hold: .hasFiles) }
}

/// The processes found to have a file open, or to run it; without root, only those of the caller.
func users(of file: FileStatus) -> [Holder] {
  processes().filter { process in
    openFiles(of: process).contains { link in
      guard let open = try? Descriptor.item(atPath: Array("/proc/\(process)/\(link)".utf8), .followed),
        let status = try? open.knownStatus()
      else { return false }
      // The descriptor of this program only leads there.
      return status.isSame(as: file) && process != Int(CurrentProcess.identifier)
    }
  }.map { Holder(process: $0, name: name(of: $0), hold: .hasFile) }
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

private func names(in path: String) -> [String] {
  // A process that ended, or belongs to another user, holds nothing that can be found.
  let names = try? Descriptor.item(atPath: Array(path.utf8), .followed).listing().names()
  return names?.map { String(decoding: $0, as: UTF8.self) } ?? []
}

/// What tells one mount namespace from another.
private func namespace(of process: String) -> [UInt8]? {
  try? Descriptor.item(atPath: Array("/proc/\(process)/ns/mnt".utf8), .held).readLink()
}

private func hasMount(_ process: Int, _ device: String) -> Bool {
  guard let text = try? contents("/proc/\(process)/mountinfo") else { return false }
  return MountedVolume.table(text).contains { $0.device == device }
}

/// The path of something of the file system that a process uses; empty if it cannot be told.
private func used(by process: Int, _ device: String) -> [UInt8]? {
  let links = ["cwd", "root", "exe"] + names(in: "/proc/\(process)/fd").map { "fd/\($0)" }
  for link in links.map({ Array("/proc/\(process)/\($0)".utf8) })
  where (try? Descriptor.item(atPath: link, .followed).knownDevice()) == device {
    return (try? Descriptor.item(atPath: link, .held).readLink()) ?? []
  }
  return nil
}
