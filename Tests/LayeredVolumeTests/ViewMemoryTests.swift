// What the kernel may still remember of names in views when something changes.

import Decisions
import Glibc
import LinuxFiles
import Synchronization
import Testing

@testable import LayeredVolume

/// A kernel that counts how often all names it remembers are made stale, and whose attributes are.
final class RecordingKernel: Sendable {
  private let epochs = Atomic(0)
  private let stale = Mutex<Set<NodeID>>([])

  var link: KernelLink {
    KernelLink(
      canExpireNames: true, stripsItself: false, features: { [] }, requests: { [] },
      expireNames: { self.epochs.add(1, ordering: .sequentiallyConsistent) }, dropPages: { _ in },
      expireAttributes: { node in self.stale.withLock { _ = $0.insert(node) } }, takesPaths: { false },
      openBacking: { _ in nil }, closeBacking: { _ in })
  }

  /// Whose attributes became stale during `work`.
  func stale(by work: () throws -> Void) rethrows -> Set<NodeID> {
    stale.withLock { $0 = [] }
    try work()
    return stale.withLock { $0 }
  }

  /// How often it was during `work`.
  func count(_ work: () throws -> Void) rethrows -> Int {
    let before = epochs.load(ordering: .sequentiallyConsistent)
    try work()
    return epochs.load(ordering: .sequentiallyConsistent) - before
  }
}

@Suite("What is remembered of views") struct ViewMemoryTests {
  @Test("A change of a name makes what views told of it stale, and other changes make nothing stale")
  func changes() throws {
    let tree = try Tree {
      directory("Library") { file(".localized") }
      directory("Other")
    }
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "j", "k", "l"] { try tree.create("\(name).txt") }
    let kernel = RecordingKernel()
    try tree.volume().attach(kernel.link)
    func told(_ name: String) throws { try tree.lookup(".varve/view/fr/\(name)") }
    typealias Change = (what: String, told: String, change: () throws -> Void)
    let changes: [Change] = [
      ("a file is made whose name is a shown one", "a", { try tree.create("a") }),
      ("a directory", "b", { try tree.makeDirectory("b") }),
      ("a FIFO", "c", { try tree.makeNode("c", .fifo) }),
      ("a link", "d", { try tree.makeSymbolicLink("d", to: "x") }),
      ("a further name", "e", { try tree.link("f.txt", as: "e") }),
      ("what is shown loses its name", "f", { try tree.remove("f.txt") }),
      ("it is replaced", "g", { try tree.rename("a.txt", to: "g.txt") }),
      ("by its real name", "h.txt", { try tree.rename("b.txt", to: "h.txt") }),
      ("it is renamed", "j", { try tree.rename("j.txt", to: "Other/j.txt") }),
      ("it is exchanged", "k", { try tree.rename("l.txt", to: "k.txt", .exchange) }),
      ("a directory is renamed", "Bibliothèque", { try tree.rename("Library", to: "Music") }),
      ("a directory is removed", "Music", { try tree.rename("Music", to: "Other/Music") }),
    ]
    for (what, name, change) in changes {
      try told(name)
      try told("Other")
      #expect(try kernel.count { try tree.create("Other/beside") } == 0, "\(what)")
      #expect(try kernel.count { try tree.remove("Other/beside") } == 0, "\(what)")
      #expect(try kernel.count(change) > 0, "\(what)")
    }
    // All of it is stale by now.
    #expect(try kernel.count { try tree.remove("h.txt") } == 0)
  }

  @Test("Whatever changes a directory makes what views told of it stale, and what changes beside it does not")
  func attributes() throws {
    let tree = try Tree {
      directory("d") {
        file("old.txt")
        directory("in")
      }
      directory("beside")
      directory("other")
    }
    let kernel = RecordingKernel()
    try tree.volume().attach(kernel.link)
    // What shares a stripe becomes stale as well.
    func stripe(_ name: String) throws -> Int? {
      try tree.at(name) { volume, node in volume.nodes.node(node)?.stripe }
    }
    let beside = try stripe("beside") == stripe("d") ? "other" : "beside"
    let early = Timestamp(seconds: 1, nanoseconds: 0)
    typealias Change = (what: String, change: () throws -> Void)
    let changes: [Change] = [
      ("a file is made", { try tree.create("d/a") }),
      ("a directory", { try tree.makeDirectory("d/b") }),
      ("a FIFO", { try tree.makeNode("d/c", .fifo) }),
      ("a link", { try tree.makeSymbolicLink("d/e", to: "x") }),
      ("a further name", { try tree.link("d/a", as: "d/f") }),
      ("a name is taken", { try tree.remove("d/f") }),
      ("a directory is", { try tree.removeDirectory("d/b") }),
      ("something goes elsewhere", { try tree.rename("d/old.txt", to: "beside/old.txt") }),
      ("and comes back", { try tree.rename("beside/old.txt", to: "d/old.txt") }),
      (
        "it is renamed and renamed back",
        {
          try tree.rename("d", to: "e")
          try tree.rename("e", to: "d")
        }
      ),
      ("its mode is changed", { try tree.change("d") { $0.mode = 0o700 } }),
      ("its times", { try tree.change("d") { $0.modification = .set(early) } }),
      ("its flags", { try tree.setAttribute("d", "system.varve.flags", "hidden") }),
      ("its list", { try tree.setAttribute("d", "system.varve.acl", "user:1001 allow list") }),
      ("an attribute", { try tree.setAttribute("d", "user.x", "1") }),
      ("the attribute goes", { try tree.removeAttribute("d", "user.x") }),
    ]
    try tree.at(".varve/view/fr/d") { volume, shown in
      for (what, change) in changes {
        let caller = tree.caller()
        #expect(try volume.attributes(of: shown, handle: nil, for: caller).validity != .none, "\(what)")
        let elsewhere = try kernel.stale { try tree.create("\(beside)/\(what)") }
        #expect(!elsewhere.contains(shown), "\(what)")
        #expect(try kernel.stale(by: change).contains(shown), "\(what)")
        // It was told once, and is not told again.
        let next = try kernel.stale { try tree.change("d") { $0.access = .set(early) } }
        #expect(!next.contains(shown), "\(what)")
      }
      _ = try volume.attributes(of: shown, handle: nil, for: tree.caller())
      var wanted = volume.live.wanted
      wanted.rules.ignoresOwnership = true
      #expect(try kernel.stale { try volume.change(to: wanted) }.contains(shown))
    }
  }

  @Test("What has just been given a name is found by the name it is shown under")
  func justNamed() throws {
    let tree = try Tree { directory("d") { file("0.txt") } }
    var found = 0
    for round in 0..<50 {
      // An index, from before the change.
      _ = try tree.names(".varve/view/fr/d")
      try tree.rename("d/\(round).txt", to: "d/\(round + 1).txt")
      if (try? tree.lookup(".varve/view/fr/d/\(round + 1)")) != nil { found += 1 }
    }
    // On a machine that is busy an index may take too long to be made for one lookup.
    #expect(found > 25)
  }

  @Test("Where nothing of views is remembered, or something is mounted inside, no change makes names stale")
  func nothingRemembered() throws {
    for cache in [CacheUse.none, .shared] {
      let tree = try Tree({ $0.live.cache = cache }) { file("a.txt") }
      let kernel = RecordingKernel()
      try tree.volume().attach(kernel.link)
      if cache != .none { try tree.volume().mountsInside = 1 }
      try tree.lookup(".varve/view/fr/a")
      #expect(try kernel.count { try tree.create("a") } == 0)
    }
  }

  @Test(
    "An answer that arrives late opens no shown name to those who may not list the directory any more",
    arguments: [0, 1])
  func late(mountsInside: Int) throws {
    let tree = try Tree { directory("d") { directory("Library") { file(".localized") } } }
    let kernel = RecordingKernel()
    try tree.volume().attach(kernel.link)
    let library = Array("Bibliothèque".utf8)
    // A thread that is there, and has not been given the answer.
    let walker = Caller(user: 1001, group: 1001, thread: getpid())
    let owner = Caller(user: geteuid(), group: getegid(), thread: 0)
    try tree.at(".varve/view/fr/d") { volume, view in
      var found: [NodeID] = []
      // The kernel has it all the time.
      defer { for node in found { volume.forget(node, references: 1) } }
      func validity(for caller: Caller) throws -> Validity {
        let answer = try FileName.with(library) { name throws(Errno) in
          try volume.lookup(name, in: view, for: caller, request: 1)
        }
        guard case .found(let entry) = answer else { throw Errno.noSuchFile }
        found.append(entry.node)
        return entry.nameValidity
      }
      func expectNone(_ caller: Caller) throws {
        let validity = try validity(for: caller)
        #expect(validity == .none)
      }
      let remembered = try validity(for: walker)
      #expect(remembered != .none)
      // From now on no name is told with a time, but the answer under way has one.
      volume.mountsInside = mountsInside
      #expect(try kernel.count { try tree.change("d") { $0.mode = 0o711 } } > 0)
      // What the kernel has of the name now would be extended by that answer.
      let early = try kernel.count { try expectNone(owner) }
      volume.threadAsks(walker)
      let late = try kernel.count { try expectNone(owner) }
      #expect(early == 1 && late == 0)
      #expect(throws: Errno.noSuchFile) { _ = try validity(for: walker) }
    }
  }

  @Test("No missing name of a view is remembered, and no name where none of its directory may be")
  func notRemembered() throws {
    for cache in [CacheUse.exclusive, .none] {
      let tree = try Tree({ $0.live.cache = cache }) {
        file("a.txt")
        directory("closed", mode: 0o700) { file("b.txt") }
        // Only its owner may list it.
        directory("blind", mode: 0o711) { file("c.txt") }
      }
      try tree.volume().attach(RecordingKernel().link)
      func answer(_ name: String, in path: String) throws -> (isFound: Bool, validity: Validity) {
        try tree.at(path) { volume, directory in
          let answer = try FileName.with(Array(name.utf8)) { name throws(Errno) in
            try volume.lookup(name, in: directory, for: tree.caller())
          }
          switch answer {
          case .missing(let validity): return (false, validity)
          case .found(let entry):
            volume.forget(entry.node, references: 1)
            return (true, entry.nameValidity)
          }
        }
      }
      let view = ".varve/view/fr"
      let isKept = cache != .none
      let owner = tree.user
      let rows: [(String, String, UInt32, Bool, Bool)] = [
        ("none", "", owner, false, isKept), ("none", view, owner, false, false),
        ("a", view, owner, true, isKept),
        ("a.txt", view, owner, true, isKept), ("closed", view, owner, true, isKept),
        ("b.txt", view + "/closed", owner, true, false), ("b", view + "/closed", owner, true, false),
        ("none", view + "/closed", owner, false, false), ("c", view + "/blind", owner, true, false),
        ("c.txt", view + "/blind", 1003, true, isKept), ("c", view + "/blind", 1003, false, false),
        ("none", view + "/blind", 1003, false, false), (".varve", view, owner, false, false),
        ("FR", ".varve/view", owner, false, false),
      ]
      for (name, path, user, isFound, isRemembered) in rows {
        tree.user = user
        let found = try answer(name, in: path)
        #expect(found.isFound == isFound, "\(name) in \(path) for \(user)")
        #expect(
          (found.validity != .none) == isRemembered,
          "\(name) in \(path) for \(user), \(cache): \(found.validity)")
      }
    }
  }

  @Test("A shown name is remembered until a second after the directory was read for it") func age() throws {
    let tree = try Tree {
      file("a.txt")
      file("plain")
    }
    try tree.volume().attach(RecordingKernel().link)
    try tree.at(".varve/view/fr") { volume, view in
      func validity(_ name: String) throws -> Validity {
        let answer = try FileName.with(Array(name.utf8)) { name throws(Errno) in
          try volume.lookup(name, in: view, for: Caller(user: 1001, group: 1001, thread: getpid()))
        }
        guard case .found(let entry) = answer else { throw Errno.noSuchFile }
        volume.forget(entry.node, references: 1)
        return entry.nameValidity
      }
      guard case .nanoseconds(let left) = try validity("a") else { throw Errno.invalid }
      #expect(left < 1_000_000_000)
      // Its real name leads to an item whatever else there is.
      let real = [try validity("plain"), try validity("a.txt")]
      #expect(real == [.seconds(1), .seconds(1)])
    }
  }
}
