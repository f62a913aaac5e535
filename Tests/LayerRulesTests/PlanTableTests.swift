// Single plans, in full, where the whole matters more than the view: what the kernel and other readers of the tree see.

import LayerRules
import Testing

@Suite("Single plans") struct PlanTableTests {
  private static let pure = ParentFacts(isUp: true, isImpure: true)
  private static let above = ParentFacts(isUp: false, isImpure: false)

  private static func rename(
    _ source: NameFacts, _ target: NameFacts, _ style: RenameRequest.Style = .replace,
    isInOneParent: Bool = true
  ) -> Answer {
    RenameRequest(source, to: target, style, isInOneParent: isInOneParent, parent: pure, newParent: pure)
      .answer
  }

  private static let file = NameFacts(upper: .file, lower: .nothing)
  private static let free = NameFacts(upper: .absent, lower: .nothing)
  private static let whiteout = NameFacts(upper: .whiteout, lower: .file)

  private static func directory(
    _ below: UpperDirectory.Below, _ redirection: UpperDirectory.Redirection = .none,
    lower: LowerEntry = .nothing, _ contents: Contents = .names
  ) -> NameFacts {
    NameFacts(upper: .directory(UpperDirectory(below, redirection)), lower: lower, contents: contents)
  }

  @Test("In a pure directory each operation is one call") func pure() {
    #expect(RemovingPlan.file(Self.file, in: Self.pure) == .plan([.remove(.name)]))
    #expect(
      RemovingPlan.directory(Self.directory(.pure, .none, .empty), in: Self.pure)
        == .plan([.removeDirectory(.name)]))
    #expect(Self.rename(Self.file, Self.free) == .plan([.rename(.name, .newName, RenameCall())]))
    #expect(Self.rename(Self.file, Self.file, .exchange) == .plan([.exchange(.name, .newName)]))
    #expect(Self.rename(Self.directory(.pure), Self.free) == .plan([.rename(.name, .newName, RenameCall())]))
    #expect(MakingPlan.link(.new, to: Self.free, in: Self.pure) == .plan([.link(.name)]))
  }

  @Test("A whiteout is traded for what takes its name, and nothing else is") func whiteouts() {
    let trade: [Step] = [.trade(.work, for: .whiteout, at: .name), .remove(.work)]
    #expect(MakingPlan.object(Self.whiteout, in: Self.pure) == .plan([.make(.work)] + trade))
    #expect(
      MakingPlan.directory(Self.whiteout, in: Self.pure) == .plan([.make(.work), .close(.work)] + trade))
    #expect(MakingPlan.link(.new, to: Self.whiteout, in: Self.pure) == .plan([.link(.work)] + trade))
    #expect(
      Self.rename(Self.directory(.pure), Self.whiteout)
        == .plan([.close(.name), .trade(.name, for: .whiteout, at: .newName), .remove(.name)]))
    #expect(
      RemovingPlan.directory(Self.directory(.merged, lower: .directory, .empty), in: Self.pure)
        == .plan([.linkWhiteout(.work), .trade(.work, for: .directory, at: .name), .sweep]))
  }

  @Test("NOREPLACE is told to the kernel unless only a whiteout is in the way") func noReplace() {
    #expect(
      Self.rename(Self.file, Self.free, .noReplace)
        == .plan([.rename(.name, .newName, RenameCall(noReplace: true))]))
    #expect(
      Self.rename(Self.file, Self.whiteout, .noReplace)
        == .plan([.trade(.name, for: .whiteout, at: .newName), .remove(.name)]))
    #expect(Self.rename(Self.file, Self.whiteout) == .plan([.rename(.name, .newName, RenameCall())]))
  }

  @Test("A redirect is written once; one that is a name only stays in its parent") func redirects() {
    let move = Step.rename(.name, .newName, RenameCall())
    func plan(_ redirection: UpperDirectory.Redirection, isInOneParent: Bool) -> Answer {
      Self.rename(Self.directory(.merged, redirection), Self.free, isInOneParent: isInOneParent)
    }
    #expect(plan(.none, isInOneParent: true) == .plan([.setRedirect(.name), move]))
    #expect(plan(.absolute, isInOneParent: false) == .plan([move]))
    #expect(plan(.oneName, isInOneParent: true) == .plan([move]))
    #expect(plan(.oneName, isInOneParent: false) == .plan([.setRedirect(.name), move]))
  }

  @Test("A directory with marks that cannot be followed is neither moved nor removed nor replaced")
  func unusable() {
    let broken = Self.directory(.unusable, .none, .empty)
    #expect(Self.rename(broken, Self.free) == .refused(.unusable))
    #expect(Self.rename(broken, Self.file, .exchange) == .refused(.unusable))
    #expect(Self.rename(Self.file, broken, .exchange) == .refused(.unusable))
    #expect(Self.rename(Self.directory(.pure), broken) == .refused(.unusable))
    #expect(RemovingPlan.directory(broken, in: Self.pure) == .refused(.unusable))
  }

  @Test("A refused operation brings nothing up") func refusals() {
    let lower = NameFacts(upper: .absent, lower: .directory, contents: .names)
    #expect(RemovingPlan.directory(lower, in: Self.above) == .refused(.notEmpty))
    let rename = RenameRequest(
      lower, to: lower, .replace, isInOneParent: false, parent: Self.above, newParent: Self.above)
    #expect(rename.answer == .refused(.notEmpty))
    var toFree = rename
    toFree.target = Self.free
    #expect(toFree.answer == .bringUp([.parent, .newParent, .object]))
    var exchange = rename
    exchange.style = .exchange
    #expect(exchange.answer == .bringUp([.parent, .newParent, .object, .other]))
    exchange.isOneObject = true
    #expect(exchange.answer == .plan([]))
  }

  @Test("Data is on the disk before the name is there") func syncing() {
    let copies: [CopyUp] = [
      CopyUp(.file(.copied)), CopyUp(.file(.copied), names: .firstOfSeveral(entryCounts: false)),
      CopyUp(.file(.copied), names: .firstOfSeveral(entryCounts: true)),
    ]
    for copy in copies {
      let sync = copy.steps.firstIndex(of: .syncData)
      let name = copy.steps.firstIndex {
        switch $0 {
        case .link, .linkFromIndex, .rename: true
        default: false
        }
      }
      #expect(sync != nil && name != nil && sync ?? 0 < name ?? 0)
    }
    #expect(CopyUp(.file(.none)).steps.first == .makeUnnamedCopy)
    #expect(!CopyUp(.file(.none)).steps.contains(.copyData))
  }

  @Test("A file that lost its last name is copied without getting one") func nameless() {
    #expect(
      CopyUp(.file(.copied), names: .none).steps == [.makeUnnamedCopy, .copyData, .syncData, .describe])
  }

  @Test("A file whose other names are elsewhere gets its entry and no name") func entryAlone() {
    #expect(
      CopyUp(.file(.copied), names: .entryAlone(entryCounts: false)).steps
        == [.makeUnnamedCopy, .copyData, .syncData, .describe, .startCount, .link(.index)])
    #expect(
      CopyUp(.other, names: .entryAlone(entryCounts: true)).steps
        == [.makeCopy, .describe, .startCount, .rename(.work, .index, RenameCall())])
  }
}
