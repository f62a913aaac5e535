// `system.varve.layer`: from which layers an item is shown. It says what `Resolver.parts` found, and is never listed.

import Decisions
import FlagRules
import LayerRules
import LinuxFiles

extension Volume {
  /// Without lowers everything is in the upper.
  func layers(of node: Node, for caller: Caller) throws(Errno) -> [UInt8] {
    try locks.holding(.shared(node.stripe)) { () throws(Errno) in
      let facts = try facts(of: node)
      try gate.require(caller, .readAttributes, on: facts.item)
      return try layerOrigin(of: node, facts).text
    }
  }

  private func layerOrigin(of node: Node, _ facts: Facts) throws(Errno) -> LayerOrigin {
    guard let stack = resolver.stack else { return LayerOrigin(.upper) }
    let alone: LayerOrigin.Source =
      node.layer > 0 ? .lower(Int(node.layer)) : hasOrigin(facts) ? .copied : .upper
    guard node.isDirectory else { return LayerOrigin(alone) }
    let parts = try resolver.parts(node)
    var origin = LayerOrigin(parts.isMerged ? .merged(parts.all.map { Int($0.layer) }) : alone)
    guard node !== root else {
      origin.isOpaque = facts.item.flags.contains(.opaque)
      return origin
    }
    switch try stack.isClosedByMark(parts.top.descriptor, in: parts.top.layer) {
    case .says(let isClosed): origin.isOpaque = isClosed || facts.item.flags.contains(.opaque)
    case .unusable: throw .inputOutput
    }
    switch try stack.redirect(of: parts.top.descriptor) {
    case .says(let redirect): origin.redirect = redirect?.stored
    case .unusable: throw .inputOutput
    }
    return origin
  }
}
