// Where a worker hears of requests: for a moment with open ears, then asleep.

import LinuxFiles

/// The ends of the connection that one worker listens at.
struct Ear: ~Copyable {
  /// Sleeps until there is a request.
  private let patient: Device
  /// Answers at once; without it there are no vigils.
  private let eager: Device?
  private let vigil: Vigil

  /// Listens at `patient`, which is borrowed, and at `eager`, an end of its own, unless that is nil.
  init(_ patient: Device, eager: SharedDescriptor?, _ vigil: Vigil) {
    self.patient = patient
    self.eager = eager.map { Device($0, sleeps: false) }
    self.vigil = vigil
  }

  /// Waits for the next request; says which end it came from, where the reply has to go.
  func receive(into buffer: inout RequestBuffer) -> (received: Device.Received, from: Device) {
    if let device = eager, vigil.begin() {
      let received = device.receive(into: &buffer, until: Clock.monotonicNanoseconds &+ Vigil.nanoseconds)
      vigil.end(heard: received != .nothing)
      if received != .nothing { return (received, device) }
    }
    let received = patient.receive(into: &buffer)
    vigil.came()
    return (received, patient)
  }
}
