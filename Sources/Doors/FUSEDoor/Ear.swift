// Where a worker hears of requests: for a moment with open ears, then asleep.

import LinuxFiles

/// The ends of the connection that one worker listens at.
struct Ear: ~Copyable {
  /// Sleeps until there is a request.
  private let patient: Device
  /// Answers at once; without it there is no polling.
  private let eager: Device?
  private let polling: BusyPolling

  /// Listens at `patient`, which is borrowed, and at `eager`, an end of its own, unless that is nil.
  init(_ patient: Device, eager: SharedDescriptor?, _ polling: BusyPolling) {
    self.patient = patient
    self.eager = eager.map { Device($0, sleeps: false) }
    self.polling = polling
  }

  /// Waits for the next request; says which end it came from, where the reply has to go.
  func receive(into buffer: inout RequestBuffer) -> (received: Device.Received, from: Device) {
    if let device = eager, polling.begin() {
      let received = device.receive(
        into: &buffer, until: Clock.monotonicNanoseconds &+ BusyPolling.nanoseconds)
      polling.end(caught: received != .nothing)
      if received != .nothing { return (received, device) }
    }
    let received = patient.receive(into: &buffer)
    polling.wokeWorker()
    return (received, patient)
  }
}
