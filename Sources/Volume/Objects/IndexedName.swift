// By which entry of an index an object of several names is reached.

import LayerRules
import Synchronization

/// An entry of the index of a layer that is a name of the object itself.
///
/// Names that are still in a lower lead to the object by it, so a node that was last seen under such a name is reached by
/// the entry.
final class IndexedName: Sendable {
  let layer: UInt8
  let name: IndexName

  init(_ name: IndexName, in layer: UInt8) {
    self.name = name
    self.layer = layer
  }
}
