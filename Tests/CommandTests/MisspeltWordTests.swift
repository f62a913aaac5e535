import MountSupport
import Testing

extension CommandTests {
  @Suite("Misspelt words") struct MisspeltWordTests {
    @Test("A word of an entry that is misspelt brings the one that was meant") func entries() throws {
      let desk = try Desk("", "mkdir d; touch d/f")
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        for entry in "everyone deney read" "everyone allow read,raed" "everyone ALLOW read" "everyone allow READ" "OWNER@ deny read" \
          "GROUP@ deny read" "EVERYONE@ deny read" "everyone allow fileinherit"; do varve chmod +a "$entry" d/f; done
        varve acl set -e "everyone allow wirte" d/f; varve find --entry Everyone d; varve chflags UCHG d/f; varve access READ d/f
        for who in user:Everyone user:owner@ group:GROUP@ group:Everyone; do varve chmod +a "$who deny read" d/f; done
        varve acl get d/f
        """#,
        prints: #"""
          varve chmod: expected 'allow' or 'deny', found 'deney'; did you mean 'deny'?
          varve chmod: 'raed' is not a right and not an inheritance word; did you mean 'read'?
          varve chmod: expected 'allow' or 'deny', found 'ALLOW'; did you mean 'allow'?
          varve chmod: 'READ' is not a right and not an inheritance word; did you mean 'read'?
          varve chmod: 'OWNER@' is neither a user nor a group; did you mean 'owner@'?
          varve chmod: 'GROUP@' is neither a user nor a group; did you mean 'group@'?
          varve chmod: 'EVERYONE@' is neither a user nor a group; did you mean 'everyone'?
          varve chmod: 'fileinherit' is not a right and not an inheritance word; did you mean 'file_inherit'?
          varve acl set: 'wirte' is not a right and not an inheritance word; did you mean 'write'?
          varve find: 'Everyone' is neither a user nor a group; did you mean 'everyone'?
          varve chflags: unknown flag 'UCHG'; did you mean 'uchg'?
          varve access: 'READ' is neither an operation nor a file; did you mean 'read'?
          varve chmod: no user is called 'Everyone'; a number will do, such as user:1001
          varve chmod: no user is called 'owner@'; a number will do, such as user:1001
          varve chmod: no group is called 'GROUP@'; a number will do, such as group:1001
          varve chmod: no group is called 'Everyone'; did you mean 'everyone'?
          # file: d/f
          # no access list

          """#)
      try desk.end()
    }
  }
}
