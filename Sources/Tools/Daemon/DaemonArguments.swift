// What varved was started with: `varved [--check] [--ready-fd N] [--key-fd N] [--namespace PATH] [-o OPTIONS]
// SOURCE DIR`.

import Arguments
import TextForms

/// A mistake in the arguments, in words for the user who mounts.
struct ArgumentFailure: Error {
  let message: String
  /// What it is about; the mount point, where nothing is said.
  let path: Word?
  /// As mount(8) counts: what makes no sense is 1, what makes sense but cannot be is 32.
  let status: Int

  init(_ message: String, about path: Word? = nil, status: Int = 1) {
    self.message = message
    self.path = path
    self.status = status
  }
}

/// The command line, taken apart.
struct DaemonArguments {
  var source: Word = []
  var mountPoint: Word = []
  var options: [MountOption] = []
  /// Where to say that the mount is ready; nobody waits when it is absent.
  var readyDescriptor: Int32?
  /// A pipe with the secret that unlocks the volume before it is mounted.
  var keyDescriptor: Int32?
  /// The mount namespace of source and mount point; the daemon's own when it is absent.
  var namespace: Word?
  /// Whether only to look whether it could be mounted.
  var checksOnly = false
  var wantsHelp = false
  var wantsVersion = false

  static let usage =
    "usage: varved [--check] [--ready-fd N] [--key-fd N] [--namespace PATH] [-o OPTIONS] SOURCE DIR\n"

  init(_ words: [Word]) throws(ArgumentFailure) {
    var operands: [Word] = []
    var rest = words[...]
    var onlyOperands = false
    while let word = rest.popFirst() {
      // An option that is not text is none of ours.
      switch String(decoding: word, as: UTF8.self) {
      case _ where onlyOperands: operands.append(word)
      case "--": onlyOperands = true
      case "-h", "--help": wantsHelp = true
      case "-V", "--version": wantsVersion = true
      case "-f", "--foreground": options.append(MountOption(Array("foreground".utf8)))
      case "-o":
        guard let text = rest.popFirst() else { throw ArgumentFailure("'-o' needs a list of options") }
        options += MountOption.list(text)
      case "--ready-fd":
        readyDescriptor = try DaemonArguments.descriptor(rest.popFirst(), "--ready-fd")
      case "--key-fd": keyDescriptor = try DaemonArguments.descriptor(rest.popFirst(), "--key-fd")
      case "--namespace":
        guard let path = rest.popFirst(), !path.isEmpty else {
          throw ArgumentFailure(
            "'--namespace' needs the path of a mount namespace, or the number of a process")
        }
        namespace = path
      case "--check": checksOnly = true
      case let text where text.hasPrefix("-o"): options += MountOption.list(Array(word.dropFirst(2)))
      case let text where text.hasPrefix("-") && text != "-":
        throw ArgumentFailure("unknown option '\(text)'")
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

  private static func descriptor(_ text: Word?, _ option: String) throws(ArgumentFailure) -> Int32 {
    guard let text, let number = Int32(String(decoding: text, as: UTF8.self)), number > 2 else {
      throw ArgumentFailure("'\(option)' needs the number of a descriptor")
    }
    return number
  }
}
