// What may be changed through a view is what may be changed at the real path, and comes to the same.

import Foundation
import Glibc
import LinuxFiles
import MountSupport
import Randomness
import Testing

/// A change of an item, by its path.
private enum ItemChange: Sendable, CustomStringConvertible {
  case write(CInt)
  case cut
  case mode(mode_t)
  case owner(uid_t, gid_t)
  case times(Int)
  case attribute(String, String)
  case removal(String)

  var kind: String {
    switch self {
    case .write(let flags): "write \(flags)"
    case .cut: "truncate"
    case .mode: "chmod"
    case .owner: "chown"
    case .times: "utimensat"
    case .attribute(let name, _): name
    case .removal(let name): "-\(name)"
    }
  }

  var description: String {
    switch self {
    case .mode(let mode): "chmod 0\(String(mode, radix: 8))"
    case .owner(let user, let group): "chown \(user):\(group)"
    case .times(let time): "utimensat \(time)"
    case .attribute(let name, let value): "\(name)=\(value)"
    default: kind
    }
  }

  private static let words = ["", "", "uchg", "hidden", "uappnd", "schg", "sunlnk", "nodump"]
  private static let entries = [
    "user:1001 allow write,append,writeattr,writesecurity", "user:1002 deny write,writeattr,writeextattr",
    "group:2001 allow writeextattr,chown", "group:everyone deny writesecurity", "user:1004 allow full",
    "user:1002 deny readattr",
  ]
  static let finder = "user.com.apple.FinderInfo"

  static func random(isDirectory: Bool, using dice: inout Dice) -> ItemChange {
    switch dice.below(isDirectory ? 9 : 14) {
    case 0: .mode(mode_t(dice.below(0o1000)) | dice.pick([0o400, 0o111, 0]))
    case 1:
      .owner(dice.pick([.max, 0, 1001, 1002, 1004]), dice.pick([.max, .max, 2001, 2002, 2009]))
    case 2: .times(dice.pick([0, Calls.now]))
    case 3: .attribute("user.note", dice.pick(["one", "two"]))
    case 4: .attribute(Attribute.flags, dice.pick(words))
    case 5: .attribute(Attribute.list, dice.pick(entries))
    case 6: .removal(Attribute.list)
    case 7: .removal("user.note")
    case 8: .attribute("system.varve.owner", dice.pick(["user:1001", "user:0", "group:2009", "user:1004"]))
    case 9: .write(O_TRUNC)
    case 10: .write(O_APPEND)
    case 11: .write(0)
    case 12: .cut
    default: .attribute("system.varve.extension", dice.pick(["hide", "show", ""]))
    }
  }

  func make(at path: String) -> Errno? {
    switch self {
    case .write(let flags): Calls.write(path, "more", flags)
    case .cut: Calls.answer(truncate(path, 3))
    case .mode(let mode): Calls.answer(chmod(path, mode))
    case .owner(let user, let group): Calls.answer(chown(path, user, group))
    case .times(let time): Calls.setTimes(path, access: time, modification: time)
    case .attribute(let name, let value): Attribute.set(path, name, value)
    case .removal(let name): Attribute.remove(path, name)
    }
  }
}

/// Two volumes with the same tree: one is changed at real paths, the other one through views of it.
private struct TwinVolumes {
  let ordinary: MountedVolume
  let viewed: MountedVolume
  let tree: DressedTree
  /// By the name of each view.
  let shown: [(view: String, tree: DressedTree)]

  init(_ options: String, seed: String) throws {
    func make() throws -> (MountedVolume, DressedTree) {
      var dice = Dice(for: seed)
      let volume = try MountedVolume()
      let tree = try DressedTree(in: volume.path, using: &dice)
      try volume.unmount()
      try volume.mount(more: options)
      return (volume, tree)
    }
    (ordinary, tree) = try make()
    (viewed, _) = try make()
    let path = viewed.path
    let all = tree
    shown = try ["fr", "de+en,all,ext=all"].map { name in
      (path + "/.varve/view/" + name, try all.shown(in: path + "/.varve/view/" + name))
    }
  }

  func remove() {
    ordinary.remove()
    viewed.remove()
  }

  /// Gives an item of both owner, mode, list and flags anew.
  func dress(_ item: DressedItem, as dress: Dress) throws {
    for root in [ordinary.path, viewed.path] {
      let path = item.path(root)
      if let error = Attribute.set(path, Attribute.flags, "") { throw TestFailure("\(path): \(error)") }
      _ = Attribute.remove(path, Attribute.list)
      try dress.apply(to: path)
    }
  }

  /// All that a change may have changed, as root sees it.
  static func state(of path: String) -> String {
    guard case .success(let status) = Calls.status(path) else { return "missing" }
    let attributes = [
      Attribute.flags, Attribute.list, "system.varve.owner", "system.varve.extension", "user.note",
      ItemChange.finder,
    ].map { (try? Attribute.get(path, $0).get()) ?? [0] }
    let isFile = status.st_mode & S_IFMT == S_IFREG
    let text = isFile ? Calls.read(path) : .success("")
    let isOld = status.st_mtim.tv_sec == 1_000_000
    return
      "\(status.st_mode) \(status.st_uid) \(status.st_gid) \(isFile ? status.st_size : 0) \(isOld) \(attributes) \(text)"
  }

  /// Whether a user gets to an item by the names that a view shows: who may not list a directory does not.
  private func reaches(_ item: DressedItem, _ user: TestUser) -> Bool {
    let changed = zip(item.real, item.shown).enumerated().filter { $0.element.0 != $0.element.1 }
    let parents = changed.map { ([ordinary.path] + item.real[..<$0.offset]).joined(separator: "/") }
    return user.run { parents.allSatisfy { Calls.open($0, O_RDONLY | O_DIRECTORY) == nil } }
  }

  /// Makes a change in a view as a user: by the shown names where they lead there now, else by the real ones.
  func change(
    _ number: Int, _ change: ItemChange, in view: Int, as user: TestUser, byShown: Bool
  ) -> (answer: Errno?, wasByShown: Bool) {
    let item = shown[view].tree.items[number]
    let (real, path) = (item.path(shown[view].view), item.shownPath(shown[view].view))
    func isThere() -> Bool { BytePath(path).inode == BytePath(item.path(viewed.path)).inode }
    if byShown, path != real, isThere(), reaches(item, user) {
      let answer = user.run { change.make(at: path) }
      // A change before may have given it another name just now.
      if answer != .noSuchFile || isThere() { return (answer, true) }
    }
    return (user.run { change.make(at: real) }, false)
  }
}

extension MountTests {
  @Suite("Changes through views", .timeLimit(.minutes(4))) struct ViewChangeRightsTests {
    private static let users = [
      TestUser.root, .alice, .bob, .carol, TestUser(1004, group: 2002, groups: [2001, 2009]),
    ]
    private static let isLong = ProcessInfo.processInfo.environment["LONG"] == "1"

    @Test(
      "Every change through a view is granted or refused as at the real path, and comes to the same, cold and warm",
      arguments: ["", "noowners", "noacl"]
        + (ViewChangeRightsTests.isLong ? ["cache=none", "cache=exclusive", "no_epoch"] : []))
    func same(options: String) throws {
      let twins = try TwinVolumes(options, seed: "changes through views \(options)")
      defer { twins.remove() }
      var dice = Dice(for: "which changes \(options)")
      var (granted, refused): ([String: Int], [String: Int]) = ([:], [:])
      var byShown = 0
      for round in 0..<(Self.isLong ? 12_000 : 1_000) {
        let number = dice.below(twins.tree.items.count)
        let item = twins.tree.items[number]
        let pathOfItem = (item.path(twins.ordinary.path), item.path(twins.viewed.path))
        if round % 8 == 0, options.isEmpty {
          try twins.dress(item, as: .random(isDirectory: item.isDirectory, using: &dice))
        }
        // Once nothing is remembered, and once the kernel knows every name from somebody who may do all.
        if round % 250 == 0 {
          for volume in [twins.ordinary, twins.viewed] {
            try volume.unmount()
            try volume.mount(more: options)
          }
        } else if round % 50 == 0 {
          for view in twins.shown {
            for item in view.tree.items { _ = Calls.status(item.shownPath(view.view)) }
          }
        }
        let change = ItemChange.random(isDirectory: item.isDirectory, using: &dice)
        let user = dice.pick(Self.users)
        let wanted = user.run { change.make(at: pathOfItem.0) }
        let (answer, wasByShown) = twins.change(
          number, change, in: dice.below(2), as: user, byShown: !dice.once(in: 3))
        try #require(
          answer == wanted, "round \(round): \(user), \(change) of \(item.real), shown: \(wasByShown)")
        if wanted == nil {
          granted[change.kind, default: 0] += 1
        } else {
          refused[change.kind, default: 0] += 1
        }
        if wasByShown { byShown += 1 }
        let states = (TwinVolumes.state(of: pathOfItem.0), TwinVolumes.state(of: pathOfItem.1))
        try #require(states.0 == states.1, "round \(round): after \(change) of \(item.real) by \(user)")
      }
      print("\(options): granted \(granted), refused \(refused), by shown names \(byShown)")
      for kind in [
        "write \(O_TRUNC)", "write \(O_APPEND)", "truncate", "chmod", "chown", "user.note", Attribute.flags,
      ] {
        #expect(granted[kind, default: 0] > 0, "\(kind)")
        #expect(refused[kind, default: 0] > 0 || options == "noowners", "\(kind)")
      }
      #expect(byShown > 100)
    }
  }
}
