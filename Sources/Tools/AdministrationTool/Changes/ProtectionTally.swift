// What `varve protect` has done, or would do: files and bytes of each kind of change.

import JSONForm
import LinuxFiles
import Synchronization
import TextForms

/// The counts of one run, for any thread.
final class ProtectionTally: FormTally, Sendable {
  enum Deed: Int, CaseIterable {
    case encrypt
    case decrypt
    /// From one class to another; the bytes stay.
    case otherClass
    case directory
    /// Has the class already.
    case standing

    /// For a script, of an item.
    var plan: String { self == .otherClass || self == .directory ? "would change" : "would \(self)" }
    var result: String { self == .otherClass || self == .directory ? "changed" : "\(self)ed" }

    /// For a script, of all of them.
    fileprivate var member: String {
      switch self {
      case .encrypt: "encrypted"
      case .decrypt: "decrypted"
      case .otherClass: "otherClass"
      case .directory: "directories"
      case .standing: "already"
      }
    }
  }

  private struct Count {
    var items = 0
    var bytes: UInt64 = 0
  }

  private let counts: Mutex<[Count]> = Mutex(Array(repeating: Count(), count: Deed.allCases.count))

  func count(_ deed: Deed, _ status: FileStatus) {
    counts.withLock { counts in
      counts[deed.rawValue].items += 1
      if status.kind == .regular { counts[deed.rawValue].bytes &+= status.size }
    }
  }

  func bytes(of deed: Deed) -> UInt64 { counts.withLock { $0[deed.rawValue].bytes } }

  /// `would encrypt 12 files (3.4M), change 2 directories; 4 items have the class already`.
  func summary(isPlan: Bool) -> String {
    let counts = counts.withLock { $0 }
    func words(_ deed: Deed) -> String {
      let count = counts[deed.rawValue]
      let noun = deed == .directory ? (count.items == 1 ? "directory" : "directories") : files(count.items)
      return "\(grouped(count.items)) \(noun)" + (deed == .directory ? "" : " (\(sizeText(count.bytes)))")
    }
    func part(_ deed: Deed, _ plan: String, _ past: String) -> String? {
      guard counts[deed.rawValue].items > 0 else { return nil }
      return isPlan ? "\(plan) \(words(deed))" : "\(words(deed)) \(past)"
    }
    let parts = [
      part(.encrypt, "encrypt", "encrypted"), part(.decrypt, "decrypt", "decrypted"),
      part(.otherClass, "give another class to", "given another class"),
      part(.directory, "change", "changed"),
    ].compactMap { $0 }
    let standing = counts[Deed.standing.rawValue].items
    let rest = standing > 0 ? "\(counted(standing)) \(standing == 1 ? "has" : "have") the class already" : ""
    guard !parts.isEmpty else { return rest }
    return (isPlan ? "would " : "") + parts.joined(separator: ", ") + (rest.isEmpty ? "" : "; \(rest)")
  }

  private func files(_ count: Int) -> String { count == 1 ? "file" : "files" }

  /// For a script.
  func members(isPlan: Bool) -> [JSON.Member] {
    let counts = counts.withLock { $0 }
    let members = Deed.allCases.map { deed in
      let count = counts[deed.rawValue]
      return JSON.Member(
        deed.member,
        .object([JSON.Member("items", .number(count.items)), JSON.Member("bytes", .number(count.bytes))]))
    }
    return [JSON.Member(isPlan ? "plan" : "done", .object(members))]
  }
}
