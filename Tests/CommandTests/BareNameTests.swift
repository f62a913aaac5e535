// A program that goes by the name of a verb: links for scripts written for macOS.

import MountSupport
import Testing

extension CommandTests {
  @Suite("Called by the name of a verb") struct BareNameTests {
    @Test("chflags, chmod, chown and ls are the verbs; any other name is varve") func links() throws {
      let desk = try Desk("", "echo plan > plan; chown 7001:7001 plan")
      defer { desk.volume.remove() }
      try desk.expect(
        """
        mkdir $BASE/bin
        for name in chflags chmod chown ls other; do ln -s "$(type varve | grep -o "/[^']*")" $BASE/bin/$name; done
        PATH=$BASE/bin:$PATH
        chmod +a "user:7001 allow read" plan; chflags -v uchg plan; chown 0:0 plan; echo $?; ls -leO plan | sed 's/ [A-Z][a-z][a-z] .* plan/ DATE plan/'
        other chflags nouchg plan; $BASE/bin/chown 0:0 plan; stat -c %u plan
        """,
        prints: """
          plan
          varve chown: plan: is locked by uchg; clear it first: varve chflags nouchg plan (EPERM)
          1
          -rw-r--r--+ 1 7001  7001  uchg 5 DATE plan
           0: user:7001 allow read
          0

          """)
      try desk.end()
    }
  }
}
