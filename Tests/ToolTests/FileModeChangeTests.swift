import Testing
import TextForms

@Suite("Modes people type") struct FileModeChangeTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let text: String
    let before: UInt32
    let after: UInt32
    let isDirectory: Bool
    var testDescription: String { "\(text) on \(String(before, radix: 8))" }

    init(_ text: String, _ before: UInt32, _ after: UInt32, isDirectory: Bool = false) {
      self.text = text
      self.before = before
      self.after = after
      self.isDirectory = isDirectory
    }
  }

  static let rows = [
    Row("644", 0o777, 0o644), Row("0", 0o777, 0), Row("4755", 0, 0o4755), Row("00644", 0, 0o644),
    Row("u+x", 0o644, 0o744), Row("g-w", 0o664, 0o644), Row("o=", 0o647, 0o640), Row("a=rX", 0o640, 0o444),
    Row("a=rX", 0o740, 0o555), Row("a=rX", 0o640, 0o555, isDirectory: true),
    Row("u+rwX,g-w,o=", 0o066, 0o640), Row("ug+rw", 0, 0o660), Row("ugo-rwx", 0o777, 0),
    Row("+t", 0o755, 0o1755), Row("-t", 0o1755, 0o755), Row("o+t", 0o755, 0o755), Row("u+t", 0o755, 0o1755),
    Row("a=r", 0o1777, 0o1444), Row("u+s", 0o755, 0o4755),
    Row("g+s", 0o755, 0o2755), Row("+s", 0o755, 0o6755), Row("o+s", 0o755, 0o755), Row("u=s", 0o6755, 0o6055),
    Row("g=u", 0o740, 0o770), Row("o=g", 0o750, 0o755), Row("u+g", 0o460, 0o660), Row("go=u-w", 0o600, 0o644),
    // Without a class the umask, here 022, counts.
    Row("+w", 0o444, 0o644), Row("-w", 0o666, 0o466), Row("=rw", 0o777, 0o644), Row("+x", 0o644, 0o755),
    Row("a+w", 0o444, 0o666), Row("u+x-w", 0o644, 0o544), Row("u+", 0o644, 0o644), Row("-rw", 0o666, 0o022),
  ]

  @Test(arguments: rows) func changes(_ row: Row) throws {
    let change = try #require(FileModeChange(Array(row.text.utf8)))
    let after = change.applied(to: row.before, isDirectory: row.isDirectory, umask: 0o022)
    #expect(String(after, radix: 8) == String(row.after, radix: 8))
  }

  static let nonsense = [
    "", "8", "10000", "0x1", "77a", "u", "u+q", "+a#", "u+x,", ",u+x", "z+x", "u+x g+x", "é",
  ]

  @Test(arguments: nonsense) func refuses(_ text: String) {
    #expect(FileModeChange(Array(text.utf8)) == nil)
  }

  static let texts: [(UInt32, String)] = [
    (0o100644, "-rw-r--r--"), (0o040755, "drwxr-xr-x"), (0o120777, "lrwxrwxrwx"), (0o020600, "crw-------"),
    (0o060660, "brw-rw----"), (0o010644, "prw-r--r--"), (0o140755, "srwxr-xr-x"), (0o104755, "-rwsr-xr-x"),
    (0o104644, "-rwSr--r--"), (0o102755, "-rwxr-sr-x"), (0o102745, "-rwxr-Sr-x"), (0o041777, "drwxrwxrwt"),
    (0o041776, "drwxrwxrwT"), (0o000000, "?---------"),
  ]

  @Test(arguments: texts) func shows(_ mode: UInt32, _ text: String) {
    #expect(modeText(mode) == text)
  }
}
