// What a mount that only reads believes of encrypted files.

import Decisions
import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Encrypted files of a mount that only reads") struct ReadOnlyContentTests {
  private func context(of volume: Volume) -> SealedContext {
    SealedContext(volume.sealed, inode: 1, .complete, isMarked: true)
  }

  @Test("Who has kept the lock for writing knows that nobody else writes, and who has none does not")
  func lock() throws {
    let tree = try Tree {}
    let volume = try tree.volume()
    let own = context(of: volume)
    #expect(!own.mayBeWrittenElsewhere)
    var settings = volume.live.wanted
    settings.rules.isReadOnly = true
    try volume.change(to: settings)
    #expect(!own.mayBeWrittenElsewhere)
    var options = VolumeOptions()
    options.live = settings
    let other = try Volume(UpperRoot(Array(tree.path.utf8)), options: options)
    #expect(context(of: other).mayBeWrittenElsewhere && context(of: other).isWrittenElsewhere)
  }
}
