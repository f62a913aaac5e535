import Arguments
import Testing

@Suite("Completion in zsh") struct ZshCompletionTests {
  /// A verb whose first words may be left out, in front of a path.
  static func completion(_ kind: ArgumentKind) -> String {
    let verb = Verb(
      "sort", "sort files",
      operands: [Operand("KEY", .any, kind, "by what"), Operand("PATH", .one, .path, "the file")])
    return Program("tool", version: "1.2", "do things", verbs: [verb]).completion(for: .zsh)
  }

  /// Only a list has a function of its own: words once named one that did not exist.
  @Test("What is offered for words that may be left out exists") func optionalWords() {
    let list = Self.completion(.list(["name", "size"]))
    #expect(list.contains("_tool_sort_key_or_path() {"))
    #expect(list.contains("1:key:_tool_sort_key_or_path"))
    #expect(!Self.completion(.words(["name", "size"])).contains("_tool_sort_key"))
  }
}
