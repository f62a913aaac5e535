import MountSupport
import Testing

extension CommandTests {
  @Suite("Large trees") struct SpeedTests {
    /// The bound is wide, because machines that test are busy; Benchmarks/propagate.sh measures.
    @Test("20,000 items: propagate beside setfacl, and a listing of everything")
    func twentyThousand() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try volume.unmount()
      try Program.shell(
        """
        mkdir d native; cd d
        for i in $(seq 200); do mkdir s$i; (cd s$i; touch $(seq 100)); done
        """, in: volume.upper)
      try volume.mount()
      let desk = Desk(volume)
      try desk.run(
        """
        now() { date +%s%N; }
        cp -a $BASE/upper/d $BASE/native
        varve acl set -e "group:701 allow list,file_inherit,directory_inherit" d
        a=$(now); varve acl propagate d; b=$(now)
        setfacl -R -m u:701:r $BASE/native 2> /dev/null || find $BASE/native -exec chmod 700 {} +
        c=$(now)
        test $(varve ls -RleO d | grep -c '^ 0: group:701 inherited allow') = 20200
        e=$(now)
        echo "propagate $(((b - a) / 1000000)) ms, setfacl $(((c - b) / 1000000)) ms, ls $(((e - c) / 1000000)) ms"
        test $((b - a)) -lt $((40 * (c - b)))
        test $((e - c)) -lt $((40 * (c - b)))
        """, succeeds: true)
      try desk.end()
    }
  }
}
