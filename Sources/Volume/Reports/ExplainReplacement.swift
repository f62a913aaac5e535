// What `why` says of content that is being replaced, or was half replaced when something stopped that. Who asks for it waits, or
// finishes it (`Operations/HalfReplaced.swift`): so the answer is about the file as it is afterwards, or says why there is none.

import Decisions
import LinuxFiles
import RecordFormat

extension Inquiry {
  /// Lets a decision be about the content that a file will have, where the operation waits for it.
  mutating func awaitContent(
    of spot: Spot, _ facts: Facts, in scene: inout Scene, _ operation: Operation, _ word: String
  ) throws(Stop) {
    guard scene.item.content == .replacing else { return }
    let verdict = judge.decide(operation, scene)
    guard verdict.reason == .replacedContent || verdict.isAllowed && operation.changesWhatIsGivenBack
    else { return }
    try walk.view.requireReadable(scene.item)
    switch volume.replacement(of: spot, facts) {
    case .done(let content): scene.item.content = content
    case .awaited(let content, let words):
      if walk.view.mayRead(scene.item) { walk.add(spot.path, "content", .noted(words)) }
      scene.item.content = content
    case .stuck(let words): throw walk.end(spot.path, word, .inputOutput, words)
    }
  }
}

extension Operation {
  /// Whether it changes what a file is given back after its content was written over.
  fileprivate var changesWhatIsGivenBack: Bool {
    switch self {
    case .setMode, .setOwner, .setOwnerGroup, .touch, .setTimes: true
    default: false
    }
  }
}

extension Volume {
  /// What becomes of a file whose content is being replaced, with the content it has then.
  fileprivate enum ReplacementState {
    /// It was done since the file was looked at.
    case done(Item.Content)
    case awaited(Item.Content, String)
    case stuck(String)
  }

  fileprivate func replacement(of spot: Spot, _ facts: Facts) -> ReplacementState {
    let began = "its content was being replaced"
    guard spot.layerFacts.layer == 0 else {
      return .stuck(
        "\(began) when that was interrupted; a mount for writing of the lower layer finishes that")
    }
    guard replacements.mayWrite() else {
      return .stuck("\(began) when that was interrupted; the next mount for writing finishes that")
    }
    guard let found = try? replacements.newContent(of: spot.descriptor) else {
      let now = try? locks.holding(.shared(spot.stripe)) { () throws(Errno) in
        try self.facts(at: spot).item.content
      }
      if let now, now != .replacing { return .done(now) }
      return .stuck(
        "\(began), and the new content is missing or damaged; 'varve check' of the upper directory tells more"
      )
    }
    let trailer = found.trailer
    let content = facts.record.withForm(of: trailer.record).content(of: facts.status, nil)
    let isExpanded = trailer.body == .plain && facts.record.isCompressed
    let word =
      switch trailer.body {
      case .compressed: "compressed"
      case .encrypted: "encrypted"
      case .plain: isExpanded ? "expanded" : "decrypted"
      }
    guard !replacements.isAtWork(on: trailer.name) else {
      return .awaited(content, "its content is being \(word) now; this waits until that is done")
    }
    // What is expanded was never handed over, and may be open.
    let limit = isExpanded ? "" : ", and is EBUSY while a program has the file open below the mount"
    return .awaited(
      content, "its content was being \(word) when that was interrupted; this finishes it first\(limit)")
  }
}
