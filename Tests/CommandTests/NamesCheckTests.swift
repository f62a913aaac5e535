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

    @Test("Damaged and missing records of names are told below a mounted volume and through a view")
    func mounted() throws {
      let desk = try Desk(
        "",
        "mkdir d p.rtfd; for file in a.txt b.txt c.txt; do echo >$file; done; varve name --show-ext *.txt p.rtfd"
      )
      defer { desk.volume.remove() }
      try desk.volume.unmount()
      let output = try desk.run(
        #"""
        cd $BASE; N=trusted.varve.names
        for item in a.txt p.rtfd; do setfattr -n $N -v nonsense upper/$item; done; setfattr -x $N upper/b.txt
        varve mount upper mount; mkfifo mount/pipe; ln -s a.txt mount/link
        varve check mount | sort; varve check mount >/dev/null; echo $?; varve check mount/.varve/view/fr | grep -c 'mount/.*names record'
        getfattr -n system.varve.extension mount/a.txt 2>&1 | grep -o 'Input/output error'
        varve name --show-ext mount/a.txt mount/b.txt; varve name --default-ext mount/p.rtfd; varve check mount; echo $?
        ls mount/.varve/view/fr; varve umount mount
        """#)
      let words =
        "names: the names record is damaged or missing; 'varve check' of the upper directory tells how"
      #expect(
        output == """
          mount/a.txt: \(words)
          mount/b.txt: \(words)
          mount/p.rtfd: \(words)
          1
          3
          Input/output error
          0
          a.txt
          b.txt
          c.txt
          d
          link
          p
          pipe

          """)
    }
  }
}
