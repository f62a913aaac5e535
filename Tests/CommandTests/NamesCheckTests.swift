import MountSupport
import Testing

extension CommandTests {
  @Suite("check of names") struct NamesCheckTests {
    @Test("A damaged record of names is told and taken away, after which the extension is hidden as before")
    func damaged() throws {
      let desk = try Desk("", "echo >report.txt; echo >other.txt; varve name --show-ext report.txt other.txt")
      defer { desk.volume.remove() }
      try desk.volume.unmount()
      let output = try desk.run(
        """
        cd $BASE/upper; N=trusted.varve.names
        setfattr -n $N -v nonsense report.txt; setfattr -x $N other.txt
        varve check .; echo $?
        varve check --repair -y . >/dev/null; varve check .; echo $?
        getfattr -n $N report.txt 2>&1 | grep -c 'No such attribute'
        varve mount . $BASE/mount; ls $BASE/mount/.varve/view/fr; varve umount $BASE/mount
        """)
      let lines = output.split(separator: "\n").map(String.init)
      #expect(lines.count == 7, "\(output)")
      #expect(lines.contains { $0.contains("report.txt") && $0.contains("the names record is damaged") })
      #expect(lines.contains { $0.contains("other.txt") && $0.contains("the names record is missing") })
      #expect(lines.suffix(5) == ["1", "0", "1", "other", "report"], "\(output)")
    }
  }
}
