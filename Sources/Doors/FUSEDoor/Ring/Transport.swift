// Which way requests come: over the device, which always works, or over the kernel's ring, which is faster.

import CFUSE
import LayeredVolume
import LinuxFiles

/// What was asked for with `transport`.
package enum TransportWish: String, Hashable, Sendable {
  /// The ring if it is to be had.
  case auto
  case dev
  /// The ring; without it the device, and a word about it.
  case uring
}

/// What there is for a volume before the kernel is asked.
enum Transport: Sendable {
  /// Every queue of the kernel has its seats.
  ///
  /// They are made before INIT is answered: once the ring is agreed to, the kernel makes every caller wait
  /// until all its queues are served.
  case ring([RingSeat])
  /// The device, and why, for whoever wanted something else.
  case device(String?)

  /// Looks whether the ring can be had, now that `device` is mounted and nothing is agreed yet.
  static func prepare(_ wish: TransportWish, threadsPerQueue: Int?, device: CInt) -> Transport {
    // Asking the kernel in vain makes it write a line to its log, at each mount.
    if wish == .dev || (wish == .auto && !isSwitchedOn) { return .device(nil) }
    guard let processors = Processors.ofThisMachine else {
      return .device("the processors of this machine are not known")
    }
    do throws(Errno) {
      if let refusal = try Transport.probe(device) { return .device(refusal) }
      var seats: [RingSeat] = []
      for queue in Transport.queues(processors, threadsPerQueue: threadsPerQueue) {
        seats.append(try RingSeat(queue: queue))
      }
      return .ring(seats)
    } catch {
      return .device("io_uring cannot be used: \(error)")
    }
  }

  /// The seats to work at; nil when the kernel did not agree to the ring.
  func seats(_ agreement: Agreement) -> [RingSeat]? {
    guard case .ring(let seats) = self, agreement.includes(.ring) else { return nil }
    return seats
  }

  /// For `status`: the way that is used, and why, if another was asked for.
  func describe(_ agreement: Agreement, _ wish: TransportWish) -> String {
    if seats(agreement) != nil { return "uring" }
    guard wish == .uring else { return "dev" }
    let reason = if case .device(let reason?) = self { reason } else { "the kernel does not offer it" }
    return "dev: uring was asked for, but \(reason)"
  }

  /// The queue of each seat.
  ///
  /// Two for each processor that runs, so that one request that takes long holds up no other; when they are
  /// tied, `Relief` comes. One for each that may come to run: the ring is not ready before all have one.
  static func queues(_ processors: Processors, threadsPerQueue: Int?) -> [Int] {
    let several = max(1, threadsPerQueue ?? 2)
    // The kernel counts its queues from 0, whatever the numbers of the processors are.
    return processors.possible.indices.flatMap { queue in
      [Int](repeating: queue, count: processors.online.contains(queue) ? several : 1)
    }
  }

  /// Whether the administrator lets the kernel have rings at all.
  private static var isSwitchedOn: Bool {
    do throws(Errno) {
      let file = try Descriptor.open(path: "/sys/module/fuse/parameters/enable_uring", .readOnly)
      return try file.read(upTo: 1) == [UInt8(ascii: "Y")]
    } catch {
      return false
    }
  }

  /// Why commands do not get through to the device; nil when they do.
  ///
  /// A security module may forbid them, which must be known before the kernel relies on them.
  private static func probe(_ device: CInt) throws(Errno) -> String? {
    let ring = try CommandRing()
    try ring.start()
    switch unsafe ring.run(.probe, to: device, queue: 0, buffers: .none) {
    // It would do something, but not before INIT is answered.
    case .failed(.again): return nil
    case .failed(.unsupported): return "the kernel does not offer it (enable_uring of its module fuse is off)"
    case .failed(let error), .broken(let error): return "the kernel refuses it: \(error)"
    case .done: return "the kernel takes commands that do not exist"
    }
  }
}
