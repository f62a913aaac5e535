// What a dry run asks: the questions of `why`, with the values of the changes, and an answer only where there is
// something to say.

package import AccessControl
import Decisions
import DirectoryModes
package import JSONForm
package import LinuxFiles

extension Volume {
  /// Says of each question why one of its changes would be refused; nothing if none would.
  ///
  /// Each is judged as things stand now, and only for users who may read the item's attributes: the others could guess
  /// them, value by value.
  package func dryRun(
    _ questions: [Question], as subject: Subject, within limits: WalkLimits
  ) throws(Errno) -> [JSON] {
    let names = NameBook.forOneRequest()
    var answers: [JSON] = []
    for question in questions {
      answers.append(try explain(question, as: subject, within: limits).refusal(names))
    }
    return answers
  }
}

/// What comes of changes that nothing refuses, where that is not what is asked for.
package struct ChangeDeviation: Sendable {
  /// The mode that would be set.
  var mode: Mode?
  /// Whether the owner and the group would stay.
  var keepsOwner = false
  /// The size of a file of a lower, which would be copied to the upper; 0 of anything else there.
  var copiedBytes: UInt64?

  /// `stored`: its status as its layer has it; what is compressed is copied so.
  mutating func noteCopy(of facts: Facts, stored: FileStatus) {
    guard facts.layerFacts.layer > 0 else { return }
    copiedBytes = stored.kind == .regular ? stored.size : 0
  }

  var json: JSON {
    var members: [JSON.Member] = []
    if let mode { members.add("mode", Int(mode.bits)) }
    if keepsOwner { members.add("keepsOwner", true) }
    if let copiedBytes { members.add("copiedBytes", .number(copiedBytes)) }
    return .object(members)
  }
}
