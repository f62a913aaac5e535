import CMountSupport
import Foundation
import LinuxFiles
import MountSupport
import Randomness
import Testing

// Every state that two names of a layered directory can be in, and every operation on them, on a real mount: the same is done
// in a plain directory, and both say the same and look the same, at once and after a remount.

private enum Deed: CaseIterable {
  case unlink, rmdir, mkdir, create, symlink, link

  func make(_ root: String, _ name: String) -> CInt {
    func result(_ value: CInt) -> CInt { value < 0 ? errno : 0 }
    let path = "\(root)/\(name)"
    switch self {
    case .unlink: return result(Glibc.unlink(path))
    case .rmdir: return result(Glibc.rmdir(path))
    case .mkdir: return result(Glibc.mkdir(path, 0o750))
    case .symlink: return result(Glibc.symlink("to", path))
    case .link: return result(Glibc.link("\(root)/source", path))
    case .create:
      let file = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL, 0o640)
      if file < 0 { return errno }
      close(file)
      return 0
    }
  }
}

private struct Case: CustomStringConvertible {
  var name = ""
  var parents: ParentState
  var first: NameState
  var second: NameState?
  var flags: RenameFlags = []
  var deed: Deed?
  var crosses = false

  var description: String {
    let what = deed.map { "\($0)" } ?? "rename to \(second.map(\.rawValue) ?? ""), \(flags)"
    return "\(name): \(first), \(what)\(crosses ? ", crossing" : ""), in \(parents) directories"
  }

  /// Each name with its directory and its state; those of the target look for their lowers elsewhere.
  private var names: [(name: String, parent: String, state: NameState)] {
    [("a", "p", first)] + (second.map { [("b", crosses ? "q" : "p", $0)] } ?? [])
  }

  static func all(over lowers: Int) -> [Case] {
    let states = NameState.allCases.filter { !$0.isInTwo || lowers > 1 }
    var cases: [Case] = []
    for parents in ParentState.allCases {
      for first in states {
        for deed in Deed.allCases { cases.append(Case(parents: parents, first: first, deed: deed)) }
        for second in states {
          for flags in [RenameFlags(), .noReplace, .exchange] {
            for crosses in [false, true] {
              cases.append(
                Case(parents: parents, first: first, second: second, flags: flags, crosses: crosses))
            }
          }
        }
      }
    }
    return cases
  }

  /// Makes lowers, and what they show together in the model; `index` chooses which lower has what.
  func make(in base: String, over lowers: Int, _ index: Int) {
    let model = "\(base)/model/\(name)"
    func directories(_ root: String) {
      for path in ["", "/\(parents.prefix)p", "/\(parents.prefix)q"] { mkdir(root + path, 0o755) }
    }
    directories(model)
    for (place, (name, parent, state)) in names.enumerated() {
      let choice = place == 0 ? index : index / 3
      var numbers = [1 + choice % lowers]
      if state.isInTwo {
        let top = 1 + choice % (lowers - 1)
        numbers = [top, top + 1 + choice / 2 % (lowers - top)]
      }
      let chosen = numbers.map { "\(base)/lower\($0)/\(self.name)" }
      chosen.forEach(directories)
      let inside = "/\(parents.prefix)\(parent)"
      state.make(name, in: chosen.map { $0 + inside }, model + inside)
      if place == 0 {
        for root in [chosen[0], model] {
          _ = FileManager.default.createFile(atPath: root + "/source", contents: Data("s".utf8))
        }
      }
    }
  }

  func prepare(_ side: MatrixSide, in base: String) {
    let root = "\(side.root(in: base))/\(name)"
    if parents == .moved {
      for parent in ["p", "q"] { rename("\(root)/was-\(parent)", "\(root)/\(parent)") }
    }
    for (name, parent, state) in names { state.prepare(name, in: "\(root)/\(parent)", of: side) }
  }

  /// Whether the upper has what `prepare` was to make.
  func isMade(in base: String) -> Bool {
    let upper = "\(base)/upper/\(name)"
    guard names.allSatisfy({ $0.state.isMade("\(upper)/\($0.parent)/\($0.name)") }) else { return false }
    return parents != .moved || Attribute.get(upper + "/p", "trusted.overlay.redirect").refusal == nil
  }

  /// Whether marks may be left that hide nothing any more: of what was removed from a directory, which was then moved where a flag
  /// hides what lowers have in it.
  var mayLeaveMarks: Bool { parents == .flagged && names.contains { $0.state == .mergedEmptied } }

  func closeParents(_ side: MatrixSide, in base: String) {
    guard parents == .flagged else { return }
    let root = "\(side.root(in: base))/\(name)"
    for parent in ["p", "q"] {
      side.close("\(root)/\(parent)") {
        for one in names where one.parent == parent { one.state.hide(one.name, in: "\(root)/\(parent)") }
      }
    }
  }

  func run(_ side: MatrixSide, in base: String) -> CInt {
    let root = "\(side.root(in: base))/\(name)"
    if let deed { return deed.make(root, "p/a") }
    let result = lt_renameat2(
      AT_FDCWD, root + "/p/a", AT_FDCWD, "\(root)/\(crosses ? "q" : "p")/b", flags.rawValue)
    // XFS says so of a directory that is not empty, which POSIX allows.
    return result == -Int(EEXIST) && !flags.contains(.noReplace) ? ENOTEMPTY : CInt(-result)
  }
}

extension MountTests {
  @Suite("Every state of names in layers, on a mount") struct LayerMatrixTests {
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

    private let scripts = ScriptShell(prelude: ScriptShell.look + ScriptShell.times)

    /// All of them, or as many as there is time for.
    private static func cases(over lowers: Int) -> [Case] {
      var cases = Case.all(over: lowers)
      if !isLong {
        var dice = Dice(for: "names of layers on a mount, \(lowers)")
        cases.shuffle(using: &dice)
        cases.removeSubrange(400...)
      }
      for index in cases.indices { cases[index].name = "c\(index)" }
      return cases
    }

    @Test(
      "Rename, unlink, rmdir, mkdir and link say and do what they do in a plain directory", arguments: [1, 3])
    func matrix(lowers: Int) throws {
      let base = try TemporaryDirectory.make()
      chmod(base, 0o755)
      defer {
        umount2(base + "/mount", CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      try TemporaryDirectory.countReads(in: base)
      let cases = LayerMatrixTests.cases(over: lowers)
      let all = (1...lowers).map { "lower\($0)" }
      for directory in ["upper", "mount", "model"] + all { mkdir("\(base)/\(directory)", 0o755) }
      for (index, one) in cases.enumerated() { one.make(in: base, over: lowers, index) }
      let layers = all.joined(separator: ":")
      _ = try scripts.must(
        """
        for lower in \(all.joined(separator: " ")); do look $lower > before.$lower; times $lower > times.$lower; done
        varve mount -o lower=\(layers) upper mount
        look mount > shown; look model > expected; diff shown expected
        test $(wc -l < shown) -gt \(3 * cases.count)
        """, in: base)
      var done = 0
      for one in cases {
        for side in MatrixSide.allCases { one.prepare(side, in: base) }
        #expect(one.isMade(in: base), "the states of \(one)")
        for side in MatrixSide.allCases { one.closeParents(side, in: base) }
        let (found, expected) = (one.run(.mount, in: base), one.run(.model, in: base))
        #expect(found == expected, "\(one)")
        if found == 0 { done += 1 }
      }
      // Some can be done and some cannot.
      #expect(done > cases.count / 4 && done < cases.count * 9 / 10, "\(done) of \(cases.count)")
      let marked = cases.filter(\.mayLeaveMarks).map(\.name).joined(separator: "|")
      _ = try scripts.must(
        """
        look model > expected
        test $(wc -l < expected) -gt \(3 * cases.count)
        look mount | diff - expected
        varve umount mount; varve mount -o lower=\(layers) upper mount
        look mount | diff - expected
        varve umount mount
        test "$(ls -A upper/.varve/work | grep -v '^wh$' | wc -l)" = 0
        # Nothing to complain of, and nothing that a repair would change.
        sound() { ! varve check "$@" upper 2>&1 | grep -vE 'upper/(\(marked))/[pq]/[ab]/x: whiteout: '; }
        above() { look upper | sed -E '\\,^(\(marked))/[pq]/[ab]/x c,d'; }
        sound --lower \(layers); above > before; sound --repair -y --lower \(layers); above | diff before -
        varve mount -o lower=\(layers) upper mount; look mount | diff - expected; varve umount mount
        for lower in \(all.joined(separator: " ")); do times $lower | diff times.$lower -; look $lower | diff before.$lower -; done
        """, in: base)
    }
  }
}
