// The layers of a mount, put together.

import LinuxFiles

extension LayerStack {
  convenience init(
    upper: Layer, over lowers: [LowerRoot], _ numbering: LayerNumbering, _ live: LiveOptions,
    _ heads: SealedHeads
  ) throws(Errno) {
    let namespace = upper.store.namespace
    var layers = [upper]
    for (index, lower) in lowers.enumerated() {
      let store = MetadataStore(
        namespace: namespace, records: RecordsExist(true) { throw Errno.readOnly },
        memory: RecordMemory(live, trustsChangeTimes: lower.fileSystem.isLocal), heads: heads,
        numbers: numbering.numbers[index + 1], isPlain: lower.header == nil,
        logsDamage: upper.store.logsDamage)
      let layer = UInt8(truncatingIfNeeded: index + 1)
      layers.append(
        Layer(
          root: LayerDirectory(lower.directory, layer: layer), store: store, tag: numbering.tags[index + 1],
          index: lower.header == nil ? nil : LinkIndex(of: lower, layer: layer)))
    }
    for layer in layers { try layer.index?.look() }
    self.init(layers, namespace: namespace)
  }
}

extension Volume {
  /// Makes sure that the upper can be written to over lowers, and says so in the volume file before that happens.
  func beginLayers() throws {
    guard let workshop = directory.workshop else { return }
    guard let layers else {
      if directory.isLayered { try directory.announceNoLowers() }
      return
    }
    if let missing = Workshop.obstacleToLayers(in: workshop) {
      throw VolumeFailure.lackingForLayers(missing)
    }
    if CurrentProcess.isRoot { try ThreadIdentity.become(user: 0, group: 0) }
    try directory.announceLayers(layers)
    // Where it was mounted read-only, another mount may have written to it since.
    try resolver.stack?.layer(0)?.index?.look()
  }
}

extension VolumeFailure {
  /// `missing`: what the file system of an upper directory cannot do.
  static func lackingForLayers(_ missing: String) -> VolumeFailure {
    VolumeFailure(
      "the file system of the upper directory lacks what layers need: \(missing)",
      remedy: "take an upper directory on another file system, such as ext4, xfs, btrfs or tmpfs")
  }
}
