// Locking volumes at the same time, of which some may never answer. For `varve lock` (SEMANTICS 15.5).

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// A daemon that is being asked to lock its volume, by a process of its own.
struct LockUnderWay {
  /// What came of it.
  struct Outcome {
    /// The path of a control socket stands for it where the daemon does not tell.
    let mountPoint: Word
    let answer: Result<JSON, Refusal>
  }

  let device: String
  /// Until the daemon tells where it is.
  private let path: Word
  private let question: Result<OpenQuestion, Errno>

  /// Begins to ask.
  ///
  /// `isPatient`: one that gives no sign of life, or has too many requests, has half a minute instead of two seconds, because
  /// it may only be slow.
  init(_ mount: MountedVolume, _ request: [JSON.Member], isPatient: Bool) {
    self.init(mount.device, mount.mountPoint, mount, request, isPatient) { _ in true }
  }

  /// The same where only a control socket leads to the daemon; `isMeant`: whether the volume with this mount point is to be
  /// locked.
  init(
    _ socket: FoundSocket, _ request: [JSON.Member], isPatient: Bool, _ isMeant: (_ mountPoint: Word) -> Bool
  ) {
    self.init(socket.device, socket.path, nil, request, isPatient, isMeant)
  }

  private init(
    _ device: String, _ path: Word, _ mount: MountedVolume?, _ request: [JSON.Member], _ isPatient: Bool,
    _ isMeant: (_ mountPoint: Word) -> Bool
  ) {
    (self.device, self.path) = (device, path)
    do throws(Errno) {
      let question = try QuestionApart.begin { () throws(Errno) in
        let asker = LockAsker(
          device: device, path: path, mount: mount, request: request, isPatient: isPatient)
        return Array(asker.outcome(isMeant).text.utf8)
      }
      self.question = .success(question)
    } catch {
      question = .failure(error)
    }
  }

  /// Waits for the answer; nil if the volume is not to be locked, or its daemon is gone, and the keys with it.
  func outcome() -> Outcome? {
    let heard: [UInt8]?
    do throws(Errno) {
      heard = try question.get().answer(milliseconds: LockAsker.limit + 5_000)?.get()
    } catch {
      return refused("its daemon cannot be asked: \(error)", at: path)
    }
    guard let heard else { return refused(MountState.silence, at: path) }
    let outcome = JSON(heard)
    if outcome?["left"] != nil { return nil }
    let mountPoint = outcome?.nameBytes("mountPoint") ?? path
    guard let answer = outcome?["answer"] else {
      return refused(outcome?["error"]?.string ?? "the daemon's answer is not understood", at: mountPoint)
    }
    return Outcome(mountPoint: mountPoint, answer: .success(answer))
  }

  private func refused(_ sentence: String, at mountPoint: Word) -> Outcome {
    Outcome(mountPoint: mountPoint, answer: .failure(Refusal(sentence, status: 32)))
  }
}

/// What the process does that asks one daemon.
private struct LockAsker {
  let device: String
  let path: Word
  let mount: MountedVolume?
  let request: [JSON.Member]
  let isPatient: Bool
  private let began = Clock.monotonicNanoseconds

  init(device: String, path: Word, mount: MountedVolume?, request: [JSON.Member], isPatient: Bool) {
    (self.device, self.path, self.mount) = (device, path, mount)
    (self.request, self.isPatient) = (request, isPatient)
  }

  /// The whole of it ends in time for `varve-sleep.service`, which has a minute; in milliseconds.
  static let limit = 50_000

  private enum Finding {
    case gone
    /// It gives no sign of life within two seconds.
    case silent
    case answering(ControlAddress)
  }

  /// Whether to try again what did not succeed.
  private var goesOn: Bool { isPatient && Clock.monotonicNanoseconds &- began < 30_000_000_000 }

  func outcome(_ isMeant: (_ mountPoint: Word) -> Bool) -> JSON {
    let left = JSON.object([JSON.Member("left", .bool(true))])
    var mountPoint = path
    do throws(Refusal) {
      var finding = try find()
      while case .silent = finding, goesOn { finding = try find() }
      switch finding {
      case .gone: return left
      case .silent:
        guard isMeant(path) else { return left }
        throw Refusal(MountState.silence)
      case .answering(let address):
        if mount == nil {
          // One whose disk hangs does not tell, and can be locked.
          mountPoint =
            (try? ask(address, "status", [], for: MountState.patience))?.nameBytes("mountPoint") ?? path
          guard isMeant(mountPoint) else { return left }
        }
        let answer = try ask(address, "lock", request, for: LockAsker.limit)
        return .object(JSON.nameMembers("mountPoint", mountPoint) + [JSON.Member("answer", answer)])
      }
    } catch {
      return .object(
        JSON.nameMembers("mountPoint", mountPoint) + [JSON.Member("error", .string(error.sentence))])
    }
  }

  /// Answers in time for the whole; one that has too many requests may have fewer in a moment.
  private func ask(
    _ address: ControlAddress, _ verb: String, _ members: [JSON.Member], for milliseconds: Int
  ) throws(Refusal) -> JSON {
    while true {
      let spent = Clock.monotonicNanoseconds &- began
      let left = UInt64(LockAsker.limit) &* 1_000_000 &- min(spent, UInt64(LockAsker.limit) &* 1_000_000)
      do throws(Refusal) {
        return try address.ask(verb, members, patience: min(left, UInt64(milliseconds) &* 1_000_000))
      } catch {
        guard error.isMomentary, goesOn else { throw error }
        Clock.pause(milliseconds: 100)
      }
    }
  }

  /// A socket that is found first: it answers where the mount does not, as when its disk hangs or another mount covers it.
  ///
  /// Found here, because this process has no descriptors of the program's.
  private func find() throws(Refusal) -> Finding {
    if let socket = FoundSocket.of(device) { return sign(of: socket.address) }
    guard let mount else { return .gone }
    return switch MountState(mount) {
    case .dead: .gone
    case .silent: .silent
    case .serving, .unknown: sign(of: try address(of: mount))
    }
  }

  /// Root becomes the user who mounted it where that helps: the socket of a user may be on a file system of theirs that lets
  /// in nobody else.
  private func address(of mount: MountedVolume) throws(Refusal) -> ControlAddress {
    do throws(Refusal) { return try ControlAddress(mount) } catch {
      guard CurrentProcess.isRoot, let user = mount.owner, user != 0, let group = mount.group,
        (try? QuestionApart.continueAs(user: user, group: group)) != nil
      else { throw error }
      return try ControlAddress(mount)
    }
  }

  /// A lock may take long, but this answer does not; a refusal is one.
  private func sign(of address: ControlAddress) -> Finding {
    let patience = UInt64(MountState.patience) &* 1_000_000
    let deadline = Clock.monotonicNanoseconds &+ patience
    do throws(Refusal) {
      _ = try address.ask("writer", patience: patience)
    } catch {
      if Clock.monotonicNanoseconds >= deadline { return .silent }
    }
    return .answering(address)
  }
}
