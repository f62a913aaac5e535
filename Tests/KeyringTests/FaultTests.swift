// Each change of the keybag and the session log, with each of its system calls failing in turn: once alone, and once
// with all that follow, as when the daemon is killed there.

import Ciphers
import Faults
import LinuxFiles
import SealedFormat
import Testing

@testable import LayeredVolume

@Suite("Keybag and sessions with calls that fail") struct FaultTests {
  /// Runs `change` on a fresh vault again and again, each time with the next call failing, until none is left to fail.
  private func sweep(
    _ prepare: (Vault) throws -> Void, _ change: (Vault) throws -> Void,
    _ look: (Vault, _ succeeded: Bool, _ call: String) throws -> Void
  ) throws {
    for count in [1, Int.max >> 1] {
      var call = 0
      while true {
        let vault = try Vault()
        try prepare(vault)
        let fault = Fault(.all, .inputOutput, after: call, count: count)
        let (result, hits) = fault.during { try change(vault) }
        var succeeded = false
        if case .success = result { succeeded = true }
        vault.restart()
        try look(vault, succeeded, "call \(call), \(count == 1 ? "alone" : "and all after it")")
        if hits == 0 {
          #expect(succeeded)
          break
        }
        call += 1
        try #require(call < 200)
      }
      #expect(call > 3)
    }
  }

  private func opens(_ vault: Vault, _ number: UInt8) throws -> Bool {
    let refusal = failure { _ = try vault.keyring.unlock(with: try keyfile(number)) }
    if let refusal, refusal != .wrongKey, refusal != .noKeybag { throw refusal }
    return refusal == nil
  }

  @Test("The first slot is there or not, and older versions are kept out before it is") func first() throws {
    try sweep({ _ in }, { try $0.keyring.makeKeybag(for: try keyfile(1)) }) { vault, succeeded, call throws in
      let isThere = try opens(vault, 1)
      if succeeded { #expect(isThere, "\(call)") }
      if isThere {
        let text = String(decoding: try #require(vault.read("volume")), as: UTF8.self)
        #expect(text.contains("ro_compat = 2\n"), "\(call)")
        // Whatever was left half done, it is whole now.
        #expect(vault.read("keybag") == vault.read("keybag.copy"), "\(call)")
      } else {
        // And can be begun again.
        try vault.keyring.makeKeybag(for: try keyfile(2))
        #expect(try opens(vault, 2), "\(call)")
      }
    }
  }

  @Test("A slot is added or not; the others always open") func adding() throws {
    try sweep(
      { try $0.keyring.makeKeybag(for: try keyfile(1)) },
      { try $0.keyring.addSlot(for: try keyfile(2), with: try keyfile(1)) }
    ) { vault, succeeded, call throws in
      #expect(try opens(vault, 1), "\(call)")
      vault.restart()
      let isAdded = try opens(vault, 2)
      if succeeded { #expect(isAdded, "\(call)") }
      #expect(try vault.keyring.slots().count == (isAdded ? 2 : 1), "\(call)")
      #expect(vault.read("keybag") == vault.read("keybag.copy"), "\(call)")
    }
  }

  @Test("A slot is removed or not") func removing() throws {
    try sweep(
      { vault in
        try vault.keyring.makeKeybag(for: try keyfile(1))
        try vault.keyring.addSlot(for: try keyfile(2), with: try keyfile(1))
      },
      { try $0.keyring.removeSlot(of: identifier(2), with: try keyfile(1)) }
    ) { vault, succeeded, call throws in
      #expect(try opens(vault, 1), "\(call)")
      vault.restart()
      if succeeded { #expect(try !opens(vault, 2), "\(call)") }
    }
  }

  @Test("Unlocking changes nothing for the worse, and heals what it can") func unlocking() throws {
    for lost in ["keybag", "keybag.copy"] {
      try sweep(
        { vault in
          try vault.keyring.makeKeybag(for: try keyfile(1))
          try vault.write(lost, Array("rubbish".utf8))
        },
        { vault in
          let outcome = try vault.keyring.unlock(with: try keyfile(1))
          if let failure = outcome.healingFailure { throw failure }
        }
      ) { vault, succeeded, call throws in
        let isWhole = vault.read("keybag") == vault.read("keybag.copy")
        if succeeded { #expect(isWhole, "\(call)") }
        #expect(try opens(vault, 1), "\(call)")
        #expect(vault.read("keybag") == vault.read("keybag.copy"), "\(call)")
      }
    }
  }

  @Test("A session that began is on the disk, and none is taken for ended that did not end") func sessions()
    throws
  {
    var begun: UInt64 = 0
    try sweep(
      { try $0.keyring.makeKeybag(for: try keyfile(1)) },
      { vault in
        _ = try vault.keyring.unlock(with: try keyfile(1))
        begun = try vault.keyring.sessions.begin()
      }
    ) { vault, succeeded, call throws in
      let lost = try vault.keyring.unlock(with: try keyfile(1)).lostSessions
      #expect(!lost, "\(call)")
      if succeeded { #expect(!vault.keyring.sessions.hasEnded(begun), "\(call)") }
      let session = try vault.keyring.sessions.begin()
      try vault.keyring.sessions.end()
      vault.restart()
      _ = try vault.keyring.unlock(with: try keyfile(1))
      #expect(vault.keyring.sessions.hasEnded(session), "\(call)")
    }
  }

  @Test("A session that could not be ended runs on, and ends later") func ending() throws {
    var session: UInt64 = 0
    try sweep(
      { vault in
        try vault.keyring.makeKeybag(for: try keyfile(1))
        _ = try vault.keyring.unlock(with: try keyfile(1))
        session = try vault.keyring.sessions.begin()
      },
      { vault in
        do {
          try vault.keyring.sessions.end()
        } catch {
          #expect(vault.keyring.sessions.current == session)
          throw error
        }
      }
    ) { vault, succeeded, call throws in
      #expect(try !vault.keyring.unlock(with: try keyfile(1)).lostSessions, "\(call)")
      if succeeded { #expect(vault.keyring.sessions.hasEnded(session), "\(call)") }
    }
  }

  @Test("A retired session that could not be ended is still to end") func endingRetired() throws {
    var (session, next): (UInt64, UInt64) = (0, 0)
    try sweep(
      { vault in
        try vault.keyring.makeKeybag(for: try keyfile(1))
        _ = try vault.keyring.unlock(with: try keyfile(1))
        session = try vault.keyring.sessions.begin()
        _ = vault.keyring.sessions.retire()
        next = try vault.keyring.sessions.begin()
      },
      { vault in
        do {
          try vault.keyring.sessions.end([session])
        } catch {
          #expect(vault.keyring.sessions.running == [session, next])
          throw error
        }
      }
    ) { vault, succeeded, call throws in
      #expect(try !vault.keyring.unlock(with: try keyfile(1)).lostSessions, "\(call)")
      if succeeded { #expect(vault.keyring.sessions.hasEnded(session), "\(call)") }
      #expect(!vault.keyring.sessions.hasEnded(next), "\(call)")
    }
  }

  @Test("What a crash leaves is written over, and told by a check") func leftovers() throws {
    let vault = try Vault([
      "keybag.new": [1], "keybag.copy.new": [2], "sessions.new": [3],
    ])
    let root = SharedDescriptor(try Descriptor.directory(atPath: vault.path))
    let names = try VolumeInspection(of: root, for: .looking).leftovers()
    #expect(
      names.map { String(decoding: $0, as: UTF8.self) } == ["keybag.new", "keybag.copy.new", "sessions.new"])
    try vault.keyring.makeKeybag(for: try keyfile(1))
    #expect(try vault.names == ["keybag", "keybag.copy", "lock", "sessions", "volume", "work"])
  }
}
