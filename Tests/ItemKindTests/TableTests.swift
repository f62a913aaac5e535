import ItemKinds
import Testing

@Suite("The tables of kinds") struct TableTests {
  @Test("183 types and 204 extensions, none twice") func types() {
    let words = TypeRow.all.flatMap { $0.extensions.split(separator: " ") }
    #expect(TypeRow.all.count == 183)
    #expect(Set(TypeRow.all.map(\.identifier)).count == 183)
    #expect(words.count == 204)
    #expect(Set(words).count == 204)
    for word in words { #expect(FileExtension(String(word)) != nil && word == word.lowercased()) }
  }

  @Test("Every type hangs on the tree, and leads to data or to a directory") func conformance() {
    for row in TypeRow.all {
      let all = TypeTree.ancestors(of: row.identifier)
      #expect(all.contains("public.item"), "\(row.identifier)")
      #expect(all.contains("public.data") != all.contains("public.directory"), "\(row.identifier)")
      #expect(!all.contains(row.identifier) && Set(all).count == all.count, "\(row.identifier)")
    }
    #expect(
      TypeTree.ancestors(of: "public.zsh-script") == [
        "public.shell-script", "public.script", "public.source-code", "public.plain-text", "public.text",
        "public.content", "public.data", "public.item",
      ])
    #expect(
      TypeTree.ancestors(of: "com.apple.application-bundle") == [
        "com.apple.application", "com.apple.bundle", "com.apple.package", "public.directory", "public.item",
      ])
    #expect(TypeTree.does("public.jpeg", conformTo: "public.data"))
    #expect(!TypeTree.does("com.apple.rtfd", conformTo: "public.data"))
    #expect(!TypeTree.does("com.example.unheard-of", conformTo: "public.item"))
  }

  @Test("Packages of the table and beside it") func packages() {
    let all = PackageExtensions().all
    #expect(all.count == 24 + 23 - 1, "download has a row, too")
    for word in [
      "app", "rtfd", "key", "pages", "numbers", "pkg", "download", "nib", "utm", "bbprojectd", "logicx",
    ] {
      #expect(FileExtension(word).map(all.contains) == true, "\(word)")
    }
    for word in ["framework", "lproj", "txt", "localized"] {
      #expect(FileExtension(word).map(all.contains) == false, "\(word)")
    }
  }

  @Test("An administrator adds and removes packages") func changes() throws {
    var packages = PackageExtensions()
    try packages.apply(Array("+foo\n-RTFD\n\n+c++".utf8))
    let tables = KindTables(packages: packages)
    func isPackage(_ name: String) -> Bool {
      let bytes = Array(name.utf8)
      return tables.isPackage(bytes.span, isRoot: false, hasBundleBit: false)
    }
    #expect(isPackage("a.Foo") && isPackage("a.c++") && isPackage("a.app") && !isPackage("a.rtfd"))
    #expect(FileExtension("rtfd").map(tables.isKnown) == true, "it is a type all the same")
    #expect(FileExtension("foo").map(tables.isKnown) == true)
    for wrong in ["foo", "+", "+a.b", "+ foo", "+foo -bar", "*x", "+" + String(repeating: "x", count: 33)] {
      var packages = PackageExtensions()
      #expect(try packages.apply(Array("+bar\n\n\(wrong)\n+y".utf8)) == [3], "\(wrong)")
      let added = packages.all.subtracting(PackageExtensions().all)
      #expect(added == Set(["bar", "y"].compactMap { FileExtension($0) }), "only the wrong line is left out")
    }
    let commented = "# packages of ours\n  +bar # of the bar\r\n\t\r\n#+baz\n-app"
    #expect(try packages.apply(Array(commented.utf8)) == [])
    let found = ["bar", "baz", "app"].map { FileExtension($0).map(packages.all.contains) }
    #expect(found == [true, false, false])
    try packages.apply(Array(String(repeating: "+x\n", count: 1024).utf8))
    for long in [Array(String(repeating: "+x\n", count: 1025).utf8), [UInt8](repeating: 0x0A, count: 65_537)]
    {
      #expect(throws: PackageExtensions.TooLong.self) { try packages.apply(long) }
    }
  }

  @Test("Standard names: 24 languages, 17 directories, one gap") func standard() {
    let names = StandardNames()
    #expect(StandardNames.builtIn.count == 24 * 17)
    #expect(StandardNames.builtIn.filter { $0.text == "—" }.map { $0.tag + $0.name } == ["arDownloads"])
    func text(_ name: String, _ tags: String...) -> String? {
      names.text(for: Array(name.utf8), tags: tags).map { String(decoding: $0, as: UTF8.self) }
    }
    #expect(text("Library", "fr") == "Bibliothèque")
    #expect(text("Videos", "de") == "Filme" && text("Movies", "de") == "Filme")
    #expect(text("Downloads", "ar") == nil && text("Downloads", "ar", "he") == "הורדות")
    #expect(text("Trash", "zh-Hant") == "垃圾桶" && text("Trash", "zh-Hans") == "回收站")
    #expect(text("Projects", "fr") == nil && text("library", "fr") == nil && text("Library", "en") == nil)
    #expect(names.has(Array("Videos".utf8)) && !names.has(Array("Drop Box".utf8)))
  }

  @Test("An administrator's entries come first, and make new standard directories") func added() {
    var names = StandardNames()
    names.add(Array("Médiathèque".utf8), for: Array("Library".utf8), in: "fr")
    names.add(Array("Projets".utf8), for: Array("Projects".utf8), in: "fr")
    #expect(names.text(for: Array("Library".utf8), tags: ["fr"]) == Array("Médiathèque".utf8))
    #expect(names.has(Array("Projects".utf8)))
    #expect(names.text(for: Array("Projects".utf8), tags: ["de", "fr"]) == Array("Projets".utf8))
    #expect(names.text(for: Array("Music".utf8), tags: ["fr"]) == Array("Musique".utf8))
  }
}
