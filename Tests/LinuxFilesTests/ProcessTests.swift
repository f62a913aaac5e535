import CMountSupport
import Glibc
import LinuxFiles
import Synchronization
import Testing

extension LinuxFilesTests {
  @Suite("Threads, clocks and limits") struct ProcessTests {
    @Test("a plain thread has a number of its own and is joined")
    func threads() throws {
      let identifier = Mutex<Int32>(0)
      let shared = Shared(identifier)
      let thread = try PlainThread(name: "a name that is far too long for Linux") {
        shared.value.withLock { $0 = PlainThread.currentIdentifier }
      }
      thread.join()
      let seen = shared.value.withLock { $0 }
      #expect(seen > 0 && seen != PlainThread.currentIdentifier)
    }

    @Test("a thread may be dropped and still runs")
    func droppedThreads() throws {
      let shared = Shared(Mutex<Int32>(0))
      do { _ = try PlainThread { shared.value.withLock { $0 = 1 } } }
      let deadline = Clock.monotonicNanoseconds + 10_000_000_000
      while shared.value.withLock({ $0 }) == 0, Clock.monotonicNanoseconds < deadline { sched_yield() }
      #expect(shared.value.withLock { $0 } == 1)
    }

    @Test("the processors that may be used are counted, not those of the machine")
    func usableProcessors() throws {
      let all = CurrentProcess.usableProcessors
      #expect((1...CurrentProcess.processors).contains(all))
      // A thread of its own, which may be bound to one without a consequence for the others.
      let bound = Shared(Mutex<Int32>(0))
      let thread = try PlainThread {
        let isBound = (CInt(0)..<1024).contains { lt_run_on_processor(0, $0) >= 0 }
        bound.value.withLock { $0 = isBound ? Int32(CurrentProcess.usableProcessors) : -1 }
      }
      thread.join()
      #expect(bound.value.withLock { $0 } == 1)
      #expect(CurrentProcess.usableProcessors == all)
    }

    @Test("a bell rung early is heard, and one that is not rung is not waited for for ever")
    func bells() throws {
      let bell = Bell()
      bell.ring()
      bell.wait()
      #expect(!bell.wait(milliseconds: 5))
      let thread = try PlainThread { bell.ring() }
      #expect(bell.wait(milliseconds: 10_000))
      thread.join()
      let rung = Bell(rings: 2)
      rung.wait()
      rung.wait()
      #expect(!rung.wait(milliseconds: 5))
    }

    @Test("clocks move forward and know the century")
    func clocks() {
      let (first, second) = (Clock.monotonicNanoseconds, Clock.monotonicNanoseconds)
      #expect(second >= first && first > 0)
      #expect(Clock.realtime > Timestamp(seconds: 1_600_000_000, nanoseconds: 0))
    }

    @Test("the soft limit of open files rises to the hard one")
    func limits() throws {
      let first = try ResourceLimits.raiseOpenFiles()
      let second = try ResourceLimits.raiseOpenFiles()
      #expect(first >= 256 && second == first)
    }

    @Test("the memory in use is told in bytes")
    func memory() throws {
      let resident = try #require(ResourceLimits.residentBytes())
      #expect(resident > 1 << 20 && resident < 1 << 36)
    }

    @Test("the creation mask is left out of new modes")
    func creationMask() throws {
      let world = try TemporaryDirectory()
      let first = try FileName("first")
      let second = try FileName("second")
      let former = ResourceLimits.setCreationMask(0o077)
      let masked = try world.descriptor.createFile(first, mode: 0o666).status().mode
      let mask = ResourceLimits.setCreationMask(0)
      let open = try world.descriptor.createFile(second, mode: 0o666).status().mode
      ResourceLimits.setCreationMask(former)
      #expect(masked == 0o600 && mask == 0o077 && open == 0o666)
    }
  }
}

/// A mutex that several closures can hold on to.
private final class Shared: Sendable {
  let value: Mutex<Int32>
  init(_ value: consuming Mutex<Int32>) { self.value = value }
}
