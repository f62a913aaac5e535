import CLinux

// Creating files as another user.

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

  /// Gives up the right to exceed quotas and to use the blocks a file system reserves for root (CAP_SYS_RESOURCE).
  ///
  /// For good, and for the calling thread and those it starts from then on: so once, in the main thread, before any
  /// other. Raising a hard limit takes this capability and comes first.
  package static func giveUpResourceOverride() throws(Errno) {
    try retrying { lv_give_up_resource_override() }
  }

  /// Makes `user` and `group` the owner of whatever the calling thread creates from now on; EPERM if it may not.
  ///
  /// It stays so until the next call: a thread that creates for one user all the time changes once. The
  /// supplementary groups stay those of the thread. Each change of the user makes the process undumpable
  /// for ptrace and core files, as any change of credentials does.
  package static func become(user: UInt32, group: UInt32) throws(Errno) {
    try retrying { lv_become(user, group) }
  }
}
