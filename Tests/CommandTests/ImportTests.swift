import MountSupport
import Testing

extension CommandTests {
  @Suite("Importing POSIX lists on a mount", .enabled(if: Programs.has("setfacl"), "needs acl"))
  struct ImportTests {
    /// A tree with lists of all kinds, made behind the mount; `ask DIR` prints what users may do with it.
    private static let tree = """
      mkdir d d/sub; for name in user group mask rivals none; do echo "$name" > d/$name; done
      chmod 640 d/*; chmod 750 d/sub; chmod 755 d; chown -R 7000:7004 d; ln -s user d/link
      cd "$BASE/upper/d"
      setfacl -m u:7001:rw,m::r user; setfacl -m g:7005:rw,g::r group; setfacl -m g::rw,m::r mask
      setfacl -m g:7005:r,g:7006:w rivals
      setfacl -m u:7001:rwx,d:u:7001:rwx,d:g::r-x,d:o::--- sub
      cd "$BASE/mount"
      cat > "$BASE/ask" <<'END'
      for who in 7000:7004: 7001:7009: 7001:7009:7004 7002:7004: 7002:7009:7005 7002:7009:7005,7004 7003:7009:; do
        IFS=: read -r user group groups <<< "$who"
        setpriv --reuid "$user" --regid "$group" ${groups:+--groups "$groups"} ${groups:---clear-groups} bash -c '
          cd "$1"; for name in user group mask rivals none sub; do
            answer=; for right in r w x; do if test -$right $name; then answer+=$right; else answer+=-; fi; done
            echo "$2 $name $answer"; done' bash "$1" "$who"
      done
      END
      ask() { . "$BASE/ask"; }

      """.replacing("${groups:---clear-groups}", with: "$([[ -n $groups ]] || echo --clear-groups)")

    @Test("Everybody may then do what the list said, and before that the mask counts") func rights() throws {
      let desk = try Desk()
      defer { desk.volume.remove() }
      try desk.run(
        Self.tree + """
          ask "$BASE/upper/d" > "$BASE/native"; ask d > "$BASE/before"
          # The mask of 'group' is more than its owning group has.
          grep -qx '7002:7004: group r--' "$BASE/native"; grep -qx '7002:7004: group rw-' "$BASE/before"
          (cd "$BASE/upper"; getfacl -Rn d 2>/dev/null; stat -c '%n %a' d d/*) > "$BASE/lists"
          varve acl import -n d > /dev/null; ask d | cmp - "$BASE/before"
          varve acl import --undo "$BASE/undo" d 2> "$BASE/note"
          ask d | diff "$BASE/native" -
          grep -q '1 item has groups of which neither has all rights of the other' "$BASE/note"
          ! (cd "$BASE/upper"; getfacl -Rn d 2>/dev/null) | grep -E 'mask|default|user:7|group:7'
          # What is made now: the named user has it, the umask notwithstanding, and others do not.
          setpriv --reuid 7000 --regid 7004 --clear-groups bash -c 'umask 022; echo x > d/sub/new; mkdir d/sub/deep'
          setpriv --reuid 7001 --regid 7009 --clear-groups bash -c 'echo y >> d/sub/new; touch d/sub/deep/file'
          ! setpriv --reuid 7003 --regid 7009 --clear-groups cat d/sub/new 2> /dev/null
          varve acl import -v d 2>&1 | grep -q ', 0 changed, 0 failed'
          rm -r d/sub/new d/sub/deep
          varve acl restore --undo "$BASE/redo" "$BASE/undo"
          (cd "$BASE/upper"; getfacl -Rn d 2>/dev/null; stat -c '%n %a' d d/*) | diff "$BASE/lists" -
          ask d | diff "$BASE/before" -
          varve acl restore "$BASE/redo"; ask d | diff "$BASE/native" -
          """, succeeds: true)
      try desk.end()
    }

    @Test("A plan tells entries and modes, in words and in JSON; status and check tell that lists are there")
    func plan() throws {
      let desk = try Desk()
      defer { desk.volume.remove() }
      try desk.run(Self.tree, succeeds: true)
      try desk.expect(
        """
        varve acl import -nv d/user d/group d/mask 2> /dev/null
        varve acl import --json -n d/mask 2> /dev/null | grep -o '"posix": [^]]*]'
        varve check d 2>&1 | sed 's/ d[^ ]*//'; varve check -q d; echo $?; varve check d/none
        varve check --json -q d/user | grep -o '"posixLists": [0-9]*'
        varve check "$BASE/upper/d" 2>&1 | grep -o 'as 5 items do in all'
        varve status . | grep -c 'acl import'; setfacl -m u:7001:rx "$BASE/upper/d"; varve status . | grep -c 'acl import'
        varve acl import "$BASE/upper/d/user"; echo $?
        """,
        prints: """
          d/group: 0 -> 6 entries, no POSIX list any more
            + owner@ allow read,write,append,writeattr,readextattr,writeextattr
            + owner@ deny execute
            + group:7005 allow read,write,append,writeattr,readextattr,writeextattr
            + group:7005 deny execute
            + group@ allow read,readextattr
            + group@ deny write,execute,append,writeattr,writeextattr
          d/mask: no POSIX list any more
          d/user: 0 -> 4 entries, no POSIX list any more
            + owner@ allow read,write,append,writeattr,readextattr,writeextattr
            + owner@ deny execute
            + user:7001 allow read,readextattr
            + user:7001 deny write,execute,append,writeattr,writeextattr
          3 of 3 items would change
          "posix": ["user::rw-", "group::rw-", "mask::r--", "other::---"]
          "posix": []
          varve check: has a POSIX list, as 5 items do in all: its mask counts as the rights of the group, and the rest of it does not count; 'varve acl import' makes entries of it
          0
          "posixLists": 1
          as 5 items do in all
          0
          1
          varve acl import: BASE/upper/d/user: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          1

          """)
      try desk.end()
    }

    @Test("Who may not change the mode imports nothing, and a locked item is told") func refusals() throws {
      let desk = try Desk("", Self.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        varve chflags uchg d/user
        varve acl import d/user d/mask 2>&1 | grep -c 'd/user: .*EPERM'
        (cd "$BASE/upper/d"; getfacl -cn user mask 2> /dev/null | grep -e user:7 -e mask)
        setfattr -n system.varve.posix -v user::rwx d/mask
        setfattr -n system.varve.posix -v default:user::rwx,default:group::r-x,default:other::--- d/mask
        getfattr --only-values -n system.varve.posix d/rivals; echo
        setpriv --reuid 7003 --regid 7009 --clear-groups bash -c 'varve acl import d/rivals > /dev/null 2>&1; echo $?'
        setpriv --reuid 7003 --regid 7009 --clear-groups setfattr -x system.varve.posix d/rivals
        getfacl -cn "$BASE/upper/d/rivals" 2> /dev/null | grep -c 'group:700'; getfattr -m - d/rivals
        """,
        prints: """
          1
          user:7001:rw-\t#effective:r--
          mask::r--
          setfattr: d/mask: Invalid argument
          setfattr: d/mask: Invalid argument
          user::rw-,group::r--,group:7005:r--,group:7006:-w-,mask::rw-,other::---
          1
          setfattr: d/rivals: Operation not permitted
          2

          """)
      try desk.run("varve chflags nouchg d/user", succeeds: true)
      try desk.end()
    }
  }
}
