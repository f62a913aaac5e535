import MountSupport
import Testing

extension CommandTests {
  @Suite("acl get, set, sort, strip, explicit, inherit, copy") struct ListVerbTests {
    static let tree = """
      mkdir -p shared/sub
      touch shared/file shared/sub/deep
      """

    @Test("What is set is shown, in four notations") func formats() throws {
      let desk = try Desk("", ListVerbTests.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve acl set -e "user:1234 allow read,write" -e "everyone deny delete" shared/file; echo $?
        varve acl set -e "group:bin allow list,file_inherit,directory_inherit" shared
        varve acl get shared/file shared shared/sub
        varve acl get --format nfs4 shared/file shared
        varve acl get --format zfs --numeric shared/file shared
        varve acl get --json shared/sub shared/file
        """,
        prints: """
          0
          # file: shared/file
          user:1234 allow read,write
          group:everyone deny delete

          # file: shared
          group:bin allow list,file_inherit,directory_inherit

          # file: shared/sub
          # no access list
          # file: shared/file
          A::1234:rw
          D::EVERYONE@:d

          # file: shared
          A:fdg:bin:r
          # file: shared/file
          user:1234:rw------------:-------:allow
          everyone@:-----d--------:-------:deny

          # file: shared
          group:2:r-------------:fd-----:allow
          [
            {"path": "shared/sub", "kind": "directory", "acl": null},
            {"path": "shared/file", "kind": "regular", "acl": [{"who": "user:1234", "id": 1234, "type": "allow", "inherited": false, "rights": ["read", "write"], "inheritance": []}, {"who": "group:everyone", "type": "deny", "inherited": false, "rights": ["delete"], "inheritance": []}]}
          ]

          """)
      try desk.end()
    }

    @Test("What several items print is no list for one") func severalLists() throws {
      let desk = try Desk("", ListVerbTests.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve acl set -e "user:1234 allow read" shared/file shared; varve acl get shared/file shared > "$BASE/two"
        varve acl set -F - shared/sub < "$BASE/two"; echo $?; varve acl get shared/sub
        """,
        prints: """
          varve acl set: '-': it holds the lists of 2 items; 'varve acl dump' and 'varve acl restore' keep the lists of many
          2
          # file: shared/sub
          # no access list

          """)
      try desk.end()
    }

    @Test("What one item prints can be set on another, in every notation")
    func roundTrip() throws {
      let desk = try Desk("", ListVerbTests.tree)
      defer { desk.volume.remove() }
      try desk.run(
        """
        varve acl set -e "user:7 inherited allow full" -e "group:8 deny write,append,readattr,limit_inherit" \
          -e "owner@ allow execute" -e "group@ allow chown" -e "nobody@ deny delete" shared/sub
        for format in macos nfs4 zfs json; do
          varve acl strip shared/sub/deep
          varve acl get --format $format shared/sub | varve acl set --format $format -F - shared/file
          diff <(varve acl get shared/sub | tail -n +2) <(varve acl get shared/file | tail -n +2 |
            sed 's/read,write,execute,delete,append,delete_child/list,add_file,search,delete,add_subdirectory,delete_child/
                 s/write,append,readattr/add_file,add_subdirectory,readattr/; s/allow execute/allow search/')
        done
        """, succeeds: true)
      try desk.end()
    }

    @Test("Mistakes name the word and change nothing") func mistakes() throws {
      let desk = try Desk("", ListVerbTests.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve acl set -e "user:4294967295 allow read" shared/file; echo $?
        varve acl set -e "no-such-user allow read" shared/file; echo $?
        printf 'everyone allow read\\n\\neveryone alow read\\n' | varve acl set -F - shared/file; echo $?
        varve acl set shared/file; echo $?
        varve acl set --format xml -e x shared/file; echo $?
        varve acl get gone; echo $?
        varve acl get /etc/passwd; echo $?
        varve acl; echo $?
        varve acl gte shared 2>&1 | head -1
        varve acl get shared/file
        """,
        prints: """
          varve acl set: 4294967295 cannot be the number of an account
          2
          varve acl set: 'no-such-user' is neither a user nor a group; a number will do, such as user:1001
          2
          varve acl set: '-': line 3: expected 'allow' or 'deny', found 'alow'; did you mean 'allow'?
          2
          varve acl set: give the new list either with -e ENTRY, once for each entry, or with -F FILE
          Usage: varve acl set [-Rnvq0] [-e ENTRY] [-F FILE] [--format=FORMAT]
                                 [--undo=FILE] [--resume] [--json] [PATH...]
          'varve help acl set' tells more.
          2
          varve acl set: 'xml' is not a format: macos, nfs4, zfs and json are
          2
          varve acl get: gone: No such file or directory (ENOENT)
          1
          varve acl get: /etc/passwd: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          1
          varve acl: what should be done? One of get, set, edit, propagate, inherit, import, explicit, strip, copy, sort, check, dump, restore
          'varve help acl' tells more.
          2
          varve acl: unknown verb 'gte'; did you mean 'get'?
          # file: shared/file
          # no access list

          """)
      try desk.end()
    }

    @Test("Sorting, making explicit, stripping, renewing and copying") func changes() throws {
      let desk = try Desk("", ListVerbTests.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve acl set -e "user:7001 inherited allow read" -e "user:7002 allow read" -e "user:7003 deny read" shared/file
        varve acl sort -q -n -v shared/file
        varve acl sort shared/file; varve acl get shared/file
        varve acl copy shared/file shared/sub/deep; varve acl get shared/sub/deep
        varve acl copy --whole shared/file shared/sub/deep; varve acl get shared/sub/deep
        varve acl explicit -v shared/file
        varve acl strip --inherited shared/sub/deep; varve acl get shared/sub/deep
        varve acl set -e "user:7009 allow list,file_inherit,directory_inherit" shared
        varve acl inherit -R shared/sub; varve acl get -R shared/sub
        varve acl strip -R shared; varve acl get -R --all shared | grep -c '# no access list'
        varve acl inherit .; echo $?
        """,
        prints: """
          shared/file: 3 -> 3 entries
            - user:7001 inherited allow read
            - user:7002 allow read
              user:7003 deny read
            + user:7002 allow read
            + user:7001 inherited allow read
          1 of 1 item would change
          # file: shared/file
          user:7003 deny read
          user:7002 allow read
          user:7001 inherited allow read
          # file: shared/sub/deep
          user:7003 deny read
          user:7002 allow read
          # file: shared/sub/deep
          user:7003 deny read
          user:7002 allow read
          user:7001 inherited allow read
          shared/file: 3 -> 3 entries
              user:7003 deny read
              user:7002 allow read
            - user:7001 inherited allow read
            + user:7001 allow read
          varve acl explicit: 1 item, 1 changed, 0 failed
          # file: shared/sub/deep
          user:7003 deny read
          user:7002 allow read
          # file: shared/sub
          user:7009 inherited allow list,file_inherit,directory_inherit

          # file: shared/sub/deep
          user:7003 deny read
          user:7002 allow read
          user:7009 inherited allow read
          4
          varve acl inherit: .: is the root of the volume; there is nothing above it to inherit from
          1

          """)
      try desk.end()
    }
  }
}
