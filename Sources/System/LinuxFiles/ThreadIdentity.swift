import CLinux

// Acting on files as somebody else, for the length of one call.

/// The identity with which the calling thread creates files.
///
/// Linux keeps it per thread, and these are the raw calls, so other threads notice nothing.
package enum ThreadIdentity {
  /// Lets the calling thread keep its capabilities while it acts as a user other than root.
  ///
  /// Without this (`SECBIT_NO_SETUID_FIXUP`) Linux takes CAP_DAC_OVERRIDE, CAP_CHOWN, CAP_FOWNER and the
  /// like away as long as the file-system user is not 0. The bit is per thread; a new thread starts with
  /// what its creator had at that moment. So: once in the main thread before workers start, or once in
  /// each worker. Needs CAP_SETPCAP.
  package static func keepCapabilities() throws(Errno) {
    try retrying { lv_keep_capabilities() }
  }

  /// Whether `keepCapabilities` is in force in the calling thread.
  package static var keepsCapabilities: Bool { lv_keeps_capabilities() > 0 }

  /// Runs `body` with `user` and `group` as the owner of whatever it creates; EPERM if it may not.
  ///
  /// The supplementary groups stay those of the thread. Going back cannot fail: the former values are the
  /// thread's real or effective ids, or it has CAP_SETUID and CAP_SETGID, which a change of the
  /// file-system ids never takes away. Each change of the user makes the process undumpable for
  /// ptrace and core files, as any change of credentials does.
  package static func acting<R: ~Copyable>(
    user: UInt32, group: UInt32, _ body: () throws(Errno) -> R
  ) throws(Errno) -> R {
    let formerGroup = lv_set_file_group(group)
    let formerUser = lv_set_file_user(user)
    defer {
      _ = lv_set_file_user(formerUser)
      _ = lv_set_file_group(formerGroup)
    }
    // The calls answer the former value and no error. An id that nobody can have asks without changing.
    guard lv_set_file_user(.max) == user, lv_set_file_group(.max) == group else { throw .notPermitted }
    return try body()
  }
}
