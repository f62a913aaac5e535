// rename in its three styles. The kernel has seen to it that no directory goes below itself.

/// A rename, as a request.
package struct RenameRequest: Hashable, Sendable {
  package enum Style: Hashable, Sendable {
    case replace
    case noReplace
    case exchange
  }

  package var source: NameFacts
  package var target: NameFacts
  package var style: Style
  /// Both names are in one directory.
  package var isInOneParent: Bool
  package var parent: ParentFacts
  package var newParent: ParentFacts
  /// Both names are of one object: hard links, or the very same name.
  package var isOneObject: Bool

  package init(
    _ source: NameFacts, to target: NameFacts, _ style: Style, isInOneParent: Bool,
    parent: ParentFacts, newParent: ParentFacts, isOneObject: Bool = false
  ) {
    self.source = source
    self.target = target
    self.style = style
    self.isInOneParent = isInOneParent
    self.parent = parent
    self.newParent = newParent
    self.isOneObject = isOneObject
  }
}

extension RenameRequest {
  package var answer: Answer {
    if isOneObject { return .plan([]) }
    if let refusal { return .refused(refusal) }
    return Answer(needed, style == .exchange ? exchange : movement)
  }

  /// Whether two names have to be exchanged for it, which not every file system can; told before anything is brought up.
  package var exchangesNames: Bool {
    (style == .exchange ? exchange : movement).contains { step in
      switch step {
      case .exchange, .trade: true
      default: false
      }
    }
  }

  private var refusal: Refusal? {
    if source.directory?.below == .unusable { return .unusable }
    guard target.shown == .directory else { return nil }
    if style == .exchange { return target.directory?.below == .unusable ? .unusable : nil }
    return RemovingPlan.refusalToEmpty(target)
  }

  private var needed: BringUp {
    var needed: BringUp = []
    if !parent.isUp { needed.insert(.parent) }
    if !newParent.isUp { needed.insert(.newParent) }
    if !source.isUp { needed.insert(.object) }
    if style == .exchange, !target.isUp { needed.insert(.other) }
    return needed
  }

  private var exchange: [Step] {
    marks(of: source, at: .name, goingTo: target) + marks(of: target, at: .newName, goingTo: source)
      + newParent.marks(for: source.hasOrigin, at: .newName) + parent.marks(for: target.hasOrigin, at: .name)
      + [.exchange(.name, .newName)]
  }

  private var movement: [Step] {
    marks(of: source, at: .name, goingTo: target)
      + newParent.marks(for: source.hasOrigin, at: .newName) + move
      + (target.shown == .file ? RemovingPlan.settling(target, at: .newName) : [])
  }

  private var move: [Step] {
    let isWhiteout = target.upper == .whiteout
    if isWhiteout, source.shown == .directory || style == .noReplace {
      // A directory cannot replace a device, and NOREPLACE is about what users see; they see no whiteout. Traded, the whiteout
      // is where one may be wanted.
      return [.trade(.name, for: .whiteout, at: .newName)] + (source.needsWhiteout ? [] : [.remove(.name)])
    }
    let call = RenameCall(noReplace: style == .noReplace, leavesWhiteout: source.needsWhiteout)
    if target.directory != nil, target.contents == .whiteouts {
      return [
        .makeTwin, .trade(.work, for: .directory, at: .newName), .rename(.name, .newName, call), .sweep,
      ]
    }
    return [.rename(.name, .newName, call)]
  }

  /// What a directory must carry so that it shows the same under its new name.
  private func marks(of name: NameFacts, at position: Position, goingTo other: NameFacts) -> [Step] {
    guard let directory = name.directory else { return [] }
    let outlivesMove =
      switch directory.redirection {
      case .absolute: true
      case .oneName: isInOneParent
      case .none: false
      }
    switch directory.below {
    case .merged: return outlivesMove ? [] : [.setRedirect(position)]
    case .pure, .closedByFlag:
      // A redirect that leads nowhere today could lead somewhere from another parent.
      let strays = directory.redirection == .oneName && !isInOneParent
      return other.needsWhiteout || strays ? [.close(position)] : []
    case .closedByMark, .unusable: return []
    }
  }
}
