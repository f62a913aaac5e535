// /etc/varve/names.d: what an administrator adds to the tables that names are made with.
//
// Read when a volume is mounted. Only files of root that nobody else may write count, in a directory of that kind. What is
// left out is told by the log and `varve status`, and keeps nothing from being mounted.

import LayeredVolume
import LinuxFiles

enum NamesDirectory {
  private static let path = "/etc/varve/names.d"
  /// Of one file, in bytes.
  private static let size: UInt64 = 64 << 10
  private static let suffix = Array(".strings".utf8)

  /// Takes over what is there; a sentence for each thing that is left out.
  static func read(into settings: inout NameSettings) -> [String] {
    var warnings: [String] = []
    do throws(Errno) {
      let directory = try Descriptor.open(path: path, [.readOnly, .directory])
      guard isRoots(try directory.status()) else {
        return ["\(path) is not root's alone; it is not read"]
      }
      // The same order wherever files were made in another one.
      for name in try directory.names().sorted(by: { $0.lexicographicallyPrecedes($1) }) {
        do throws(Errno) {
          try take(name, in: directory, &settings, &warnings)
        } catch {
          warnings.append("\(path)/\(String(decoding: name, as: UTF8.self)) cannot be read: \(error)")
        }
      }
    } catch {
      // Nothing there is the usual thing.
      if error != .noSuchFile { warnings.append("\(path) cannot be read: \(error)") }
    }
    return warnings + settings.warnings(about: path)
  }

  private static func take(
    _ name: [UInt8], in directory: borrowing Descriptor, _ settings: inout NameSettings,
    _ warnings: inout [String]
  ) throws(Errno) {
    let isPackages = name == Array("packages".utf8)
    guard isPackages || name.suffix(suffix.count).elementsEqual(suffix) else { return }
    let file = try FileName.with(name) { name throws(Errno) in
      try directory.open(name, [.readOnly, .nonBlocking])
    }
    let status = try file.status()
    guard status.kind == .regular, isRoots(status), status.size <= size else {
      let shown = String(decoding: name, as: UTF8.self)
      warnings.append("\(path)/\(shown) is not a file of root's alone of at most 64 KiB; it is not read")
      return
    }
    let bytes = try file.read(upTo: Int(size))
    if isPackages {
      settings.packages = bytes
    } else {
      let tag = String(decoding: name.dropLast(suffix.count), as: UTF8.self)
      settings.strings.append(NameSettings.Strings(tag: tag, bytes: bytes))
    }
  }

  private static func isRoots(_ status: FileStatus) -> Bool { status.user == 0 && status.mode & 0o022 == 0 }
}
