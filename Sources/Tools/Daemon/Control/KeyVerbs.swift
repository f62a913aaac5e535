// The verb `keys`: keyslots of a volume that is mounted. Only users who may unlock it are told which keyfiles can.

import Ciphers
import ControlDoor
import JSONForm
import LayeredVolume
import LinuxFiles
import SealedFormat

extension ControlVerbs {
  /// `{"verb": "keys", "do": "add", "secrets": 2}`, then the secrets: that of the new keyfile first.
  ///
  /// With one secret
  /// `"newKeybag": true` makes a keybag also where there are encrypted files.
  static func keys(_ volume: Volume) -> Verb {
    { request throws(ControlRefusal) in
      try request.requireOwner(to: "see or change its keyslots")
      let keyring = volume.keyring
      switch request.body["do"]?.string {
      case "list":
        _ = try request.requireSecrets(0...0)
        return try slots(of: keyring)
      case "add":
        try requireWritable(volume)
        return try add(to: keyring, request)
      case "remove":
        try requireWritable(volume)
        return try remove(from: keyring, request)
      case "export": return try export(keyring, request)
      case "check": return try check(keyring, request)
      default: throw ControlRefusal("'do' is add, remove, list, export or check")
      }
    }
  }

  /// A volume that became read-only still has its lock.
  private static func requireWritable(_ volume: Volume) throws(ControlRefusal) {
    if volume.options.isReadOnly { throw ControlRefusal(KeyFailure.system(.readOnly).sentence) }
  }

  private static func slots(of keyring: Keyring) throws(ControlRefusal) -> [JSON.Member] {
    do throws(KeyFailure) {
      let slots = try keyring.slots()
      return [JSON.Member("slots", .array(slots.map { .string($0.hexadecimal) }))]
    } catch {
      throw ControlRefusal(error.sentence)
    }
  }

  private static func add(
    to keyring: Keyring, _ request: ControlRequest
  ) throws(ControlRefusal) -> [JSON.Member] {
    let isFirst = try request.requireSecrets(1...2) == 1
    let reader = SecretReader(request.connection)
    let added = try reader.secret()
    var present: HandedSecret?
    if !isFirst { present = try reader.secret() }
    try reader.requireEnd()
    do throws(KeyFailure) {
      if let present = present.take() {
        try keyring.addSlot(for: added, with: present)
      } else {
        try keyring.makeKeybag(for: added, besideEncrypted: request.body["newKeybag"] == .bool(true))
      }
    } catch {
      throw ControlRefusal(error.sentence)
    }
    Log.notice("user \(request.peer.user) added a keyslot\(isFirst ? ", and with it the keybag" : "")")
    return [JSON.Member("madeKeybag", .bool(isFirst))] + (try slots(of: keyring))
  }

  private static func remove(
    from keyring: Keyring, _ request: ControlRequest
  ) throws(ControlRefusal) -> [JSON.Member] {
    guard let keyfile = request.body["keyfile"]?.string.flatMap({ Bytes16(hexadecimal: $0) }) else {
      throw ControlRefusal("'keyfile' is the identifier of a keyfile, 32 hexadecimal digits")
    }
    let present = try onlySecret(request)
    do throws(KeyFailure) {
      try keyring.removeSlot(of: keyfile, with: present)
    } catch {
      throw ControlRefusal(error.sentence)
    }
    Log.notice("user \(request.peer.user) removed the keyslot of \(keyfile.hexadecimal)")
    return try slots(of: keyring)
  }

  /// The keybag in hexadecimal digits; with a secret, only one that this opens.
  private static func export(
    _ keyring: Keyring, _ request: ControlRequest
  ) throws(ControlRefusal) -> [JSON.Member] {
    var secret: HandedSecret?
    if try request.requireSecrets(0...1) == 1 { secret = try onlySecret(request) }
    do throws(KeyFailure) {
      let stored =
        if let secret = secret.take() { try keyring.export(with: secret) } else { try keyring.export() }
      return [JSON.Member("keybag", .string(JSON.hexadecimal(stored)))]
    } catch {
      throw ControlRefusal(error.sentence)
    }
  }

  /// Whether a keyfile opens the volume; nothing is unlocked.
  private static func check(
    _ keyring: Keyring, _ request: ControlRequest
  ) throws(ControlRefusal) -> [JSON.Member] {
    let secret = try onlySecret(request)
    do throws(KeyFailure) {
      let opening = try keyring.inspect(with: secret)
      return [JSON.Member("slots", .number(opening.slots)), JSON.Member("whole", .bool(opening.isWhole))]
    } catch {
      throw ControlRefusal(error.sentence)
    }
  }

  private static func onlySecret(_ request: ControlRequest) throws(ControlRefusal) -> HandedSecret {
    _ = try request.requireSecrets(1...1)
    let reader = SecretReader(request.connection)
    let secret = try reader.secret()
    try reader.requireEnd()
    return secret
  }
}
