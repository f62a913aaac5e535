// Where a worker hears of requests: for a moment with open ears, then asleep.

import CFUSE
import Glibc
import LinuxFiles
import Synchronization

/// The right to listen without sleeping, of which a session has one.
///
/// A program that works asks again soon after it has its answer, and to wake a sleeping worker on another processor takes
/// longer than most requests. So one worker at a time stays awake for a moment after an answer, while a single program
/// asks. Several keep the workers awake by themselves, and want the processors.
final class Vigil: Sendable {
  /// How long it lasts. Most of what it can save is had after a third of this.
  static let nanoseconds: UInt64 = 30_000
  /// A request that came this soon after an answer would have been heard, waking up included.
  static let nearlyHeard: UInt64 = 60_000

  /// So many requests of one program in a row mean that no other asks.
  static let streak = 16

  private let isKept = Atomic(false)
  private let isWanted: Bool
  /// Whose request was answered last, by any worker.
  private let lastCaller = Atomic<Int32>(0)

  /// On a single processor whoever listens keeps everybody else from asking.
  init(processors: Int = CurrentProcess.usableProcessors) {
    isWanted = processors > 1
  }

  /// Takes the right; false when another has it.
  func begin() -> Bool {
    isWanted && !isKept.load(ordering: .relaxed) && !isKept.exchange(true, ordering: .acquiring)
  }

  func end() {
    isKept.store(false, ordering: .releasing)
  }

  /// Notes who asked; says whether he is the one who asked last.
  func isSameCaller(_ thread: Int32) -> Bool {
    if lastCaller.load(ordering: .relaxed) == thread { return true }
    lastCaller.store(thread, ordering: .relaxed)
    return false
  }
}

/// The ends of the connection that one worker listens at.
struct Ear: ~Copyable {
  /// Sleeps until there is a request.
  private let patient: Device
  /// Answers at once; without it there are no vigils.
  private let eager: SharedDescriptor?
  private let vigil: Vigil
  /// Whether the last request came so soon that a vigil would have heard it.
  private var cameSoon = false
  /// How many of the last requests were of one program.
  private var streak = 0
  private var lastAnswer: UInt64 = 0

  /// Listens at `patient`, which is borrowed, and at `eager`, an end of its own, unless that is nil.
  init(_ patient: Device, eager: SharedDescriptor?, _ vigil: Vigil) {
    self.patient = patient
    self.eager = eager
    self.vigil = vigil
  }

  /// Waits for the next request; says which end it came from, where the reply has to go.
  mutating func receive(into buffer: inout RequestBuffer) -> (received: Device.Received, from: Device) {
    if cameSoon, streak >= Vigil.streak, let eager, vigil.begin() {
      defer { vigil.end() }
      let device = Device(number: eager.descriptor.rawValue, sleeps: false)
      let end = Clock.monotonicNanoseconds &+ Vigil.nanoseconds
      repeat {
        let received = device.receive(into: &buffer)
        if received != .nothing { return (received, device) }
      } while Clock.monotonicNanoseconds < end
    }
    let received = patient.receive(into: &buffer)
    if eager != nil { cameSoon = Clock.monotonicNanoseconds &- lastAnswer < Vigil.nearlyHeard }
    return (received, patient)
  }

  /// A request of that thread is dealt with; 0 is the kernel itself.
  mutating func hasAnswered(_ caller: Int32) {
    guard eager != nil else { return }
    lastAnswer = Clock.monotonicNanoseconds
    if caller != 0 { streak = vigil.isSameCaller(caller) ? streak + 1 : 0 }
  }
}
