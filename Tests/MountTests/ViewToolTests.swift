// Every verb of the tool on a path through a view, beside the same on the real path.

import Foundation
import Glibc
import MountSupport
import Testing

/// A volume with a little of everything, and ways to what is in it.
private struct ToolStage {
  let volume: MountedVolume
  /// Whether paths go through a view.
  let isViewed: Bool

  init(of volume: MountedVolume, isViewed: Bool) { (self.volume, self.isViewed) = (volume, isViewed) }

  init(isViewed: Bool) throws {
    self.isViewed = isViewed
    volume = try MountedVolume()
    try volume.addKeys()
    let result = try Program.shell(
      """
      umask 022; chmod 755 .; mkdir Library Library/Caches; touch Library/.localized
      echo inside >Library/a.md; echo model >Library/model.md; echo other >Library/Caches/other.txt
      for i in $(seq 3000); do echo "line $((i % 7))"; done >Library/long.txt
      echo bare >Library/plain; echo secret >Library/secret.txt; chmod 600 Library/secret.txt
      mkdir -p Fotos.localized/.localized
      setfattr -n system.varve.acl -v 'user:1002 deny delete' Library/model.md
      setfattr -n system.varve.acl -v 'user:1003 allow list,search,file_inherit,directory_inherit' Library
      setfattr -n system.varve.flags -v hidden Library/plain
      find . -exec touch -d 2001-02-03T04:05:06 {} +
      """, in: volume.path)
    guard result.exit == 0 else { throw TestFailure(result.output) }
  }

  /// By which names items are reached: shown ones, or in a view in which all names are as they are.
  private func root(whole: Bool) -> String {
    !isViewed ? volume.path : volume.path + (whole ? "/.varve/view/default,all,ext=never" : "/.varve/view/fr")
  }

  /// Words of a command with `FILE`, `LONG`, `MODEL`, `SECRET`, `FOLDER` (its names as they are), `DIR` and `FOTOS` in them.
  private var places: [(word: String, path: String)] {
    let library = root(whole: false) + (isViewed ? "/Bibliothèque" : "/Library")
    func file(_ stem: String, _ end: String) -> String { library + "/" + stem + (isViewed ? "" : end) }
    return [
      ("FILE", file("a", ".md")), ("LONG", file("long", ".txt")), ("MODEL", file("model", ".md")),
      ("SECRET", file("secret", ".txt")), ("FOLDER", root(whole: true) + "/Library"),
      ("FOTOS", root(whole: false) + (isViewed ? "/Fotos" : "/Fotos.localized")), ("DIR", library),
      ("BASE", volume.base),
    ]
  }

  /// Runs the tool; its answer with the words in place of paths.
  func run(_ command: String, as user: String?) throws -> ProgramResult {
    var text = command
    for (word, path) in places { text = text.replacing(word, with: "'\(path)'") }
    let prefix = user.map { "setpriv --reuid=\($0) --regid=\($0) --clear-groups " } ?? ""
    let script =
      text.hasPrefix("!") ? String(text.dropFirst()) : "\(prefix)'\(Program.built("varve"))' \(text)"
    let result = try Program.run("/bin/bash", ["-c", script], in: "/")
    var output = result.output
    // The daemon tells of paths from the root of the volume on.
    for (word, path) in places where word != "BASE" {
      output = output.replacing(path, with: word).replacing(
        path.replacing(volume.path + "/", with: "") + "\"", with: word + "\"")
    }
    output = output.replacing("FOLDER", with: "DIR")
    // What is told of the real path, or of what is below a directory, is told of the same item.
    for (word, path) in [
      ("FILE", "Library/a.md"), ("LONG", "Library/long.txt"), ("MODEL", "Library/model.md"),
      ("SECRET", "Library/secret.txt"), ("FOTOS", "Fotos.localized"), ("DIR", "Library"),
    ] {
      output = output.replacing("\(volume.path)/\(path)", with: word)
      output = output.replacing("\"\(path)\"", with: "\"\(word)\"")
      // As a reason has it that is about another path than the one that was asked about.
      for operation in Self.asked {
        output = output.replacing("\(path): \(operation): ", with: "").replacing(
          "\(path): \(operation) ", with: "")
      }
      if path.hasPrefix("Library/") { output = output.replacing("DIR" + path.dropFirst(7), with: word) }
    }
    output = output.replacing(volume.base, with: "BASE")
    // Views have an order of their own.
    if command.contains("FOLDER") { output = output.split(separator: "\n").sorted().joined(separator: "\n") }
    return ProgramResult(exit: result.exit, output: output)
  }

  private static let asked = ["read", "write", "append", "list", "search"]

  /// All that verbs may have changed.
  func state() throws -> String {
    let found = try Program.shell(
      """
      find . -not -name .varve -printf '%P %y %m %U %G %s\\n' | sort
      getfattr -R -m '^user' -d . 2>/dev/null
      find . -not -type l | sort | while read -r path; do
        for name in acl flags owner class extension compression displayname.fr; do
          echo "$path $name: $(getfattr --only-values -n "system.varve.$name" "$path" 2>/dev/null)"
        done
      done
      """, in: volume.path)
    return found.output
  }
}

extension MountTests {
  @Suite(
    "Every verb on views", .enabled(if: Programs.has("getfattr", "setfattr", "setpriv"), "needs attr"),
    .timeLimit(.minutes(4)))
  struct ViewToolTests {
    /// Those that only look, on one volume by both ways: the inodes are the same as well.
    private static let looks = [
      "ls -l FILE", "ls -leO@ FILE MODEL", "ls -ldeOi DIR", "ls --json FILE", "ls -laR FOLDER",
      "ls -i FOLDER",
      "ls -leO@ --skip-hidden FOLDER", "acl get FILE MODEL", "acl get --format nfs4 MODEL",
      "acl get --json DIR",
      "acl get -R FOLDER", "acl check -R FOLDER", "acl dump FOLDER", "acl dump --all FILE",
      "access read,write,append FILE",
      "access --as 1002:1002 list,search DIR", "why read FILE", "why --as 1002:1002 write FILE",
      "why --as 1002:1002 --all write SECRET", "why --json chmod MODEL", "check FILE", "check DIR",
      "kind FILE LONG DIR", "kind --json FILE", "name --as fr FILE DIR", "name --as de FILE DIR",
      "exclude --check FILE",
      "exclude -q --list DIR", "find --flags hidden FOLDER", "find --entry user:1002 FOLDER",
      "find --can 1002:1002:write FOLDER", "find --locked FOLDER", "verify FILE", "verify -R FOLDER",
      "chmod -nv 600 FILE", "chmod -nv +a 'user:1002 deny read' FILE", "chmod -n -R go= FOLDER",
      "chmod -n -N MODEL",
      "chflags -nv hidden FILE", "chflags -n -R uchg FOLDER", "chown -nv 1002:1002 FILE",
      "chown -n :group=1002 DIR",
      "acl set -n -e 'everyone allow read' FILE", "acl strip -n MODEL", "acl propagate -n FOLDER",
      "acl propagate -nv --replace FOLDER", "acl inherit -n FILE", "acl explicit -n MODEL",
      "acl sort -n MODEL",
      "acl copy -n MODEL FILE", "acl import -nv FOLDER", "protect -n complete FILE",
      "protect -n -R complete FOLDER",
      "compress -n LONG", "compress -n -R FOLDER", "decompress -n LONG", "name --real DIR",
    ]

    /// Those that change something, one after the other.
    private static let changes = [
      "chmod -v 640 FILE", "chmod +a 'user:1002 allow read' FILE", "chmod -a# 0 FILE",
      "chmod --undo BASE/undo u=rw,go=r FILE",
      "acl restore BASE/undo", "chmod -R go-w FOLDER", "chflags -v uappnd FILE", "chmod 600 FILE",
      "chflags nouappnd,nodump FILE", "chown -v 1002:1002 FILE", "chown :group=1003 FILE", "chown 0:0 FILE",
      "acl set -e 'user:1002 allow read' -e 'everyone deny write' FILE", "acl sort FILE",
      "acl copy MODEL LONG",
      "acl propagate --undo BASE/before FOLDER", "acl inherit FILE", "acl explicit FILE",
      "acl strip --inherited LONG",
      "acl dump FOLDER >BASE/dump", "acl strip -R FOLDER", "acl restore BASE/before",
      "!EDITOR='sed -i s/deny/allow/' '\(Program.built("varve"))' acl edit MODEL", "acl import FOLDER",
      "name --hide-ext FILE", "name --default-ext FILE",
      "name --localize fr=Photos FOTOS",
      "exclude -v FILE", "exclude --check FILE", "exclude --tag -v DIR", "exclude --check FILE",
      "exclude --remove --tag DIR", "exclude --remove FILE", "compress -v LONG", "ls -lO LONG",
      "decompress -v LONG",
      "protect -v complete SECRET", "verify SECRET", "protect complete FOLDER", "protect -v none SECRET",
      "protect none FOLDER",
      "chmod 9 FILE", "chflags nothing FILE", "acl set -e nonsense FILE", "acl restore FILE",
      "layout home -n DIR", "layout home DIR", "layout home --repair DIR", "layout home --user 0 DIR/New",
      // The name that is shown changes.
      "name --show-ext MODEL",
    ]

    /// Of users who may do less.
    private static let refusals = [
      "chmod 600 FILE", "chflags hidden FILE", "chown 1002 FILE", "acl set -e 'everyone allow full' FILE",
      "acl get SECRET", "acl propagate FOLDER", "compress LONG", "protect complete FILE", "exclude FILE",
      "name --hide-ext FILE",
      "name --localize fr=X FOTOS", "verify SECRET", "ls -le SECRET", "why write FILE", "why read SECRET",
      "access read,write SECRET", "kind SECRET", "check DIR", "find --locked FOLDER", "layout home DIR",
      "layout volume DIR", "umount DIR", "remount -o noexec DIR",
    ]

    /// About volumes or keyfiles, or tried by `ViewVerbTests` and `ViewPairTests`.
    private static let others: Set = [
      "mount", "status", "lock", "unlock", "layer", "key", "fsck", "completion",
    ]

    private func compare(
      _ commands: [String], _ ordinary: ToolStage, _ viewed: ToolStage, as user: String? = nil, changes: Bool
    ) throws {
      for command in commands {
        let (wanted, found) = (try ordinary.run(command, as: user), try viewed.run(command, as: user))
        #expect(found.exit == wanted.exit, "\(command): \(found.output), not \(wanted.output)")
        #expect(found.output == wanted.output, "\(command)")
        guard changes else { continue }
        let states = (try ordinary.state(), try viewed.state())
        try #require(states.0 == states.1, "\(command)")
      }
    }

    @Test("Every verb does on a path through a view what it does on the real path, and says the same")
    func verbs()
      throws
    {
      let ordinary = try ToolStage(isViewed: false)
      let viewed = try ToolStage(isViewed: true)
      defer {
        ordinary.volume.remove()
        viewed.volume.remove()
      }
      try compare(Self.refusals, ordinary, viewed, as: "1002", changes: false)
      #expect(try ordinary.state() == viewed.state())
      try compare(Self.changes, ordinary, viewed, changes: true)
    }

    @Test("A verb that goes through a view leaves out what that hides, and says so") func hidden() throws {
      let stage = try ToolStage(isViewed: true)
      defer { stage.volume.remove() }
      let note = "DIR: hidden items are left out in a view; name the real path to take them along"
      for command in ["verify -R DIR", "find --entry user:1003 DIR", "chmod -n -R go= DIR", "acl get -R DIR"]
      {
        let told = try stage.run(command, as: nil)
        #expect(told.output.components(separatedBy: note).count == 2, "\(command): \(told.output)")
        #expect(told.exit == 0 && !told.output.contains("plain"), "\(command): \(told.output)")
        let whole = try stage.run(command.replacing("DIR", with: "FOLDER"), as: nil)
        #expect(!whole.output.contains("hidden items"), "\(command): \(whole.output)")
      }
      #expect(try stage.run("find --flags hidden FOLDER", as: nil).output.contains("plain"))
      #expect(try !stage.run("find --flags hidden DIR", as: nil).output.contains("plain"))
      for command in ["acl get DIR", "verify -R FILE", "find --json --entry user:1003 DIR 2>&-"] {
        let told = try stage.run(command, as: nil)
        #expect(!told.output.contains("hidden items"), "\(command): \(told.output)")
      }
    }

    @Test("What verbs tell of a path through a view is what they tell of the real one, inodes included")
    func looks()
      throws
    {
      let ordinary = try ToolStage(isViewed: false)
      defer { ordinary.volume.remove() }
      let before = try ordinary.state()
      try compare(Self.looks, ordinary, ToolStage(of: ordinary.volume, isViewed: true), changes: false)
      #expect(try ordinary.state() == before)
    }

    @Test("No verb is left out of those that are tried on paths through views") func complete() throws {
      func verbs(_ group: String...) throws -> [String] {
        let help = try Program.run(Program.built("varve"), ["help"] + group).output
        let list = try #require(
          help.components(separatedBy: "Verbs:\n").last?.components(separatedBy: "\n\n").first)
        // What a verb does may take two lines.
        return list.split(separator: "\n").filter { !$0.hasPrefix("   ") }.compactMap { line in
          line.split(separator: " ").first.map { (group + [String($0)]).joined(separator: " ") }
        }
      }
      let groups = ["acl", "layout"]
      let all = try verbs().filter { !groups.contains($0) } + groups.flatMap { try verbs($0) }
      #expect(all.count > 30)
      let tried = Self.looks + Self.changes + Self.refusals
      let untried = all.filter { verb in
        !tried.contains { $0.hasPrefix(verb + " ") || $0.contains("' \(verb) ") }
      }
      #expect(Set(untried) == Self.others)
    }

    @Test("A view that cannot have its name is told of with the right form, in one line") func rightForm()
      throws
    {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let rows = [
        ("FR", "fr"), ("fr_FR", "fr-FR"), ("fr,de", "fr+de"), ("fr:de,ext=bit,all", "fr+de,all,ext=bit"),
        ("de,ext=known", "de"), ("Default", "default"), ("french", nil), ("x y", nil), ("status", nil),
      ]
      for (typed, meant) in rows {
        let view = "\(volume.path)/.varve/view/\(typed)"
        for words in [
          ["ls", view], ["ls", "--display", view], ["name", view + "/x"], ["chmod", "600", view + "/x"],
          ["acl", "get", view + "/x/y"], ["name", "--real", view + "/x"], ["access", "read", view + "/x"],
          ["why", "read", view + "/x"],
        ] {
          let told = try Program.run(Program.built("varve"), words)
          #expect(told.exit != 0 && told.output.split(separator: "\n").count == 1, "\(words): \(told.output)")
          #expect(
            told.output.contains("views have names such as fr, fr-CA+en,all or default,ext=bit"),
            "\(words): \(told.output)")
          let end = meant.map { "; write \($0)" }
          #expect(told.output.contains("; write ") == (end != nil), "\(words): \(told.output)")
          if let end { #expect(told.output.contains(end), "\(words): \(told.output)") }
        }
      }
      #expect(
        try Program.run(Program.built("varve"), ["ls", volume.path + "/.varve/view/fr/x"]).output.contains(
          "ENOENT"))
      #expect(
        try !Program.run(Program.built("varve"), ["ls", volume.path + "/.varve/view/fr/x"]).output.contains(
          "such as"))
      // From where the volume is, and by a link.
      try #require(symlink(volume.path, volume.base + "/link") == 0)
      let varve = Program.built("varve")
      for command in [
        "cd \(volume.path) && \(varve) ls .varve/view/FR", "\(varve) ls \(volume.base)/link/.varve/view/FR",
      ] {
        let told = try Program.shell(command, in: "/").output
        #expect(told.contains("; write fr"), "\(command): \(told)")
      }
    }

    @Test("Where a path to a view has no view, what is missing is told, not another form of its name")
    func otherPlaces() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try #require(mkdir(volume.path + "/sub", 0o755) == 0)
      func told(_ path: String, _ end: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        for words in [["ls"], ["chmod", "600"], ["acl", "get"]] {
          let result = try Program.run(Program.built("varve"), words + [path])
          #expect(
            result.exit != 0 && result.output.hasSuffix("\(end)\n")
              && result.output.filter(\.isNewline).count == 1,
            "\(words) \(path): \(result.output)", sourceLocation: sourceLocation)
        }
      }
      // A view is only at the root of a volume.
      try told("\(volume.path)/sub/.varve/view/FR/x", "; there is no \(volume.path)/sub/.varve")
      try volume.unmount()
      for view in ["FR", "fr"] {
        try told("\(volume.path)/.varve/view/\(view)/x", "; no Varve volume is mounted on \(volume.path)")
        try told("\(volume.upper)/.varve/view/\(view)", "; no Varve volume is mounted on \(volume.upper)")
      }
      // Nothing of that name has to do with Varve.
      let other = volume.base + "/other"
      try Program.shell("mkdir -p other/.varve/view", in: volume.base)
      try told("\(other)/.varve/view/FR/x", "; there is no \(other)/.varve/view/FR")
      try volume.mount(more: "nomagic")
      try told("\(volume.path)/.varve/view/FR/x", "; there is no \(volume.path)/.varve")
    }
  }
}
