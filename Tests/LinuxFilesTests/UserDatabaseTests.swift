import LinuxFiles
import Testing

@Suite("The user database") struct UserDatabaseTests {
  @Test("Root and nobody are found both ways") func bothWays() {
    #expect(UserDatabase.userName(0) == "root")
    #expect(UserDatabase.user(named: "root") == 0)
    #expect(UserDatabase.groupName(0) == "root")
    #expect(UserDatabase.group(named: "root") == 0)
    #expect(UserDatabase.user(named: "nobody") == 65_534)
  }

  @Test("Whoever is not there is not found") func missing() {
    #expect(UserDatabase.userName(3_999_999_999) == nil)
    #expect(UserDatabase.user(named: "no such account") == nil)
    #expect(UserDatabase.groups(ofUser: 3_999_999_999) == nil)
  }

  @Test("A user has the groups of the account, and no others") func groups() {
    #expect(UserDatabase.groups(ofUser: 0)?.contains(0) == true)
    let nobody = UserDatabase.groups(ofUser: 65_534)
    #expect(nobody?.contains(65_534) == true)
    #expect(nobody?.contains(0) == false)
  }
}
