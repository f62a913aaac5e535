// Random trees and histories, in turn through Varve and through the kernel's overlayfs, over the same layers: each shows what
// the other one left, and both what the same history makes of a plain directory. With an index overlayfs keeps the hard links of
// lowers, but neither reads the other's index: all names of a file are copied before they take turns.

import CMountSupport
import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Randomness
import Testing

/// One random change of a tree below a mount.
private enum Deed: CaseIterable {
  case create, write, makeDirectory, symbolicLink, link, remove, removeDirectory, removeTree, rename,
    exchange, mode
  case attribute, owner

  private static let names = ["a", "b", "c", "d"]

  /// More is made than is removed.
  static let choices = allCases + [.create, .makeDirectory, .makeDirectory, .symbolicLink, .write, .rename]

  static func path(_ dice: inout Dice) -> String {
    (0...dice.below(3)).map { _ in dice.pick(names) }.joined(separator: "/")
  }

  /// Does it, or does not, as the tree is; whether it was done.
  func make(in root: String, _ dice: inout Dice) -> Bool {
    let (path, other) = ("\(root)/\(Deed.path(&dice))", "\(root)/\(Deed.path(&dice))")
    let number = dice.below(100_000)
    switch self {
    case .create: return Calls.write(path, "new \(number)\n", O_CREAT | O_EXCL) == nil
    case .write: return Calls.write(path, "more \(number)\n", O_APPEND | O_NOFOLLOW) == nil
    case .makeDirectory: return mkdir(path, 0o755) == 0
    case .symbolicLink: return symlink("to \(number)", path) == 0
    case .link:
      guard !isDirectory(path), Glibc.link(path, other) == 0 else { return false }
      // Its names are found by that when all but one are gone.
      return isLink(other) || Calls.write(other, "linked\n", O_APPEND | O_NOFOLLOW) == nil
    case .remove: return unlink(path) == 0
    case .removeDirectory: return rmdir(path) == 0
    case .removeTree:
      guard number % 4 == 0, isDirectory(path) else { return false }
      return (try? FileManager.default.removeItem(atPath: path)) != nil
    case .rename: return Glibc.rename(path, other) == 0
    case .exchange: return lt_renameat2(AT_FDCWD, path, AT_FDCWD, other, 2) == 0
    case .mode: return !isLink(path) && chmod(path, number.isMultiple(of: 2) ? 0o750 : 0o711) == 0
    case .attribute: return !isLink(path) && Attribute.set(path, "user.note", "\(number)") == nil
    // What is made in a directory has its group, other than in a plain one. Nothing would say of a symbolic link that it had
    // other names.
    case .owner:
      let group = isDirectory(path) ? 0 : gid_t(number % 5)
      return !isLink(path) && chown(path, uid_t(number % 3), group) == 0
    }
  }

  private func kind(_ path: String) -> mode_t {
    var found = stat()
    return lstat(path, &found) == 0 ? found.st_mode & S_IFMT : 0
  }

  private func isDirectory(_ path: String) -> Bool { kind(path) == S_IFDIR }
  private func isLink(_ path: String) -> Bool { kind(path) == S_IFLNK }
}

extension MountTests {
  @Suite(
    "Random histories in turn with the kernel's overlayfs", .timeLimit(.minutes(20)),
    .enabled(if: Machine.canMount, "needs root and /dev/fuse"))
  struct LayerAgreementTests {
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

    private static let functions =
      LayerStage.look + ScriptShell.times + ScriptShell.settled + """
        kernel() { mount -t overlay -o redirect_dir=on,index=${INDEX:-on},metacopy=off,lowerdir=$1,upperdir=upper,workdir=work overlay kernel; }
        ours() { varve mount -o lower=$1 upper mount; }
        # Owners, and when what nobody has written since `start` was modified: a copy takes both along.
        owners() { (cd $1; find . -path ./.varve -prune -o -printf '%P %U %G\\n' | sort
          find . -path ./.varve -prune -o ! -type d ! -newer ../start -printf '%P %T@\\n' | sort); }
        # Names, kinds, modes, owners, content, attributes, and which names are of one file.
        all() { look $1; owners $1; (cd $1; find . -path ./.varve -prune -o \\( -type f -o -type d \\) -print0 | sort -z | xargs -0r getfattr -d -m user -- 2> /dev/null
          find . -path ./.varve -prune -o -type f -links +1 -printf '%i %P\\n' | sort | awk '$1 != i { printf "\\n"; i = $1 } { printf "%s ", $2 }' | awk 'NF > 1' | sort; echo); }
        # The same with all times of modification, but for the root's, which the first mount makes a directory in.
        dated() { all $1; (cd $1; find . -mindepth 1 -path ./.varve -prune -o -printf '%P %T@\\n' | sort); }
        # Copies every name of the files that have several, also where one is left: a change of the file copies only the one by which it is made.
        whole() { (cd $1; { find . -path ./.varve -prune -o -type f -links +1 -print0; grep -rlZ --exclude-dir=.varve '^linked$' .; } | sort -zu | perl -0ne 'chomp; rename $_, "$_~" and rename "$_~", $_ or die'); }
        # Files of two names lose one: in a lower overlayfs would make two files of them.
        part() { (cd $1; find . -path ./.varve -prune -o -type f -links +1 -printf '%i %P\\n' | sort | awk '$1 == i { print $2 } { i = $1 }' | xargs -r rm); }
        # Which names are of one file, whatever names of it a layer above hides.
        groups() { (cd $1; find . -path ./.varve -prune -o -type f -printf '%i %P\\n' | sort \\
          | awk '$1 != i { printf "\\n"; i = $1 } { printf "%s ", $2 }' | awk 'NF > 1' | sort); }
        # How many names each file has; what is hidden counts.
        counts() { (cd $1; find . -path ./.varve -prune -o -type f -printf '%P %n\\n' | sort); }
        # Copies a layer over what is there.
        over() { (cd $1; find . -mindepth 1 -printf '%P %y\\n' | sort) | while read -r name kind; do
            if [ $kind != d ] || [ ! -d $2/$name ] || [ -L $2/$name ]; then rm -rf $2/$name; fi; done; cp -a $1/. $2; }

        """

    /// Names of several layers that hide, and merge with, each other; no file has two of them.
    private func fill(_ path: String, depth: Int = 0, _ dice: inout Dice) {
      mkdir(path, 0o755)
      for name in ["a", "b", "c", "d"] {
        switch dice.below(8) {
        case 0..<3: _ = Calls.write("\(path)/\(name)", "lower \(dice.below(1_000))\n")
        case 3..<6 where depth < 2: fill("\(path)/\(name)", depth: depth + 1, &dice)
        case 6: symlink("lower \(dice.below(9))", "\(path)/\(name)")
        default: break
        }
      }
    }

    /// Gives files and links of a layer further names in it, and the files a line that says so.
    private func addNames(in path: String, _ dice: inout Dice) throws {
      let names = try FileManager.default.subpathsOfDirectory(atPath: path).sorted()
      for _ in 0..<(names.isEmpty ? 0 : 40) {
        let place = dice.pick(names).split(separator: "/").dropLast().joined(separator: "/")
        // Some of them no change asks for, so that they stay.
        let name = dice.pick(["a", "b", "c", "d", "e", "f", "g"])
        let former = "\(path)/\(dice.pick(names))"
        guard Glibc.link(former, "\(path)/\(place)/\(name)") == 0 else { continue }
        _ = Calls.write(former, "linked\n", O_APPEND | O_NOFOLLOW)
      }
    }

    /// Makes random changes below a mount and in a plain directory, each in both or in neither; how many were made.
    private func change(
      _ mount: String, in stage: LayerStage, times: Int, _ dice: inout Dice, _ story: String
    ) -> Int {
      var done = 0
      for _ in 0..<times {
        let deed = dice.pick(Deed.choices)
        var twin = dice
        let isDone = deed.make(in: "\(stage.base)/\(mount)", &dice)
        let isDoneElsewhere = deed.make(in: "\(stage.base)/plain", &twin)
        #expect(isDone == isDoneElsewhere, "\(deed) in \(story)")
        if isDone { done += 1 }
      }
      return done
    }

    @Test(
      "Each shows what the other one left, as its upper directory and as a lower",
      .enabled(if: Machine.knows(fileSystem: "overlay"), "the kernel of this machine has no overlayfs"))
    func histories() throws {
      let runs = LayerAgreementTests.isLong ? 40 : 3
      var (done, marks) = (0, "")
      for run in 1...runs {
        let made = try history(run: run)
        done += made.done
        marks += made.marks
      }
      #expect(done > 60 * runs)
      // All that the two have to agree about.
      #expect(marks.contains("opaque") && marks.contains("redirect") && marks.contains("upper/"), "\(marks)")
    }

    private func history(run: Int) throws -> (done: Int, marks: String) {
      var dice = Dice(for: "in turn with overlayfs \(run)")
      // Without an index overlayfs makes files of their own of the names that a file of a lower has.
      let isIndexed = run % 4 != 3
      let stage = try LayerStage(
        prelude: LayerAgreementTests.functions + (isIndexed ? "" : "INDEX=off\n"))
      defer { stage.remove() }
      var lowers = ["lower", "lower2"]
      for lower in lowers {
        fill("\(stage.base)/\(lower)", &dice)
        if isIndexed { try addNames(in: "\(stage.base)/\(lower)", &dice) }
      }
      try stage.shell(
        "touch start; ours lower:lower2; cp -a mount plain; rm -rf plain/.varve; umount mount; rm -rf upper; mkdir upper; for lower in lower lower2; do times $lower > times.$lower; done"
      )
      var (done, marks) = (0, "")
      for round in 0..<10 {
        let isOurs = (round + run).isMultiple(of: 2)
        let (mine, other) = isOurs ? ("ours", "kernel") : ("kernel", "ours")
        let (mount, otherMount) = isOurs ? ("mount", "kernel") : ("kernel", "mount")
        let layers = lowers.joined(separator: ":")
        try stage.shell("\(mine) \(layers)")
        done += change(mount, in: stage, times: 60, &dice, "round \(round), by \(mine)")
        if isIndexed {
          try stage.shell("whole \(mount)")
        } else if round % 3 == 2 {
          try stage.shell("part \(mount); part plain")
        }
        try stage.shell(
          """
          all \(mount) > left; all plain | diff - left > said || { echo "round \(round), \(mine) and a plain directory:"; cat said; exit 1; }
          dated \(mount) > left; umount \(mount); settled \(other) \(layers)
          dated \(otherMount) | diff left - > said || { echo "round \(round), made by \(mine):"; cat said; exit 1; }; umount \(otherMount)
          """)
        marks += try stage.shell(
          "getfattr -R -h -d -m 'trusted.overlay' upper 2> /dev/null | grep -o 'opaque\\|redirect' | sort -u; "
            + "find upper -path upper/.varve -prune -o -type c -print | head -1")
        guard round % 3 == 2 else { continue }
        // What was the upper directory is a lower from now on.
        let name = "lower-\(round)"
        try stage.shell(
          """
          settled mv upper \(name); rm -rf work; mkdir upper work; times \(name) > times.\(name)
          for side in ours kernel; do settled $side \(name):\(layers)
            if [ $side = ours ]; then way=mount; else way=kernel; fi; dated $way | diff left - > said || { echo "\(name), as $side has it:"; cat said; exit 1; }
            umount $way; done
          """)
        lowers.insert(name, at: 0)
      }
      try stage.shell(
        "for lower in \(lowers.joined(separator: " ")); do times $lower | diff times.$lower -; done")
      print("run \(run): \(done) changes were made")
      return (done, marks)
    }

    @Test(
      "Over lowers whose files have several names each history does what it does to a plain directory",
      arguments: isLong ? Array(1...40) : [1, 2])
    func hardLinks(run: Int) throws {
      var dice = Dice(for: "hard links of lowers \(run)")
      let stage = try LayerStage(prelude: LayerAgreementTests.functions)
      defer { stage.remove() }
      var lowers = run.isMultiple(of: 2) ? ["lower", "lower2"] : ["lower"]
      for lower in lowers {
        fill("\(stage.base)/\(lower)", &dice)
        try addNames(in: "\(stage.base)/\(lower)", &dice)
      }
      try stage.shell(
        "touch start; mkdir plain; for layer in \(lowers.reversed().joined(separator: " ")); do over $layer plain; times $layer > times.$layer; done"
      )
      // Names of a file that a layer above hides are counted, as in the lower itself.
      let looks = lowers.count > 1 ? ["look", "owners", "groups"] : ["look", "owners", "groups", "counts"]
      func agree(_ story: String) throws {
        for look in looks {
          try stage.shell(
            "\(look) mount > left; \(look) plain | diff - left > said || { echo '\(story), \(look):'; cat said; exit 1; }"
          )
        }
      }
      var done = 0
      for round in 0..<6 {
        let layers = lowers.joined(separator: ":")
        try stage.shell("ours \(layers)")
        try agree("round \(round), mounted")
        done += change("mount", in: stage, times: 200, &dice, "round \(round)")
        try agree("round \(round), changed")
        try stage.shell("varve umount mount; varve check --lower \(layers) upper")
        guard round % 3 == 2 else { continue }
        // What was the upper directory is a lower from now on, with its index.
        try stage.shell("mv upper lower-\(round); mkdir upper; times lower-\(round) > times.lower-\(round)")
        lowers.insert("lower-\(round)", at: 0)
      }
      try stage.shell(
        "for lower in \(lowers.joined(separator: " ")); do times $lower | diff times.$lower -; done")
      print("hard links, run \(run): \(done) changes were made")
      #expect(done > 60)
    }
  }
}
