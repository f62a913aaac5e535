// Locking volumes at the same time, of which some may never answer. For `varve lock` (SEMANTICS 15.5).

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// A daemon that is being asked to lock its volume, by a process of its own.
struct LockUnderWay {
  let device: String
  let mountPoint: Word
  private let question: Result<OpenQuestion, Errno>

  /// Begins to ask.
  ///
  /// `mount`: nil where only a control socket leads to the daemon. `isPatient`: one that gives no sign of life has half a
  /// minute instead of two seconds, because it may only be slow.
  init(
    _ device: String, at mountPoint: Word, _ mount: MountedVolume?, _ request: [JSON.Member], isPatient: Bool
  ) {
    (self.device, self.mountPoint) = (device, mountPoint)
    do throws(Errno) {
      let question = try QuestionApart.begin { () throws(Errno) in
        let asker = LockAsker(device: device, mount: mount, request: request, isPatient: isPatient)
        return Array(asker.outcome().text.utf8)
      }
      self.question = .success(question)
    } catch {
      question = .failure(error)
    }
  }

  /// What the daemon answered; nil if it is gone, and the keys with it.
  func answer() throws(Refusal) -> JSON? {
    let heard: [UInt8]?
    do throws(Errno) {
      heard = try question.get().answer(milliseconds: LockAsker.limit + 5_000)?.get()
    } catch {
      throw Refusal("its daemon cannot be asked: \(error)", status: 32)
    }
    guard let heard else { throw Refusal(MountState.silence, status: 32) }
    let outcome = JSON(heard)
    if outcome?["gone"] != nil { return nil }
    guard let answer = outcome?["answer"] else {
      throw Refusal(outcome?["error"]?.string ?? "the daemon's answer is not understood", status: 32)
    }
    return answer
  }
}

/// What the process does that asks one daemon.
private struct LockAsker {
  let device: String
  let mount: MountedVolume?
  let request: [JSON.Member]
  let isPatient: Bool

  /// The whole of it ends in time for `varve-sleep.service`, which has a minute; in milliseconds.
  static let limit = 50_000

  private enum Finding {
    case gone
    /// It gives no sign of life within two seconds.
    case silent
    case answering(ControlAddress)
  }

  func outcome() -> JSON {
    let began = Clock.monotonicNanoseconds
    do throws(Refusal) {
      var finding = try find()
      while case .silent = finding, isPatient, Clock.monotonicNanoseconds &- began < 30_000_000_000 {
        finding = try find()
      }
      switch finding {
      case .gone: return .object([JSON.Member("gone", .bool(true))])
      case .silent: throw Refusal(MountState.silence)
      case .answering(let address):
        let spent = Clock.monotonicNanoseconds &- began
        let patience = UInt64(LockAsker.limit) &* 1_000_000
        let answer = try address.ask("lock", request, patience: patience > spent ? patience - spent : 0)
        return .object([JSON.Member("answer", answer)])
      }
    } catch {
      return .object([JSON.Member("error", .string(error.sentence))])
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
