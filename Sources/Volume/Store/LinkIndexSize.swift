// How large the index of hard links of a volume is.

import LinuxFiles

enum LinkIndexSize {
  /// The entries of `index/` in the bookkeeping of a volume; nil where there is none.
  static func entries(in bookkeeping: SharedDescriptor) -> Int? {
    // The asker wants to see the volume as it is: what cannot be counted is left out.
    try? LayerDirectory(bookkeeping).descend(try FileName("index")).openListingAside().descriptor.descriptor
      .countOfNames()
  }
}

extension Descriptor {
  /// How many names are in this directory, which was opened for reading.
  fileprivate borrowing func countOfNames() throws(Errno) -> Int {
    var page = EntryBuffer()
    var count = 0
    while try readEntries(into: &page) > 0 {
      while let entry = try page.next() {
        if entry.role == .child { count += 1 }
      }
    }
    return count
  }
}
