// `varve lock`: the daemons of mounted volumes wipe their keys.

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

func lock(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let after = try seconds(in: 0...31_536_000, invocation)
  if after != nil, invocation.has(.lockNow) || invocation.has(.lockAll) {
    throw UsageError("--after goes neither with --now nor with --all", verb: invocation.verb)
  }
  if invocation.has(.lockForSleep), after != nil || !invocation.operands.isEmpty {
    throw UsageError("--sleep goes neither with --after nor with DIR", verb: invocation.verb)
  }
  let run = LockRun(invocation, after: after)
  if invocation.has(.lockForSleep) {
    run.lockForSleep()
  } else if let path = invocation.operands.first {
    do throws(Refusal) {
      run.lock(try KeyedVolume(path, to: "lock it").mount, path)
    } catch {
      run.complain(path, error)
    }
  } else {
    run.lockOwn()
  }
  return run.finish()
}

private final class LockRun {
  private let console: Console
  private let isVerbose: Bool
  private let isJSON: Bool
  private let isOne: Bool
  private let request: [JSON.Member]
  private var results: [JSON] = []

  init(_ invocation: Invocation, after: Int?) {
    console = Console(invocation, outputLoss: .isSurvived)
    isVerbose = invocation.has(.verbose)
    isJSON = invocation.has(.json)
    isOne = !invocation.operands.isEmpty
    var request: [JSON.Member] = []
    request.add("now", invocation.has(.lockNow))
    request.add("all", invocation.has(.lockAll))
    if let after { request.add("after", after) }
    self.request = request
  }

  /// Locks all volumes that the caller has mounted.
  func lockOwn() {
    lockAll { $0.owner == CurrentProcess.user }
  }

  /// Locks the volumes that the settings want locked; others than the caller's last, as their daemons may be anybody's.
  func lockForSleep() {
    do throws(SettingsTrouble) {
      let settings = try administratorSettings()
      lockAll { $0.owner == CurrentProcess.user && settings.locksForSleep($0.mountPoint) }
      guard CurrentProcess.isRoot else { return }
      lockAll { $0.owner != CurrentProcess.user && settings.locksForSleep($0.mountPoint) }
    } catch {
      console.complain(error.sentence)
    }
  }

  private func lockAll(_ isMeant: (MountedVolume) -> Bool) {
    do throws(Refusal) {
      let table = try volumeTable()
      var seen: Set<String> = []
      for mount in table where mount.isOurs {
        guard let whole = mount.whole(in: table), isMeant(whole), seen.insert(whole.device).inserted else {
          continue
        }
        // The keys of a daemon that is gone went with it.
        if MountState(whole) != .dead { lock(whole, whole.mountPoint) }
      }
    } catch {
      console.complain(error.sentence)
    }
  }

  func lock(_ mount: MountedVolume, _ path: Word) {
    let answer: JSON
    do throws(Refusal) {
      answer = try ControlAddress(mount).ask("lock", request)
    } catch {
      return complain(path, error)
    }
    let unwritten = paths(answer, "unwritten", on: mount)
    let kept = paths(answer, "kept", on: mount)
    for path in unwritten {
      console.complain(path, "what was written to it last could not be brought to the disk, and is lost")
    }
    for path in kept {
      console.complain(path, "its key is still in memory: a request is at work on it that does not end")
    }
    let cached = paths(answer, "cached", on: mount)
    for path in cached {
      console.complain(
        path, "the kernel may still have pages of it: it did not drop them in time; run 'varve lock' again")
    }
    let purged = answer["purged"]?.integer ?? 0
    // Nobody has a file open that the kernel does not know.
    let mayBeOpen = purged > 0 || !unwritten.isEmpty || !kept.isEmpty || !cached.isEmpty
    let users = mayBeOpen || isVerbose ? usersOfFiles(onDevice: mount.device) : []
    sayWhoHasFiles(users, path)
    // A user who named none is told which they were.
    if isVerbose || (!isOne && answer["closed"] != .array([])) { say(answer, purged, path) }
    var result = JSON.nameMembers("path", path)
    if case .object(let members) = answer { result += members.filter { $0.name != "ok" } }
    if answer["after"] == nil { result.add("processes", .array(users.map { .number($0.process) })) }
    results.append(.object(result))
  }

  private func say(_ answer: JSON, _ purged: Int, _ path: Word) {
    guard !isJSON else { return }
    if let after = answer["after"]?.integer {
      let sentence =
        switch (answer["open"], after > 0) {
        case (.bool(false)?, _): " is locked already"
        case (_, true): ": locks after \(after) s without use"
        case (_, false): ": does not lock by itself"
        }
      console.printPath(path, sentence)
    } else if answer["closed"] == .array([]) {
      console.printPath(path, " was locked already")
    } else {
      console.printPath(
        path, " locked (\(grouped(purged)) \(purged == 1 ? "file" : "files") dropped from memory)")
    }
  }

  private func sayWhoHasFiles(_ users: [Holder], _ path: Word) {
    for user in users.prefix(10) { console.note(path, user.sentence) }
    if users.count > 10 { console.note(path, "and \(users.count - 10) more do") }
  }

  private func paths(_ answer: JSON, _ name: String, on mount: MountedVolume) -> [Word] {
    (answer.nameListBytes(name) ?? []).map { ExplanationText.absolute($0, on: mount.mountPoint) }
  }

  func complain(_ path: Word, _ refusal: Refusal) {
    results.append(
      .object(JSON.nameMembers("path", path) + [JSON.Member("error", .string(refusal.sentence))]))
    console.complain(path, refusal.sentence)
  }

  func finish() -> Int32 {
    if isJSON { console.print((isOne ? results.first ?? .null : JSON.array(results)).text + "\n") }
    return console.finish()
  }
}
