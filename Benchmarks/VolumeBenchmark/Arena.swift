// One contender in one place: its directory, its mount, and what it starts from.

import BenchmarkReport
import Foundation

/// The directory of a contender and the mount on top of it.
final class Arena {
  let contender: Contender
  let place: Request.Place
  private let root: String
  private let builds: String
  private(set) var isMounted = false
  private var hasLists = false

  /// Where the files are kept.
  var source: String { "\(root)/source" }
  /// Where the clients work.
  var top: String { contender.kind == .native ? source : "\(root)/mount" }
  /// Who the clients are.
  var user: Int { contender.servesUser ? Arena.ordinaryUser : 0 }

  private static let ordinaryUser = 65534
  /// What every item carries, and every new item inherits.
  private static let entry = "group:staff allow list,search,readattr,file_inherit,directory_inherit"

  init(
    _ contender: Contender, on place: Request.Place, below folder: String, number: Int, builds: String
  ) throws {
    self.contender = contender
    self.place = place
    root = "\(folder)/\(number)-\(contender.kind.rawValue)"
    self.builds = builds
    for name in ["source", "mount", "work", "empty"] {
      try FileManager.default.createDirectory(atPath: "\(root)/\(name)", withIntermediateDirectories: true)
    }
  }

  /// Whether its programs are there; the sentence if not.
  var whatIsMissing: String? {
    switch contender.kind {
    case .native: nil
    case .varve: Programs.find(varve) == nil ? "\(varve) is missing: `make build`" : nil
    case .example where contender.servesUser: "passthrough_hp serves nobody but root"
    case .example:
      Programs.find(example) == nil ? "\(example) is missing: Benchmarks/passthrough_hp.sh makes it" : nil
    default:
      Programs.find(contender.kind.rawValue) == nil ? "\(contender.kind.rawValue) is not installed" : nil
    }
  }

  private var varve: String { "\(contender.build ?? builds)/varve" }
  private var example: String { "\(builds)/passthrough_hp" }

  /// The words that mount it: each peer with the settings that serve it best here; see docs/performance.md.
  var mountCommand: [String] {
    let extra = contender.options.map { ",\($0)" } ?? ""
    switch contender.kind {
    case .native: return []
    case .varve:
      let options = contender.options.map { ["-o", $0] } ?? []
      return [varve, "mount"] + options + [source, top]
    case .bindfs:
      return [
        "bindfs", "--multithreaded", "-o", "attr_timeout=1,entry_timeout=1,big_writes,auto_cache\(extra)",
        source, top,
      ]
    case .mergerfs:
      return [
        "mergerfs", "-o",
        "allow_other,use_ino,cache.files=auto-full,cache.readdir=true,cache.symlinks=true,category.create=ff,"
          + "security_capability=false,minfreespace=0\(extra)", source, top,
      ]
    case .overlay:
      return [
        "fuse-overlayfs", "-o",
        "lowerdir=\(root)/empty,upperdir=\(source),workdir=\(root)/work,allow_other,static_nlink\(extra)",
        top,
      ]
    case .gocryptfs:
      return ["gocryptfs", "-q", "-allow_other", "-passfile", word] + switches("-") + [source, top]
    case .securefs:
      return ["securefs", "mount", "-b", "--keyfile", word] + switches("--") + [source, top]
    case .example: return [example] + switches("--") + [source, top]
    }
  }

  /// The options of those that have no mount options, only switches.
  private func switches(_ mark: String) -> [String] {
    (contender.options ?? "").split(separator: ",").map { "\(mark)\($0)" }
  }

  /// The keyfile of Varve, or the password of others.
  private var word: String { "\(root)/word" }

  /// What makes a directory one that can be encrypted.
  private func prepareEncryption() throws {
    switch contender.kind {
    case .gocryptfs:
      try "benchmark\n".write(toFile: word, atomically: false, encoding: .utf8)
      try Programs.run(["gocryptfs", "-init", "-q", "-scryptn", "10", "-passfile", word, source])
    case .securefs:
      try "benchmark\n".write(toFile: word, atomically: false, encoding: .utf8)
      try Programs.run(["securefs", "create", "--rounds", "1", "--keyfile", word, source])
    case .varve: try Programs.run([varve, "key", "create", word])
    default: break
    }
  }

  private func unlock(isNew: Bool) throws {
    guard contender.kind == .varve else { return }
    if isNew { try Programs.run([varve, "key", "slot", "add", top, word]) }
    try Programs.run([varve, "unlock", top, word])
    if isNew { try Programs.run([varve, "protect", "complete", top]) }
  }

  /// The command without the paths, for the document.
  var describedCommand: String {
    mountCommand.filter { $0 != source && $0 != top && $0 != word }
      .map { $0.replacingOccurrences(of: root, with: "DIR") }
      .map { $0 == varve ? "varve" : $0 == example ? "passthrough_hp" : $0 }
      .joined(separator: " ")
  }

  func mount() throws {
    guard contender.kind != .native else { return }
    isMounted = true
    let isNew = contender.encrypts && !FileManager.default.fileExists(atPath: word)
    if isNew { try prepareEncryption() }
    try Programs.run(mountCommand)
    for _ in 0..<500 where !Mounts.isMounted(top) { usleep(10_000) }
    guard Mounts.isMounted(top) else { throw Failure("\(contender.name) does not mount") }
    if contender.encrypts { try unlock(isNew: isNew) }
    if contender.hasLists, !hasLists {
      try Programs.run([varve, "chmod", "-R", "+a", Arena.entry, top])
      hasLists = true
    }
  }

  /// Unmounts; never fails, because others have to be cleaned up as well.
  func unmount() {
    guard isMounted else { return }
    Mounts.remove(top)
    isMounted = false
  }

  /// Makes a new directory for one scene, through the mount, as its clients' own.
  func makeRoom(_ name: String) throws -> String {
    let path = "\(top)/\(name)"
    try? FileManager.default.removeItem(atPath: path)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    if user != 0 { try Programs.run(["chown", "\(user):\(user)", path]) }
    return path
  }
}

/// The mounts of this machine.
enum Mounts {
  static func isMounted(_ path: String) -> Bool {
    all.contains(path)
  }

  /// Every mount point; a path with blanks does not occur among ours.
  private static var all: [String] {
    let table = (try? String(contentsOfFile: "/proc/self/mounts", encoding: .utf8)) ?? ""
    return table.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      return words.count > 1 ? String(words[1]) : nil
    }
  }

  /// Takes a mount away, lazily if it is still in use.
  static func remove(_ path: String) {
    for _ in 0..<20 where isMounted(path) {
      if (try? Programs.run(["umount", path], evenWhenInterrupted: true)) != nil { continue }
      usleep(100_000)
    }
    if isMounted(path) { _ = try? Programs.run(["umount", "-l", path], evenWhenInterrupted: true) }
  }

  /// Removes what runs before this one left behind: mounts and directories of processes that are gone.
  static func removeLeftovers(in folder: String) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    for name in names where name.hasPrefix(prefix) {
      let owner = name.dropFirst(prefix.count)
      guard let owner = Int32(owner), kill(owner, 0) != 0 else { continue }
      removeAll(below: "\(folder)/\(name)")
    }
  }

  static let prefix = "varve-benchmark-"

  /// Takes all mounts below a directory away, and then the directory.
  static func removeAll(below folder: String) {
    for path in all where path.hasPrefix(folder + "/") { remove(path) }
    // A mount that could not be taken away must not be emptied.
    guard !all.contains(where: { $0.hasPrefix(folder + "/") }) else {
      say("still mounted below \(folder)")
      return
    }
    try? FileManager.default.removeItem(atPath: folder)
  }
}
