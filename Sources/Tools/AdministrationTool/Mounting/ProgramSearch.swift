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
  return program("varved", in: folders)
}
