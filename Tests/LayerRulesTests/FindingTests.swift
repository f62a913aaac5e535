// Finding and the parts of directories, against the walk of the kernel's overlayfs.

import LayerRules
import Randomness
import Testing

@Suite("Finding through layers") struct FindingTests {
  @Test("Random layers, marks and redirects show what overlayfs shows", arguments: [1, 3, 7])
  func agreement(_ lowers: Int) {
    var dice = Dice(for: "finding over \(lowers) lowers")
    var (compared, redirected) = (0, 0)
    for _ in 0..<4000 {
      let seed = dice.next()
      var world = Dice(seed: seed)
      let disk = RandomWorld(lowers: lowers, usesRedirects: true, &world).disk
      let view = ToyView(disk: disk)
      let roots = disk.layers.enumerated().map { ToyObject(layer: $0.offset, inode: $0.element.root) }
      var open = [(path: "", stack: roots)]
      while let (path, stack) = open.popLast() {
        for name in RandomWorld.names {
          let wanted = view.lookUp(name, in: stack)
          compared += 1
          guard let complaint = compare(disk, stack, name, wanted) else {
            guard let top = wanted.first, disk.inodes[top.inode].kind == .directory else { continue }
            if wanted.contains(where: { disk.inodes[$0.inode].redirect != nil }), wanted.count > 1 {
              redirected += 1
            }
            open.append((path + "/" + name, wanted))
            continue
          }
          Issue.record("world \(seed), \(path)/\(name): \(complaint)")
          return
        }
      }
    }
    print("\(compared) names compared, \(redirected) of them redirected")
    #expect(redirected > 50)
  }

  private func compare(
    _ disk: ToyDisk, _ stack: [ToyObject], _ name: String, _ wanted: [ToyObject]
  ) -> String? {
    let access = ToyVolume.Access(disk: disk)
    let parent = stack.map { Part(layer: $0.layer, $0.inode) }
    let bytes = Array(name.utf8)
    let found = Found.find(inParts: parent.indices) { access.look(bytes, in: parent[$0]) }
    switch found {
    case .missing, .removed: return wanted.isEmpty ? nil : "not found, but there is \(wanted)"
    case .file(let inode, let part):
      return wanted == [ToyObject(layer: parent[part].layer, inode: inode)]
        ? nil : "found \(inode), not \(wanted)"
    case .directory(let inode, let part):
      var walk = PartsWalk(access)
      guard case .parts(let parts, hidden: _) = walk.parts(of: bytes, in: parent, known: (inode, part)),
        parts.map({ ToyObject(layer: $0.layer, inode: $0.directory) }) == wanted
      else { return "other parts, if the topmost is known" }
    }
    var walk = PartsWalk(access)
    guard case .parts(let parts, hidden: _) = walk.parts(of: bytes, in: parent) else { return "not usable" }
    let objects = parts.map { ToyObject(layer: $0.layer, inode: $0.directory) }
    func told(_ objects: [ToyObject]) -> String {
      objects.map { object in
        let inode = disk.inodes[object.inode]
        let redirect = inode.redirect.map { " -> " + String(decoding: $0, as: UTF8.self) } ?? ""
        return "\(object.layer)/\(object.inode)\(redirect)\(inode.isClosed ? " closed" : "")"
      }.joined(separator: ", ")
    }
    return objects == wanted ? nil : "parts \(told(objects)), not \(told(wanted))"
  }

  @Test("What flags of the upper hide is what shows without them") func hidden() {
    var dice = Dice(for: "hidden by flags")
    var covered = 0
    for _ in 0..<4000 {
      let seed = dice.next()
      var world = Dice(seed: seed)
      let disk = RandomWorld(lowers: 3, usesRedirects: true, &world).disk
      let (flagged, bare) = (ToyVolume(disk), ToyVolume(disk.unflagged))
      var open = [""]
      while let path = open.popLast() {
        for name in RandomWorld.names {
          let path = path.isEmpty ? name : path + "/" + name
          guard let directory = flagged.directory(at: path) else { continue }
          open.append(path)
          if !directory.hidden.isEmpty { covered += 1 }
          let all = (directory.parts + directory.hidden).map(\.directory)
          let wanted = bare.directory(at: path)?.parts.map(\.directory)
          #expect(all == wanted, "world \(seed), \(path)")
        }
      }
    }
    print("flags hide parts of \(covered) directories")
    #expect(covered > 500)
  }

  // MARK: Single rules

  private func parts(_ disk: ToyDisk, _ path: String) -> [Int] {
    ToyVolume(disk).directory(at: path)?.parts.map(\.layer) ?? []
  }

  private func make(
    _ disk: inout ToyDisk, _ path: String, in layer: Int, _ change: (inout ToyInode) -> Void = { _ in }
  ) {
    var current = disk.layers[layer].root
    for name in path.split(separator: "/").map(String.init) {
      if let next = disk.child(name, of: current) {
        current = next
      } else {
        let made = disk.add(ToyInode(kind: .directory, item: disk.newItem()))
        try? disk.enter(made, as: name, in: current)
        current = made
      }
    }
    change(&disk.inodes[current])
  }

  @Test("A redirect holds even below a closed directory") func closedAbove() {
    var disk = ToyDisk(lowers: 2)
    make(&disk, "pure", in: 0) { $0.markedOpaque = true }
    make(&disk, "pure/moved", in: 0) { $0.redirect = Array("/old/home".utf8) }
    make(&disk, "old", in: 1) { $0.markedOpaque = true }
    make(&disk, "old/home", in: 1) { $0.redirect = Array("/far".utf8) }
    make(&disk, "far", in: 2)
    make(&disk, "old/home", in: 2)
    #expect(parts(disk, "pure/moved") == [0, 1, 2])
  }

  @Test("The mark and the flag close a directory and its redirect", arguments: [true, false])
  func closed(_ byMark: Bool) {
    var disk = ToyDisk(lowers: 1)
    make(&disk, "d", in: 0) {
      if byMark { $0.markedOpaque = true } else { $0.flaggedOpaque = true }
      $0.redirect = Array("/old".utf8)
    }
    make(&disk, "old", in: 1)
    make(&disk, "d", in: 1)
    #expect(parts(disk, "d") == [0])
  }

  /// The layers below the upper cannot be looked at.
  private struct Failing: LayerAccess {
    typealias Directory = Int
    typealias Failure = CallFailure

    let access: ToyVolume.Access
    let isForGood: Bool

    var roots: [Int] { access.roots }
    func look(_ name: [UInt8], in part: Part<Int>) throws(CallFailure) -> Sighting<Int> {
      guard part.layer == 0 else { throw CallFailure("EMFILE") }
      return access.look(name, in: part)
    }
    func redirect(of part: Part<Int>) -> Mark<Redirect?> { access.redirect(of: part) }
    func closing(of part: Part<Int>) -> Mark<Closing> { access.closing(of: part) }
    func isLasting(_ failure: CallFailure) -> Bool { isForGood }
  }

  @Test(
    "A failure below a flag concerns nobody if it comes again, and is told if it may not",
    arguments: [true, false])
  func failing(_ isForGood: Bool) {
    var disk = ToyDisk(lowers: 1)
    make(&disk, "d/e", in: 0)
    make(&disk, "d/e", in: 1)
    let access = Failing(access: ToyVolume.Access(disk: disk), isForGood: isForGood)
    guard let d = disk.child("d", of: disk.upper.root), let below = disk.child("d", of: disk.layers[1].root)
    else {
      Issue.record("not made")
      return
    }
    var walk = PartsWalk(access)
    let (shown, hidden) = ([Part(layer: 0, d)], [Part(layer: 1, below)])
    let found = try? walk.parts(of: Array("e".utf8), in: shown, hidden: hidden)
    guard case .parts(let parts, hidden: _) = found else {
      #expect(!isForGood && found == nil)
      return
    }
    #expect(isForGood && parts.map(\.layer) == [0])
    // Where nothing is hidden each failure counts.
    #expect(throws: CallFailure.self) { try walk.parts(of: Array("e".utf8), in: shown + hidden) }
  }

  @Test("A redirect that cannot be followed closes the directory to all")
  func unusable() {
    var disk = ToyDisk(lowers: 1)
    make(&disk, "d", in: 0) { $0.redirect = Array("/a/../b".utf8) }
    make(&disk, "d", in: 1)
    var walk = PartsWalk(ToyVolume.Access(disk: disk))
    let roots = disk.layers.enumerated().map { Part(layer: $0.offset, $0.element.root) }
    guard case .unusable = walk.parts(of: Array("d".utf8), in: roots) else {
      Issue.record("followed")
      return
    }
  }

  @Test("Redirects over redirects end, however many there are") func bounded() {
    var disk = ToyDisk(lowers: 60)
    let path = Array(repeating: "d", count: 12).joined(separator: "/")
    for layer in 0...60 {
      var below = path
      while !below.isEmpty {
        make(&disk, below, in: layer) { $0.redirect = Array(("/" + path).utf8) }
        below = String(below.dropLast(below.count > 1 ? 2 : 1))
      }
    }
    var walk = PartsWalk(ToyVolume.Access(disk: disk))
    let roots = disk.layers.enumerated().map { Part(layer: $0.offset, $0.element.root) }
    guard case .unusable = walk.parts(of: Array("d".utf8), in: roots) else {
      Issue.record("the walk came to an end, so it is no test")
      return
    }
  }
}
