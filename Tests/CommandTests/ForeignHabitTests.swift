// What people type who come from setfacl, find and mounts of other kinds, and what they are told.

import MountSupport
import Testing

extension CommandTests {
  @Suite("Habits from other programs") struct ForeignHabitTests {
    @Test("Entries and options of setfacl are answered with what to type here") func setfacl() throws {
      let desk = try Desk("", "touch f")
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        said() { varve "$@" 2>&1 | head -1; }
        said chmod +a u:7001:rw f; said chmod +a d:g:7005:r-x f; said acl set -e user:7001:rwx f; said chmod +a u::rw f
        said chmod +a o::--- f; said acl -m u:7001:rw f; said acl set -m u:7001:rw f; said chmod -m u:7001:rw f
        said acl -b f; said acl set -x u:7001 f; said acl -q f; varve chmod +a "user:7001 allow read,write,append" f; varve acl get f
        """#,
        prints: #"""
          varve chmod: 'u' is neither a user nor a group; a number will do, such as user:1001; that is a form of setfacl; the entry is: 'user:7001 allow read,write,append'
          varve chmod: 'd' is neither a user nor a group; a number will do, such as user:1001; that is a form of setfacl; the entry is: 'group:7005 allow read,execute,file_inherit,directory_inherit,only_inherit'
          varve acl set: expected 'allow' or 'deny', found 'rwx'; that is a form of setfacl; the entry is: 'user:7001 allow read,write,append,execute'
          varve chmod: 'u' is neither a user nor a group; a number will do, such as user:1001; that is a form of setfacl, and what it says is set by the mode, as in: varve chmod u=rw PATH
          varve chmod: 'o' is neither a user nor a group; a number will do, such as user:1001; that is a form of setfacl, and what it says is set by the mode, as in: varve chmod o= PATH
          varve acl: unknown option '-m'; an entry is added with: varve chmod +a "user:bob allow modify" PATH
          varve acl set: unknown option '-m'; an entry is added with: varve chmod +a "user:bob allow modify" PATH
          varve chmod: unknown option '-m'; an entry is added with: varve chmod +a "user:bob allow modify" PATH
          varve acl: unknown option '-b'; a list is removed with: varve chmod -N PATH
          varve acl set: unknown option '-x'; an entry is removed with: varve chmod -a# N PATH, with the number N that 'varve ls -le PATH' shows
          varve acl: unknown option '-q'
          # file: f
          user:7001 allow read,write,append

          """#)
      try desk.end()
    }

    @Test("Tests of find(1) are named as such, and so are options of other mounts") func others() throws {
      let desk = try Desk("", "mkdir d; touch d/a.txt d/b.txt d/c; varve chflags uchg d/a.txt d/c")
      defer { desk.volume.remove() }
      try desk.expect(
        #"""
        mkdir "$BASE/plain"
        said() { varve "$@" 2>&1 | head -1; }
        said find -name '*.txt' d; said find -type f d; said find -nam x d; said find -flags uchgg d
        varve find -flags uchg -0 d | find -files0-from - -maxdepth 0 -name '*.txt'; varve chflags -R 0 d
        said mount -o uid=1000 "$BASE/plain" "$BASE/plain"; said mount -o umask=022 "$BASE/plain" "$BASE/plain"
        said mount -o lang=fr,de "$BASE/plain" "$BASE/plain"; said mount -o de "$BASE/plain" "$BASE/plain"
        """#,
        prints: #"""
          varve find: unknown option '-name'; find(1) has it, also for what this finds: varve find -flags uchg -0 DIR | find -files0-from - -maxdepth 0 -name '*.txt'
          varve find: unknown option '-type'; find(1) has it, also for what this finds: varve find -flags uchg -0 DIR | find -files0-from - -maxdepth 0 -name '*.txt'
          varve find: unknown option '-n'
          varve find: there is no flag 'uchgg'; did you mean 'uchg'?
          d/a.txt
          varve mount: BASE/plain: unknown mount option 'uid'; a volume keeps the owner of every item: 'varve chown' changes it, 'noowners' ignores all of them
          varve mount: BASE/plain: unknown mount option 'umask'; a volume keeps the mode of every item: entries that are inherited give rights to what is made
          varve mount: BASE/plain: languages have '+' between them, because a comma ends an option: lang=fr+de
          varve mount: BASE/plain: unknown mount option 'de'; did you mean 'dev'?

          """#)
      try desk.end()
    }
  }
}
