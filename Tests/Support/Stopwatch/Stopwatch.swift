// Time that what else the machine does has as little part in as possible.

import Glibc

/// What this thread has had of a processor so far, in seconds: what others do meanwhile does not count.
package func processorTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The processor time of some work, in seconds.
package func processorTime(of work: () -> Void) -> Double {
  let start = processorTime()
  work()
  return processorTime() - start
}
