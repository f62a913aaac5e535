// The verb `remount`: other options for a volume that is mounted.

import Decisions
import FUSEDoor
import JSONForm
import LayeredVolume
import LinuxFiles
import Synchronization
import TextForms

extension ControlVerbs {
  /// `{"verb": "remount", "options": "ro,noexec", "check": true}`; with `check` nothing is changed.
  ///
  /// The answer tells the options that are in force, or would be. What the kernel keeps of a mount is for the peer to
  /// change: the daemon may be in another mount namespace.
  static func remount(_ volume: Volume, _ nesting: NestedMountCheck, _ kernel: MountOptions) -> Verb {
    let former = FormerOwners(volume.options.rules.ignoresOwnership)
    return { request throws(ControlRefusal) in
      try request.requireOwner(to: "change its options")
      guard let text = request.body.nameBytes("options") else {
        throw ControlRefusal("the request names no options")
      }
      // One at a time, from reading what is in force to changing it.
      let answer: Result<RemountWords, ControlRefusal> = former.turn.withLock { _ in
        do throws(ControlRefusal) {
          return .success(try change(volume, nesting, MountOption.list(text), kernel, former, request))
        } catch {
          return .failure(error)
        }
      }
      let changed = try answer.get()
      return JSON.nameListMembers("options", changed.words) + changed.settings.members
    }
  }

  private static func change(
    _ volume: Volume, _ nesting: NestedMountCheck, _ options: [MountOption], _ kernel: MountOptions,
    _ former: FormerOwners, _ request: ControlRequest
  ) throws(ControlRefusal) -> RemountWords {
    let wanted: RemountWords
    do throws(ArgumentFailure) {
      wanted = try RemountWords(
        options, over: volume.options, words: volume.words, kernel: kernel,
        ignoredOwnership: former.wereEverIgnored.load(ordering: .acquiring))
    } catch {
      throw ControlRefusal(error.message, status: error.status)
    }
    if volume.options.rules.isReadOnly, !wanted.settings.rules.isReadOnly {
      do throws(MountFailure) {
        try nesting.refuseNested()
      } catch {
        throw ControlRefusal(error.sentence, status: 32)
      }
    }
    guard request.body["check"] != .bool(true) else { return wanted }
    if wanted.settings.rules.ignoresOwnership { former.wereEverIgnored.store(true, ordering: .releasing) }
    do throws(ChangeRefusal) {
      try volume.change(to: wanted.settings)
    } catch {
      throw refusal(error)
    }
    volume.note(words: wanted.words, changedBy: request.peer.user)
    let words = Array(wanted.words.joined(separator: [UInt8(ascii: ",")]))
    Log.notice("user \(request.peer.user) changed the options to '\(String(decoding: words, as: UTF8.self))'")
    return wanted
  }

  private static func refusal(_ refusal: ChangeRefusal) -> ControlRefusal {
    switch refusal {
    case .openForWriting(let files):
      ControlRefusal(
        "busy: \(files) \(files == 1 ? "file is" : "files are") open for writing; 'fuser -vm' names who (EBUSY)",
        status: 32)
    case .volume(let failure): ControlRefusal(failure.message, status: 32)
    case .system(let error): ControlRefusal("the options cannot be changed: \(error)", status: 32)
    }
  }
}

/// Whether users can have been shown as owners of what is not theirs, since the volume was mounted.
private final class FormerOwners: Sendable {
  let turn = Mutex(())
  let wereEverIgnored: Atomic<Bool>

  init(_ areIgnored: Bool) {
    wereEverIgnored = Atomic(areIgnored)
  }
}
