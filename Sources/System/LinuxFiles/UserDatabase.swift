import Glibc

// Names and numbers of users and groups, as the system's own library finds them.

/// The user database (NSS).
///
/// Every call may take as long as a directory server does.
package enum UserDatabase {
  /// The groups of a user, the primary one of the account among them; `nil` when the user is not known.
  package static func groups(ofUser uid: UInt32) -> [UInt32]? {
    guard let name = userName(uid), let primary = primaryGroup(uid) else { return nil }
    var count: CInt = 64
    while count <= 65_536 {
      var groups = [gid_t](repeating: 0, count: Int(count))
      let room = count
      let found = unsafe groups.withUnsafeMutableBufferPointer { buffer in
        unsafe getgrouplist(name, primary, buffer.baseAddress, &count)
      }
      if found >= 0 { return Array(groups.prefix(Int(count))) }
      count = max(count, room * 2)
    }
    return nil
  }

  private static func primaryGroup(_ uid: UInt32) -> UInt32? {
    unsafe lookUp(passwd.self, { unsafe getpwuid_r(uid, $0, $1, $2, $3) }) { unsafe $0.pw_gid }
  }

  package static func userName(_ uid: UInt32) -> String? {
    unsafe lookUp(passwd.self, { unsafe getpwuid_r(uid, $0, $1, $2, $3) }) { unsafe text($0.pw_name) }
  }

  package static func user(named name: String) -> UInt32? {
    unsafe lookUp(passwd.self, { unsafe getpwnam_r(name, $0, $1, $2, $3) }) { unsafe $0.pw_uid }
  }

  package static func groupName(_ gid: UInt32) -> String? {
    unsafe lookUp(Glibc.group.self, { unsafe getgrgid_r(gid, $0, $1, $2, $3) }) { unsafe text($0.gr_name) }
  }

  package static func group(named name: String) -> UInt32? {
    unsafe lookUp(Glibc.group.self, { unsafe getgrnam_r(name, $0, $1, $2, $3) }) { unsafe $0.gr_gid }
  }

  /// The names of all accounts that the system lists; few directory servers list theirs.
  ///
  /// For one thread: the library keeps the position.
  package static func userNames() -> [String] {
    var names: [String] = []
    setpwent()
    while let entry = unsafe getpwent() {
      if let name = unsafe text(entry.pointee.pw_name) { names.append(name) }
    }
    endpwent()
    return names
  }

  /// The names of all groups that the system lists; for one thread.
  package static func groupNames() -> [String] {
    var names: [String] = []
    setgrent()
    while let entry = unsafe getgrent() {
      if let name = unsafe text(entry.pointee.gr_name) { names.append(name) }
    }
    endgrent()
    return names
  }

  private static func text(_ pointer: UnsafeMutablePointer<CChar>?) -> String? {
    guard let pointer = unsafe pointer else { return nil }
    return unsafe String(cString: pointer)
  }

  /// Runs one of the re-entrant look-ups with a buffer that grows as it asks.
  private static func lookUp<Record, Value>(
    _ kind: Record.Type,
    _ call: (
      UnsafeMutablePointer<Record>, UnsafeMutablePointer<CChar>, Int,
      UnsafeMutablePointer<UnsafeMutablePointer<Record>?>
    ) -> CInt,
    _ value: (Record) -> Value?
  ) -> Value? {
    let record = UnsafeMutablePointer<Record>.allocate(capacity: 1)
    defer { unsafe record.deallocate() }
    var size = 1_024
    while size <= 1 << 20 {
      let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
      defer { unsafe buffer.deallocate() }
      var result: UnsafeMutablePointer<Record>?
      let outcome = unsafe call(record, buffer, size, &result)
      if outcome == ERANGE {
        size *= 4
        continue
      }
      guard outcome == 0, let found = unsafe result else { return nil }
      return unsafe value(found.pointee)
    }
    return nil
  }
}
