// The latest refusals, told to the asker: users hear of their own, root of all.
//
// A path is where the object is now, and the caller may have come to it another way, long ago. So of a path callers are
// told what they could find out by listing; the names they gave themselves they may hear again.

package import AccessControl
import Decisions
package import JSONForm
import LinuxFiles

extension Volume {
  /// The latest `count` refusals, the last one first, as a JSON array.
  ///
  /// Fewer when they fill `bytes` bytes, or `deadline` comes, of the monotonic clock in nanoseconds: finding out which
  /// names may be told takes a while on deep ways.
  package func denials(latest count: Int, for asker: Subject, bytes: Int, deadline: UInt64) -> JSON {
    let names = NameBook.forOneRequest()
    let judge = Judge(rules: gate.rules, subject: asker)
    var objects: [JSON] = []
    var left = bytes
    let hearsAll = asker.readsAllRules
    for denial in denials.latest(count, of: hearsAll ? nil : asker.user) {
      guard Clock.monotonicNanoseconds < deadline else { break }
      var denial = denial
      if !hearsAll {
        denial.rename { tellable($0, to: judge) }
      }
      var members: [JSON.Member] = []
      members.add(denial, names: names, hidingRules: !hearsAll)
      let object = JSON.object(members)
      left -= object.compactText.utf8.count + 1
      guard left >= 0 else { break }
      objects.append(object)
    }
    return .array(objects)
  }

  /// A path with a question mark for every name that `judge` could not find out by walking and listing.
  private func tellable(_ path: [UInt8], to judge: Judge) -> [UInt8] {
    let unknown = [UInt8(ascii: "?")]
    // Names that everybody knows.
    if path.split(separator: UInt8(ascii: "/")).first?.elementsEqual(OwnDirectory.bytes) ?? false {
      return path
    }
    // Nobody can walk to names without knowing what is above; one who made a directory of the mark's name
    // would learn them.
    if DeepPath.isShortened(path) { return DeepPath.mark.path(to: unknown) }
    var told: [UInt8] = []
    var here: Spot? = rootSpot()
    for name in path.split(separator: UInt8(ascii: "/")) {
      guard let spot = here, let item = try? facts(at: spot).item,
        judge.decide(.search, on: item).isAllowed
      else {
        return told.path(to: unknown)
      }
      told = told.path(to: judge.decide(.list, on: item).isAllowed ? Array(name) : unknown)
      here = try? step(to: Array(name), in: spot)
    }
    return told
  }
}

extension Denial {
  /// Puts other words for the places.
  fileprivate mutating func rename(_ tellable: ([UInt8]) -> [UInt8]) {
    var request = request
    request.nodePath = tellable(request.nodePath)
    request.newNodePath = request.newNodePath.map(tellable)
    self.request = request
  }
}
