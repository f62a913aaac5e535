import CLinux
import Glibc

// What the process may use, and what it uses.

/// Limits and use of the whole process.
package enum ResourceLimits {
  /// Raises the soft limit of open files to the hard one and answers it.
  @discardableResult
  package static func raiseOpenFiles() throws(Errno) -> UInt64 {
    var soft: UInt64 = 0
    try retrying { unsafe lv_raise_open_files(&soft) }
    return soft
  }

  /// From now on no core file of this process has anything of its memory.
  ///
  /// A program that cores are piped to gets them whatever the limit is, but then an empty one. The limit stays even if
  /// the filter cannot be written.
  package static func forbidCores() throws(Errno) {
    try retrying { lv_forbid_cores() }
    let filter = try Descriptor.open(path: "/proc/self/coredump_filter", .writeOnly)
    try filter.writeToStream(Array("0".utf8))
  }

  /// The memory this process has in RAM, in bytes; nil when /proc does not tell.
  package static func residentBytes() -> UInt64? {
    // "size resident shared ...", in pages. Why it cannot be read does not matter to a measurement.
    guard let file = try? Descriptor.open(path: "/proc/self/statm", .readOnly),
      let text = try? file.read(upTo: 128)
    else { return nil }
    let fields = text.split(separator: UInt8(ascii: " "))
    guard fields.count > 1, let pages = UInt64(String(decoding: fields[1], as: UTF8.self)) else { return nil }
    return pages &* UInt64(clamping: pageSize)
  }

  /// The bytes of a page of memory.
  package static let pageSize = sysconf(CInt(_SC_PAGESIZE))

  /// Keeps little of what is freed, from now on.
  ///
  /// Large pieces go back to the system when they are freed. Requests never need that much at once: they have at most 1 MiB
  /// of bytes, and their heads. Without this the C library lets itself keep twice the largest piece ever freed, for each thread.
  package static func mapLargeMemory() {
    lv_map_large_memory(3 << 19, 1 << 20)
  }

  /// Gives back to the system what is free between pieces in use.
  package static func returnFreeMemory() { lv_return_free_memory() }

  /// Sets the bits that every creation of this process leaves out, and answers the former ones.
  ///
  /// A daemon that creates for others sets 0: the callers' own masks are already in the modes.
  @discardableResult
  package static func setCreationMask(_ mask: UInt16) -> UInt16 {
    UInt16(truncatingIfNeeded: umask(mode_t(mask)))
  }
}
