// The modes of chmod(1) of macOS: the table of bits, the grammar, and each example of a valid mode.

import MountSupport
import Testing

extension CommandTests {
  @Suite("chmod(1), modes") struct ModeManualTests {
    /// What a mode makes of modes, with the umask 022; a slash stands behind those of directories.
    struct Row: Sendable, CustomTestStringConvertible {
      let mode: String
      let changes: [(before: String, after: String)]
      var testDescription: String { mode }

      init(_ mode: String, _ changes: (String, String)...) {
        self.mode = mode
        self.changes = changes
      }
    }

    static let examples = [
      Row("644", ("777", "644"), ("000", "644")),
      Row("go-w", ("666", "644"), ("777", "755"), ("2622", "2600")),
      Row("=rw,+X", ("777", "755"), ("600", "644"), ("100", "755"), ("600/", "755/")),
      Row("+X", ("644", "644"), ("744", "755"), ("645", "755"), ("600/", "711/")),
      Row("755", ("000", "755"), ("4777", "755")),
      Row("u=rwx,go=rx", ("000", "755"), ("777", "755")),
      Row("u=rwx,go=u-w", ("000", "755"), ("777", "755")),
      Row("go=", ("777", "700"), ("644", "600")),
      Row("g=u-w", ("640", "640"), ("700", "750"), ("600", "640")),
    ]

    static let bits =
      ["4000", "2000", "1000", "0400", "0200", "0100", "0040", "0020", "0010", "0004", "0002"]
      .map { Row($0, ("000", String($0.drop { $0 == "0" })), ("000/", String($0.drop { $0 == "0" }) + "/")) }
      + [Row("0001", ("777", "1"))]

    static let grammar = [
      Row("a+r", ("000", "444")), Row("ugo+r", ("000", "444")), Row("u+r", ("000", "400")),
      Row("g+w", ("000", "20")), Row("o+x", ("000", "1")), Row("u+s", ("755", "4755")),
      Row("g+s", ("755", "2755")), Row("+t", ("755", "1755")), Row("a=", ("777", "0")),
      Row("g+u", ("700", "770")), Row("o-g", ("777", "770")), Row("u=o", ("704", "404")),
      // No permissions: + and - do nothing.
      Row("+", ("640", "640")), Row("-", ("640", "640")), Row("u+", ("640", "640")),
      // No class: what the umask has stays out of it.
      Row("+rw", ("000", "644")), Row("-w", ("666", "466")), Row("=r", ("777", "444")),
      Row("a+w", ("000", "222")), Row("u-w,g-w", ("666", "446")),
      // Several actions, in their order.
      Row("u+x-w,g=r", ("666", "546")), Row("u=rwx,u-x", ("000", "600")),
      // X means something with + only, and counts the bits of before.
      Row("a-x+X", ("755", "755")), Row("a=X", ("644", "0")),
      // s and t of others alone are ignored.
      Row("o+s", ("755", "755")), Row("o+t", ("755", "755")), Row("o=t", ("1755", "1750")),
      Row("u+t", ("755", "1755")), Row("a+t", ("755", "1755")), Row("a-t", ("1755", "755")),
      // The sticky bit is in no class, so it is cleared where it is named only.
      Row("a=", ("1777", "1000")), Row("=r", ("1777", "1444")), Row("a=rt", ("777", "1444")),
    ]

    @Test("Every example, bit and rule of the page does what the page says")
    func modes() throws {
      let desk = try Desk()
      defer { desk.volume.remove() }
      for row in Self.examples + Self.bits + Self.grammar {
        for (before, after) in row.changes {
          let isDirectory = before.hasSuffix("/")
          let made = isDirectory ? "mkdir item" : ": > item"
          let output = try desk.run(
            "\(made); chmod \(before.filter { $0 != "/" }) item; varve chmod '\(row.mode)' item; echo $?; "
              + "stat -c %a item; rm -r item")
          #expect(output == "0\n\(after.filter { $0 != "/" })\n", "\(row.mode) on \(before)")
        }
      }
      try desk.end()
    }
  }
}
