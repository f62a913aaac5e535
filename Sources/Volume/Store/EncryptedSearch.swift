// Whether the layers of a volume hold encrypted files: asked before it gets its first keybag, because with a keybag of its
// own it refuses the one that opens those files.

import LinuxFiles
import SealedFormat

/// A search that ends after three seconds.
enum EncryptedSearch {
  private static let patience: UInt64 = 3_000_000_000

  /// The path of an encrypted file of any volume, below one of the `roots`; nil if none was found.
  ///
  /// Directories nearer to the root come first. What cannot be read is passed over. Of a lower also files are found
  /// that a layer above hides.
  static func file(below roots: [SharedDescriptor]) -> [UInt8]? {
    var search = State(
      end: Clock.monotonicNanoseconds + patience, directories: roots.map { Place(root: $0, path: []) })
    while search.next < search.directories.count, search.goesOn {
      let place = search.directories[search.next]
      search.next += 1
      if let found = try? look(in: place, &search) { return found }
    }
    if !search.goesOn {
      Log.notice(
        "encrypted files of a lost keybag were looked for among \(search.items) items in three seconds, and not in the "
          + "rest; a first keybag is made")
    }
    return nil
  }

  private struct Place {
    let root: SharedDescriptor
    /// Below the root; the empty one is the root's own.
    let path: [UInt8]
  }

  private struct State {
    let end: UInt64
    var directories: [Place]
    var next = 0
    var items = 0

    var goesOn: Bool { Clock.monotonicNanoseconds < end }
  }

  private static func look(in place: Place, _ search: inout State) throws(Errno) -> [UInt8]? {
    let directory = try open(place)
    let path = place.path
    var page = EntryBuffer()
    while search.goesOn, try directory.readEntries(into: &page) > 0 {
      while let entry = try page.next() {
        guard entry.role == .child else { continue }
        search.items += 1
        let name = try page.nameBytes(of: entry)
        guard !path.isEmpty || name != OwnDirectory.bytes else { continue }
        let below = path.isEmpty ? name : path + [UInt8(ascii: "/")] + name
        let isFile = try page.withName(of: entry) { (name) throws(Errno) in
          guard entry.kind == nil || entry.kind == .regular else { return false }
          return isEncrypted(name, in: directory)
        }
        if isFile { return below }
        // Where the file system does not say, opening it does.
        if entry.kind == .directory || entry.kind == nil {
          search.directories.append(Place(root: place.root, path: below))
        }
      }
    }
    return nil
  }

  private static func open(_ place: Place) throws(Errno) -> Descriptor {
    let flags: OpenFlags = [.readOnly, .directory]
    guard !place.path.isEmpty else { return try place.root.descriptor.reopen(flags) }
    return try place.root.descriptor.openDirectoryPath(beneath: place.path.span).reopen(flags)
  }

  private static func isEncrypted(_ name: borrowing FileName, in directory: borrowing Descriptor) -> Bool {
    // A backing file is whole pages, always.
    guard let status = try? directory.status(of: name), status.kind == .regular, status.size > 0,
      status.size % 4096 == 0,
      let start = try? directory.open(name, [.readOnly, .nonBlocking]).read(upTo: SealedHead.length)
    else { return false }
    return SealedHead(start.span, of: nil) != nil
  }
}
