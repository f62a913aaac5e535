// `varve layer origin`: the door `system.varve.layer` in words.

import Arguments
import JSONForm
import LayerRules
import LinuxFiles
import LinuxPrograms
import TextForms

func tellOrigins(_ invocation: Invocation) throws(UsageError) -> Int32 {
  let console = Console(invocation)
  let stream = invocation.has(.json) ? JSONStream(nil, console) : nil
  for path in invocation.operands where !Interruption.isRequested {
    do throws(Refusal) {
      let origin = try layerOrigin(of: path)
      if let stream {
        stream.add(origin.members(path))
      } else {
        console.printPath(path, ": \(origin.sentence)")
      }
    } catch {
      console.complain(path, error.sentence)
    }
  }
  stream?.end()
  return console.finish()
}

private func layerOrigin(of path: Word) throws(Refusal) -> LayerOrigin {
  let text: [UInt8]?
  do throws(Errno) {
    text = try Descriptor.item(atPath: path, .held).attribute(AttributeName("system.varve.layer"))
  } catch .unsupported {
    throw Refusal("not on a Varve volume; 'varve status' lists the volumes")
  } catch .inputOutput {
    throw Refusal(
      "a mark of the directory, or its record, is damaged; 'varve check' of the upper directory tells how")
  } catch {
    throw Refusal(error, at: path)
  }
  guard let text, let origin = LayerOrigin(text) else {
    throw Refusal("belongs to the volume itself, and to no layer")
  }
  return origin
}

extension LayerOrigin {
  fileprivate var sentence: String {
    var words =
      switch source {
      case .upper: "in the upper directory"
      case .lower(let layer): "in layer \(layer)"
      case .copied: "in the upper directory, copied from a lower"
      case .merged(let layers): "merged from layers " + layers.map { "\($0)" }.joined(separator: ", ")
      }
    if isOpaque { words += "; nothing of the layers below shows in it" }
    if let redirect {
      let name = PathText.escaped(redirect)
      if case .merged = source {
        words += "; the layers below have it as \(name)"
      } else if !isOpaque {
        words += "; its redirect to \(name) leads nowhere"
      }
    }
    return words
  }

  fileprivate func members(_ path: Word) -> [JSON.Member] {
    var members = JSON.nameMembers("path", path)
    let layers: [Int]
    switch source {
    case .upper, .copied: layers = [0]
    case .lower(let layer): layers = [layer]
    case .merged(let all): layers = all
    }
    members.append(JSON.Member("layers", .array(layers.map { .number($0) })))
    members.append(JSON.Member("copied", .bool(source == .copied)))
    members.append(JSON.Member("opaque", .bool(isOpaque)))
    if let redirect { members += JSON.nameMembers("redirect", redirect) }
    return members
  }
}
