import Foundation
import Glibc
import MountSupport
import Testing

extension MountTests {
  /// What becomes of flags and lists when programs copy, archive and restore them: the table of docs/portability.md.
  @Suite("What copying and backup programs keep") struct PortabilityTests {
    /// A program, how it copies the tree `$FROM/t` to `$TO/t`, and what arrives.
    struct Row: Sendable, CustomTestStringConvertible {
      let program: String
      let testDescription: String
      let script: String
      /// Without twins, and with them.
      let plain: String
      let twins: String
    }

    private static let lost = "list= lock= flags="
    /// What Finder knows of an item is an attribute, and being hidden is part of it.
    private static let kept = "list= lock= flags=hidden"
    /// These copy every attribute that is listed, the list by its NFSv4 name among them.
    private static let keptList = "list=d,f lock= flags=hidden"
    private static let carried = "list=d,f lock=waiting flags=nodump,hidden"

    static let rows: [Row] = [
      Row(
        program: "cp", testDescription: "cp -r", script: "cp -r $FROM/t $TO", plain: "\(lost) note=",
        twins: "\(lost) note="),
      Row(
        program: "cp", testDescription: "cp -a", script: "cp -a $FROM/t $TO", plain: "\(kept) note=hi",
        twins: "\(carried) note=hi"),
      Row(
        program: "cp", testDescription: "cp -a by way of another file system",
        script: "cp -a $FROM/t $WORK; cp -a $WORK/t $TO", plain: "\(kept) note=hi",
        twins: "\(carried) note=hi"),
      Row(
        program: "mv", testDescription: "mv", script: "varve chflags nouchg $FROM/t/lock; mv $FROM/t $TO",
        plain: "\(kept) note=hi", twins: "list=d,f lock= flags=nodump,hidden note=hi"),
      Row(
        program: "rsync", testDescription: "rsync -a", script: "rsync -a $FROM/t $TO", plain: "\(lost) note=",
        twins: "\(lost) note="),
      Row(
        program: "rsync", testDescription: "rsync -aX", script: "rsync -aX $FROM/t $TO",
        plain: "\(kept) note=hi",
        twins: "\(carried) note=hi"),
      Row(
        program: "rsync", testDescription: "rsync -aAX, twice",
        script: "rsync -aAX $FROM/t $TO; rsync -aAX $FROM/t $TO",
        plain: "\(kept) note=hi", twins: "\(carried) note=hi"),
      Row(
        program: "tar", testDescription: "tar", script: "tar -cf x.tar -C $FROM t; tar -xpf x.tar -C $TO",
        plain: "\(lost) note=", twins: "\(lost) note="),
      Row(
        program: "tar", testDescription: "tar --xattrs",
        script: "tar --xattrs -cf x.tar -C $FROM t; tar --xattrs -xpf x.tar -C $TO", plain: "\(kept) note=hi",
        twins: "\(carried) note=hi"),
      Row(
        program: "tar", testDescription: "tar --xattrs --xattrs-include='*'",
        script: """
          tar --xattrs --xattrs-include='*' -cf x.tar -C $FROM t
          tar --xattrs --xattrs-include='*' -xpf x.tar -C $TO
          """, plain: "\(keptList) note=hi", twins: "\(carried) note=hi"),
      Row(
        program: "bsdtar", testDescription: "bsdtar",
        script: "bsdtar -cpf x.tar -C $FROM t; bsdtar -xpf x.tar -C $TO",
        plain: "list=d,f lock=schg flags=nodump,hidden note=hi",
        twins: "list=d,f lock=schg flags=nodump,hidden note=hi"),
      Row(
        program: "restic", testDescription: "restic",
        script: """
          export RESTIC_PASSWORD=x RESTIC_REPOSITORY=$WORK/repository
          restic init -q --no-cache; (cd $FROM; restic -q --no-cache backup t)
          restic -q --no-cache restore latest --target $TO
          """, plain: "\(keptList) note=hi", twins: "\(carried) note=hi"),
      Row(
        program: "borg", testDescription: "borg",
        script: """
          export BORG_REPO=$WORK/repository BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes BORG_BASE_DIR=$WORK
          borg init -e none; (cd $FROM; borg create ::x t); (cd $TO; borg extract ::x)
          """, plain: "list=d,f lock=schg flags=nodump,hidden note=hi",
        twins: "list=d,f lock=schg flags=nodump,hidden note=hi"),
    ]

    @Test(
      "Content and attributes always arrive; flags and lists as the table says",
      arguments: rows.filter { Programs.path(of: $0.program) != nil })
    func keeps(_ row: Row) throws {
      for options in ["", "twins"] {
        let from = try MountedVolume(options)
        defer { PortabilityTests.clear(from) }
        let to = try MountedVolume(options)
        defer { PortabilityTests.clear(to) }
        let varve = Program.built("varve")
        let prelude = """
          set -e; FROM='\(from.path)' TO='\(to.path)' WORK='\(to.base)'; varve() { '\(varve)' "$@"; }
          cd $WORK; HOME=$WORK

          """
        let output = try Program.run(
          "/bin/bash",
          [
            "-c",
            prelude + """
              mkdir $FROM/t $FROM/t/d; cd $FROM/t; echo text > d/inside; echo text > f; echo text > lock
              setfattr -n user.note -v hi f; ln -s f link
              varve chmod +a 'user:7001 allow read' f; varve chmod +a 'group:7002 allow list,file_inherit' d
              varve chflags uchg lock; varve chflags hidden,nodump f; cd $WORK
              \(row.script)
              """,
          ], in: "/")
        #expect(output.exit == 0, "\(row.testDescription) \(options): \(output.output)")
        let found = try Program.run("/bin/bash", ["-c", prelude + PortabilityTests.survey], in: "/")
        let expected = options.isEmpty ? row.plain : row.twins
        #expect(found.output == expected + "\n", "\(row.testDescription) \(options)")
      }
    }

    /// Prints what has arrived, and fails if content has not.
    private static let survey = """
      cd $TO/t; cmp d/inside $WORK/mount/t/f; cmp lock f; test "$(readlink link)" = f
      get() { getfattr --only-values -n "$1" "$2" 2> /dev/null || true; }
      lists=$(for item in d f; do if varve acl get --numeric $item | grep -qE 'user:7001 allow read|group:7002 allow list,file_inherit'; then echo $item; fi; done | paste -sd,)
      lock=$(get system.varve.flags lock); case $(get user.varve.flags lock) in *uchg*) lock=${lock:-waiting} ;; esac
      echo "list=$lists lock=$lock flags=$(get system.varve.flags f) note=$(get user.note f)"
      """

    /// What is locked cannot be removed with its directory.
    private static func clear(_ volume: MountedVolume) {
      _ = try? Program.run(Program.built("varve"), ["chflags", "-R", "0", volume.path])
      volume.remove()
    }

    @Test("acl dump and acl restore carry every list, whatever copied the files") func dumpAndRestore() throws
    {
      let from = try MountedVolume()
      defer { PortabilityTests.clear(from) }
      let to = try MountedVolume()
      defer { PortabilityTests.clear(to) }
      try Program.shell(
        """
        set -e; varve='\(Program.built("varve"))'; mkdir -p t/d; echo text > t/d/f
        $varve chmod +a 'user:7001 deny delete' t/d/f; $varve chmod +a 'group:7002 allow list' t/d
        cp -r t '\(to.path)'; $varve acl dump t > '\(to.base)/lists'
        $varve acl restore --root '\(to.path)/t' '\(to.base)/lists'
        cd '\(to.path)'; $varve acl get --numeric t/d/f | grep -x 'user:7001 deny delete'
        $varve acl get --numeric t/d | grep -x 'group:7002 allow list'
        """, in: from.path)
    }
  }
}
