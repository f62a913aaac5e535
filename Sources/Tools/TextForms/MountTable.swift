// The lines of /proc/self/mountinfo.

/// One mounted file system.
package struct MountedVolume: Equatable, Sendable {
  /// The number of this mount, and that of the mount it is on.
  package let number: Int
  package let parent: Int
  /// The number of its device, `0:98`.
  package let device: String
  /// What of the file system is shown: `/` for all of it, or the directory or file that was bound here.
  package let root: [UInt8]
  package let mountPoint: [UInt8]
  /// `fuse.varve` for ours.
  package let type: String
  package let source: [UInt8]
  /// As the kernel shows them: `rw,nosuid,nodev,relatime`.
  package let options: String
  /// Those of the file system as a whole: `rw,user_id=0,group_id=0,allow_other`.
  package let systemOptions: String

  /// The type under which our mounts are shown.
  package static let ownType = "fuse.varve"

  package var isOurs: Bool { type == MountedVolume.ownType }

  /// The user who mounted it.
  package var owner: UInt32? { number("user_id=") }

  /// The group in which this user mounted it.
  package var group: UInt32? { number("group_id=") }

  private func number(_ name: String) -> UInt32? {
    systemOptions.split(separator: ",").lazy.compactMap { word in
      word.hasPrefix(name) ? UInt32(word.dropFirst(name.count)) : nil
    }.first
  }

  /// Whether the kernel lets this user in nowhere: without `allow_other` it lets in only the user who mounted, not even root.
  package func isClosed(to user: UInt32) -> Bool {
    guard isOurs, let owner else { return false }
    return owner != user && !says("allow_other", systemOptions)
  }

  /// Whether the kernel lets nobody write here: to this one mount, or to the file system wherever it is mounted.
  package var isReadOnly: Bool { says("ro", options) || says("ro", systemOptions) }

  /// Whether the kernel runs no program of this mount.
  package var forbidsPrograms: Bool { says("noexec", options) }

  private func says(_ word: String, _ options: String) -> Bool {
    options.split(separator: ",").contains { $0 == word }
  }

  /// Reads one line; nil if it is not a line of that file.
  ///
  ///     36 35 0:98 / /mnt/team rw,nosuid shared:1 - fuse.varve /srv/varve/team rw,user_id=0
  package init?(line: some Collection<UInt8>) {
    let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    // Any number of optional fields stands before the dash.
    guard words.count > 6, let dash = words[6...].firstIndex(where: { $0.elementsEqual("-".utf8) }),
      dash + 2 < words.count, let number = Int(String(decoding: words[0], as: UTF8.self)),
      let parent = Int(String(decoding: words[1], as: UTF8.self))
    else { return nil }
    (self.number, self.parent) = (number, parent)
    device = String(decoding: words[2], as: UTF8.self)
    root = MountedVolume.unescaped(words[3])
    mountPoint = MountedVolume.unescaped(words[4])
    options = String(decoding: words[5], as: UTF8.self)
    type = String(decoding: MountedVolume.unescaped(words[dash + 1]), as: UTF8.self)
    source = MountedVolume.unescaped(words[dash + 2])
    systemOptions = dash + 3 < words.count ? String(decoding: words[dash + 3], as: UTF8.self) : ""
  }

  /// What serves a path that no line of the table is about: below a chroot(2) the root is no mount point.
  package static let unlisted = MountedVolume()

  private init() {
    (number, parent) = (0, 0)
    (device, type, options, systemOptions) = ("", "", "", "")
    (root, mountPoint, source) = ([UInt8(ascii: "/")], [UInt8(ascii: "/")], [])
  }

  /// What is mounted on something inside this mount's file system, whichever of its mounts that shows.
  ///
  /// What covers the whole of one is not inside it: no name of the file system leads there.
  package func mountsInside(in table: [MountedVolume]) -> [MountedVolume] {
    let own = table.filter { $0.device == device && $0.type == type }
    return table.filter { other in
      own.contains { $0.number == other.parent && $0.mountPoint != other.mountPoint }
    }
  }

  /// Those of them that only root can have mounted.
  ///
  /// What users mount by fusermount3(1) is not worth protecting from users: they could slow everybody down by it.
  package func mountsOfRootInside(in table: [MountedVolume]) -> [MountedVolume] {
    mountsInside(in: table).filter { ($0.owner ?? 0) == 0 }
  }

  /// Every mount of the table, in the order of mounting.
  package static func table(_ text: [UInt8]) -> [MountedVolume] {
    text.split(separator: UInt8(ascii: "\n")).compactMap { MountedVolume(line: $0) }
  }

  /// The mount that serves `path`, which is absolute and free of links: the longest mount point above it.
  ///
  /// Of mounts on the same point the last is on top.
  package static func serving(_ path: [UInt8], in table: [MountedVolume]) -> MountedVolume? {
    var best: MountedVolume?
    for mount in table where mount.contains(path) {
      if let best, best.mountPoint.count > mount.mountPoint.count { continue }
      best = mount
    }
    return best
  }

  /// A mount that shows all of the file system this one is of, and is not covered itself, if it can be.
  ///
  /// A part of a volume that is bound elsewhere still has one daemon, which is asked where its root is.
  package func whole(in table: [MountedVolume]) -> MountedVolume? {
    if showsAll { return self }
    let all = table.filter { $0.device == device && $0.type == type && $0.showsAll }
    return all.first { MountedVolume.serving($0.mountPoint, in: table) == $0 } ?? all.first
  }

  private static let views = Array("/.varve/view/".utf8)

  /// The name of the view, if it is a view of a volume that is shown here, or a part of one.
  package var view: [UInt8]? {
    guard isOurs, root.starts(with: MountedVolume.views) else { return nil }
    return Array(root.dropFirst(MountedVolume.views.count))
  }

  /// The views of the same volume that are mounted, the last one first.
  package func views(in table: [MountedVolume]) -> [MountedVolume] {
    table.reversed().filter { $0.device == device && $0.view != nil }
  }

  package var showsAll: Bool { root == [UInt8(ascii: "/")] }

  /// Whether a path is the mount point or below it.
  package func contains(_ path: [UInt8]) -> Bool {
    guard mountPoint != [UInt8(ascii: "/")] else { return true }
    guard path.starts(with: mountPoint) else { return false }
    return path.count == mountPoint.count || path[mountPoint.count] == UInt8(ascii: "/")
  }

  /// The kernel writes blank, tab, newline and backslash as `\040` and so on.
  private static func unescaped(_ word: some Collection<UInt8>) -> [UInt8] {
    PathText.bytes(word) ?? Array(word)
  }
}
