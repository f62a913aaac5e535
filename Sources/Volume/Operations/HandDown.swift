// Handing a directory's list down to files in it, many at once, for `varve acl propagate`.
//
// The names come as an attribute that is set, because the kernel looks then whether the mount may be written to. What has
// become of them is kept for whoever asked, and is read as the same attribute.

import AccessControl
import Decisions
import LinuxFiles
import Synchronization

/// What the last questions came to.
final class HandedDownAnswers: Sendable {
  private struct Answer {
    let user: UInt32
    let directory: NodeID
    let name: [UInt8]
    let outcomes: [UInt8]
  }

  /// Whoever asks reads the answer at once, and several may ask at a time; nobody drives out the answers of others.
  private static let mostOfOne = 16
  private static let most = 1_024
  private let answers: Mutex<[Answer]> = Mutex([])

  fileprivate func keep(_ outcomes: [HandedDown], of directory: NodeID, _ name: [UInt8], for user: UInt32) {
    let answer = Answer(
      user: user, directory: directory, name: name, outcomes: outcomes.map(\.rawValue))
    answers.withLock { answers in
      let isFull = answers.count { $0.user == user } == HandedDownAnswers.mostOfOne
      if isFull, let oldest = answers.firstIndex(where: { $0.user == user }) {
        answers.remove(at: oldest)
      } else if answers.count == HandedDownAnswers.most {
        answers.removeFirst()
      }
      answers.append(answer)
    }
  }

  fileprivate func find(of directory: NodeID, _ name: [UInt8], for user: UInt32) -> [UInt8]? {
    answers.withLock { answers in
      answers.last { $0.user == user && $0.directory == directory && $0.name == name }?.outcomes
    }
  }
}

extension Volume {
  /// Answers a question whose names are `value`, an attribute of their directory.
  func handDown(
    _ value: Span<UInt8>, as name: borrowing AttributeName, in directory: Node, for caller: Caller
  ) throws(Errno) {
    guard let names = HandingDown.names(in: value) else { throw .invalid }
    handedDown.keep(
      try handDown(names, in: directory, for: caller), of: directory.id, name.copy(), for: caller.user)
  }

  /// What the caller's own question came to.
  func outcomes(
    _ name: borrowing AttributeName, in directory: Node, for caller: Caller
  ) throws(Errno) -> [UInt8] {
    guard let outcomes = handedDown.find(of: directory.id, name.copy(), for: caller.user) else {
      throw .noData
    }
    return outcomes
  }

  /// Renews what the files of these names inherit from the directory they are in.
  ///
  /// Each is decided, locked and changed as if it were alone; only the way here is shared. What is no plain file, and
  /// what fails, is left to a question of its own, which can say why.
  private func handDown(
    _ names: [[UInt8]], in parent: Node, for caller: Caller
  ) throws(Errno) -> [HandedDown] {
    guard options.rules.usesLists else { throw .unsupported }
    let directory = try resolver.directory(parent)
    var outcomes: [HandedDown] = []
    outcomes.reserveCapacity(names.count)
    for name in names {
      do throws(Errno) {
        outcomes.append(try handDown(name, in: parent, directory, for: caller))
      } catch {
        outcomes.append(.aside)
      }
    }
    return outcomes
  }

  private func handDown(
    _ bytes: [UInt8], in parent: Node, _ directory: LayerDirectory, for caller: Caller
  ) throws(Errno) -> HandedDown {
    try FileName.with(bytes) { name throws(Errno) in
      guard !isReserved(name, in: parent) else { return .aside }
      let descriptor = try directory.hold(name)
      let identity = ObjectIdentity(try descriptor.descriptor.status())
      guard identity.kind == .regular else { return .aside }
      let locks = LockRequests(.shared(parent.stripe), .exclusive(Node.stripe(of: identity)))
      return try self.locks.holding(locks) { () throws(Errno) in
        let above = try directoryFacts(parent)
        try gate.require(caller, about: Scene(above.item)) { $0.search(above.item) }
        guard above.item.record == .sound else { return .aside }
        // It may have gone elsewhere before the locks were taken, and inherits from there.
        guard try directory.find(name).map(ObjectIdentity.init) == identity else { return .aside }
        let node = nodes.node(of: identity)
        let status = try descriptor.descriptor.status()
        let facts = try self.facts(status, of: descriptor, knownBy: node)
        // Whoever may not look at it learns nothing here either.
        try gate.require(caller, about: Scene(facts.item)) { $0.readAttributes(facts.item) }
        guard facts.item.record == .sound else { return .aside }
        let outcome: Propagation
        do throws(TooManyEntries) {
          outcome = try AccessList.propagated(
            to: facts.item.list, from: above.item.list, forDirectory: false)
        } catch {
          return .aside
        }
        switch outcome {
        case .unchanged: return .unchanged
        case .blocked: return .blocked
        case .store(let list):
          var after = facts.item
          after.list = list
          // A lookup under way may be about to hand out attributes for everybody. The kernel can be told better only
          // of what it holds already, as it does when it asks about the file itself.
          guard !facts.item.isVisibleToAnyone || after.isVisibleToAnyone else {
            return .aside
          }
          try replaceList(
            of: HeldObject(descriptor: descriptor, facts: facts), node,
            at: Walk.joined(place(of: parent), bytes), with: list, for: caller)
          return .changed
        }
      }
    }
  }
}
