// Names of accounts, as the caller of an engine knows them. Engines ask no directory service themselves.

/// How names become numbers and numbers become names.
///
/// The daemon and the tools fill it from the user database; tests from a table. A look-up that is not known, or
/// could not be made in time, answers `nil`: reading then fails, printing falls back to the number.
package struct NameBook: Sendable {
  package var user: @Sendable (_ name: String) -> UInt32?
  package var group: @Sendable (_ name: String) -> UInt32?
  package var userName: @Sendable (_ uid: UInt32) -> String?
  package var groupName: @Sendable (_ gid: UInt32) -> String?

  package init(
    user: @escaping @Sendable (_ name: String) -> UInt32?,
    group: @escaping @Sendable (_ name: String) -> UInt32?,
    userName: @escaping @Sendable (_ uid: UInt32) -> String?,
    groupName: @escaping @Sendable (_ gid: UInt32) -> String?
  ) {
    self.user = user
    self.group = group
    self.userName = userName
    self.groupName = groupName
  }

  /// Knows no name: only numbers are read and printed.
  package static let numeric = NameBook(
    user: { _ in nil }, group: { _ in nil }, userName: { _ in nil }, groupName: { _ in nil })

  /// A book with fixed contents.
  package init(users: [String: UInt32], groups: [String: UInt32]) {
    // Of two names for one number the first in the alphabet is printed, so that output does not wander.
    func reversed(_ table: [String: UInt32]) -> [UInt32: String] {
      Dictionary(table.map { ($0.value, $0.key) }, uniquingKeysWith: { min($0, $1) })
    }
    let userNames = reversed(users)
    let groupNames = reversed(groups)
    self.init(
      user: { users[$0] }, group: { groups[$0] }, userName: { userNames[$0] },
      groupName: { groupNames[$0] })
  }
}
