// With which of many items a user may do something: the daemon is asked about as many at once as it answers.

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// A value of `--can`: `bob:write`, `1001:2001,2002:read`.
struct AskedPermission {
  let user: AskedUser
  let operation: String

  init(_ word: Word, _ invocation: Invocation) throws(UsageError) {
    guard let colon = word.lastIndex(of: UInt8(ascii: ":")) else {
      throw invocation.mistake("'\(PathText.escaped(word))' is not USER:OP, as in bob:write")
    }
    operation = String(decoding: word[(colon + 1)...], as: UTF8.self)
    guard Verb.operationWords.contains(operation) else {
      throw invocation.mistake(
        "'\(operation)' is not an operation" + suggestion(for: operation, among: Verb.operationWords)
          + "; 'varve help why' lists them")
    }
    user = try AskedUser(Array(word[..<colon]), invocation)
  }
}

/// Collects items of one tree and prints those with which all may be done that is asked.
final class PermissionAsker {
  /// As many questions as a daemon takes in one request.
  private static let most = 64
  /// A request has room for 65,536 bytes.
  private static let mostBytes = 40_000

  private struct Waiting {
    let item: FoundItem
    let path: VolumePath
  }

  private let permissions: [AskedPermission]
  private let output: FoundItems
  private let console: Console
  private var table: [MountedVolume]?
  private var waiting: [Waiting] = []
  private var bytes = 0
  /// Whether a daemon cannot be asked: trying again for each item would take a minute each time.
  private var isSilent = false

  init(_ permissions: [AskedPermission], _ output: FoundItems, _ console: Console) {
    self.permissions = permissions
    self.output = output
    self.console = console
  }

  func add(_ item: VisitedItem, _ found: FoundItem) throws(Refusal) {
    // What may be done through a link is what may be done with the item it leads to, which is found by itself.
    guard item.status.kind != .symbolicLink, !isSilent else { return }
    let held = try attempt(item.held.descriptor.heldPath()) { Refusal("\($0)") }
    if table == nil { table = try volumeTable() }
    let path = try VolumePath(held: held, table ?? [])
    let size = path.path.count * 2 + 64
    if waiting.count >= PermissionAsker.most || bytes + size > PermissionAsker.mostBytes { ask() }
    waiting.append(Waiting(item: found, path: path))
    bytes += size
  }

  /// Settles what is waiting.
  func ask() {
    let asked = waiting
    (waiting, bytes) = ([], 0)
    guard !asked.isEmpty else { return }
    for item in matching(asked[...]) { output.add(item.item) }
  }

  private func matching(_ asked: ArraySlice<Waiting>) -> [Waiting] {
    var left = asked
    do throws(Refusal) {
      for permission in permissions where !left.isEmpty {
        let questions = left.map { WhyQuestion(operation: permission.operation, path: $0.path) }
        let answers = try askWhy(questions, permission.user)
        left = zip(left, answers).filter { $0.1["outcome"]?.string == "allowed" }.map(\.0)[...]
      }
      return Array(left)
    } catch {
      guard error.status != 32, asked.count > 1 else {
        isSilent = error.status == 32
        if let first = asked.first { console.complain(first.item.path, error.sentence) }
        return []
      }
      // One of them cannot be answered, or all of them take too long.
      let middle = asked.startIndex + asked.count / 2
      return matching(asked[..<middle]) + matching(asked[middle...])
    }
  }
}
