// Files that no name of the upper directory leads to: copies whose other names are in lowers, kept by `.varve/index`.

import LinuxFiles

extension ItemWalk {
  /// Visits what the index of a volume keeps, each entry by itself.
  ///
  /// Of one with several names the tree has the others, unless they are in lowers.
  func goThroughIndex(of upper: [UInt8], _ visit: (VisitedItem) -> Void) {
    let index = joined(upper, Array(".varve/index".utf8))
    let held: SharedDescriptor
    do throws(Errno) {
      held = try hold(index)
    } catch {
      if error != .noSuchFile { console.complain(index, error) }
      return
    }
    go(index, at: held, leaf: nil) { entry in
      guard entry.depth > 0 else { return .into }
      // Not as an item of a directory: what is beside it tells nothing of it.
      let location = ItemLocation(root: entry.path, above: [], name: [])
      visit(VisitedItem(location: location, status: entry.status, held: entry.held, depth: 0))
      return .past
    }
  }
}
