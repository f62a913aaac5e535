import LinuxFiles
import Testing

extension LinuxFilesTests {
  @Suite("Owner, mode and times") struct ChangeTests {
    let world: TemporaryDirectory

    init() throws {
      world = try TemporaryDirectory()
      let file = try FileName("file")
      let link = try FileName("link")
      let fifo = try FileName("fifo")
      _ = try world.descriptor.createFile(file, mode: 0o600)
      try world.descriptor.makeSymbolicLink(link, target: bytes("file"))
      try world.descriptor.makeNode(fifo, kind: .fifo, mode: 0o600)
    }

    @Test("the mode changes on open files, held places and names, but not on links", arguments: Way.allCases)
    func modes(_ way: Way) throws {
      let file = try FileName("file")
      let link = try FileName("link")
      let fifo = try FileName("fifo")
      try way.run {
        let opened = try world.descriptor.open(file, .readOnly)
        try opened.changeMode(0o4711)
        let first = try opened.status().mode
        let held = try world.descriptor.openPath(fifo)
        try held.changeMode(0o622)
        let second = try held.status().mode
        try world.descriptor.changeMode(of: file, 0o640)
        let third = try opened.status().mode
        #expect(first == 0o4711 && second == 0o622 && third == 0o640)
        let heldLink = try world.descriptor.openPath(link)
        expectFailure(.unsupported) { () throws(Errno) in try heldLink.changeMode(0o700) }
        expectFailure(.unsupported) { () throws(Errno) in try world.descriptor.changeMode(of: link, 0o700) }
        let untouched = try opened.status().mode
        #expect(untouched == 0o640)
      }
    }

    @Test(
      "the owner changes, in halves and on links too", .enabled(if: Machine.isRoot, "needs root"),
      arguments: Way.allCases)
    func owners(_ way: Way) throws {
      let file = try FileName("file")
      let link = try FileName("link")
      try way.run {
        let opened = try world.descriptor.open(file, .readOnly)
        try opened.changeOwner(user: 1_001, group: nil)
        try world.descriptor.openPath(link).changeOwner(user: nil, group: 1_002)
        let (fileStatus, linkStatus) = try (opened.status(), world.descriptor.status(of: link))
        #expect(fileStatus.user == 1_001 && fileStatus.group == 0)
        #expect(linkStatus.user == 0 && linkStatus.group == 1_002)
        try world.descriptor.changeOwner(of: link, user: 5, group: 6)
        let (again, followed) = try (world.descriptor.status(of: link), opened.status())
        #expect(again.user == 5 && again.group == 6 && followed.user == 1_001)
        try opened.changeOwner(user: 0, group: 0)
        try world.descriptor.changeOwner(of: link, user: 0, group: 0)
      }
    }

    @Test("times are set, left or taken from the clock, on links too", arguments: Way.allCases)
    func times(_ way: Way) throws {
      let file = try FileName("file")
      let link = try FileName("link")
      let past = Timestamp(seconds: 1_000_000_000, nanoseconds: 123_456_789)
      let other = Timestamp(seconds: 900_000_000, nanoseconds: 1)
      try way.run {
        let opened = try world.descriptor.open(file, .readWrite)
        try opened.changeTimes(access: .set(past), modification: .set(other))
        let first = try opened.status()
        #expect(first.access == past && first.modification == other)
        try opened.changeTimes(access: .omit, modification: .now)
        let second = try opened.status()
        #expect(second.access == past && second.modification > past)
        try world.descriptor.openPath(link).changeTimes(access: .omit, modification: .set(past))
        let (linkStatus, fileStatus) = try (world.descriptor.status(of: link), opened.status())
        #expect(linkStatus.modification == past && fileStatus.modification == second.modification)
        try world.descriptor.changeTimes(of: link, access: .omit, modification: .set(other))
        let third = try world.descriptor.status(of: link).modification
        #expect(third == other)
        // The kernel reads these two numbers as "now" and "omit".
        for magic: UInt32 in [0x3FFF_FFFF, 0x3FFF_FFFE, 1_000_000_000] {
          let strange = TimeChange.set(Timestamp(seconds: 0, nanoseconds: magic))
          expectFailure(.invalid) { () throws(Errno) in
            try opened.changeTimes(access: strange, modification: .omit)
          }
        }
      }
    }
  }
}
