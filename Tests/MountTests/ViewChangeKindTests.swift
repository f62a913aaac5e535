// Each kind of change that a name may depend on, through the mount and behind it: how soon views have it.

import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Testing

/// A change of what a directory shows.
private struct NameChange {
  let what: String
  /// Scripts that run in the directory.
  ///
  /// What it begins with, the change, and the way back, which always runs on the mount.
  let stage: String
  let change: String
  /// The change behind the mount, where that is done in another way.
  var behind: String?
  let back: String
  let before: [String]
  let after: [String]

  /// Where files lie whose attributes are copied, as a restored backup does it.
  private static let copy = "cp --attributes-only --preserve=xattr"

  private static func finder(_ place: Int, _ byte: String) -> String {
    let zeros = { String(repeating: "00", count: $0) }
    return "setfattr -n user.com.apple.FinderInfo -v 0x\(zeros(place))\(byte)\(zeros(31 - place))"
  }

  /// What `copy` takes attributes from.
  static let models = """
    mkdir models; cd models; touch hidden withheld shown.txt
    setfattr -n system.varve.flags -v hidden hidden
    setfattr -n system.varve.acl -v 'user:1001 deny readattr' withheld
    setfattr -n system.varve.extension -v show shown.txt
    """

  static let all = [
    NameChange(
      what: "the Finder's bit that hides an extension", stage: "touch data.qqq",
      change: finder(9, "10") + " data.qqq", back: "setfattr -x user.com.apple.FinderInfo data.qqq",
      before: ["data.qqq"], after: ["data"]),
    NameChange(
      what: "the Finder's bit of a package", stage: "mkdir Foo.xyz; touch Foo.xyz/a.txt",
      change: finder(8, "20") + " Foo.xyz", back: "setfattr -x user.com.apple.FinderInfo Foo.xyz",
      before: ["Foo.xyz"], after: ["Foo"]),
    NameChange(
      what: "the flag hidden", stage: "touch c.txt d.txt",
      change: "setfattr -n system.varve.flags -v hidden c.txt",
      behind: "\(copy) ../models/hidden c.txt", back: "setfattr -n system.varve.flags -v '' c.txt",
      before: ["c", "d"], after: ["d"]),
    NameChange(
      what: "the Finder's invisible bit", stage: "touch c.txt d.txt", change: finder(8, "40") + " c.txt",
      behind: "\(copy) ../models/hidden c.txt", back: "setfattr -x user.com.apple.FinderInfo c.txt",
      before: ["c", "d"], after: ["d"]),
    NameChange(
      what: "the state of an extension", stage: "touch e.txt",
      change: "setfattr -n system.varve.extension -v show e.txt", behind: "\(copy) ../models/shown.txt e.txt",
      back: "setfattr -n system.varve.extension -v '' e.txt", before: ["e"], after: ["e.txt"]),
    NameChange(
      what: "a list that denies a look", stage: "touch f.txt",
      change: "setfattr -n system.varve.acl -v 'user:1001 deny readattr' f.txt",
      behind: "\(copy) ../models/withheld f.txt", back: "setfattr -n system.varve.acl -v '' f.txt",
      before: ["f"], after: ["f.txt"]),
    NameChange(
      what: "an x bit", stage: "touch run.sh", change: "chmod 755 run.sh", back: "chmod 644 run.sh",
      before: ["run"], after: ["run.sh"]),
    NameChange(
      what: "what a strings file says",
      stage: "mkdir -p A.localized/.localized; echo '\"A\" = \"Un\";' >A.localized/.localized/fr.strings",
      change: "echo '\"A\" = \"Deux\";' >A.localized/.localized/fr.strings",
      back: "echo '\"A\" = \"Un\";' >A.localized/.localized/fr.strings", before: ["Un"], after: ["Deux"]),
    NameChange(
      what: "who may read a strings file",
      stage: "mkdir -p A.localized/.localized; echo '\"A\" = \"Un\";' >A.localized/.localized/fr.strings",
      change: "chmod 600 A.localized/.localized/fr.strings",
      back: "chmod 644 A.localized/.localized/fr.strings",
      before: ["Un"], after: ["A"]),
    NameChange(
      what: "the first strings file", stage: "mkdir A.localized",
      change: "mkdir A.localized/.localized; echo '\"A\" = \"Un\";' >A.localized/.localized/fr.strings",
      back: "rm -r A.localized/.localized", before: ["A.localized"], after: ["Un"]),
    NameChange(
      what: "the mark of a standard directory", stage: "mkdir Library", change: "touch Library/.localized",
      back: "rm Library/.localized", before: ["Library"], after: ["Bibliothèque"]),
    NameChange(
      what: "the strings of a bundle",
      stage: """
        mkdir -p Notes.app/Contents/Resources/fr.lproj; echo 'CFBundleName = Notes;' >Notes.app/Contents/Info.plist
        echo 'CFBundleName = "Mémos";' >Notes.app/Contents/Resources/fr.lproj/InfoPlist.strings
        """,
      change: "echo 'CFBundleName = \"Carnet\";' >Notes.app/Contents/Resources/fr.lproj/InfoPlist.strings",
      back: "echo 'CFBundleName = \"Mémos\";' >Notes.app/Contents/Resources/fr.lproj/InfoPlist.strings",
      before: ["Mémos"], after: ["Carnet"]),
    NameChange(
      what: "what the file .hidden says", stage: "echo other >.hidden; touch list.md text.md",
      change: "echo list.md >.hidden", back: "echo other >.hidden", before: ["list", "text"], after: ["text"]),
    NameChange(
      what: "an item that is made", stage: "touch report.txt", change: "touch report.pdf",
      back: "rm report.pdf",
      before: ["report"], after: ["report.pdf", "report.txt"]),
    NameChange(
      what: "an item that is made with a shown name", stage: "touch photo.JPG", change: "mkdir photo",
      back: "rmdir photo", before: ["photo"], after: ["photo", "photo.JPG"]),
    NameChange(
      what: "a rename", stage: "touch old.txt", change: "mv old.txt new.txt", back: "mv new.txt old.txt",
      before: ["old"], after: ["new"]),
    NameChange(
      what: "a rename of a translated directory",
      stage: "mkdir -p A.localized/.localized; echo '\"A\" = \"Un\";' >A.localized/.localized/fr.strings",
      change: "mv A.localized Mine.localized", back: "mv Mine.localized A.localized", before: ["Un"],
      after: ["Mine"]),
  ]
}

extension MountTests {
  @Suite("Each kind of change in views", .timeLimit(.minutes(8))) struct ViewChangeKindTests {
    /// Which way a change is made.
    enum Way: CaseIterable, Sendable {
      case onMount
      case behind
    }

    /// What a view of a directory is to show and find, and what it must not find.
    private struct Wanted {
      let what: String
      let view: String
      let names: [String]
      var others: [String] = []
      /// When that was changed.
      var since = Clock.monotonicNanoseconds

      /// What is otherwise; empty if nothing is.
      func fault() -> String {
        let listed = BytePath(view).names?.map { String(decoding: $0, as: UTF8.self) } ?? ["?"]
        let missing = names.filter { Calls.status("\(view)/\($0)").refusal != nil }
        let left = others.filter { Calls.status("\(view)/\($0)").refusal != .noSuchFile }
        let isSo = listed.sorted() == names.sorted() && missing.isEmpty && left.isEmpty
        return isSo ? "" : "\(what): lists \(listed), does not find \(missing), still finds \(left)"
      }
    }

    /// Waits until all of it is so, each for a second and what the machine takes; what is not.
    private func awaited(_ all: [Wanted]) -> [String] {
      var left = all
      var faults: [String] = []
      while !left.isEmpty {
        left.removeAll { wanted in
          let isLate = Clock.monotonicNanoseconds &- wanted.since >= 1_500_000_000
          let fault = wanted.fault()
          if isLate, !fault.isEmpty { faults.append(fault) }
          return isLate || fault.isEmpty
        }
      }
      return faults
    }

    @Test(
      "Every kind of change that names depend on is in views within a second, on the mount and behind it",
      .enabled(if: Programs.has("setfattr"), "needs attr"), arguments: Way.allCases)
    func kinds(way: Way) throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      func run(_ script: String, in directory: String) throws {
        let result = try Program.shell(script, in: directory)
        guard result.exit == 0 else { throw TestFailure("\(script): \(result.output)") }
      }
      try run(NameChange.models, in: volume.path)
      for (number, row) in NameChange.all.enumerated() {
        let place = "/\(number)"
        try #require(mkdir(volume.path + place, 0o755) == 0)
        try run(row.stage, in: volume.path + place)
      }
      func view(_ number: Int) -> String { volume.path + "/.varve/view/fr/\(number)" }
      func real(_ number: Int) throws -> Set<String> { Set(try Calls.list("\(volume.path)/\(number)").get()) }
      // The names are in use, and the kernel has them.
      let rows = Array(NameChange.all.enumerated())
      let before = rows.map { Wanted(what: $1.what, view: view($0), names: $1.before) }
      #expect(awaited(before) == [], "before")
      var changed: [Wanted] = []
      var back: [Wanted] = []
      for (number, row) in rows {
        let former = try real(number)
        if way == .behind {
          try run(row.behind ?? row.change, in: "\(volume.upper)/\(number)")
        } else {
          try run(row.change, in: "\(volume.path)/\(number)")
        }
        let present = try real(number)
        let gone = row.before.filter { !row.after.contains($0) && !former.contains($0) }
        changed.append(Wanted(what: row.what, view: view(number), names: row.after, others: gone))
        let new = row.after.filter {
          !row.before.contains($0) && !(former.contains($0) && present.contains($0))
        }
        back.append(Wanted(what: row.what + ", and back", view: view(number), names: row.before, others: new))
      }
      #expect(awaited(changed) == [])
      for (number, row) in rows {
        try run(row.back, in: "\(volume.path)/\(number)")
        back[number].since = Clock.monotonicNanoseconds
      }
      #expect(awaited(back) == [])
    }
  }
}
