// What can be asked over the control socket: a table from names to answers.
//
// A request is one line, `{"verb": "status", ...}`; the answer is one line, `{"ok": true, ...}` or
// `{"ok": false, "status": 1, "error": "why"}`. Secrets follow the line, and are never in it (`SecretReader`). Only the mount tells where the socket is, so who can ask could also look
// at the mount; every verb checks by itself what its peer may ask.
//
// For verbs that ask about a mount or change it as a whole; what can be asked as an attribute of an item has no verb here.
// Nothing of it is on the path of a request. Who reaches it: `ControlReachTests`.

import AccessControl
import ControlDoor
import FUSEDoor
import JSONForm
import LayeredVolume
import LinuxFiles
import TextForms

/// A request that is not granted, in words for the asker.
struct ControlRefusal: Error {
  /// What the asking program ends with: 1 for something not permitted or not understood, 32 for the volume.
  let status: Int
  let sentence: String

  init(_ sentence: String, status: Int = 1) {
    self.status = status
    self.sentence = sentence
  }
}

/// One request and who sent it.
struct ControlRequest: Sendable {
  let connection: ControlPeer
  /// The number of the mount's device, as /proc/PID/mountinfo writes it.
  let device: String
  var peer: SocketPeer { connection.identity }
  /// The members of the request; numbers and names are the peer's and believed by nobody.
  let body: JSON

  /// Refuses everybody but root, with the capability that mounting takes, and the user who mounted.
  func requireOwner(to deed: String) throws(ControlRefusal) {
    if peer.user == 0 {
      guard CapabilitySet(rawValue: peer.capabilities ?? 0).contains(.sysAdmin) else {
        throw ControlRefusal("root needs CAP_SYS_ADMIN to \(deed)")
      }
    } else if peer.user != CurrentProcess.user {
      throw ControlRefusal("only root and the owner of the mount may \(deed)")
    }
  }
}

/// The verbs, by name.
struct ControlVerbs: Sendable {
  /// Answers the members that follow `"ok": true`.
  typealias Verb = @Sendable (ControlRequest) throws(ControlRefusal) -> [JSON.Member]

  private let table: [String: Verb]
  /// Whether anybody but root and the owner is on the mount at all.
  private let servesOthers: Bool

  init(_ table: [String: Verb], servesOthers: Bool) {
    self.table = table
    self.servesOthers = servesOthers
  }

  /// The verbs of a mounted volume.
  ///
  /// `source` and `mountPoint` tell what it is where no table of mounts does.
  static func of(
    _ volume: Volume, _ nesting: NestedMountCheck, kernel: MountOptions, source: [UInt8], mountPoint: [UInt8]
  ) -> ControlVerbs {
    let autoLock = AutoLock(volume)
    return ControlVerbs(
      [
        "status": status(
          volume, JSON.nameMembers("source", source) + JSON.nameMembers("mountPoint", mountPoint)),
        "why": why(volume),
        "dryrun": dryRun(volume),
        "denials": denials(volume),
        "handdown": handDown(volume),
        "layerdiff": layerDiff(volume),
        "remount": remount(volume, nesting, kernel),
        "unlock": unlock(volume, autoLock),
        "lock": lock(volume, autoLock),
        "keys": keys(volume),
        "writer": writer(volume),
      ], servesOthers: kernel.allowsOthers)
  }

  /// The answer to one line, whatever it holds, about the mount of this device.
  func answer(_ line: [UInt8], _ connection: ControlPeer, _ device: String) -> [UInt8] {
    let answer: JSON
    do throws(ControlRefusal) {
      answer = .object([JSON.Member("ok", .bool(true))] + (try members(line, connection, device)))
    } catch {
      answer = .object([
        JSON.Member("ok", .bool(false)), JSON.Member("status", .number(error.status)),
        JSON.Member("error", .string(error.sentence)),
      ])
    }
    return Array(answer.text.utf8)
  }

  private func members(
    _ line: [UInt8], _ connection: ControlPeer, _ device: String
  ) throws(ControlRefusal) -> [JSON.Member] {
    let peer = connection.identity
    // The kernel lets nobody else in there, but tells everybody the attributes of the root.
    guard servesOthers || peer.user == 0 || peer.user == CurrentProcess.user else {
      throw ControlRefusal(
        "only root and the owner of the mount are served: it is mounted without allow_other")
    }
    guard let body = JSON(line), let name = body["verb"]?.string else {
      throw ControlRefusal("the request is not a JSON object with a verb")
    }
    guard let verb = table[name] else {
      throw ControlRefusal("this daemon (\(Version.text)) does not know the verb '\(name)'")
    }
    return try verb(ControlRequest(connection: connection, device: device, body: body))
  }
}

extension ControlVerbs {
  /// How the lock for writing is kept: the one thing that can be told while the store does not answer.
  private static func writer(_ volume: Volume) -> Verb {
    { request throws(ControlRefusal) in
      try request.requireOwner(to: "ask for the lock")
      return volume.writerLock.map { [JSON.Member("lock", .string($0))] } ?? []
    }
  }

  /// What `.varve/status` says, also where `nomagic` hides that, and to the same callers.
  private static func status(_ volume: Volume, _ mounted: [JSON.Member]) -> Verb {
    { request throws(ControlRefusal) in
      do throws(Errno) {
        guard try volume.mayEnter(asker(request, volume)) else { throw .accessDenied }
      } catch {
        throw ControlRefusal("only users who may search the root of the volume are told: \(error)")
      }
      return [JSON.Member("status", volume.status())] + mounted
    }
  }
}
