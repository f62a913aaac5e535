import MountSupport
import Testing

extension CommandTests {
  @Suite("Lists that are to be left alone") struct NoInheritTests {
    @Test(
      "The mark is set and shown, outlives the last entry, keeps what is handed down away, and is taken off")
    func mark() throws {
      let desk = try Desk("", "mkdir -p d/closed/sub d/open; touch d/closed/f")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve acl explicit --no-inherit d/closed; varve acl get d/closed; varve ls -lde d/closed | cut -c1-11
        varve ls -d --json d/closed | tr -d ' \n' | grep -o '"aclFlags":[^]]*]'
        varve chmod +a "everyone deny delete,file_inherit,directory_inherit" d; varve acl propagate d
        varve acl get -a d/closed d/closed/sub d/closed/f d/open | grep -v '^$'
        varve acl inherit d/closed; echo $?
        varve chmod +a "everyone allow read" d/closed; varve chmod -a# 0 d/closed; varve acl get d/closed
        printf '!#acl 1 no_inherit\\n' | varve acl set -v -F - d/open; varve acl get d/open
        varve acl inherit --replace d/closed d/open; varve acl get d/closed d/open | grep -v '^$'
        varve acl explicit --no-inherit d/closed; varve acl dump d > ../dump; varve acl strip d/closed
        varve acl get -a d/closed; varve acl restore ../dump; varve acl get d/closed; rm ../dump
        """,
        prints: """
          # file: d/closed
          !#acl 1 no_inherit
          drwxr-xr-x+
           no_inherit
          "aclFlags":["no_inherit"]
          # file: d/closed
          !#acl 1 no_inherit
          # file: d/closed/sub
          # no access list
          # file: d/closed/f
          # no access list
          # file: d/open
          group:everyone inherited deny delete,file_inherit,directory_inherit
          varve acl inherit: d/closed: is marked no_inherit and left alone; --replace takes the mark and its own entries off
          0
          # file: d/closed
          !#acl 1 no_inherit
          d/open: 1 -> 0 entries
            - group:everyone inherited deny delete,file_inherit,directory_inherit
            + !#acl 1 no_inherit
          varve acl set: 1 item, 1 changed, 0 failed
          # file: d/open
          !#acl 1 no_inherit
          # file: d/closed
          group:everyone inherited deny delete,file_inherit,directory_inherit
          # file: d/open
          group:everyone inherited deny delete,file_inherit,directory_inherit
          # file: d/closed
          # no access list
          # file: d/closed
          !#acl 1 no_inherit
          group:everyone deny delete,file_inherit,directory_inherit

          """)
    }

    @Test("A verb about a whole volume names its mount point, and refuses a path at which nothing is")
    func nothing()
      throws
    {
      let desk = try Desk("", "mkdir d")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve lock -v d; varve lock d; varve lock --after 9 d; for words in 'lock d/none' 'unlock none key' 'key slot list none' 'layer list none'; do varve $words; echo $?; done
        """,
        prints: """
          BASE/mount has no keybag, so there is nothing to lock
          varve lock: BASE/mount: has no keybag, so there is nothing to lock
          varve lock: BASE/mount: has no keybag, so there is nothing to lock
          varve lock: d/none: No such file or directory (ENOENT)
          1
          varve unlock: none: No such file or directory (ENOENT)
          1
          varve key slot list: none: No such file or directory (ENOENT)
          1
          varve layer list: none: No such file or directory (ENOENT)
          1

          """)
    }
  }
}
