import MountSupport
import Testing

extension CommandTests {
  @Suite("varve ls in its short forms") struct ShortListingTests {
    private static let scene = """
      mkdir d; cd d; mkdir box; echo text > plan.txt; echo > run; chmod 755 run; ln -s run link; mkfifo pipe; touch .hidden
      for i in 1 2 3 4 5 6 7 8 9; do touch name$i; done
      touch -m -d 2001-02-03T04:05:06 name1; touch -a -d 2003-02-03T04:05:06 name1
      varve chflags uchg plan.txt

      """

    @Test("Marks, columns, streams, orders, and the long form without owner or group") func forms() throws {
      let desk = try Desk("", ShortListingTests.scene)
      defer { desk.volume.remove() }
      try desk.expect(
        """
        cd d; export COLUMNS=40
        varve ls -F box plan.txt run link pipe; varve ls -dp box run
        varve ls -C; varve ls -x; varve ls -m
        varve ls -f | sort | head -4; varve ls -1s | sed -n 's/^[ 0-9]* //p' | head -2; varve ls -sk plan.txt | tr -d '0-9'
        [ $(varve ls -s plan.txt | cut -d' ' -f1) = $(stat -c %b plan.txt) ] && echo blocks
        varve ls -lg plan.txt | sed 's/ [A-Z][a-z][a-z] .*//'; varve ls -o plan.txt | sed 's/ [A-Z][a-z][a-z] .*//'
        varve ls -lo plan.txt | sed 's/ [A-Z][a-z][a-z] .*//'
        varve ls -lT name1 | grep -o 'Feb.*'; varve ls -lTu name1 | grep -o 'Feb.*'
        varve ls -lTc name1 | grep -c 2001; varve ls -lTU name1 | grep -c 2001
        varve ls -t | tail -1; varve ls -tu | grep -n name1; varve ls -G box
        """,
        prints: """
          plan.txt
          run*
          link@
          pipe|

          box:
          box/
          run
          box             name2           name5           name8           plan.txt
          link            name3           name6           name9           run
          name1           name4           name7           pipe
          box             link            name1           name2           name3
          name4           name5           name6           name7           name8
          name9           pipe            plan.txt        run
          box, link, name1, name2, name3, name4, name5, name6, name7, name8, name9, pipe,
          plan.txt, run
          .
          ..
          .hidden
          box
          box
          link
           plan.txt
          blocks
          -rw-r--r--  1 root  5
          -rw-r--r--  1 root  5
          -rw-r--r--  1 root  root  uchg 5
          Feb  3 04:05:06 2001 name1
          Feb  3 04:05:06 2003 name1
          0
          0
          name1
          14:name1

          """)
      try desk.end()
    }
  }
}
