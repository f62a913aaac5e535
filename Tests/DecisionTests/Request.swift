// One question, put to the engines and to the reference in the same words.

import AccessControl
import DirectoryModes
import FlagRules

@testable import Decisions

/// An operation with its objects.
enum Request {
  case check(Item, Rights)
  case open(Item, OpenRequest)
  case access(Item, AccessMode)
  case stat(Item)
  case truncate(Item)
  case readExtended(Item)
  case writeExtended(Item)
  case touch(Item)
  case changeTimes(Item)
  case changeMode(Item, Mode)
  case changeOwner(Item, OwnerChange)
  case changeFlags(Item, FileFlags)
  case changeList(Item, AccessList?)
  case create(Bool, Item)
  case createDevice(Item)
  case remove(Item, Item)
  /// `protected`: as with `fs.protected_hardlinks`.
  case link(Item, Item, protected: Bool)
  /// A FIFO or socket is looked up in a directory.
  case find(Item, Item)
  case stripSetID(Item)
  case rename(Item, Item, Item, moves: Bool, over: Item?)
  case exchange(Item, Item, Item, Item, moves: Bool)

  /// Asks as the volume does; rights that no operation asks alone are asked for by themselves.
  func put(to judge: Judge) -> Verdict {
    if case .check(let item, let rights) = self { return judge.check(item, rights) }
    guard let (operation, scene) = asked else { fatalError("no operation") }
    return judge.decide(operation, scene)
  }

  /// The operation, if it is one.
  var asked: (Decisions.Operation, Scene)? {
    switch self {
    case .check: nil
    case .open(let item, let request): (.open(request), Scene(item))
    case .access(let item, let mode): (.access(mode), Scene(item))
    case .stat(let item): (.readAttributes, Scene(item))
    case .truncate(let item): (.truncate(throughHandle: false), Scene(item))
    case .readExtended(let item): (.readExtended, Scene(item))
    case .writeExtended(let item): (.writeExtended, Scene(item))
    case .touch(let item): (.touch, Scene(item))
    case .changeTimes(let item): (.setTimes, Scene(item))
    case .changeMode(let item, let mode): (.setMode(mode), Scene(item))
    case .changeOwner(let item, let change): (.setOwner(change), Scene(item))
    case .changeFlags(let item, let flags): (.setFlags(flags), Scene(item))
    case .changeList(let item, let list): (.setList(list), Scene(item))
    case .create(let isDirectory, let parent):
      (.create(isDirectory ? .directory : .file), Scene(parent))
    case .createDevice(let parent): (.create(.device), Scene(parent))
    case .remove(let item, let parent): (.remove(directory: item.isDirectory), Scene(item, in: parent))
    case .link(let item, let parent, let protected):
      (.link(protectsLinks: { protected }), Scene(item, to: parent))
    case .find(let item, let parent): (.find, Scene(item, in: parent))
    case .stripSetID(let item): (.stripSetID(isOpenForWriting: false), Scene(item))
    case .rename(let item, let parent, let newParent, let moves, let victim):
      (.rename(Rename(changesParent: moves)), Scene(item, in: parent, to: newParent, over: victim))
    case .exchange(let one, let parent, let other, let otherParent, let moves):
      (.rename(Rename.exchange(moves)), Scene(one, in: parent, to: otherParent, over: other))
    }
  }

  /// The objects the question is about.
  var items: [Item] {
    switch self {
    case .check(let item, _), .open(let item, _), .access(let item, _), .stat(let item), .truncate(let item),
      .readExtended(let item), .writeExtended(let item), .touch(let item),
      .changeTimes(let item), .changeMode(let item, _), .changeOwner(let item, _),
      .changeFlags(let item, _), .changeList(let item, _), .create(_, let item), .createDevice(let item),
      .stripSetID(let item):
      [item]
    case .remove(let item, let parent), .link(let item, let parent, _), .find(let item, let parent):
      [item, parent]
    case .rename(let item, let parent, let newParent, _, let victim):
      [item, parent, newParent] + (victim.map { [$0] } ?? [])
    case .exchange(let one, let parent, let other, let otherParent, _): [one, parent, other, otherParent]
    }
  }

  /// The same question with other objects in the same order.
  func replacing(_ items: [Item]) -> Request {
    switch self {
    case .check(_, let rights): .check(items[0], rights)
    case .open(_, let request): .open(items[0], request)
    case .access(_, let mode): .access(items[0], mode)
    case .stat: .stat(items[0])
    case .truncate: .truncate(items[0])
    case .readExtended: .readExtended(items[0])
    case .writeExtended: .writeExtended(items[0])
    case .touch: .touch(items[0])
    case .changeTimes: .changeTimes(items[0])
    case .changeMode(_, let mode): .changeMode(items[0], mode)
    case .changeOwner(_, let change): .changeOwner(items[0], change)
    case .changeFlags(_, let flags): .changeFlags(items[0], flags)
    case .changeList(_, let list): .changeList(items[0], list)
    case .create(let isDirectory, _): .create(isDirectory, items[0])
    case .createDevice: .createDevice(items[0])
    case .remove: .remove(items[0], items[1])
    case .link(_, _, let protected): .link(items[0], items[1], protected: protected)
    case .find: .find(items[0], items[1])
    case .stripSetID: .stripSetID(items[0])
    case .rename(_, _, _, let moves, let victim):
      .rename(items[0], items[1], items[2], moves: moves, over: victim.map { _ in items[3] })
    case .exchange(_, _, _, _, let moves): .exchange(items[0], items[1], items[2], items[3], moves: moves)
    }
  }
}

extension Reference {
  static func answer(_ reference: Reference, _ request: Request) -> Outcome {
    reference.answer(request, request.items.map(Thing.init))
  }

  /// Takes the objects told in words beforehand, to save time.
  func answer(_ request: Request, _ things: [Thing]) -> Outcome {
    let thing = things[0]
    switch request {
    case .check(_, let rights): return check(thing, Thing.powers(rights.rawValue))
    case .open(_, let request):
      if thing.kind != "file" { return .impossible }
      return request.executes
        ? exec(thing)
        : open(
          thing, reads: request.reads, writes: request.writes, appends: request.appends,
          truncates: request.truncates)
    case .access(_, let mode):
      let letters = [(4, "r"), (2, "w"), (1, "x")].filter { Int(mode.rawValue) & $0.0 != 0 }
      return access(thing, letters.map(\.1).joined())
    case .stat: return stat(thing)
    case .truncate: return thing.kind == "file" ? check(thing, [.write]) : .impossible
    case .readExtended: return check(thing, [.readextattr])
    case .writeExtended: return check(thing, [.writeextattr])
    case .touch: return utimesNow(thing)
    case .changeTimes: return utimesSet(thing)
    case .changeMode(_, let mode): return chmod(thing, Int(mode.bits))
    case .changeOwner(_, let change): return chown(thing, change.user, change.group)
    case .changeFlags(let item, let wanted):
      return chflags(thing, from: item.flags.rawValue, to: wanted.rawValue)
    case .changeList(let item, let list):
      return setACL(thing, isList: list != nil, changes: item.list != list)
    case .create(let isDirectory, _): return make(isDirectory, thing)
    case .createDevice: return makeDevice(thing)
    case .remove: return remove(thing, things[1])
    case .link(_, _, let protected): return link(thing, things[1], protected)
    case .find: return find(thing, things[1])
    case .stripSetID: return strip(thing)
    case .rename(_, _, _, let moves, let victim):
      return rename(thing, things[1], things[2], moves: moves, over: victim == nil ? nil : things[3])
    case .exchange(_, _, _, _, let moves):
      return swap(thing, things[1], things[2], things[3], moves: moves)
    }
  }
}

extension Outcome {
  init(_ verdict: Verdict) {
    self =
      switch verdict.refusal {
      case nil: .ok
      case .readOnly: .EROFS
      case .notPermitted: .EPERM
      case .accessDenied: .EACCES
      case .damaged: .EIO
      case .unsupported: .EOPNOTSUPP
      case .noKey: .ENOKEY
      case .crossesProtection: .EXDEV
      case .impossible: .impossible
      }
  }
}

extension Rename {
  fileprivate static func exchange(_ moves: Bool) -> Rename {
    var rename = Rename(changesParent: moves)
    rename.exchanges = true
    return rename
  }
}
