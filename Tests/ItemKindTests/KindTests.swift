import CAllocationCounter
import ItemKinds
import Testing

@Suite("What an item is") struct KindTests {
  private let tables = KindTables()

  private func traits(_ kind: FileKind, _ change: (inout ItemTraits) -> Void = { _ in }) -> ItemTraits {
    var traits = ItemTraits(kind)
    change(&traits)
    return traits
  }

  private func finder(type: String = "\0\0\0\0", flags: UInt16 = 0) -> FinderFacts {
    var bytes = Array(type.utf8) + [UInt8](repeating: 0, count: 28)
    bytes[8] = UInt8(flags >> 8)
    bytes[9] = UInt8(flags & 0xFF)
    return FinderFacts(bytes, isDirectory: false) ?? FinderFacts()
  }

  /// Identifier, MIME type and icon.
  private func kind(_ name: String, _ traits: ItemTraits) -> [String] {
    let name = Array(name.utf8)
    return [
      tables.identifier(of: name, traits), tables.mime(of: name, traits), tables.icon(of: name, traits),
    ]
  }

  @Test("Extensions") func extensions() {
    let rows: [(String, Int?)] = [
      ("a.txt", 1), ("a.", nil), ("a", nil), (".txt", nil), ("..txt", nil), (". .txt", nil), ("a.tar.gz", 5),
      ("a.b c", nil), ("a.é", nil), ("a.c++", 1), ("a.x_-9", 1), ("é.md", 2), ("a\u{1}.md", 2),
      ("a." + String(repeating: "x", count: 32), 1), ("a." + String(repeating: "x", count: 33), nil),
      ("", nil),
      (".", nil), ("..", nil), ("...txt", nil), (".a.txt", 2),
    ]
    for (name, dot) in rows { #expect(FileExtension.dot(in: Array(name.utf8).span) == dot, "\(name)") }
    #expect(FileExtension("TXT") == FileExtension("txt"))
    #expect(FileExtension("photoslibrary") != FileExtension("photoslibrarz"))
    let long = String(repeating: "x", count: 31)
    #expect(FileExtension(long + "y") != FileExtension(long + "z"))
    #expect(FileExtension("") == nil && FileExtension("a.b") == nil && FileExtension("é") == nil)
  }

  @Test("Files") func files() {
    let file = traits(.regular)
    let script = traits(.regular) { $0.isExecutable = true }
    #expect(kind("a.JPEG", file) == ["public.jpeg", "image/jpeg", "image-x-generic"])
    #expect(kind("a.html", file) == ["public.html", "text/html", "text-html"])
    #expect(kind("a.py", file) == ["public.python-script", "text/x-python", "text-x-script"])
    #expect(kind("a.py", script) == ["public.python-script", "text/x-python", "text-x-script"])
    #expect(kind("a.dmg", file)[2] == "package-x-generic")
    #expect(
      kind("a.vcf", file)[2] == "x-office-address-book" && kind("a.ics", file)[2] == "x-office-calendar")
    #expect(
      kind("a.xlsx", file)[2] == "x-office-spreadsheet" && kind("a.key", file)[2] == "x-office-presentation")
    #expect(kind("a.pdf", file)[2] == "x-office-document" && kind("a.ttf", file)[2] == "font-x-generic")
    #expect(kind("a.mp3", file)[2] == "audio-x-generic" && kind("a.mov", file)[2] == "video-x-generic")
    #expect(kind("a.ipa", file) == ["com.apple.itunes.ipa", "application/octet-stream", "package-x-generic"])
    #expect(kind("a", file) == ["public.data", "application/octet-stream", "unknown"])
    #expect(
      kind("a", script)
        == ["public.unix-executable", "application/x-executable", "application-x-executable"])
    #expect(kind("a.app", file)[0] == "public.data", "a file is no application")
    #expect(kind("a.framework", script)[0] == "public.unix-executable")
  }

  @Test("Type codes count after the extension") func codes() {
    func file(_ code: String) -> ItemTraits { traits(.regular) { $0.finder = finder(type: code) } }
    #expect(kind("a", file("PDF ")) == ["com.adobe.pdf", "application/pdf", "x-office-document"])
    #expect(kind("a.txt", file("PDF "))[0] == "public.plain-text")
    #expect(kind("a", file("????"))[0] == "public.data")
    #expect(kind("a", file("\0\0\0\0"))[0] == "public.data")
    #expect(kind("a", file("XXXX"))[0] == "public.data")
    #expect(kind("a", file("APPL"))[0] == "com.apple.application-file")
    #expect(kind("a", file("APPL"))[2] == "application-x-executable")
    #expect(kind("a", file("alis"))[2] == "emblem-symbolic-link")
    #expect(kind("a", file("slnk"))[0] == "public.symlink")
    for code in ["TEXT", "JPEG", "GIFf", "PNGf", "TIFF", "MooV", "MPG3", "AIFF", "WAVE", "ZIP "] {
      #expect(kind("a", file(code))[1] != "application/octet-stream", "\(code)")
    }
    #expect(FinderFacts([0], isDirectory: false) == nil)
    let bytes = Array("abcdefgh".utf8) + [0x60, 0x10] + [UInt8](repeating: 9, count: 22)
    let facts = FinderFacts(bytes, isDirectory: false)
    #expect(facts?.flags == [.extensionHidden, .bundle, .invisible] && facts?.creator == 0x6566_6768)
    #expect(FinderFacts(bytes, isDirectory: true)?.type == nil, "a window stands there")
  }

  @Test("Directories, packages and bundles") func directories() {
    let plain = traits(.directory)
    let bundle = traits(.directory) { $0.hasInformation = true }
    let bit = traits(.directory) { $0.finder = finder(flags: 0x2000) }
    let root = traits(.directory) { $0.isRoot = true }
    let marked = traits(.directory) { $0.isStandardDirectory = true }
    func state(_ name: String, _ traits: ItemTraits) -> PackageState {
      tables.packageState(of: Array(name.utf8), traits)
    }
    #expect(state("a.app", plain) == .package && state("a.APP", bundle) == .packageAndBundle)
    #expect(state("a", bit) == .package && state("a", plain) == .none && state("a", bundle) == .none)
    #expect(state(".app", bit) == .none && state(".a.app", plain) == .none)
    #expect(state("a.app.localized", bit) == .none && state("a.app.Localized", bit) == .package)
    #expect(
      state("a.app", root) == .none && state("a.framework", bundle) == .none
        && state("a.lproj", plain) == .none)
    #expect(state("a.key", plain) == .package && state("a.key", traits(.regular)) == .none)
    #expect(
      kind("a.app", plain) == ["com.apple.application-bundle", "inode/directory", "application-x-executable"])
    #expect(kind("a.rtfd", plain) == ["com.apple.rtfd", "inode/directory", "package-x-generic"])
    #expect(kind("a.nib", plain)[0] == "com.apple.package" && kind("a.key", plain)[0] == "com.apple.package")
    #expect(kind("a.txt", bit)[0] == "com.apple.package")
    #expect(kind("a.framework", plain) == ["com.apple.framework", "inode/directory", "folder"])
    #expect(kind("a.txt", plain) == ["public.folder", "inode/directory", "folder"])
    #expect(kind("a.localized", plain)[0] == "public.folder" && kind(".app", plain)[0] == "public.folder")
    #expect(kind("Music", root) == ["public.volume", "inode/directory", "drive-harddisk"])
    #expect(kind("Music", marked)[2] == "folder-music" && kind("Videos", marked)[2] == "folder-videos")
    #expect(kind("Library", marked)[2] == "folder" && kind("Music", plain)[2] == "folder")
    let icon = traits(.directory) {
      $0.finder = finder(flags: 0x0400)
      $0.hasIconFile = true
    }
    #expect(kind("Music", icon)[2] == "custom")
  }

  @Test("What a directory is called that is more than a folder") func words() {
    func word(_ name: String, _ traits: ItemTraits) -> String? {
      TypeTree.word(forDirectory: tables.identifier(of: Array(name.utf8), traits))
    }
    let plain = traits(.directory)
    #expect(word("Notes.app", plain) == "application" && word("NOTES.APP", plain) == "application")
    #expect(word("a.rtfd", plain) == "package" && word("a.nib", plain) == "package")
    #expect(word("a.plugin", plain) == "package" && word("a.framework", plain) == "bundle")
    #expect(word("a", plain) == nil && word("a.txt", plain) == nil && word(".app", plain) == nil)
    #expect(word("Notes.app", traits(.directory) { $0.isRoot = true }) == nil)
  }

  @Test("Links and special files") func special() {
    #expect(kind("a.txt", traits(.link)) == ["public.symlink", "inode/symlink", "emblem-symbolic-link"])
    #expect(kind("a.txt", traits(.pipe)) == ["public.item", "inode/fifo", "unknown"])
    #expect(kind("a", traits(.socket))[1] == "inode/socket")
    #expect(kind("a", traits(.characterDevice))[1] == "inode/chardevice")
    #expect(kind("a", traits(.blockDevice))[1] == "inode/blockdevice")
  }

  @Test("What can be started") func startable() {
    for word in ["exe", "desktop", "bat", "jar", "dll", "so", "dylib", "ps1", "apk"] {
      #expect(FileExtension(word).flatMap { tables.meaning(of: $0) }?.isStartable == true, "\(word)")
    }
    for word in ["sh", "py", "txt", "app", "o"] {
      #expect(FileExtension(word).flatMap { tables.meaning(of: $0) }?.isStartable == false, "\(word)")
    }
    #expect(FileExtension("bat").map(tables.isKnown) == false, "it has no type")
  }

  @Test("Looking up an extension asks for no memory") func allocations() {
    let name = Array("holiday.JPEG".utf8)
    _ = tables.isPackage(name.span, isRoot: false, hasBundleBit: false)
    let before = lv_allocation_count()
    var found = 0
    for _ in 0..<1000 where tables.isPackage(name.span, isRoot: false, hasBundleBit: false) { found += 1 }
    #expect(lv_allocation_count() == before)
    #expect(found == 0)
  }
}
