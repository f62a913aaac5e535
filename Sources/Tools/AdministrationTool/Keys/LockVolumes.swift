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
    run.lock(path)
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
  private let isForSleep: Bool
  private let isLater: Bool
  private let request: [JSON.Member]
  private var results: [JSON] = []
  /// Whether anything was closed that was open.
  private var hasClosed = false
  /// How many of the volumes have no keybag, and so nothing to lock.
  private var keyless = 0

  init(_ invocation: Invocation, after: Int?) {
    console = Console(invocation, outputLoss: .isSurvived)
    isVerbose = invocation.has(.verbose)
    isJSON = invocation.has(.json)
    isOne = !invocation.operands.isEmpty
    isForSleep = invocation.has(.lockForSleep)
    isLater = after != nil
    var request: [JSON.Member] = []
    request.add("now", invocation.has(.lockNow))
    request.add("all", invocation.has(.lockAll))
    if let after { request.add("after", after) }
    self.request = request
  }

  /// Locks the volume that a path is on.
  func lock(_ typed: Word) {
    do throws(Refusal) {
      let volume: KeyedVolume
      do throws(Refusal) { volume = try KeyedVolume(typed, to: "lock it") } catch {
        guard try lockServedElsewhere(typed) else { throw error }
        return
      }
      let lock = begin(volume.mount)
      guard let outcome = lock.outcome() else { throw Refusal(MountState.gone(volume.mount), status: 32) }
      take(try outcome.answer.get(), of: lock.device, on: outcome.mountPoint, volume.path)
    } catch {
      complain(typed, error)
    }
  }

  /// Locks a volume that has no mount here, by its source or its former mount point; whether there is one.
  private func lockServedElsewhere(_ typed: Word) throws(Refusal) -> Bool {
    guard let socket = FoundSocket.serving(typed) else { return false }
    let lock = LockUnderWay(socket, request, isPatient: false) { _ in true }
    // One that ends meanwhile takes its keys along.
    if let outcome = lock.outcome() {
      take(try outcome.answer.get(), of: lock.device, on: outcome.mountPoint, typed)
    }
    return true
  }

  /// Locks all volumes that the caller has mounted.
  func lockOwn() {
    lockAll { owner, _ in owner == CurrentProcess.user }
  }

  /// Locks the volumes that the settings want locked, for root also those of other users; all, where the settings
  /// cannot be read.
  func lockForSleep() {
    var settings: SettingsFile?
    do throws(SettingsTrouble) {
      settings = try administratorSettings()
    } catch {
      console.complain("\(error.sentence); all volumes are locked")
    }
    lockAll { owner, mountPoint in
      (owner == CurrentProcess.user || CurrentProcess.isRoot) && settings?.locksForSleep(mountPoint) != false
    }
  }

  /// Locks those of the volumes here that are meant, and those that are only found by their control sockets: a mount
  /// that is gone from here may still be used.
  ///
  /// All at the same time, as one may never answer; the caller's own are told first.
  private func lockAll(_ isMeant: (_ owner: UInt32?, _ mountPoint: Word) -> Bool) {
    do throws(Refusal) {
      let table = try volumeTable()
      var seen: Set<String> = []
      var meant: [MountedVolume] = []
      for mount in table where mount.isOurs {
        guard let whole = mount.whole(in: table), seen.insert(whole.device).inserted,
          isMeant(whole.owner, whole.mountPoint)
        else { continue }
        meant.append(whole)
      }
      let own = meant.filter { $0.owner == CurrentProcess.user }
      let others = meant.filter { $0.owner != CurrentProcess.user }
      var locks = (own + others).map { begin($0) }
      for socket in FoundSocket.all() where !seen.contains(socket.device) {
        locks.append(
          LockUnderWay(socket, request, isPatient: isForSleep) { mountPoint in
            isMeant(socket.owner, mountPoint)
          })
      }
      for lock in locks {
        guard let outcome = lock.outcome() else { continue }
        let mountPoint = outcome.mountPoint
        do throws(Refusal) {
          take(try outcome.answer.get(), of: lock.device, on: mountPoint, mountPoint)
        } catch {
          complain(mountPoint, error)
        }
      }
    } catch {
      console.complain(error.sentence)
    }
  }

  private func begin(_ mount: MountedVolume) -> LockUnderWay {
    LockUnderWay(mount, request, isPatient: isForSleep)
  }

  private func take(_ answer: JSON, of device: String, on mountPoint: Word, _ path: Word) {
    if answer["closed"] != .array([]) { hasClosed = true }
    if isKeyless(answer) { keyless += 1 }
    let unwritten = paths(answer, "unwritten", on: mountPoint)
    let kept = paths(answer, "kept", on: mountPoint)
    for path in unwritten {
      console.complain(path, "what was written to it last could not be brought to the disk, and is lost")
    }
    for path in kept {
      console.complain(path, "its key is still in memory: a request is at work on it that does not end")
    }
    let cached = paths(answer, "cached", on: mountPoint)
    for path in cached {
      console.complain(
        path, "the kernel may still have pages of it: it did not drop them in time; run 'varve lock' again")
    }
    let purged = answer["purged"]?.integer ?? 0
    // Nobody has a file open that the kernel does not know.
    let mayBeOpen = purged > 0 || !unwritten.isEmpty || !kept.isEmpty || !cached.isEmpty
    let users = mayBeOpen || isVerbose ? usersOfFiles(onDevice: device) : []
    sayWhoHasFiles(users, path)
    // A user who named none is told which they were.
    if isVerbose || (!isOne && answer["closed"] != .array([])) { say(answer, purged, path) }
    var result = JSON.nameMembers("path", path)
    if case .object(let members) = answer { result += members.filter { $0.name != "ok" } }
    if answer["after"] == nil { result.add("processes", .array(users.map { .number($0.process) })) }
    results.append(.object(result))
  }

  private func isKeyless(_ answer: JSON) -> Bool { answer["keybag"] == .bool(false) }

  private func say(_ answer: JSON, _ purged: Int, _ path: Word) {
    guard !isJSON else { return }
    if isKeyless(answer) {
      console.printPath(path, " has no keybag, so there is nothing to lock")
    } else if let after = answer["after"]?.integer {
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
      let rest =
        answer["stillOpen"] == .array([.string("until-first-unlock")])
        ? ", except the class until-first-unlock, which --all closes" : ""
      console.printPath(
        path, " locked (\(grouped(purged)) \(purged == 1 ? "file" : "files") dropped from memory)\(rest)")
    }
  }

  private func sayWhoHasFiles(_ users: [Holder], _ path: Word) {
    for user in users.prefix(10) { console.note(path, user.sentence) }
    if users.count > 10 { console.note(path, "and \(users.count - 10) more do") }
  }

  private func paths(_ answer: JSON, _ name: String, on mountPoint: Word) -> [Word] {
    (answer.nameListBytes(name) ?? []).map { ExplanationText.absolute($0, on: mountPoint) }
  }

  private func complain(_ path: Word, _ refusal: Refusal) {
    results.append(
      .object(JSON.nameMembers("path", path) + [JSON.Member("error", .string(refusal.sentence))]))
    console.complain(path, refusal.sentence)
  }

  /// A user who wanted something locked is told when nothing was open.
  private func sayNothingWasOpen() {
    guard !hasClosed, !isVerbose || results.isEmpty, !isJSON, !isForSleep, console.failures == 0 else {
      return
    }
    if isOne, keyless > 0, let path = results.first?.nameBytes("path") {
      console.note(path, "has no keybag, so there is nothing to lock")
    } else if isLater {
      // What will be locked later may be open now.
    } else if isOne, let path = results.first?.nameBytes("path") {
      console.note(path, "was locked already")
    } else if results.isEmpty {
      console.note("you have mounted no volume")
    } else {
      console.note(
        keyless == results.count
          ? "no volume that you have mounted has a keybag, so there is nothing to lock"
          : "all volumes that you have mounted were locked already"
            + (keyless > 0 ? ", or have no keybag" : ""))
    }
  }

  func finish() -> Int32 {
    sayNothingWasOpen()
    if isJSON { console.print((isOne ? results.first ?? .null : JSON.array(results)).text + "\n") }
    return console.finish()
  }
}
