// `layerdiff` over the control socket: what the upper changes in one directory, with the rights of the asker.

import JSONForm
import LayeredVolume
import LinuxFiles

extension ControlVerbs {
  /// `{"verb": "layerdiff", "path": "a/b"}` answers `"changes"`; if not all names fit, with `"next"`, which is `"from"` in
  /// the request for the others.
  ///
  /// With `"itself": true` the directory, or the file that `path` leads to, is told of in `"itself"`.
  static func layerDiff(_ volume: Volume) -> Verb {
    { request throws(ControlRefusal) in
      guard let path = request.body.nameBytes("path") else { throw ControlRefusal("the request has no path") }
      let question = LayerQuestion(
        path, from: Int64(request.body["from"]?.integer ?? 0),
        tellsItself: request.body["itself"] == .bool(true))
      do throws(Errno) {
        return try volume.layerChanges(
          question, as: asker(request, volume),
          within: WalkLimits(deadline: Clock.monotonicNanoseconds &+ patience))
      } catch .noData {
        throw ControlRefusal("the volume has no lower directories")
      } catch .accessDenied {
        throw ControlRefusal("\(Errno.accessDenied): this needs the rights list and search")
      } catch .notConnected {
        // A store says it of its servers; who hears it would take us for dead.
        throw ControlRefusal("\(Errno.inputOutput)")
      } catch {
        throw ControlRefusal("\(error)")
      }
    }
  }
}
