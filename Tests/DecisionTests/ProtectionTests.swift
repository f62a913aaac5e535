// Encrypted content changes nothing of what is decided about rights; it comes after them. So every answer is told here
// from the answer about the same item with plain content.

import AccessControl
import DirectoryModes
import FlagRules
import Testing

@testable import Decisions

@Suite("Encrypted content") struct ProtectionTests {
  /// Who may do something, who may not, and who is root.
  private static let users: [UInt32] = [0, 501, 777]
  private static let keys: [KeysAtHand] = {
    let sets: [ProtectionClasses] = ProtectionClass.allCases.reduce([[]]) { sets, protection in
      sets + sets.map { $0.union(ProtectionClasses(protection)) }
    }
    return sets.flatMap { opening in
      [KeysAtHand(exist: true, opening: opening, making: opening)]
        + [
          KeysAtHand(
            exist: true, opening: opening, making: opening.union(ProtectionClasses(.completeUnlessOpen)))
        ]
    } + [KeysAtHand()]
  }()

  private func judges() -> [Judge] {
    ProtectionTests.keys.flatMap { keys in
      ProtectionTests.users.flatMap { user in
        [false, true].map { (isReadOnly: Bool) -> Judge in
          var rules = VolumeRules()
          (rules.keys, rules.isReadOnly) = (keys, isReadOnly)
          return Judge(
            rules: rules,
            subject: Subject(
              user: user, group: user, groups: .listed([user]), capabilities: user == 0 ? .all : []))
        }
      }
    }
  }

  /// Files that users 501 and 777 may read and write, or not, or not change for a flag.
  private func items(_ kind: ItemKind) -> [Item] {
    [(0o700, []), (0o755, []), (0o777, []), (0o700, .userImmutable), (0o755, .userAppendOnly)].map {
      (mode: UInt16, flags: FileFlags) in
      Item(kind: kind, user: 501, group: 501, mode: .init(mode), flags: flags)
    }
  }

  @Test("Bytes are refused for want of a key after all rights, and nothing else is") func files() {
    let bytes: [Operation] = [
      .open(OpenRequest(reads: true)), .open(OpenRequest(writes: true)),
      .open(OpenRequest(reads: true, writes: true, truncates: true)),
      .open(OpenRequest(writes: true, appends: true)), .open(OpenRequest(executes: true)), .run,
      .truncate(throughHandle: false),
    ]
    let others: [Operation] = [
      .open(OpenRequest(reads: true, wantsBytes: false)), .truncate(throughHandle: true), .access(.read),
      .access(.write),
      .readAttributes, .readExtended, .writeExtended, .setMode(.init(0o600)), .touch, .setTimes,
      .setFlags(.hidden), .setList(nil), .setOwner(OwnerChange(user: 501, group: nil)),
    ]
    var refused = 0
    for judge in judges() {
      for plain in items(.file) {
        for protection in ProtectionClass.allCases {
          for isEmpty in [false, true] {
            var item = plain
            item.content = .protected(protection, isEmpty: isEmpty)
            for operation in others {
              #expect(judge.decide(operation, on: item) == judge.decide(operation, on: plain))
            }
            for operation in bytes {
              let rights = judge.decide(operation, on: plain)
              let verdict = judge.decide(operation, on: item)
              let opens = judge.rules.keys.opening.contains(protection)
              var writes = false
              if case .open(let request) = operation { writes = request.writes }
              let makes = writes && isEmpty && judge.rules.keys.making.contains(protection)
              if !rights.isAllowed || opens || makes {
                #expect(verdict == rights)
              } else {
                #expect(verdict == .refused(.noKey, .locked(protection)))
                refused += 1
              }
            }
          }
        }
      }
    }
    #expect(refused > 1000)
  }

  @Test("Encrypted bytes without a mark are decrypted for root alone") func unmarked() {
    for judge in judges() {
      for plain in items(.file) {
        for protection in ProtectionClass.allCases {
          var item = plain
          item.content = .protected(protection, isEmpty: false)
          var copy = item
          copy.lacksMark = true
          for operation in [
            Operation.open(OpenRequest(reads: true)), .open(OpenRequest(writes: true)), .run,
            .truncate(throughHandle: false),
          ] {
            let verdict = judge.decide(operation, on: copy)
            if judge.subject.user == 0 || !judge.decide(operation, on: plain).isAllowed {
              #expect(verdict == judge.decide(operation, on: item))
            } else {
              #expect(verdict == .refused(.noKey, .unmarked))
            }
          }
          #expect(judge.decide(.readAttributes, on: copy) == judge.decide(.readAttributes, on: plain))
        }
      }
    }
  }

  @Test("What is made in a directory takes its key") func making() {
    for judge in judges() {
      for plain in items(.directory) {
        for protection in ProtectionClass.allCases {
          var directory = plain
          directory.content = .protecting(protection)
          for kind in [NewObject.pipe, .directory, .symbolicLink, .device] {
            #expect(
              judge.decide(.create(kind), on: directory) == judge.decide(.create(kind), on: plain))
          }
          let rights = judge.decide(.create(.file), on: plain)
          let verdict = judge.decide(.create(.file), on: directory)
          if rights.isAllowed, !judge.rules.keys.making.contains(protection) {
            #expect(verdict == .refused(.noKey, .locked(protection), on: .parent))
          } else {
            #expect(verdict == rights)
          }
        }
      }
    }
  }

  @Test("A plain item does not enter, and everything else moves as ever") func entering() {
    let contents: [Item.Content] = [
      .plain, .compressed, .replacing, .foreign, .protected(.complete, isEmpty: false),
      .protecting(.untilFirstUnlock),
    ]
    for judge in judges() {
      for kind in [ItemKind.file, .directory, .symbolicLink, .special] {
        for content in contents {
          var item = Item(kind: kind, user: 501, group: 501, mode: .init(0o755))
          let isFitting =
            switch content {
            case .protected, .compressed, .replacing: kind == .file
            case .protecting: kind == .directory
            case .plain, .foreign: true
            }
          guard isFitting else { continue }
          item.content = content
          for parent in items(.directory) {
            var protecting = parent
            protecting.content = .protecting(.complete)
            let stops = (content == .plain || content == .compressed) && (kind == .file || kind == .directory)
            for moves in [false, true] {
              let operation = Operation.rename(Rename(changesParent: moves))
              let rights = judge.decide(operation, Scene(item, in: items(.directory)[2], to: parent))
              let verdict = judge.decide(operation, Scene(item, in: items(.directory)[2], to: protecting))
              if rights.isAllowed, moves, stops {
                #expect(verdict == .refused(.crossesProtection, .protectingDirectory, on: .newParent))
              } else {
                #expect(verdict == rights)
              }
            }
            let link = Operation.link(protectsLinks: { false })
            let rights = judge.decide(link, Scene(item, to: parent))
            let verdict = judge.decide(link, Scene(item, to: protecting))
            if rights.isAllowed, stops {
              #expect(verdict == .refused(.crossesProtection, .protectingDirectory, on: .newParent))
            } else {
              #expect(verdict == rights)
            }
          }
        }
      }
    }
  }

  @Test(
    "A class is given by who may write, and changed by who decides about access, with the key of the old one, and where files of the new one can be made"
  )
  func changing() {
    var onlyGives = 0
    for judge in judges() {
      let keys = judge.rules.keys
      for plain in items(.file) + items(.directory) {
        for wanted in [nil] + ProtectionClass.allCases.map(Optional.some) {
          for present in [nil] + ProtectionClass.allCases.map(Optional.some) {
            var item = plain
            if let present {
              item.content =
                item.isDirectory ? .protecting(present) : .protected(present, isEmpty: false)
            }
            var rights = judge.decide(.setClass(nil), on: plain)
            if present != nil, wanted != present, rights.isAllowed {
              rights = judge.decide(.setOtherList, on: plain)
              if !rights.isAllowed {
                onlyGives += 1
                rights = .refused(.accessDenied, rights.reason)
              }
            }
            let verdict = judge.decide(.setClass(wanted), on: item)
            if !rights.isAllowed || wanted == present {
              #expect(verdict.isAllowed == rights.isAllowed && verdict.obstacle == rights.obstacle)
            } else if wanted != nil, !keys.exist {
              #expect(verdict == .refused(.noKey, .noKeybag))
            } else if let present, !keys.opening.contains(present) {
              #expect(verdict == .refused(.noKey, .locked(present)))
            } else if let wanted, !keys.making.contains(wanted) {
              #expect(verdict == .refused(.noKey, .locked(wanted)))
            } else {
              #expect(verdict.isAllowed)
            }
          }
        }
      }
    }
    #expect(onlyGives > 0)
  }
}
