// How one worker receives requests: it polls for a moment if that pays, then it sleeps.

import LinuxFiles

/// The ends of the connection that one worker reads.
struct RequestSource: ~Copyable {
  /// Blocks until there is a request.
  private let blocking: Device
  /// For polling; nil: this worker never polls.
  private let nonBlocking: Device?
  private let polling: BusyPolling

  /// Borrows `blocking`, and keeps `nonBlocking` open: a clone that only this worker reads.
  init(_ blocking: Device, nonBlocking: SharedDescriptor?, _ polling: BusyPolling) {
    self.blocking = blocking
    self.nonBlocking = nonBlocking.map { Device($0, blocks: false) }
    self.polling = polling
  }

  /// Waits for the next request; `from` is the end that takes the reply.
  func receive(into buffer: inout RequestBuffer) -> (received: Device.Received, from: Device) {
    if let device = nonBlocking, polling.begin() {
      let received = device.receive(
        into: &buffer, until: Clock.monotonicNanoseconds &+ BusyPolling.nanoseconds)
      polling.end(caught: received != .nothing)
      if received != .nothing { return (received, device) }
    }
    let received = blocking.receive(into: &buffer)
    polling.wokeWorker()
    return (received, blocking)
  }
}
