import MountSupport
import Testing

extension CommandTests {
  @Suite("The way back of set-id bits") struct SetIDUndoTests {
    @Test("Set-id bits of a file do not come back; what to type is printed, and all else comes back")
    func files()
      throws
    {
      let desk = try Desk(
        "",
        "for f in one two kept; do echo $f > $f; chmod 6755 $f; done; chmod 4711 two; mkdir d; chmod 2755 d; ln one other"
      )
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve chown --undo $BASE/undo 7001:7001 one two d; varve chmod --undo $BASE/undo --resume 700 kept
        varve chmod --undo $BASE/undo --resume 6700 kept; varve chown --undo $BASE/undo --resume 7002 other
        varve acl restore -q -n $BASE/undo; echo $?
        varve acl restore --undo $BASE/redo $BASE/undo; echo $?
        stat -c '%n %a %u:%g' one two kept d
        varve acl restore -v $BASE/undo; echo $?
        ! grep '^changed' $BASE/undo $BASE/redo
        """,
        prints: """
          varve acl restore: BASE/mount/one: its set-id bits stay off, as its content may have changed; if it can be trusted: varve chmod 6755 BASE/mount/one
          varve acl restore: BASE/mount/two: its set-id bits stay off, as its content may have changed; if it can be trusted: varve chmod 4711 BASE/mount/two
          BASE/mount/d: owner 7001:7001 -> 0:0, mode 0755 -> 2755
          BASE/mount/kept: mode 6700 -> 6755
          BASE/mount/one: owner 7002:7001 -> 0:0
          BASE/mount/two: owner 7001:7001 -> 0:0
          2 of 4 items would change, 2 would fail
          1
          varve acl restore: BASE/mount/one: its set-id bits stay off, as its content may have changed; if it can be trusted: varve chmod 6755 BASE/mount/one
          varve acl restore: BASE/mount/two: its set-id bits stay off, as its content may have changed; if it can be trusted: varve chmod 4711 BASE/mount/two
          1
          one 755 0:0
          two 711 0:0
          kept 6755 0:0
          d 2755 0:0
          varve acl restore: BASE/mount/one: its set-id bits stay off, as its content may have changed; if it can be trusted: varve chmod 6755 BASE/mount/one
          varve acl restore: BASE/mount/two: its set-id bits stay off, as its content may have changed; if it can be trusted: varve chmod 4711 BASE/mount/two
          varve acl restore: 4 items, 0 changed, 2 failed
          1

          """)
      try desk.end()
    }

    @Test("Bits that a file has while it is restored stay, unless it gets another owner") func standing()
      throws
    {
      let desk = try Desk("", "touch f g; chmod 4755 f g")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve chmod --undo $BASE/undo 4700 f; varve chown --undo $BASE/undo --resume 7001 g; chmod 4755 g
        varve acl restore $BASE/undo; echo $?; stat -c '%n %a %u' f g
        """,
        prints: """
          varve acl restore: BASE/mount/g: its set-id bits stay off, as its content may have changed; if it can be trusted: varve chmod 4755 BASE/mount/g
          1
          f 4755 0
          g 755 0

          """)
      try desk.end()
    }
  }
}
