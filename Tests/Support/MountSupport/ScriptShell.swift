/// Runs scripts of bash that call the `varve` that was built.
package struct ScriptShell: Sendable {
  /// A function `look`, which prints what a tree of layers shows.
  ///
  /// Everything but the count of links, which may be one too high.
  package static let look =
    "look() { (cd \"$1\"; find . -path ./.varve -prune -o -printf '%P %y %m %l\\n' | sort; "
    + "find . -path ./.varve -prune -o -type f -print0 | sort -z | xargs -0r sha1sum); }\n"

  /// A function `times`, which prints the names, owners, sizes and all times of a tree, and moves none of them: `times TREE`.
  ///
  /// But for what is in `.varve`, which a mount reads.
  package static let times = """
    times() {
      unshare -m bash -c 'mount --bind "$1" "$1" && mount -o remount,bind,noatime "$1" && cd "$1" \
        && find . -path ./.varve -prune -o -printf "%P %y %m %U %G %s %n %A@ %T@ %C@\\n" | sort' times "$1"
    }

    """

  /// A function `sound`, which checks the upper directory of a daemon that was killed: `sound LOWER UPPER`.
  ///
  /// A count of names may be one too high, and a whiteout may hide nothing any more; a repair corrects both, and there is nothing
  /// else.
  package static let sound = """
    sound() {
      varve check --lower "$1" "$2" > found 2>&1 && return
      if ! sed -n -e '/: whiteout: a mark that a name was removed has a name that no lower has$/d' \
        -e 's/.*: links: counts \\([0-9]*\\) names of an item that has \\([0-9]*\\)$/\\1 \\2/;p' found \
        | awk 'NF != 2 || $1 != $2 + 1 { exit 1 }'; then cat found; return 1; fi
      varve check -y --repair --lower "$1" "$2" > found 2>&1 || true
      varve check --lower "$1" "$2" || { cat found; return 1; }
    }

    """

  /// A function `settled`, which runs a command until it succeeds, for ten seconds: what a daemon or the kernel lets go of a
  /// moment later is in its way.
  package static let settled =
    "settled() { for i in $(seq 200); do \"$@\" 2> said && return; sleep 0.05; done; cat said; return 9; }\n"

  /// What each script begins with.
  private let prelude: String

  package init(prelude: String = ScriptShell.look) {
    self.prelude = prelude
  }

  package func run(
    _ script: String, in base: String, _ environment: [String: String] = [:]
  ) throws -> ProgramResult {
    let varve = Program.built("varve")
    return try Program.run(
      "/bin/bash", ["-c", "varve() { '\(varve)' \"$@\"; }\n" + prelude + script], in: base,
      environment: ["LC_ALL": "C", "HOME": base].merging(environment) { $1 })
  }

  /// The same for a script of which nothing may fail; what it printed.
  package func must(
    _ script: String, in base: String, _ environment: [String: String] = [:]
  ) throws -> String {
    let result = try run("set -e\n" + script, in: base, environment)
    guard result.exit == 0 else {
      throw TestFailure("exit \(result.exit) of:\n\(script)\n\(result.output)")
    }
    return result.output
  }
}
