import LinuxFiles
import Synchronization

// Asking many questions at once: most of the time of a question to a file system is waiting.

/// Answers of `body` to each input, in the order of the inputs; few inputs are worked on right here.
package func parallelMap<Input: Sendable, Output: Sendable>(
  _ inputs: [Input], _ body: @escaping @Sendable (Input) -> Output
) -> [Output] {
  let groupSize = 16
  guard inputs.count > 2 * groupSize else { return inputs.map(body) }
  let answers = Guarded<[Int: [Output]]>([:])
  do throws(Errno) {
    let queue = try WorkQueue<Range<Int>>(threads: 2 * CurrentProcess.processors) { range in
      let group = inputs[range].map(body)
      answers.mutex.withLock { $0[range.lowerBound] = group }
    }
    for start in stride(from: 0, to: inputs.count, by: groupSize) {
      queue.add(start..<min(start + groupSize, inputs.count))
    }
    queue.finish()
    return answers.mutex.withLock { groups in groups.keys.sorted().flatMap { groups[$0] ?? [] } }
  } catch {
    // No threads are to be had.
    return inputs.map(body)
  }
}
