import DisplayNames
import Foundation
import MountSupport
import NameVectors
import Testing

extension MountTests {
  @Suite("The tables of names, through mounted views", .timeLimit(.minutes(2))) struct ViewVectorTests {
    private static func view(
      _ volume: MountedVolume, _ languages: String, _ policy: ExtensionPolicy, all: Bool
    )
      -> BytePath
    {
      var name = languages.isEmpty ? "default" : languages
      if all { name += ",all" }
      if policy != .known { name += ",ext=\(policy.word)" }
      return BytePath(volume.path + "/.varve/view/" + name)
    }

    /// What is shown in a directory, by the real names.
    private static func shown(in directory: BytePath) -> [[UInt8]: [UInt8]] {
      var shown: [[UInt8]: [UInt8]] = [:]
      for name in directory.names ?? [] {
        guard let real = (directory / name).attribute("system.varve.realname") else { continue }
        shown[real] = name
      }
      return shown
    }

    @Test("Each single item is listed by its name, and found by both") func singles() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      for row in SingleNames.all {
        let place = "\(row.number)-\(row.languages)-\(row.policy.word)-\(row.entry.name.hashValue)"
        let real = BytePath(volume.path) / place
        try #require(real.makeDirectory())
        try #require(row.entry.stage(in: real), "\(row.testDescription)")
        let directory = Self.view(volume, row.languages, row.policy, all: true) / place
        #expect(directory.names == [row.name], "\(row.testDescription)")
        let inode = (real / row.entry.name).inode
        #expect(inode != nil && (directory / row.name).inode == inode, "\(row.testDescription)")
        #expect((directory / row.entry.name).inode == inode, "\(row.testDescription)")
        #expect((directory / row.name).attribute("system.varve.realname") == row.entry.name)
        // Nothing else leads there: not the name without what looks like an extension, nor in another form.
        let stem = row.entry.name.lastIndex(of: UInt8(ascii: ".")).map { Array(row.entry.name[..<$0]) } ?? []
        let text = String(decoding: row.entry.name, as: UTF8.self)
        let others = [
          stem, Array(text.precomposedStringWithCanonicalMapping.utf8),
          Array(text.decomposedStringWithCanonicalMapping.utf8), Array(text.uppercased().utf8),
          row.name + [0x20],
        ]
        let steps: [[UInt8]] = [[], [0x2E], [0x2E, 0x2E]]
        for other in others where !steps.contains(other) && other != row.name && other != row.entry.name {
          #expect((directory / other).inode == nil, "\(row.testDescription): \(other)")
        }
        if row.policy == .known, !row.languages.isEmpty {
          let fact = "system.varve.displayname.\(row.languages)"
          #expect((real / row.entry.name).attribute(fact) == row.name, "\(row.testDescription)")
        }
      }
    }

    @Test("Items that meet are listed by different names, each of which leads to one of them")
    func collisions() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      for row in Collisions.rows {
        let real = BytePath(volume.path) / "\(row.number)"
        try #require(real.makeDirectory())
        for entry in row.entries {
          try #require(entry.stage(in: real), "\(row.testDescription)")
        }
        let directory = Self.view(volume, "fr", row.policy, all: false) / "\(row.number)"
        let shown = Self.shown(in: directory)
        let rules = Reference(languages: try #require(LanguageList("fr", separator: "+")), policy: .known)
        for (entry, name) in zip(row.entries, row.names) {
          // As if it stood alone, hidden or not.
          let own = try #require(rules.names([entry.with { $0.isHidden = false }]).first ?? nil)
          #expect(
            (real / entry.name).attribute("system.varve.displayname.fr") == own.name,
            "\(row.testDescription): \(entry.name)")
          #expect((directory / entry.name).attribute("system.varve.displayname.fr") == own.name)
          #expect(shown[entry.name] == (name.isEmpty ? nil : Array(name.utf8)), "\(row.testDescription)")
          #expect((directory / entry.name).inode == (real / entry.name).inode)
          if !name.isEmpty { #expect((directory / name).inode == (real / entry.name).inode) }
        }
        #expect(shown.count == row.names.count { !$0.isEmpty })
        // A name that another item took from both leads nowhere.
        for entry in row.entries {
          guard let dot = entry.name.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { continue }
          let stem = Array(entry.name[..<dot])
          if row.entries.contains(where: { $0.name == stem }) || shown.values.contains(stem) { continue }
          #expect((directory / stem).inode == nil, "\(row.testDescription): \(stem)")
        }
      }
    }

    @Test("A view lists names in the order of its language, and equal ones by their bytes") func orders()
      throws
    {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let rows = NameOrders.root.map { ("", $0) } + NameOrders.languages.map { ($0.tag, $0.row) }
      for (number, (tag, row)) in rows.enumerated() {
        // What is normalised meets its other form, and is shown with a tag.
        let row = row.filter {
          $0.name.precomposedStringWithCanonicalMapping.utf8.elementsEqual($0.name.utf8)
        }
        let real = BytePath(volume.path) / "\(number)"
        try #require(real.makeDirectory())
        for (name, _) in row.shuffled() { try #require((real / name).make(), "\(name)") }
        // Names that are equal to the collator, in the order of their bytes.
        var groups: [[[UInt8]]] = []
        for (name, isEqual) in row {
          if !isEqual || groups.isEmpty { groups.append([]) }
          groups[groups.count - 1].append(Array(name.utf8))
        }
        let wanted = groups.flatMap { $0.sorted { $0.lexicographicallyPrecedes($1) } }
        let directory = Self.view(volume, tag, .never, all: true) / "\(number)"
        #expect(directory.names == wanted, "\(tag): \(row.map(\.name))")
      }
    }
  }
}
