// What is wrong with the source of a view, where no volume of it is found: as much as can be known.

import Arguments
import LinuxFiles
import LinuxPrograms
import TextForms

struct ViewSource {
  private let source: Word
  private let table: [MountedVolume]
  /// The mounts of which a view can be shown.
  private let own: [MountedVolume]

  init(_ source: Word, _ table: [MountedVolume], _ own: [MountedVolume]) {
    (self.source, self.table, self.own) = (source, table, own)
  }

  func refusal(_ point: Word) -> Refusal {
    if let words = wordsOfVolume ?? wordsOfViews ?? wordsOfUser {
      return .mounting(point, words, status: 32)
    }
    do throws(Refusal) {
      _ = try MountPlace.source.directory(source, mayBeMade: false)
    } catch {
      return Refusal(error.sentence + near, status: error.status)
    }
    let name = PathText.escaped(source)
    let isNew = (try? Descriptor.item(atPath: source, .followed).isWithoutStore) == true
    let words =
      isNew
      ? "\(name) has no .varve, so it was never mounted for writing\(near); check the path, or mount it first, in "
        + "fstab on an earlier line"
      : "the volume of \(name) is not mounted where you can see it; mount it first, in fstab on an earlier line"
    return .mounting(point, words, status: 32)
  }

  /// The upper directory of a volume that is mounted, and that may have been meant.
  private var near: String {
    let known = own.map { String(decoding: $0.source, as: UTF8.self).lowercased() }
    guard let name = nearest(to: String(decoding: source, as: UTF8.self), among: known),
      let index = known.firstIndex(of: name)
    else { return "" }
    return "; did you mean \(PathText.escaped(own[index].source))?"
  }

  /// The mount point is easily taken for the source, and so is a path in it.
  private var wordsOfVolume: String? {
    guard let typed = try? TypedPath(source, table), typed.mount.isOurs else { return nil }
    let isView = typed.mount.view != nil || typed.rest.starts(with: VolumePath.views)
    let isRoot = typed.rest.isEmpty && typed.isMountPoint && typed.mount.showsAll
    let place =
      isRoot ? "is where the volume is mounted" : isView ? "is in a view of the volume" : "is in the volume"
    return
      "\(PathText.escaped(source)) \(place); name its upper directory, \(PathText.escaped(typed.mount.source))"
  }

  /// Views keep the daemon of a volume, which cannot be mounted beside it.
  private var wordsOfViews: String? {
    let left = table.filter { isSource($0) && $0.view != nil && $0.whole(in: table) == nil }
    return left.isEmpty ? nil : MountState.leftViews(left)
  }

  private var wordsOfUser: String? {
    guard let mount = table.last(where: { isSource($0) && $0.showsAll }), let user = mount.owner else {
      return nil
    }
    return
      "\(PathText.escaped(source)) is mounted by user \(user), on \(PathText.escaped(mount.mountPoint)); views are shown "
      + "of volumes that root has mounted"
  }

  private func isSource(_ mount: MountedVolume) -> Bool {
    guard mount.isOurs else { return false }
    return mount.source == source || mount.source == (try? realPath(source))
  }
}

extension Descriptor {
  /// Whether there is certainly no `.varve` in a directory.
  fileprivate var isWithoutStore: Bool {
    do throws(Errno) {
      _ = try FileName.with(Array(".varve".utf8)) { name throws(Errno) in try status(of: name) }
      return false
    } catch {
      return error == .noSuchFile
    }
  }
}
