// When workers are added to those that are stuck.

import CFUSE
import Glibc
import LinuxFiles
import Synchronization
import Testing

@testable import FUSEDoor

@Suite("Pools of workers") struct WorkerPoolTests {
  @Test("A pool is short of workers when the stuck ones leave too few, and not before") func shortage() throws
  {
    let activities: Mutex<[WorkerActivity]> = Mutex([])
    let supervisor = WorkerSupervisor()
    var pool = WorkerPool(spare: 1) { (activity) throws(Errno) in
      activities.withLock { $0.append(activity) }
      return JoinableThread(try PlainThread {})
    }
    for _ in 0..<2 { try pool.add(supervisor).join() }
    let workers = activities.withLock { $0 }
    #expect(pool.canGoUnchecked && pool.checkForShortage() == 0)
    workers[0].begin()
    #expect(pool.canGoUnchecked)
    #expect(pool.checkForShortage() == 0 && pool.checkForShortage() == 0, "one is idle")
    workers[1].begin()
    #expect(!pool.canGoUnchecked)
    #expect(pool.checkForShortage() == 0, "one has just begun")
    #expect(pool.checkForShortage() == 2)
    // The next request in place of the first one: this worker is not stuck.
    workers[0].end()
    workers[0].begin()
    #expect(pool.checkForShortage() == 0)
    #expect(pool.checkForShortage() == 2)
    try pool.add(supervisor).join()
    #expect(pool.canGoUnchecked && pool.checkForShortage() == 0)
  }

  @Test("A pool grows to its limit and not beyond") func limit() throws {
    let activities: Mutex<[WorkerActivity]> = Mutex([])
    let supervisor = WorkerSupervisor()
    var pool = WorkerPool(spare: 2) { (activity) throws(Errno) in
      activities.withLock { $0.append(activity) }
      return JoinableThread(try PlainThread {})
    }
    for _ in 0..<20 { try pool.add(supervisor).join() }
    for activity in activities.withLock({ $0 }) { activity.begin() }
    #expect(pool.addIfShort(supervisor).isEmpty, "they have just begun")
    // As many as are stuck would make 40.
    let added = pool.addIfShort(supervisor)
    for thread in added { thread.join() }
    #expect(added.count == 12)
    for activity in activities.withLock({ $0.dropFirst(20) }) { activity.begin() }
    #expect(pool.addIfShort(supervisor).isEmpty && pool.addIfShort(supervisor).isEmpty)
    #expect(pool.checkForShortage() == 32)
  }

  @Test("A request that waits for a lease leaves its worker to others, and everybody ends") func lease()
    throws
  {
    let scratch = try Scratch()
    let volume = try scratch.volume()
    let loop = RequestLoop(door: Door(volume), maxWrite: 1 << 17)
    let connection = try Connection()
    let workers = try Workers.start(
      1, running: loop, session: connection.theirs.rawValue, clonesDevice: false)
    let kernel = Kernel(volume)
    let made = try kernel.get(
      .create, 1,
      bytes(of: fuse_create_in(flags: UInt32(O_RDWR), mode: 0o644, umask: 0, open_flags: 0))
        + text("file"))
    let file = try made.read(fuse_entry_out.self).nodeid
    let handle = try made.read(fuse_open_out.self, at: MemoryLayout<fuse_entry_out>.size).fh
    var release = fuse_release_in()
    release.fh = handle
    _ = try kernel.get(.release, file, bytes(of: release))
    signal(SIGIO, SIG_IGN)
    let lease = Glibc.open(scratch.path + "/file", O_RDWR)
    try #require(lease >= 0 && fcntl(lease, 1024, CInt(F_WRLCK)) == 0)
    try connection.send(requestBytes(Opcode.open.rawValue, unique: 20, node: file, bytes(of: fuse_open_in())))
    try connection.send(requestBytes(Opcode.getattr.rawValue, unique: 22, bytes(of: fuse_getattr_in())))
    #expect(Array(connection.receive()[8..<16]) == bytes(of: UInt64(22)))
    close(lease)
    #expect(Array(connection.receive()[8..<16]) == bytes(of: UInt64(20)))
    _ = shutdown(connection.ours.rawValue, CInt(SHUT_RDWR))
    workers.join()
  }
}
