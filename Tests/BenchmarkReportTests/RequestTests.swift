import BenchmarkReport
import Testing

@Suite("The command line of the benchmark") struct RequestTests {
  @Test("without words everything is measured, five times") func usual() throws {
    let request = try Request([])
    #expect(request.rounds == 5)
    #expect(request.places == [.tmpfs, .disk])
    #expect(request.rows == Row.all)
    #expect(request.contenders == Contender.usual)
  }

  @Test("options are understood") func options() throws {
    let request = try Request([
      "--rounds", "2", "--only", "rm,create", "--on", "disk", "--json", "out.json", "--document", "docs",
      "--disk", "/mnt", "--contenders", "native,varve:threads=1\\,noatime,varve@/other/build,native",
    ])
    #expect(request.rounds == 2)
    #expect(request.rows.map(\.id) == ["create", "rm"])
    #expect(request.places == [.disk])
    #expect(request.json == "out.json")
    #expect(request.documents == "docs")
    #expect(request.disk == "/mnt")
    #expect(
      request.contenders == [
        native, Contender(.varve, options: "threads=1,noatime"), Contender(.varve, build: "/other/build"),
      ])
  }

  @Test("quick is less, and may be changed further") func quick() throws {
    let request = try Request(["--quick", "--on", "disk"])
    #expect(request.rounds == 3)
    #expect(request.places == [.disk])
    #expect(
      request.contenders == [native, varve, bindfs, mergerfs, Contender(.overlay), Contender(.example)])
    #expect(!request.rows.isEmpty && request.rows.count < Row.all.count)
  }

  @Test("encrypted files are a comparison of their own") func encryption() throws {
    let request = try Request(["--encryption", "--rounds", "2"])
    #expect(request.subject == .encryption)
    #expect(
      request.contenders.map(\.name) == ["varve:passthrough=off", "varve+encrypted", "gocryptfs", "securefs"])
    #expect(request.rows.map(\.id).contains("random-mixed") && !request.rows.map(\.id).contains("compile"))
    #expect(try Request([]).subject == .files && !Contender.usual.contains(where: \.encrypts))
  }

  @Test("options for Varve go to every Varve that has none, wherever they stand") func varveOptions() throws {
    let request = try Request([
      "--varve-options", "threads=1", "--contenders", "varve,varve+acl,bindfs,varve:a",
    ])
    #expect(
      request.contenders.map(\.name) == ["varve:threads=1", "varve+acl:threads=1", "bindfs", "varve:a"])
  }

  @Test(
    "what makes no sense is refused",
    arguments: [
      ["--rounds", "0"], ["--rounds", "many"], ["--rounds"], ["--only", "nothing"], ["--on", "paper"],
      ["--contenders", "zfs"], ["--contenders", "bindfs+acl"],
      ["--contenders", "gocryptfs+encrypted"], ["--contenders", "varve+gold"],
      ["--contenders", "native:ro"], ["--contenders", "mergerfs@/x"], ["--contenders", ""], ["--nonsense"],
      ["--nonsense", "x"], ["word"],
    ])
  func refuses(_ words: [String]) {
    #expect(throws: UsageProblem.self) { try Request(words) }
  }

  @Test(
    "a contender is written as it was read",
    arguments: [
      "native", "varve+acl+user@/b:threads=1", "varve:a:b@c", "fuse-overlayfs:x=1", "varve@/b", "bindfs+user",
      "passthrough_hp:nocache,nosplice",
    ])
  func names(_ name: String) throws {
    #expect(try Contender(name).name == name)
  }

  @Test("a contender with lists is held against the same without") func withoutLists() throws {
    #expect(try Contender("varve+acl+user@/b:x").withoutLists == Contender("varve+user@/b:x"))
    #expect(Contender.usual.contains { $0.hasLists && Contender.usual.contains($0.withoutLists) })
  }
}
