import CLinux

// Owner, mode and times: of what a descriptor refers to (ordinary or `O_PATH`), or of a name in a
// directory, whose symbolic link is not followed.

extension Descriptor {
  /// Changes the owner, the group or both; also of a symbolic link.
  ///
  /// Linux clears the set-user-id and set-group-id bits of regular files here, for every caller.
  package borrowing func changeOwner(user: UInt32?, group: UInt32?) throws(Errno) {
    try retrying { lv_change_owner(rawValue, nil, user ?? unchanged, group ?? unchanged) }
  }

  /// Sets the low 12 bits of the mode; EOPNOTSUPP for a symbolic link, whose mode means nothing.
  package borrowing func changeMode(_ mode: UInt16) throws(Errno) {
    if Capabilities.hasChangeModeAt2 {
      do throws(Errno) {
        try retrying { lv_change_mode(rawValue, nil, UInt32(mode)) }
        return
      } catch .notImplemented {
        Capabilities.hasChangeModeAt2 = false
      }
    }
    // Before Linux 6.6 some file systems changed the mode of a link and then said they had not.
    guard try status().kind != .symbolicLink else { throw .unsupported }
    try retrying { lv_change_mode_by_proc(rawValue, UInt32(mode)) }
  }

  package borrowing func changeMode(of name: borrowing FileName, _ mode: UInt16) throws(Errno) {
    if Capabilities.hasChangeModeAt2 {
      do throws(Errno) {
        try retrying { unsafe lv_change_mode(rawValue, name.pointer, UInt32(mode)) }
        return
      } catch .notImplemented {
        Capabilities.hasChangeModeAt2 = false
      }
    }
    let object = try open(name, .path)
    try object.changeMode(mode)
  }

  /// Changes the times; also of a symbolic link.
  package borrowing func changeTimes(
    access: TimeChange, modification: TimeChange
  ) throws(Errno) {
    let (access, modification) = try (access.forKernel(), modification.forKernel())
    if Capabilities.hasEmptyPath {
      do throws(Errno) {
        try retrying { lv_change_times(rawValue, nil, access, modification) }
        return
      } catch .invalid {
        // Kernels before 5.13 do not know the empty path here.
      }
    }
    try retrying { lv_change_times_by_proc(rawValue, access, modification) }
  }
}

/// What `chown` takes for "leave it": the id -1, which no user can have.
private let unchanged = UInt32.max
