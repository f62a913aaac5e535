// What `varve check` does about layers: marks, copies and where they come from.

import Arguments
import LayerRules
import LayeredVolume
import LinuxFiles
import LinuxPrograms
import TextForms

extension LayerInspection.Lowers {
  /// The value of `--lower`, as the mount option has it.
  init(_ invocation: Invocation) throws(UsageError) {
    guard let text = invocation.values(.checkLowers).last else {
      self = .recorded
      return
    }
    do throws(LowerOption.Problem) {
      var paths: [[UInt8]] = []
      for path in try LowerOption(text).paths { paths.append((try? realPath(path)) ?? path) }
      self = .named(paths)
    } catch {
      throw UsageError("--lower: \(error)", verb: "check")
    }
  }
}

extension VolumeCheck {
  /// Checks the layers of a volume that was named as a whole.
  func checkLayers(
    _ inspection: VolumeInspection, _ upper: SharedDescriptor, _ root: [UInt8]
  ) throws(Refusal) {
    guard case .sound = inspection.header else { return }
    let layers: LayerInspection?
    do throws(VolumeFailure) {
      layers = try LayerInspection(inspection, of: upper, at: root, over: lowers)
    } catch {
      throw Refusal(error.message)
    }
    guard let layers else { return }
    if let missing = layers.missing {
      console.note(
        root,
        "checked without its lowers, and so not all of its marks: \(missing); '--lower' names the lowers")
    }
    let restored = Defect(
      .restored,
      "the upper directory is another one than at the last mount: it was copied or restored, and numbers of files have "
        + "changed")
    let renews = layers.isRestored && isWanted(restored, root)
    let failures = console.failures
    let renewable = layers.check(renewsOrigins: renews) { finding in
      settle(finding, inspection, root)
    } failed: { path, error in
      console.complain(path.isEmpty ? root : joined(root, path), error)
    } isInterrupted: {
      Interruption.isRequested
    }
    guard layers.isRestored else { return }
    let words = renewable > 0 ? "; \(counted(renewable)) copied from lowers" : ""
    let isWhole = console.failures == failures && !Interruption.isRequested
    try report.settle(
      Defect(.restored, restored.text + words), root, isWanted: renews && isWhole
    ) { () throws(Errno) in try layers.settleRoot() }
  }

  /// A lower in whose place another directory is would let marks look as if they had no use.
  private var areLowersNamed: Bool {
    if case .named = lowers { true } else { false }
  }

  /// Names an item of a lower, in the words of a check of that lower.
  private func tell(
    _ item: LayerFinding.LowerItem, shownAs path: [UInt8], _ inspection: VolumeInspection
  ) {
    let path = item.path(shownAs: path)
    let object = item.object
    func read(_ name: String) throws(Errno) -> [UInt8]? {
      try AttributeName.with(Array("\(inspection.recordPrefix).\(name)".utf8)) { name throws(Errno) in
        try object.descriptor.attribute(name)
      }
    }
    do throws(Errno) {
      let stored = StoredBytes(core: try read("m"), list: try read("acl"), names: try read("names"))
      guard let defect = stored.defect else { return }
      let reason = "it is in lower \(item.number), and a check of that directory can repair it"
      report.add(defect.unrepaired(reason), path, isRepaired: false)
    } catch {
      console.complain(path, error)
    }
  }

  private func settle(_ finding: LayerFinding, _ inspection: VolumeInspection, _ root: [UInt8]) {
    if let item = finding.lowerItem { return tell(item, shownAs: finding.path, inspection) }
    let defect = Defect(finding, areLowersNamed: areLowersNamed)
    let path = finding.path.isEmpty ? root : joined(root, finding.path)
    do throws(Refusal) {
      try report.settle(defect, path, isWanted: isWanted(defect, path)) { () throws(Errno) in
        if let (name, value) = finding.damaged {
          try inspection.keepAside(CheckReport.line(for: value, of: name, path))
        }
        try finding.repair()
      }
    } catch {
      console.complain(path, error.sentence)
    }
  }
}

extension LayerFinding.LowerItem {
  /// Where it lies, also in a directory that the volume shows elsewhere; where that cannot be told, as if it had not been moved.
  fileprivate func path(shownAs shown: [UInt8]) -> [UInt8] {
    var inside = shown
    // Of a sealed lower both begin at its root.
    if let held = try? object.descriptor.heldPath(), let top = try? root.descriptor.heldPath(),
      held.starts(with: top)
    {
      inside = Array(held.dropFirst(top.count).drop { $0 == UInt8(ascii: "/") })
    }
    return inside.isEmpty ? lower : joined(lower, inside)
  }
}

extension Defect {
  fileprivate init(_ finding: LayerFinding, areLowersNamed: Bool) {
    let dependsOnLowers =
      [.whiteout, .links].contains(finding.kind) || finding.kind == .redirect && finding.damaged == nil
    guard dependsOnLowers, finding.remedy != nil, !areLowersNamed else {
      self.init(finding.kind, finding.text, remedy: finding.remedy)
      return
    }
    self.init(finding.kind, finding.text + "; it is repaired if '--lower' names the lowers", remedy: nil)
  }
}
