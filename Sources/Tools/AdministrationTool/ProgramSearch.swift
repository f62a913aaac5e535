// Where other programs are.

import Arguments
import LinuxFiles
import LinuxPrograms

/// The daemon: beside this program, where it is installed, or in PATH.
func daemonProgram() -> Word? {
  // Without /proc the places after these remain.
  let own = try? realPath(Array("/proc/self/exe".utf8))
  var folders: [Word] = []
  if let own, let end = own.lastIndex(of: UInt8(ascii: "/")) {
    let folder = Array(own[..<end])
    folders = [folder, folder + Array("/../sbin".utf8)]
  }
  folders.append(Array("/usr/sbin".utf8))
  return program("varved", in: folders + searchPath)
}

/// The helper that unmounts for those who are not root; the usual places first, as it is set-user-id.
func unmountProgram() -> Word? {
  program("fusermount3", in: [Array("/usr/bin".utf8), Array("/bin".utf8)] + searchPath)
}

private func program(_ name: String, in folders: [Word]) -> Word? {
  folders.map { joined($0, Array(name.utf8)) }.first(where: isExecutable)
}

private var searchPath: [Word] {
  (environment("PATH") ?? []).split(separator: UInt8(ascii: ":")).map { Array($0) }
}
