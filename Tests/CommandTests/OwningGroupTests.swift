import MountSupport
import Testing

extension CommandTests {
  @Suite("Owning groups in what varve shows") struct OwningGroupTests {
    @Test("A group that owns an item is shown in place of nobody") func owningGroup() throws {
      let desk = try Desk(
        "", "touch f g; varve chown :group=2002 f; varve chown :group=audio g; chmod 640 f g")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve ls -l | awk 'NR > 1 { print $3, $4, $NF }'; varve ls -n g | awk '{ print $3 }'
        varve ls --json f | grep -e '"user"' -e ownerGroup -e '"group"'
        varve why --as 1001:2009,2002 write f | tail -n 1
        varve why --as 1001:2009,2002 chmod f | tail -n 1
        varve status . | grep -c '^ *owner'; varve chown :group=audio .
        varve status . | grep '^ *owner' | tr -s ' '; varve status --json . | grep ownerGroup
        """,
        prints: """
          group:2002 root f
          group:audio root g
          group:29
              "user": 65534,
              "ownerGroup": 2002,
              "group": 0,
            f: write allowed by its mode (owner rw-; the owner is group:2002)
            f: chmod allowed by ownership: the owner is group:2002
          0
           owner: group:audio
            "ownerGroup": 29,

          """)
      try desk.end()
    }
  }
}
