// The answer to "may they, and why": the way to the item, what each rule on it said, and the verdict.

package import AccessControl
package import Decisions
package import JSONForm
package import LinuxFiles

/// What the kernel forbids on the mount by which a volume is reached, whatever the volume itself allows.
///
/// Every bind mount of a volume has its own, of which the daemon knows nothing.
package struct MountLimits: Hashable, Sendable {
  package var isReadOnly: Bool
  package var forbidsExecution: Bool

  package init(isReadOnly: Bool = false, forbidsExecution: Bool = false) {
    self.isReadOnly = isReadOnly
    self.forbidsExecution = forbidsExecution
  }

  /// What these rules do not say already.
  func beyond(_ rules: VolumeRules) -> MountLimits {
    MountLimits(
      isReadOnly: isReadOnly && !rules.isReadOnly,
      forbidsExecution: forbidsExecution && !rules.forbidsExecution)
  }

  /// The rules of the volume, and these.
  func added(to rules: VolumeRules) -> VolumeRules {
    var rules = rules
    if isReadOnly { rules.isReadOnly = true }
    if forbidsExecution { rules.forbidsExecution = true }
    return rules
  }
}

/// What is asked: a deed, and one or two paths from the root of the volume.
package struct Question: Sendable {
  package var deed: Deed
  /// Names with slashes between them; empty for the root.
  package var path: [UInt8]
  /// For a rename or a further link: the new name.
  package var newPath: [UInt8]?
  /// Of the mount the paths were named on.
  package var mount: MountLimits
  /// Whether everything that refuses is told, with what lifts it, and not only what refuses first.
  package var wantsAll = false
  /// In place of the deed, changes with their values; a link in the last place is not followed then.
  package var changes: [Operation] = []

  package init(
    _ deed: Deed, _ path: [UInt8], to newPath: [UInt8]? = nil, on mount: MountLimits = MountLimits()
  ) {
    self.deed = deed
    self.path = path
    self.newPath = newPath
    self.mount = mount
  }
}

/// One step: a rule that was asked, or a fact that ends the way.
package struct ExplanationStep: Sendable {
  /// What a step says.
  package enum Content: Sendable {
    /// A judgement; `item` is what it speaks about, absent if the asker may not read its rules.
    case judged(Verdict, item: Item?)
    /// The way ends here for another reason than a right.
    case ends(Errno, String)
    /// Something worth knowing that decides nothing.
    case noted(String)
  }

  /// Where in the volume; empty for the root.
  package let path: [UInt8]
  /// The right or deed, in a word.
  package let asked: String
  package let content: Content
  /// What lifts the refusal, if that was asked for and there is anything.
  package var remedy: Remedy?

  /// The error a program would get, if this step refuses.
  package var failure: Errno? {
    switch content {
    case .judged(let verdict, _): verdict.isAllowed ? nil : Errno(verdict)
    case .ends(let error, _): error
    case .noted: nil
    }
  }

  fileprivate var isRefusal: Bool {
    if case .judged(let verdict, _) = content { return !verdict.isAllowed }
    return false
  }
}

/// Where a way leaves the volume, so that a program that sees all mounts can continue.
package struct Departure: Sendable {
  /// Absolute, or from the root of the volume and beginning with a step up.
  package let path: [UInt8]
  /// Whether the way to the new name left it.
  package let isOfNewPath: Bool
}

/// The whole answer.
package struct Explanation: Sendable {
  /// How it comes out.
  package enum Outcome: String, Hashable, Sendable {
    case allowed
    /// A rule refuses.
    case denied
    /// No rule refuses, but it cannot be done: the name is missing, or taken, or the like.
    case impossible
  }

  package let question: Question
  package let subject: Subject
  package let steps: [ExplanationStep]
  /// What the path leads to, if the way got there.
  package let isDirectory: Bool?
  /// What the mount forbids and the volume does not.
  package let mount: MountLimits
  package let deviation: ChangeDeviation
  /// Which groups are in which.
  let nesting: GroupNesting
  /// Where the way goes on outside of the volume.
  package let departure: Departure?

  package var failure: Errno? { steps.lazy.compactMap(\.failure).first }

  package var outcome: Outcome {
    guard let decisive = steps.first(where: { $0.failure != nil }) else { return .allowed }
    return decisive.isRefusal ? .denied : .impossible
  }
}

// MARK: - As JSON

extension Explanation {
  /// One JSON object, for programs and for the tool that makes sentences of it.
  package var json: JSON {
    let names = NameBook.forOneRequest()
    var object: [JSON.Member] = []
    object.add("outcome", outcome.rawValue)
    object.add("operation", question.deed.rawValue)
    object.add(path: question.path)
    if let newPath = question.newPath { object.add("newPath", bytes: newPath) }
    object.add(user: subject.user, names: names)
    object.add("group", Int(subject.group))
    if case .listed(let groups) = subject.groups {
      // The kernel lists a caller's own group twice.
      var seen: Set<UInt32> = []
      object.add("groups", .array(groups.filter { seen.insert($0).inserted }.map { .number($0) }))
    }
    if let isDirectory { object.add("directory", isDirectory) }
    if let failure { object.add("error", failure.name) }
    if let departure {
      object.add(departure.isOfNewPath ? "newPathLeadsTo" : "pathLeadsTo", bytes: departure.path)
    }
    object.add("steps", .array(steps.map { $0.json(names, self) }))
    return .object(object)
  }
}

extension Explanation {
  /// What a dry run is told: the reason of the change that would be refused, if there is one; else what comes of it that
  /// was not asked for.
  ///
  /// Where the way to the item is closed to askers, they are told that and nothing of the item. No path is told: it
  /// could be far longer than the question.
  func refusal(_ names: NameBook) -> JSON {
    guard let step = steps.first(where: { $0.failure != nil }), let failure = step.failure else {
      return deviation.json
    }
    var members = step.members(names, self)
    members.add("number", Int(failure.rawValue))
    if isDirectory == nil { members.add("isOnTheWay", true) }
    return .object(members)
  }
}

extension ExplanationStep {
  fileprivate func json(_ names: NameBook, _ whole: Explanation) -> JSON {
    var object: [JSON.Member] = []
    object.add(path: path)
    return .object(object + members(names, whole) + remedyMembers(names, whole.subject.user))
  }

  /// The words of `varve` behind which the path stands, or that of the mount.
  private func remedyMembers(_ names: NameBook, _ user: UInt32) -> [JSON.Member] {
    guard let remedy, case .judged(_, let item) = content else { return [] }
    let words = remedy.command(
      user: names.userName(user) ?? "\(user)", onDirectory: item?.isDirectory ?? false)
    var members: [JSON.Member] = []
    members.add("command", .array(words.map { .string($0) }))
    members.add("onMount", remedy.isAboutMount)
    return [JSON.Member("remedy", .object(members))]
  }

  fileprivate func members(_ names: NameBook, _ whole: Explanation) -> [JSON.Member] {
    var object: [JSON.Member] = []
    object.add("asked", asked)
    switch content {
    case .judged(let verdict, let item):
      object.add("allowed", verdict.isAllowed)
      if let failure { object.add("error", failure.name) }
      var reason = ToldReason(verdict, about: item, names: names) { group in
        guard case .listed(let groups) = whole.subject.groups else { return nil }
        return whole.nesting.way(into: group, among: groups)
      }
      if let words = whole.mount.words(for: verdict.reason) { reason.words = words }
      object.add(reason)
    case .ends(let error, let words):
      object.add("allowed", false)
      object.add("error", error.name)
      object.add("reason", "fact")
      object.add("because", words)
    case .noted(let words):
      object.add("reason", "note")
      object.add("because", words)
    }
    return object
  }
}

extension MountLimits {
  /// In place of the volume's: it is another mount of it that would have to be changed.
  fileprivate func words(for reason: Reason) -> String? {
    switch reason {
    case .readOnlyVolume where isReadOnly: "this mount of the volume is read-only"
    case .executionForbidden where forbidsExecution: "this mount of the volume is noexec"
    default: nil
    }
  }
}
