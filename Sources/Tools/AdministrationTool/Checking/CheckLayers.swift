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

  private func settle(_ finding: LayerFinding, _ inspection: VolumeInspection, _ root: [UInt8]) {
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
