import CLinux

// Three ways to an extended attribute, and when each is taken.
//
// Ordinary descriptors: f*xattr. `O_PATH` descriptors: those answer EBADF (so do the *xattrat calls,
// with an empty path), so the descriptor's path in /proc is next. A name in a directory: getxattrat, or else
// the path of directory and name in /proc.

/// The object whose attributes are asked for.
@unsafe struct AttributeTarget {
  let descriptor: CInt
  /// Whether the descriptor is known to be an `O_PATH` one.
  let isPath: Bool

  /// Answers the length; with an empty buffer, the length it would have.
  func get(_ attribute: UnsafePointer<CChar>, _ value: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
    try unsafe choose(
      direct: { unsafe lv_attribute_get(descriptor, attribute, value.baseAddress, value.count) },
      byProc: {
        unsafe lv_attribute_get_by_proc(descriptor, nil, attribute, value.baseAddress, value.count)
      })
  }

  /// The same of a name in the directory.
  func get(
    _ attribute: UnsafePointer<CChar>, of name: UnsafePointer<CChar>, _ value: UnsafeMutableRawBufferPointer
  ) throws(Errno) -> Int {
    if Capabilities.hasAttributeAt {
      do throws(Errno) {
        return try retrying {
          unsafe lv_attribute_get_at(descriptor, name, attribute, value.baseAddress, value.count)
        }
      } catch .notImplemented {
        Capabilities.hasAttributeAt = false
      }
    }
    return try retrying {
      unsafe lv_attribute_get_by_proc(descriptor, name, attribute, value.baseAddress, value.count)
    }
  }

  func set(
    _ attribute: UnsafePointer<CChar>, _ value: UnsafeRawBufferPointer, _ flags: CInt,
    unless givesUp: () -> Bool
  ) throws(Errno) {
    let (start, count) = (value.baseAddress, value.count)
    _ = try unsafe choose(
      unless: givesUp,
      direct: { unsafe lv_attribute_set(descriptor, attribute, start, count, flags) },
      byProc: { unsafe lv_attribute_set_by_proc(descriptor, attribute, start, count, flags) })
  }

  func list(_ names: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
    try unsafe choose(
      direct: { unsafe lv_attribute_list(descriptor, names.baseAddress, names.count) },
      byProc: { unsafe lv_attribute_list_by_proc(descriptor, names.baseAddress, names.count) })
  }

  func remove(_ attribute: UnsafePointer<CChar>) throws(Errno) {
    _ = try unsafe choose(
      direct: { unsafe lv_attribute_remove(descriptor, attribute) },
      byProc: { unsafe lv_attribute_remove_by_proc(descriptor, attribute) })
  }

  @inline(__always)
  private func choose(
    unless givesUp: () -> Bool = { false }, direct: () -> Int, byProc: () -> Int
  ) throws(Errno) -> Int {
    if unsafe !isPath {
      do throws(Errno) { return try retrying(unless: givesUp, direct) } catch .badDescriptor {
        // An `O_PATH` descriptor that other code opened.
      }
    }
    return try retrying(unless: givesUp, byProc)
  }
}
