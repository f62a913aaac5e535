import MountSupport
import Testing

extension CommandTests {
  @Suite("Walks, and waiting for an editor") struct WalkTests {
    /// The output is not read until names were replaced: the walk waits with a page of names that are files no more.
    @Test("A directory or a link that took the place of a file is left alone, and that is said")
    func replacedFiles() throws {
      let desk = try Desk("", "mkdir d outside; cd d; touch {1..200}")
      defer { desk.volume.remove() }
      try desk.run(
        """
        # A long path for a root, so that a few lines fill the pipe.
        varve acl set -R -v -e "user:7001 allow list" d$(printf '/.%.0s' {1..1500}) 2> $BASE/said | (
          head -c 1 > /dev/null
          cd d; for i in {1..200}; do rm $i; if ((i % 2)); then mkdir $i; else ln -s ../outside $i; fi; done
          cat > /dev/null
        ) || true
        # Ten are named, the others are counted.
        for kind in directory link; do
          sentence="was a file when the directory was read, and is a $kind now; left alone"
          test $(grep -c ": $sentence" $BASE/said) = 10
          test $(sed -n "s/.*: \\([0-9]*\\) more: each $sentence/\\1/p" $BASE/said) -ge 30
        done
        test $(varve acl get -R --all d | grep -c '# no access list') = 100
        varve acl get outside | grep -q '# no access list'
        """, succeeds: true)
      try desk.end()
    }

    @Test("A tree deeper than there are descriptors is walked with -L, too") func deepWithLinks() throws {
      let desk = try Desk(
        "",
        """
        mkdir outside; touch outside/f; mkdir deep; cd deep
        for level in {1..150}; do mkdir n; cd n; done
        ln -s $BASE/mount/outside link; touch leaf
        """)
      defer { desk.volume.remove() }
      try desk.run(
        """
        (ulimit -n 110; varve chmod -R -L o-rx deep; varve chflags -R -L hidden deep)
        test $(find deep -type d -perm /5 | wc -l) = 0
        test $(stat -c %a outside) = 750
        test $(varve ls -lO outside | grep -c hidden) = 1
        """, succeeds: true)
      try desk.end()
    }

    /// A job in the background ignores both signals; its output has no room, so it is still there to get them.
    @Test("Signals that were ignored are ignored after the editor, too") func signals() throws {
      let desk = try Desk("", "touch f; varve acl set -e 'user:7001 allow read' f")
      defer { desk.volume.remove() }
      try desk.run(
        """
        printf '#!/bin/bash\\nsed -i s/7001/7002/ "$1"\\n' > $BASE/editor; chmod +x $BASE/editor
        mkfifo $BASE/full; exec 3<> $BASE/full; head -c 65536 /dev/zero >&3
        EDITOR=$BASE/editor '\(Program.built("varve"))' acl edit -v f > $BASE/full 2> /dev/null & editing=$!
        until varve acl get f | grep -q 7002; do kill -0 $editing; sleep 0.01; done
        kill -INT $editing; kill -QUIT $editing
        head -c 65536 <&3 > /dev/null
        wait $editing
        """, succeeds: true)
      try desk.end()
    }
  }
}
