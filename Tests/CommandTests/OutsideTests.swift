import MountSupport
import Testing

extension CommandTests {
  @Suite("Complaints outside of volumes") struct OutsideTests {
    @Test("What is no volume is said once for a tree") func volumes() throws {
      let desk = try Desk("", ComplaintTests.tree)
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        changing=("chflags hidden" "chmod 600" "chmod -N" "chown 1" "acl set -e everyone:allow:read" "acl strip" "acl sort" "acl explicit"
          "acl inherit" "acl propagate" "acl copy d/f")
        for verb in "chflags -R hidden" "${changing[@]:4}" "acl get" "acl check -R" "why read" "access read" status umount; do
          varve $verb "$BASE/plain"
        done
        varve acl dump "$BASE/plain"; echo $?; varve acl check -R --json "$BASE/plain" 2> /dev/null
        varve acl restore "$BASE/plain"; varve acl restore "$BASE/plain/a"; varve acl propagate "$BASE/plain/a"
        """#,
        prints: #"""
          varve chflags: BASE/plain: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          varve acl set: BASE/plain: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          varve acl strip: BASE/plain: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          varve acl sort: BASE/plain: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          varve acl explicit: BASE/plain: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          varve acl inherit: BASE/plain: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          varve acl propagate: BASE/plain: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          varve acl copy: BASE/plain: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          varve acl get: BASE/plain: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          varve acl check: BASE/plain: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          varve why: BASE/plain: not on a Varve volume; 'varve status' lists the volumes
          varve access: BASE/plain: not on a Varve volume; 'varve status' lists the volumes
          varve status: BASE/plain: not on a Varve volume; 'varve status' lists the volumes
          varve umount: BASE/plain: not a mount point; 'varve status' lists the volumes
          varve-acl 1
          root BASE/plain
          varve acl dump: BASE/plain: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          end
          1
          {"items": [], "checked": 1, "findings": 0, "failed": 1}
          varve acl restore: BASE/plain: Is a directory (EISDIR)
          varve acl restore: BASE/plain/a: is not a dump of access lists: 'varve-acl 1' was expected, and it ends before that
          varve acl propagate: BASE/plain/a: not a directory; 'varve acl inherit' renews the entries of a single file

          """#)
      try desk.end()
    }

    @Test("So it is with -R, however much is in the tree") func outsideTrees() throws {
      let desk = try Desk(
        "",
        "mkdir -p $BASE/plain/{a,b}/{c,d}; touch $BASE/plain/{a,b}/{c,d}/{e,f}; ln -s $BASE/plain link; touch f"
      )
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        for verb in "acl set -R -e everyone:allow:read" "acl strip -R" "acl sort -R" "acl explicit -R" "acl copy -R f" "chmod -R -N" \
          "chown -R :group=0" "chflags -R hidden"; do
          for path in "$BASE/plain" link; do varve $verb "$path" 2>&1 | wc -l; done
        done | sort | uniq -c
        varve chmod -R +a "everyone allow read" "$BASE/plain"
        varve chmod -R +a "everyone allow read" . "$BASE/plain" f 2>&1 | wc -l
        """#,
        prints: """
                3 0
               13 1
          varve chmod: BASE/plain: not on a Varve volume, or the volume does not keep this (ENOTSUP); 'varve status' lists the volumes
          1

          """)
      try desk.end()
    }
  }
}
