// A tree of names as people all over the world give them, in views of several languages.

import DisplayNames
import Foundation
import Glibc
import MountSupport
import NameVectors
import Randomness
import Testing

/// Names of the world, put together from words of many scripts.
private enum WorldNames {
  static let words = [
    "Annual Report", "résumé", "re\u{301}sume\u{301}", "Übersicht", "Straße", "naïve café", "Ελλάδα",
    "отчёт за май",
    "Звіт", "תיעוד", "تقرير سنوي", "گزارش", "रिपोर्ट", "தமிழ்", "রিপোর্ট", "รายงาน", "报告", "報告書", "レポート", "보고서",
    "한글", "Hồ sơ", "Yılmaz", "ILLINI ıi", "Žluťoučký kůň", "Łódź", "Œuvre", "Þór", "ქართული", "հայերեն",
    "🎉 party", "👩‍💻", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "❤️", "2024-12-31", "v1.2", "IMG_0001", "10:30 call", "a\u{2215}b", "  two  blanks",
    "new\nline", "tab\there", "zero\u{200B}width", "\u{202E}gpj",
    "שלום world", "क्‌ष", "ﬁle", "Ａｂｃ", "x²", "№ 5", "…", "O'Brien \"quoted\"", "$HOME", "*?[x]", "~backup",
    "-dash",
  ]
  static let ends = [
    ".txt", ".pdf", ".JPG", ".tar.gz", ".docx", ".md", ".unknown", "", ".exe", ".sh", ".swift", ".pages",
    ".mp3",
  ]
  /// What is no UTF-8 on any machine.
  static let broken: [[UInt8]] = [
    [0x62, 0x61, 0x64, 0xFF, 0x2E, 0x74, 0x78, 0x74], [0xE9, 0x74, 0xE9], [0xC3, 0x28],
    [0xED, 0xA0, 0x80, 0x2E, 0x6D, 0x64],
  ]

  /// A binary property list of one pair.
  private static func binary(_ key: String, _ value: String) -> [UInt8] {
    func object(_ text: String) -> [UInt8] {
      let units = Array(text.utf16)
      let count = UInt8(units.count)
      let head: [UInt8] = count < 15 ? [0x60 | count] : [0x6F, 0x10, count]
      return head + units.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    }
    let first = Array("bplist00".utf8) + [0xD1, 1, 2]
    let second = first + object(key)
    let objects = second + object(value)
    let trailer = [3, 0, objects.count].flatMap { number in
      (0..<8).reversed().map { UInt8(number >> ($0 * 8) & 255) }
    }
    return objects + [8, UInt8(first.count), UInt8(second.count)] + [0, 0, 0, 0, 0, 0, 1, 1] + trailer
  }

  /// The bytes of a strings file, in an encoding that changes with the number.
  static func strings(_ key: String, _ value: String, _ number: Int) -> [UInt8] {
    let text = "\"\(key)\" = \"\(value)\";\n"
    switch number % 5 {
    case 4: return binary(key, value)
    case 0: return Array(text.utf8)
    case 1:
      return [0xFF, 0xFE]
        + text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    case 2:
      return [0xFE, 0xFF]
        + text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    default:
      return Array(
        "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict><key>\(key)</key><string>\(value)</string></dict></plist>"
          .utf8)
    }
  }
}

extension MountTests {
  @Suite("Names of the world in views", .timeLimit(.minutes(4))) struct ViewWorldTests {
    private static let languages = ["de", "fr", "ja", "ru+en", "ar", "zh-Hant", "pt-BR", "tr"]

    /// Several thousand items in directories; the real names of each directory.
    private func stage(_ root: BytePath) throws -> [String: [[UInt8]]] {
      var dice = Dice(for: "names of the world")
      var tree: [String: [[UInt8]]] = [:]
      for number in 0..<20 {
        let directory = "dir \(number)"
        try #require((root / directory).makeDirectory())
        var names: Set<[UInt8]> = []
        while names.count < 110 {
          let word = dice.pick(WorldNames.words) + (dice.once(in: 3) ? " \(dice.below(30))" : "")
          names.insert(Array((word + dice.pick(WorldNames.ends)).utf8))
        }
        for name in names {
          try #require((root / directory / name).make(mode: dice.once(in: 6) ? 0o755 : 0o644), "\(name)")
        }
        for name in WorldNames.broken where (root / directory / name).make() { names.insert(name) }
        for package in ["Notes.app", "Skizze.rtfd"] {
          try #require((root / directory / package).makeDirectory())
          names.insert(Array(package.utf8))
        }
        for (index, word) in ["Fotos", "Été", "写真"].enumerated() {
          let name = "\(word).localized"
          let folder = root / directory / name / ".localized"
          try #require((root / directory / name).makeDirectory() && folder.makeDirectory())
          for (offset, language) in ["de", "fr", "ja", "ru", "ar", "zh-Hant", "pt-BR", "tr"].enumerated() {
            let bytes = WorldNames.strings(word, "\(word) (\(language))", number + index + offset)
            try #require((folder / "\(language).strings").make(bytes))
          }
          names.insert(Array(name.utf8))
        }
        for name in ["Library", "Pictures"] {
          try #require(
            (root / directory / name).makeDirectory() && (root / directory / name / ".localized").make())
          names.insert(Array(name.utf8))
        }
        tree[directory] = Array(names)
      }
      return tree
    }

    private func check(
      _ names: [[UInt8]], _ inodes: [[UInt8]: ino_t], shown: BytePath, showsHidden: Bool
    ) throws {
      let listed = try #require(shown.names)
      #expect(Set(listed).count == listed.count)
      var found: Set<[UInt8]> = []
      let all = Set(names)
      let everyName = Set(listed)
      for name in listed {
        let text = try #require(String(validating: name, as: UTF8.self), "\(name) is no UTF-8")
        #expect(Array(text.precomposedStringWithCanonicalMapping.utf8) == name, "\(text) is not in NFC")
        #expect(name.count <= 255)
        let path = shown / name
        let own = try #require(path.attribute("system.varve.realname"), "\(text)")
        #expect(all.contains(own), "\(text)")
        #expect(found.insert(own).inserted, "\(text) is the second name of one item")
        #expect(name == own || !all.contains(name), "\(text) is the real name of another item")
        #expect(path.inode == inodes[own], "\(text)")
      }
      for name in names where !everyName.contains(name) { #expect((shown / name).inode == inodes[name]) }
      let hidden = names.filter { $0.first == UInt8(ascii: ".") }
      #expect(found.count == names.count - (showsHidden ? 0 : hidden.count))
    }

    @Test(
      "Thousands of names of the world are right in every language and policy, each leading where it says")
    func languages() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let root = BytePath(volume.path)
      let tree = try stage(root)
      #expect(tree.values.reduce(0) { $0 + $1.count } > 2_200)
      let views = Self.languages + ["de,ext=all", "fr,all,ext=never", "default,ext=bit"]
      var inodes: [String: [[UInt8]: ino_t]] = [:]
      for (directory, names) in tree {
        for name in names { inodes[directory, default: [:]][name] = (root / directory / name).inode }
      }
      for view in views {
        let shown = BytePath("\(volume.path)/.varve/view/\(view)")
        for (directory, names) in tree {
          try check(
            names, inodes[directory] ?? [:], shown: shown / directory, showsHidden: view.contains(",all"))
        }
        let language = view.split(separator: "+").first.map(String.init) ?? view
        if Self.languages.contains(view) {
          for word in ["Fotos", "Été", "写真"] {
            #expect(
              (shown / "dir 7" / "\(word) (\(language))").inode
                == (root / "dir 7" / "\(word).localized").inode, "\(view)")
          }
          let standard = StandardPictures.names[view]
          #expect(
            (shown / "dir 3" / (standard ?? "")).inode == (root / "dir 3" / "Pictures").inode, "\(view)")
        }
      }
    }

    @Test(
      "find, ls, Python, gio, rsync and git see the names of the world in a view and in the tree alike",
      .enabled(if: Programs.has("python3", "rsync", "git", "gio"), "needs python3, rsync, git and gio"))
    func programs() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      _ = try stage(BytePath(volume.path))
      let result = try Program.run(
        "/bin/bash",
        [
          "-c",
          """
          export LC_ALL=C.UTF-8 HOME='\(volume.base)'
          cd '\(volume.path)/.varve/view/ja'
          find . -mindepth 1 -printf '%P\\0' | sort -z | md5sum >'\(volume.base)/by-find'
          python3 - <<'END' | md5sum >'\(volume.base)/by-python'
          import os, sys
          names = []
          for place, directories, files in os.walk(b'.'):
              for name in directories + files:
                  path = os.path.join(place, name)
                  os.lstat(path)
                  names.append(path[2:])
          sys.stdout.buffer.write(b''.join(name + b'\\0' for name in sorted(names)))
          END
          cmp '\(volume.base)/by-find' '\(volume.base)/by-python' && echo same by Python
          rsync -a ./ '\(volume.base)/copy/' && cd '\(volume.base)/copy'
          find . -mindepth 1 -printf '%P\\0' | sort -z | md5sum | cmp - '\(volume.base)/by-find' && echo same by rsync
          cd '\(volume.path)/.varve/view/ja/dir 3'
          cmp <(gio list -h . | sort) <(ls -AU | sort) && echo same by gio
          list() { cd '\(volume.path)/.varve/view/'"$1" && find . | sort | md5sum; }
          list de >'\(volume.base)/de'; list 'fr,ext=all' >'\(volume.base)/fr'
          for turn in 1 2 3; do
            for view in de 'fr,ext=all'; do
              (list "$view" | cmp - '\(volume.base)/'"${view%%,*}" || echo differs) &
            done
          done
          wait; echo two languages at once
          cd '\(volume.path)/.varve/view/tr' && ls -1U -R . >/dev/null && echo listed
          cd '\(volume.path)' && git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm all
          test -z "$(git status --porcelain)" && echo clean
          git --work-tree='\(volume.path)/.varve/view/tr' status --porcelain -uno | head -3
          test "$(git -c core.quotePath=off --work-tree='\(volume.path)/.varve/view/tr' status --porcelain | wc -l)" -gt 20 \
            && echo shown names are untracked
          """,
        ])
      #expect(
        result.output
          == "same by Python\nsame by rsync\nsame by gio\ntwo languages at once\nlisted\nclean\nshown names are untracked\n",
        "exit \(result.exit)")
    }
  }
}

private enum StandardPictures {
  static let names = [
    "de": "Bilder", "fr": "Images", "ja": "画像", "ru+en": "Изображения", "ar": "الصور", "zh-Hant": "圖片",
    "pt-BR": "Imagens", "tr": "Resimler",
  ]
}
