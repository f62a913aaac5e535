import DisplayNames
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

    /// What is shown of these items, by their real names.
    private static func shown(_ entries: [Entry], in directory: BytePath) -> [[UInt8]: [UInt8]] {
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
        let shown = Self.shown(row.entries, in: directory)
        for (entry, name) in zip(row.entries, row.names) {
          #expect(shown[entry.name] == (name.isEmpty ? nil : Array(name.utf8)), "\(row.testDescription)")
          #expect((directory / entry.name).inode == (real / entry.name).inode)
          if !name.isEmpty { #expect((directory / name).inode == (real / entry.name).inode) }
        }
        #expect(shown.count == row.names.count { !$0.isEmpty })
      }
    }
  }
}
