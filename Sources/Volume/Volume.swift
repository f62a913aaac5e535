// The facade: one method per operation, in the folder `Operations`. Doors call nothing else.
//
// A request asks, in this order: where is it (`Layers`), what is true of it (`Facts`, `Records`), may it happen (`Gate`), what
// are its bytes (`Content`, `Handles`).
//
// For the door, and for tests, which call the same methods without a mount (`OperationTests`).

import AccessControl
import LayerRules
package import LinuxFiles
import Synchronization

/// A mounted volume.
package final class Volume: Sendable {
  package static let rootNode: NodeID = 1

  /// As they were given; those that can change are asked of `options`.
  package let mounted: VolumeOptions
  let live: LiveOptions
  /// Held while the options are changed: one change at a time.
  let changing = Mutex(())
  let root: Node
  let nodes = NodeTable()
  let views = ViewTable()
  let toldNames = ToldViewNames()
  let toldAttributes = ToldViewAttributes()
  let viewRules: ViewRulesTable
  let indexes = ShownIndexes()
  let handles: HandleTable
  let locks: StripedLocks
  let guesses = StripeGuesses()
  let resolver: Resolver
  let unlinked: UnlinkedObjects
  let answersUnderWay = AnswersUnderWay()
  let backings: BackingCache
  let store: MetadataStore
  /// What the volume file is to say of the layers; nil without lowers.
  let layers: AnnouncedLayers?
  let upper: UpperRoot
  package let lowers: [LowerRoot]
  /// How the layers differ from those of the last mount for writing.
  let layerHistory: LayerHistory
  let copyUps = CopiesUnderWay()
  let whiteouts = WhiteoutSource()
  let replacements: ReplacementSite
  let gate: Gatekeeper
  let denials = Denials()
  let listingPages = ListingPages()
  let names = NameService()
  /// Where refusals and changes of policy are written down, if anywhere.
  let audit: AuditLog?
  let directory: VolumeDirectory
  package let keyring: Keyring
  let sealed: SealedKeeper
  let closedClasses = ClosedClasses()
  /// Frames of compressed files.
  let compressed = FrameCache()
  let pageDrops = PageDrops()
  /// Set once by the door, before the first request that could need it.
  private let connection: Mutex<KernelLink?> = Mutex(nil)
  private let control: Mutex<(@Sendable () -> [UInt8]?)?> = Mutex(nil)
  private let wordsInForce: Mutex<[[UInt8]]>
  private let innerMounts = Atomic(0)
  /// Whether new objects can be made in other people's names.
  let isPrivileged: Bool
  /// Whether the upper directory is on a file system whose rights and times this kernel decides about.
  let isLocal: Bool
  /// Whether no other machine and no program has a hand in that file system: the kernel is handed its files, and keeps the
  /// lock for writing.
  let isOfThisMachine: Bool
  /// How high this volume stands in a stack of file systems, when the kernel is handed its backing files.
  ///
  /// 0: it cannot be. No higher than needed: overlayfs accepts no layer that stands on two others.
  package let stackDepth: UInt32
  /// What the file system of the upper directory can do; tried once there is a workshop.
  let features: StoreFeatures
  let startedAt = Clock.realtime

  /// Opens the volume of an upper directory.
  ///
  /// `lowers`: what it shows below that, the topmost first.
  package init(
    _ upper: UpperRoot, lowers: [LowerRoot] = [], options: VolumeOptions,
    groupNesting: [UInt32: [UInt32]] = [:], audit: AuditLog? = nil
  ) throws {
    mounted = options
    self.upper = upper
    self.lowers = lowers
    viewRules = ViewRulesTable(options.names)
    wordsInForce = Mutex(options.words)
    live = LiveOptions(options.live)
    self.audit = audit
    isPrivileged = CurrentProcess.isRoot
    let (rootDescriptor, fileSystem) = (upper.directory, upper.fileSystem)
    let identification = try StoreFeatures.identification(
      of: rootDescriptor, fileSystem, switchedOff: options.disabledFeatures)
    let status = try rootDescriptor.descriptor.status()
    isOfThisMachine = upper.isOfThisMachine && !options.disabledFeatures.contains("local")
    isLocal = fileSystem.isLocal && isOfThisMachine
    if !isOfThisMachine { live.requireLease() }
    // What the kernel is handed it writes to without asking, also when the lock is lost; and beyond this machine it
    // fails with errors that are nobody's.
    stackDepth = isPrivileged && isOfThisMachine ? (fileSystem.isStacked ? 2 : 1) : 0
    locks = try StripedLocks { [toldAttributes] stripe in toldAttributes.expire(stripe: stripe) }
    // What is left over is for requests at work.
    let budget = Int(try ResourceLimits.raiseOpenFiles())
    if !lowers.isEmpty { try upper.refuseLayers(options) }
    // Next to nothing fails once there is bookkeeping.
    directory = try VolumeDirectory.open(
      root: rootDescriptor, readOnly: options.live.isReadOnly,
      lease: isOfThisMachine ? nil : options.leaseTimes,
      space: RecordSpace(switchedOff: options.disabledFeatures))
    let directory = directory
    try directory.beginLease(live)
    try directory.checkLayers(
      areSaid: options.saysLowers || !lowers.isEmpty, readOnly: options.live.isReadOnly)
    // What they say would be overlooked; another mount may have made them since.
    if !lowers.isEmpty { try VolumeDirectory.refuseLayers(directory.namespace) }
    layerHistory = LayerHistory(directory.storedLayers, root: InodeMark(status), lowers)
    let numbering =
      lowers.isEmpty ? nil : try LayerNumbering(upper, over: lowers, known: directory.fileSystems)
    layers = numbering?.announced
    let heads = SealedHeads()
    keyring = Keyring(of: directory, over: lowers.map(\.directory), heads: heads)
    sealed = SealedKeeper(keyring, live)
    do throws(KeyFailure) { try keyring.lookForKeybag() } catch {
      throw VolumeFailure(error.sentence)
    }
    features = StoreFeatures(
      switchedOff: options.disabledFeatures, identification: identification, namespace: directory.namespace)
    if let workshop = directory.workshop { features.probe(workshop) }
    store = MetadataStore(
      namespace: directory.namespace,
      // Read-only there is no lock: another mount may be about to write the first record.
      records: RecordsExist(directory.recordsExist || !directory.isLocked) {
        try directory.announceRecords()
      },
      memory: RecordMemory(live, trustsChangeTimes: isLocal && directory.movesChangeTimes),
      heads: heads, numbers: numbering?.numbers.first)
    let top = Layer(
      root: LayerDirectory(rootDescriptor), store: store, tag: nil, index: LinkIndex(of: directory))
    let stack = try numbering.map { [live] numbering throws in
      try LayerStack(upper: top, over: lowers, numbering, live, heads)
    }
    let settings = live
    replacements = ReplacementSite(
      of: directory, store: store, writesAsOwner: isPrivileged && isLocal, lacksLock: { settings.lacksLock }
    ) { !settings.current.isReadOnly }
    gate = Gatekeeper(
      live: live, keyring: keyring,
      credentials: CredentialReader(live: live, nesting: GroupNesting(members: groupNesting)),
      denials: denials)
    root = Node(
      id: Volume.rootNode, BackingSlot(ObjectIdentity(status)),
      number: numbering?.numbers.first?.number(ofInode: status.inode) ?? ItemNumber(status), parent: nil,
      name: [])
    handles = HandleTable(limit: budget * 11 / 20, owner: CurrentProcess.user)
    let (inUse, pinned) = (min(4096, budget / 4), min(1024, budget / 8))
    let unsettled = UnsettledNames(capacity: min(256, budget / 20))
    let others = budget * 11 / 20 + inUse + pinned + unsettled.capacity
    let resting = min(4096, max(0, budget - others) * 3 / 5)
    resolver = Resolver(
      root: root, top: LayerDirectory(rootDescriptor), stack: stack,
      directories: DirectoryCache(capacity: inUse), nodes: nodes, unsettled: unsettled)
    unlinked = UnlinkedObjects(capacity: pinned)
    backings = BackingCache(capacity: resting)
    // Before anybody can see a file whose content a crash left half replaced.
    do {
      do throws(Errno) { try replacements.recover(beneath: rootDescriptor) } catch {
        throw VolumeFailure("what a crash left of a change of class cannot be settled: \(error)")
      }
      try beginLayers()
    } catch {
      directory.takeBack()
      throw error
    }
    rootDescriptor.descriptor.makeRoom(for: min(inUse + resting, budget - 1))
  }

  /// Whether a directory is on a mounted volume of ours: nothing else answers at our doors.
  package static func isOnVolume(_ directory: borrowing Descriptor) -> Bool {
    do throws(Errno) {
      let door = try AttributeName("system.varve.flags")
      return try directory.attribute(door) != nil
    } catch {
      return false
    }
  }

  /// The options in force now; with a lock held, until it is released.
  package var options: LiveSettings { live.current }

  /// What an administrator should know of this mount.
  package var warnings: [String] { mounted.warnings + features.warnings + directory.warnings }

  /// The words of `-o` that are in force, for `status`.
  package var words: [[UInt8]] {
    get { wordsInForce.withLock { $0 } }
    set { wordsInForce.withLock { $0 = newValue } }
  }

  /// How many file systems are mounted inside the volume, as far as that is known.
  ///
  /// While there is one, the kernel is told to remember no further names.
  package var mountsInside: Int {
    get { innerMounts.load(ordering: .acquiring) }
    set { innerMounts.store(newValue, ordering: .releasing) }
  }

  // MARK: The way back to the kernel

  package func attach(_ link: KernelLink) {
    connection.withLock { $0 = link }
    toldAttributes.attach(link)
  }

  var link: KernelLink? { connection.withLock { $0 } }

  /// Lets the root tell, as `system.varve.control`, where this volume's daemon can be asked things; `path` is asked each time.
  package func announceControl(_ path: @escaping @Sendable () -> [UInt8]?) {
    control.withLock { $0 = path }
  }

  /// Lets requests that copy for long ask whether their sender still waits.
  package func asksForInterrupts(_ isInterrupted: @escaping @Sendable (UInt64) -> Bool) {
    copyUps.askForInterrupts(isInterrupted)
  }

  var controlPath: [UInt8]? { control.withLock { $0 }?() }

  /// Leaves the upper directory as it was found; for a mount that does not come about.
  package func takeBack() { directory.takeBack() }

  /// The mount ends: nothing is changed from now on.
  package func giveUpLock() { directory.endLease() }

  /// How the lock for writing is kept, without a question to the store; nil where there is none.
  package var writerLock: String? { directory.lockDescription }

  /// The hidden directory of the volume; nil where a directory is mounted read-only that has none.
  package var bookkeeping: SharedDescriptor? { directory.descriptor }

  // MARK: Finding nodes

  /// The node of a number the kernel sent; of a directory in a view that of the directory itself.
  func node(_ id: NodeID) throws(Errno) -> Node {
    if id == Volume.rootNode { return root }
    // Nothing can be made, linked, renamed or removed in the synthetic directory.
    guard SyntheticNode(rawValue: id) == nil else { throw .reserved }
    guard let node = nodes.node(id) ?? views.directory(id)?.node else { throw .stale }
    return node
  }

  /// The number of nodes the kernel holds, for `status` and tests.
  package var nodeCount: Int { nodes.count }

  /// The number of open files and directories.
  package var handleCount: Int { handles.count }
}
