// What varved was started with: `varved [--ready-fd N] [--namespace PATH] [-o OPTIONS] SOURCE DIR`.

import TextForms

/// A mistake in the arguments, in words for whoever mounts.
struct ArgumentFailure: Error {
  let message: String

  init(_ message: String) {
    self.message = message
  }
}

/// The command line, taken apart.
struct DaemonArguments {
  var source = ""
  var mountPoint = ""
  var options: [MountOption] = []
  /// Where to say that the mount is ready; nobody waits when it is absent.
  var readyDescriptor: Int32?
  /// The mount namespace of source and mount point; the daemon's own when it is absent.
  var namespace: String?
  var wantsHelp = false
  var wantsVersion = false

  static let usage = "usage: varved [--ready-fd N] [--namespace PATH] [-o OPTIONS] SOURCE DIR\n"

  init(_ words: [String]) throws(ArgumentFailure) {
    var operands: [String] = []
    var rest = words[...]
    var onlyOperands = false
    while let word = rest.popFirst() {
      switch word {
      case _ where onlyOperands: operands.append(word)
      case "--": onlyOperands = true
      case "-h", "--help": wantsHelp = true
      case "-V", "--version": wantsVersion = true
      case "-f", "--foreground": options.append(MountOption(Array("foreground".utf8)))
      case "-o":
        guard let text = rest.popFirst() else { throw ArgumentFailure("'-o' needs a list of options") }
        options += MountOption.list(Array(text.utf8))
      case "--ready-fd":
        guard let text = rest.popFirst(), let number = Int32(text), number > 2 else {
          throw ArgumentFailure("'--ready-fd' needs the number of a descriptor")
        }
        readyDescriptor = number
      case "--namespace":
        guard let path = rest.popFirst() else { throw ArgumentFailure("'--namespace' needs a path") }
        namespace = path
      case _ where word.hasPrefix("-o"): options += MountOption.list(Array(word.dropFirst(2).utf8))
      case _ where word.hasPrefix("-") && word.count > 1: throw ArgumentFailure("unknown option '\(word)'")
      default: operands.append(word)
      }
    }
    guard !wantsHelp, !wantsVersion else { return }
    guard operands.count == 2 else {
      throw ArgumentFailure("a source directory and a mount point are needed")
    }
    source = operands[0]
    mountPoint = operands[1]
  }
}
