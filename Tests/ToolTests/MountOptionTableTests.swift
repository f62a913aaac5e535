import Arguments
import Testing

/// Wherever options are listed, they are those of the table; that each is carried out is up to the compiler.
@Suite("The table of mount options") struct MountOptionTableTests {
  private let rows = MountOptionTable.common + MountOptionTable.own

  @Test func unknownWordsGetAHint() {
    #expect(MountOptionTable.isKnown("securelevel"))
    #expect(MountOptionTable.isKnown("x-systemd.automount"))
    #expect(MountOptionTable.isKnown("no_passthrough"))
    #expect(!MountOptionTable.isKnown("no_exec"))
    #expect(
      MountOptionTable.complaint(about: "no_acl", hasValue: false)
        == "unknown mount option 'no_acl'; did you mean 'noacl'?")
    #expect(!MountOptionTable.isKnown("secrelevel"))
    #expect(
      MountOptionTable.complaint("secrelevel")
        == "unknown mount option 'secrelevel'; did you mean 'securelevel'?")
    #expect(
      MountOptionTable.complaint("uid")
        == "unknown mount option 'uid'; a volume keeps the owner of every item: 'varve chown' changes it, 'noowners' "
        + "ignores all of them")
    #expect(MountOptionTable.complaint("key") == "unknown mount option 'key'; did you mean 'keyfile'?")
    #expect(!MountOptionTable.complaint("umask").contains("did you mean"))
  }

  @Test func aWordStandsOnce() {
    #expect(Set(rows.map(\.name)).count == rows.count)
    for row in rows {
      #expect(MountOptionTable.effect(of: row.name) == row.effect)
      #expect(MountOptionTable.complaint(about: row.name, hasValue: row.value != nil) == nil)
      #expect((MountOptionTable.complaint(aboutValueOf: row.name) == nil) == (row.value != nil))
    }
  }

  @Test func aComplaintNamesTheValues() {
    #expect(MountOptionTable.complaint(aboutChoiceOf: "chattr") == "'chattr' is system or user")
    #expect(MountOptionTable.complaint(aboutChoiceOf: "cache") == "'cache' is shared, exclusive or none")
  }

  @Test func wordsThatContradictEachOtherHaveAFamilyInCommon() {
    let families = Dictionary(grouping: rows, by: \.family).values.map { $0.map(\.name) }
      .filter { $0.count > 1 }.map { $0.joined(separator: " ") }.sorted()
    #expect(
      families == [
        "acl noacl", "allow_other noallow_other",
        "atime noatime relatime norelatime strictatime nostrictatime", "auto noauto", "debug nodebug",
        "dev nodev", "diratime nodiratime", "exec noexec", "iversion noiversion", "lazytime nolazytime",
        "lower lowerdir", "mand nomand", "nouser user", "owners noowners", "ro rw", "suid nosuid",
        "suiddir nosuiddir",
        "symfollow nosymfollow",
      ])
  }

  @Test func helpAndCompletionNameEveryOption() throws {
    let mount = try #require(Program.varve.verb(named: "mount"))
    let remount = try #require(Program.varve.verb(named: "remount"))
    func words(_ verb: Verb) -> Set<String> {
      let text = verb.discussion.joined(separator: " ")
      return Set(text.split { " ,.:".contains($0) }.map { String($0) })
    }
    for row in MountOptionTable.own {
      #expect(words(mount).contains(row.synopsis), "\(row.name)")
    }
    for row in rows {
      let isLive = if case .live = row.effect { true } else { false }
      #expect(words(remount).contains(row.synopsis) == isLive || row.name.hasPrefix("no"), "\(row.name)")
      let isOffered = MountOptionTable.completions.contains { $0.split(separator: "=")[0] == row.name }
      #expect(isOffered, "\(row.name)")
    }
  }

  /// The lines of a part of the manual.
  private func part(_ title: String, before end: String) throws -> [Substring] {
    let lines = try manual("mount.varve.8").split(separator: "\n")
    let start = try #require(lines.firstIndex { $0 == ".Ss \(title)" })
    return Array(lines[start...].prefix { !$0.hasPrefix(end) })
  }

  @Test func theManualExplainsEveryOptionAndNoOther() throws {
    let lines = try part("Options of Varve", before: ".El")
    let items = lines.filter { $0.hasPrefix(".It ") }.flatMap { line in
      line.dropFirst(4).split(separator: ", ").compactMap { item in
        item.split(separator: " ").first { $0 != "Cm" }.map { String($0) }
      }
    }
    #expect(items.filter { $0 != "no_" && !MountOptionTable.isKnown($0) } == [])
    // Those are explained with `lower`.
    let others = MountOptionTable.own.map(\.name).filter { !items.contains($0) }
    #expect(others == ["lowerdir", "upperdir", "workdir"])
    let words = lines.joined(separator: " ").split(separator: " ")
    #expect(others.allSatisfy { words.contains(Substring($0)) })
  }

  @Test func theManualNamesWhatCanChange() throws {
    let lines = try part("Changing options", before: "Any other word").filter { $0.hasPrefix(".Cm ") }
    let words = Set(lines.flatMap { $0.split(separator: " ").map { String($0) } })
    for row in rows {
      switch row.effect {
      case .live: #expect(words.contains(row.name), "\(row.name)")
      case .flag, .remount: break
      case .fixed, .ignored: #expect(!words.contains(row.name), "\(row.name)")
      }
    }
  }
}
