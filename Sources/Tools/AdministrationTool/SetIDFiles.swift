// Files whose set-id bits an undo file may give back, and what is known of them: the change time up to which nobody but
// us has touched them.
//
// Whoever owns such a file meanwhile may fill it with anything, and every change of it moves its change time. So does
// every further change of ours. One of those is told with both its ends ("changed B from A"): at A nobody else had
// been there, and from A to B there was only us. Whoever restores goes from one to the next; where one is missing, the bits
// stay off.
//
// What remains: between the look at A and the change, and between the change and the look at B, lies one request
// each. Somebody who writes right then *and* puts the time of modification back before the second look is taken for us;
// without putting it back he is found out. He gets no second try at a file: a look at any other moment ends the chain. Before
// Linux 6.13, and on file systems without fine times, whatever happens within the tick of the clock in which we change
// a file (1 to 10 ms) has our change time, so there the window is that tick.

import AccessForms
import LinuxFiles
import LinuxPrograms

extension FileStatus {
  /// The change time as undo files have it.
  var changeMoment: DumpMoment { DumpMoment(seconds: change.seconds, nanoseconds: change.nanoseconds) }
}

/// What the changes told of objects come to.
struct TrustedMoments {
  // Set-id files beyond that stay without their bits: rather that than any amount of memory.
  private static let most = 65_536

  private var moments: [ObjectKey: DumpMoment] = [:]

  var isEmpty: Bool { moments.isEmpty }

  /// When the last change was that is known to be ours.
  subscript(key: ObjectKey) -> DumpMoment? { moments[key] }

  /// Takes the first change of an object; of those that come later only the chain counts.
  mutating func begin(_ key: ObjectKey, _ moment: DumpMoment) {
    guard moments[key] == nil, moments.count < TrustedMoments.most else { return }
    moments[key] = moment
  }

  /// Takes a further change, if it begins where the last one ended.
  mutating func follow(_ key: ObjectKey, _ change: DumpChange) {
    guard let known = moments[key], known == change.former else { return }
    moments[key] = change.moment
  }
}

/// Makes a change and answers from when to when, or nil if it is to be seen that somebody else wrote meanwhile.
struct Witness {
  private let before: FileStatus

  /// Looks right before the change; nil if that cannot be done, or the change time is not `expected`.
  init?(_ place: SharedDescriptor, expecting expected: DumpMoment? = nil) {
    // Without a look there is no proof, and the bits do not come back: whoever restores is told.
    guard let status = try? place.descriptor.status() else { return nil }
    guard expected == nil || status.changeMoment == expected else { return nil }
    before = status
  }

  /// Looks again right behind the change.
  func testify(_ place: SharedDescriptor) -> DumpChange? {
    guard let after = try? place.descriptor.status() else { return nil }
    guard after.modification == before.modification, after.size == before.size else { return nil }
    return DumpChange(after.changeMoment, from: before.changeMoment)
  }
}

/// What somebody who restores has done to files of which a later record may bring set-id bits back.
final class OwnChanges {
  // As for the moments themselves.
  private static let most = 65_536

  private var changes: [ObjectKey: DumpChange] = [:]

  /// The moment behind our changes, if they began at `moment`; otherwise `moment` itself.
  func end(_ key: ObjectKey, after moment: DumpMoment) -> DumpMoment {
    guard let change = changes[key], change.former == moment else { return moment }
    return change.moment
  }

  /// Carries a change out and remembers when, where the mode may still come back.
  func witness(
    _ item: VisitedItem, settlesMode: Bool, _ change: () throws(Refusal) -> Void
  ) throws(Refusal) {
    let key = ObjectKey(item.status)
    let known = changes[key]
    guard item.status.recordKind == .file, !settlesMode, known != nil || changes.count < OwnChanges.most
    else {
      return try change()
    }
    let witness = Witness(item.place, expecting: known?.moment)
    defer {
      if let told = witness?.testify(item.place) {
        changes[key] = DumpChange(told.moment, from: known?.former ?? told.former)
      }
    }
    try change()
  }
}

/// Reads from an undo file that is gone on with which set-id files it knows.
final class SetIDReading {
  private(set) var moments = TrustedMoments()
  private var chain: DirectoryChain?
  private var record: DumpRecord?

  func take(_ piece: DumpPiece) {
    switch piece {
    case .root(let path):
      // As for whoever restores: a root that is gone or led to by a link now is none.
      chain = (try? SharedDescriptor(Descriptor.place(withoutLinks: path))).map { DirectoryChain($0) }
    case .record(let read): record = read
    case .changed(let change):
      guard let record, let chain else { return }
      let names = record.path.split(separator: UInt8(ascii: "/")).map { Array($0) }
      // What has another name now is not found by whoever restores, either.
      guard let status = try? chain.item(names).descriptor.status() else { return }
      if change.former != nil {
        moments.follow(ObjectKey(status), change)
      } else if record.hasSetID {
        moments.begin(ObjectKey(status), change.moment)
      }
    case .end: break
    }
  }
}
