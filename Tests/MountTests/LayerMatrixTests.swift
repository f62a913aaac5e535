import CMountSupport
import Foundation
import LinuxFiles
import MountSupport
import Testing

// Every state that two names of a layered directory can be in, and every operation on them, on a real mount: the same is done
// in a plain directory, and both say the same and look the same, at once and after a remount.

/// What a name is before an operation.
private enum NameState: String, CaseIterable {
  case absent, lowerFile, upperFile, bothFiles, fileGone, directoryGone
  case pureEmpty, pureFull, lowerEmpty, lowerFull, mergedFull, mergedEmptied, closedEmpty, closedFull

  var hasLowerFile: Bool { [.lowerFile, .bothFiles, .fileGone].contains(self) }
  var hasLowerDirectory: Bool {
    [.directoryGone, .lowerEmpty, .lowerFull, .mergedFull, .mergedEmptied, .closedEmpty, .closedFull]
      .contains(self)
  }

  /// What the lower has.
  func makeLower(_ path: String) {
    if hasLowerFile { write(path, "lower of \(path.suffix(6))") }
    if hasLowerDirectory {
      mkdir(path, 0o755)
      if self != .lowerEmpty { write(path + "/x", "x") }
    }
  }

  /// What is done to that, on the mount and in the plain directory.
  func prepare(_ path: String) {
    switch self {
    case .absent, .lowerFile, .lowerEmpty, .lowerFull: break
    case .upperFile: write(path, "upper")
    case .bothFiles: write(path, "changed", O_WRONLY)
    case .fileGone: unlink(path)
    case .directoryGone: removeAll(path)
    case .pureEmpty: mkdir(path, 0o755)
    case .pureFull:
      mkdir(path, 0o755)
      write(path + "/y", "y")
    case .mergedFull: write(path + "/y", "y")
    case .mergedEmptied:
      write(path + "/y", "y")
      unlink(path + "/y")
      unlink(path + "/x")
    case .closedEmpty, .closedFull:
      removeAll(path)
      mkdir(path, 0o755)
      if self == .closedFull { write(path + "/z", "z") }
    }
  }

  /// Whether the upper has there what makes it this state.
  func isMade(_ path: String) -> Bool {
    var found = stat()
    let kind = lstat(path, &found) == 0 ? found.st_mode & S_IFMT : 0
    switch self {
    case .absent, .lowerFile, .lowerEmpty, .lowerFull: return kind == 0
    case .fileGone, .directoryGone: return kind == S_IFCHR
    case .upperFile, .bothFiles: return kind == S_IFREG
    case .pureEmpty, .pureFull, .mergedFull, .mergedEmptied, .closedEmpty, .closedFull: return kind == S_IFDIR
    }
  }

  private func removeAll(_ path: String) {
    unlink(path + "/x")
    rmdir(path)
  }

  private func write(_ path: String, _ text: String, _ flags: CInt = O_WRONLY | O_CREAT | O_EXCL) {
    let file = Glibc.open(path, flags, 0o644)
    _ = Glibc.write(file, text, text.utf8.count)
    close(file)
  }
}

private enum Deed: CaseIterable {
  case unlink, rmdir, mkdir, create, symlink, link

  func make(_ base: String, _ name: String) -> CInt {
    func result(_ value: CInt) -> CInt { value < 0 ? errno : 0 }
    let path = "\(base)/\(name)"
    switch self {
    case .unlink: return result(Glibc.unlink(path))
    case .rmdir: return result(Glibc.rmdir(path))
    case .mkdir: return result(Glibc.mkdir(path, 0o750))
    case .symlink: return result(Glibc.symlink("to", path))
    case .link: return result(Glibc.link("\(base)/source", path))
    case .create:
      let file = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL, 0o640)
      if file < 0 { return errno }
      close(file)
      return 0
    }
  }
}

private struct Case {
  var name: String
  var first: NameState
  var second: NameState?
  var flags: RenameFlags = []
  var deed: Deed?
  var crosses = false

  var source: String { "\(name)/p/a" }
  var target: String { "\(name)/\(crosses ? "q" : "p")/b" }

  static func all(isLong: Bool) -> [Case] {
    var cases: [Case] = []
    for first in NameState.allCases {
      for deed in Deed.allCases { cases.append(Case(name: "", first: first, deed: deed)) }
      for second in NameState.allCases {
        for (index, flags) in [RenameFlags(), .noReplace, .exchange].enumerated() {
          for crosses in [false, true] {
            // Half of them each time; together all.
            guard isLong || crosses == (index + cases.count).isMultiple(of: 2) else { continue }
            cases.append(Case(name: "", first: first, second: second, flags: flags, crosses: crosses))
          }
        }
      }
    }
    for index in cases.indices { cases[index].name = "c\(index)" }
    return cases
  }

  func run(in root: String) -> CInt {
    if let deed { return deed.make("\(root)/\(name)/p", "a") }
    let result = lt_renameat2(
      AT_FDCWD, "\(root)/\(source)", AT_FDCWD, "\(root)/\(target)", flags.rawValue)
    // XFS says so of a directory that is not empty, which POSIX allows.
    return result == -Int(EEXIST) && !flags.contains(.noReplace) ? ENOTEMPTY : CInt(-result)
  }
}

extension MountTests {
  @Suite("Every state of names in layers, on a mount") struct LayerMatrixTests {
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

    private let scripts = ScriptShell(prelude: ScriptShell.look + ScriptShell.times)

    @Test(
      "Rename, unlink, rmdir, mkdir and link say and do what they do in a plain directory",
      arguments: isLong ? [1, 3] : [3])
    func matrix(lowers: Int) throws {
      let base = try TemporaryDirectory.make()
      chmod(base, 0o755)
      defer {
        umount2(base + "/mount", CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      try TemporaryDirectory.countReads(in: base)
      let cases = Case.all(isLong: LayerMatrixTests.isLong)
      _ = try scripts.must(
        "mkdir upper mount model; for i in $(seq \(lowers)); do mkdir lower$i; done", in: base)
      for (index, one) in cases.enumerated() {
        let lower = "\(base)/lower\(1 + index % lowers)"
        let other = "\(base)/lower\(1 + (index / 3) % lowers)"
        for lower in [lower, other] {
          for path in ["", "/p", "/q"] { mkdir("\(lower)/\(one.name)\(path)", 0o755) }
        }
        one.first.makeLower("\(lower)/\(one.source)")
        one.second?.makeLower("\(other)/\(one.target)")
        _ = FileManager.default.createFile(
          atPath: "\(lower)/\(one.name)/p/source", contents: Data("s".utf8))
      }
      let all = (1...lowers).map { "lower\($0)" }
      let layers = all.joined(separator: ":")
      _ = try scripts.must(
        """
        for lower in \(all.joined(separator: " ")); do cp -a $lower/. model; look $lower > before.$lower; times $lower > times.$lower; done
        varve mount -o lower=\(layers) upper mount
        look mount > shown; look model > expected; diff shown expected
        test $(wc -l < shown) -gt \(3 * cases.count)
        """, in: base)
      var done = 0
      for one in cases {
        for root in ["\(base)/mount", "\(base)/model"] {
          one.first.prepare("\(root)/\(one.source)")
          one.second?.prepare("\(root)/\(one.target)")
        }
        let isMade =
          one.first.isMade("\(base)/upper/\(one.source)")
          && one.second?.isMade("\(base)/upper/\(one.target)") != false
        #expect(isMade, "the states of \(one)")
        let (found, expected) = (one.run(in: "\(base)/mount"), one.run(in: "\(base)/model"))
        #expect(found == expected, "\(one)")
        if found == 0 { done += 1 }
      }
      // Some can be done and some cannot.
      #expect(done > cases.count / 4 && done < cases.count * 9 / 10, "\(done) of \(cases.count)")
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
        varve check --lower \(layers) upper > said 2>&1 || { cat said; exit 1; }
        look upper > above; varve check --repair -y --lower \(layers) upper > said 2>&1 || { cat said; exit 1; }
        look upper | diff above -
        varve mount -o lower=\(layers) upper mount; look mount | diff - expected; varve umount mount
        for lower in \(all.joined(separator: " ")); do times $lower | diff times.$lower -; look $lower | diff before.$lower -; done
        """, in: base)
    }
  }
}
