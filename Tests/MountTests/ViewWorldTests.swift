// A tree of names as people all over the world give them, in views of several languages.

import DisplayNames
import Foundation
import Glibc
import MountSupport
import NameVectors
import Randomness
import Testing

/// A name as it can be printed.
private func quoted(_ name: [UInt8]) -> String { String(decoding: name, as: UTF8.self).debugDescription }

/// The names of the world on a volume.
private struct WorldTree {
  let directories: [(name: [UInt8], entries: [Entry])]
  let root: BytePath

  init(in path: String) throws {
    var dice = Dice(for: "names of the world")
    directories = NamesOfTheWorld.directories(using: &dice)
    root = BytePath(path)
    for (name, entries) in directories {
      try #require((root / name).makeDirectory())
      for (number, entry) in entries.enumerated() {
        try #require(entry.stage(in: root / name, form: number), "\(quoted(entry.name))")
      }
    }
  }

  var count: Int { directories.reduce(0) { $0 + $1.entries.count } }
}

/// One directory of the world, as it is and in a view.
private struct ViewedDirectory {
  let real: BytePath
  let shown: BytePath
  let entries: [Entry]
  /// What the rules say, written anew.
  let wanted: [NameVectors.Shown?]
  /// The numbers of the items.
  let inodes: [ino_t?]

  /// What is not as it has to be.
  func faults() -> [String] {
    guard let listed = shown.listing else { return ["cannot be listed"] }
    let numbers = Dictionary(uniqueKeysWithValues: zip(entries.map(\.name), entries.indices))
    var faults = listed.count == Set(listed.map(\.name)).count ? [] : ["a name twice"]
    var found: [Int: [UInt8]] = [:]
    for (name, inode) in listed {
      let text = String(decoding: name, as: UTF8.self)
      faults += faultsOfText(name, text)
      // So it would if the name were another item's real one.
      if (shown / name).inode != inode { faults.append("\(text) opens another item than is listed") }
      guard let real = realName(name), let number = numbers[real] else {
        faults.append("\(text) has no real name")
        continue
      }
      if found.updateValue(name, forKey: number) != nil { faults.append("\(text) is one item's second name") }
      if (shown / name).inode != inodes[number] { faults.append("\(text) opens another item") }
    }
    for (number, entry) in entries.enumerated() {
      let text = quoted(entry.name)
      if found[number] != wanted[number]?.name {
        faults.append(
          "\(text): \(found[number].map(quoted) ?? "hidden"), not \(wanted[number]?.text ?? "hidden")"
        )
      }
      if (shown / entry.name).inode != inodes[number] {
        faults.append("\(text) is not found by its real name")
      }
    }
    return faults
  }

  private func realName(_ name: [UInt8]) -> [UInt8]? { (shown / name).attribute("system.varve.realname") }

  private func faultsOfText(_ name: [UInt8], _ text: String) -> [String] {
    var faults: [String] = []
    if !text.utf8.elementsEqual(name) { faults.append("\(name) is no text") }
    if !Reference.nfc(text).utf8.elementsEqual(name) { faults.append("\(text) is not in NFC") }
    if name.count > 255 { faults.append("\(text) is too long") }
    if Reference.glyphs(name).contains(where: \.isEscape) { faults.append("\(text) has something invisible") }
    return faults
  }

  /// Names that nobody has, near to those that somebody has, and lead to something all the same.
  func strangers() -> [String] {
    let everything = Set(entries.map(\.name) + wanted.compactMap { $0?.name } + [[0x2E], [0x2E, 0x2E], []])
    let near = entries.flatMap { entry -> [[UInt8]] in
      let text = String(decoding: entry.name, as: UTF8.self)
      let stem = entry.name.lastIndex(of: UInt8(ascii: ".")).map { Array(entry.name[..<$0]) } ?? []
      return [
        stem, Array(Reference.nfc(text).utf8), Array(text.decomposedStringWithCanonicalMapping.utf8),
        Array(text.uppercased().utf8), Array(text.lowercased().utf8), entry.name + [0x20],
      ]
    }
    return near.filter { !everything.contains($0) && (shown / $0).inode != nil }.map(quoted)
  }

  /// The packages in it whose content is shown otherwise than it is.
  func alteredPackages(_ reference: Reference) -> [String] {
    let packages = entries.filter { reference.isPackage($0) }.map(\.name)
    let altered = packages.filter { Set((shown / $0).names ?? []) != Set((real / $0).names ?? [[]]) }
    return altered.map(quoted)
  }
}

extension MountTests {
  @Suite("Names of the world in views", .timeLimit(.minutes(10))) struct ViewWorldTests {
    private struct View {
      let languages: String
      let policy: ExtensionPolicy
      let showsHidden: Bool

      var list: LanguageList? {
        languages == "default" ? LanguageList() : LanguageList(languages, separator: "+")
      }
      var name: String {
        languages + (showsHidden ? ",all" : "") + (policy == .known ? "" : ",ext=\(policy.word)")
      }
    }

    private static let languages = [
      "de", "fr", "ja", "ru+en", "ar", "zh-Hant", "pt-BR", "tr", "fr+de", "default",
    ]

    /// Every language, and every policy in two; with `LONG=1` in all, also where what is hidden is shown.
    private static func views() -> [View] {
      let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"
      var views = [View(languages: "de", policy: .known, showsHidden: true)]
      for languages in languages {
        for policy in ExtensionPolicy.allCases
        where isLong || policy == .known || languages == "fr" || languages == "ja" {
          views.append(View(languages: languages, policy: policy, showsHidden: false))
          guard isLong, languages != "de" || policy != .known else { continue }
          views.append(View(languages: languages, policy: policy, showsHidden: true))
        }
      }
      return views
    }

    /// In one view: what is wrong with the first directory that is not right.
    private func faults(
      _ tree: WorldTree, _ inodes: [[ino_t?]], _ view: String, _ reference: Reference, showsHidden: Bool
    ) -> [String] {
      for (number, directory) in tree.directories.enumerated() {
        let entries = directory.entries.map { entry in
          entry.with { $0.isHidden = $0.isHidden && !showsHidden }
        }
        let viewed = ViewedDirectory(
          real: tree.root / directory.name, shown: tree.root / ".varve" / "view" / view / directory.name,
          entries: entries, wanted: reference.names(entries), inodes: inodes[number])
        var faults = viewed.faults() + viewed.alteredPackages(reference).map { "the package \($0)" }
        // Takes longest, and does not depend on the policy.
        if reference.policy == .known { faults += viewed.strangers().map { "\($0) leads somewhere" } }
        if !faults.isEmpty {
          return faults.prefix(8).map { "\(view), \(String(decoding: directory.name, as: UTF8.self)): \($0)" }
        }
      }
      return []
    }

    @Test(
      "Thousands of names of the world are right in every language and policy, each leading where it says")
    func languages() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let tree = try WorldTree(in: volume.path)
      #expect(tree.count > 2_500)
      let inodes = tree.directories.map { directory in
        directory.entries.map { (tree.root / directory.name / $0.name).inode }
      }
      #expect(inodes.allSatisfy { $0.allSatisfy { $0 != nil } })
      var classes: Set<Character> = []
      for view in Self.views() {
        let reference = Reference(languages: try #require(view.list), policy: view.policy)
        let faults = faults(tree, inodes, view.name, reference, showsHidden: view.showsHidden)
        try #require(faults == [], "VARVE_SEED=\(Dice.seed)")
        for directory in tree.directories {
          classes.formUnion(reference.names(directory.entries).compactMap { $0?.letter })
        }
      }
      #expect(classes == Set("=XLSBE"))
    }

    /// By words that stand here, whatever the rules say.
    @Test("Translations are read in every form and encoding", arguments: NamesOfTheWorld.languages)
    func translations(language: String) throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let root = BytePath(volume.path)
      let view = root / ".varve" / "view" / language
      for form in 0..<StringsFile.forms {
        let directory = root / "form \(form)"
        try #require(directory.makeDirectory())
        for word in NamesOfTheWorld.translated {
          let value = NamesOfTheWorld.translation(of: word, language)
          try #require(
            Entry.localized("\(word).localized", [language: value]).stage(in: directory, form: form))
        }
        try #require(
          Entry.bundle("Notes.app", "Notes", [language: "写 \(language)"]).stage(in: directory, form: form))
        try #require(Entry.marked("Pictures").stage(in: directory))
        let wanted =
          NamesOfTheWorld.translated.map { NamesOfTheWorld.translation(of: $0, language) }
          + ["写 \(language)", NamesOfTheWorld.pictures[language] ?? ""]
        let shown = (view / "form \(form)").names ?? []
        #expect(Set(shown.map { String(decoding: $0, as: UTF8.self) }) == Set(wanted), "form \(form)")
      }
    }

    @Test(
      "find, ls, Python, gio, rsync and git see the names of the world in a view and in the tree alike",
      .enabled(if: Programs.has("python3", "rsync", "git", "gio"), "needs python3, rsync, git and gio"))
    func programs() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      _ = try WorldTree(in: volume.path)
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

    /// Lists each directory of a view by gio and by `ls -l`, and walks the view by find and rsync; compares all with what
    /// Python reads.
    private static let listers = """
      import os, stat, subprocess, sys
      os.environ['LC_ALL'] = 'C.UTF-8'
      def answers(words, end):
          done = subprocess.run(words, capture_output=True, check=True)
          assert not done.stderr, done.stderr
          return done.stdout.split(end)[:-1]
      for view in sys.argv[2:]:
          os.chdir(view)
          walked = []
          for place, directories, files in os.walk(b'.'):
              walked += [os.path.join(place, name)[2:] for name in directories + files]
          by_find = answers([b'find', b'-mindepth', b'1', b'-printf', b'%P\\\\0'], b'\\0')
          assert sorted(by_find) == sorted(walked), (view, set(by_find) ^ set(walked))
          # Looks at each item, and copies none; it writes what steers a terminal as numbers, and no view shows that.
          told = answers([b'rsync', b'-an8', b'--out-format=%n', b'./', sys.argv[1].encode()], b'\\n')
          by_rsync = [name.rstrip(b'/') for name in told if name != b'./']
          assert sorted(by_rsync) == sorted(walked), (view, set(by_rsync) ^ set(walked))
          places = sorted(entry.name for entry in os.scandir(b'.') if entry.is_dir())
          found = [sorted(os.listdir(place)) for place in places]
          by_gio = subprocess.run([b'gio', b'list', b'-h', *places], capture_output=True, check=True)
          assert not by_gio.stderr, (view, by_gio.stderr)
          lines = by_gio.stdout.split(b'\\n')[:-1]
          assert len(lines) == sum(map(len, found)), (view, len(lines), sum(map(len, found)))
          for place, names in zip(places, found):
              mine, lines = sorted(lines[:len(names)]), lines[len(names):]
              assert mine == names, (view, place, set(mine) ^ set(names))
              long = subprocess.run(
                  [b'ls', b'-lAUi', b'--zero', b'--time-style=+', b'--', place], capture_output=True, check=True)
              assert not long.stderr, (view, place, long.stderr)
              rows = long.stdout.split(b'\\0')[1:-1]
              entries = list(os.scandir(place))
              assert len(rows) == len(entries), (view, place, len(rows))
              for row, entry in zip(rows, entries):
                  words = row.split(None, 2)
                  status = entry.stat(follow_symlinks=False)
                  end = entry.name + b' -> ' + os.readlink(entry.path) if entry.is_symlink() else entry.name
                  assert int(words[0]) == status.st_ino, (view, row)
                  assert words[1].decode()[:10] == stat.filemode(status.st_mode), (view, row)
                  assert row.endswith(b' ' + end), (view, row, end)
          print(view.rsplit('/', 1)[1], len(places))
      """

    @Test(
      "gio, ls -l, find and rsync list the world in every language and policy, name by name",
      .enabled(if: Programs.has("python3", "gio", "rsync"), "needs python3, gio and rsync"))
    func eachDirectory() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let tree = try WorldTree(in: volume.path)
      let views = Self.views().map(\.name)
      let result = try Program.run(
        try #require(Programs.path(of: "python3")),
        ["-c", Self.listers, volume.base + "/copy"] + views.map { "\(volume.path)/.varve/view/\($0)" })
      let wanted = views.map { "\($0) \(tree.directories.count)\n" }.joined()
      #expect(result.exit == 0 && result.output == wanted, "\(result.output.suffix(2000))")
    }
  }
}
