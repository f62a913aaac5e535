// What is asked of both models.

enum ToyOperation: Hashable {
  case create(String)
  case makeDirectory(String)
  /// A file made by O_TMPFILE gets a name.
  case publish(String)
  case unlink(String)
  case removeDirectory(String)
  case link(String, to: String)
  case rename(String, to: String, ToyStyle)
  /// Changes the content of a file: it comes up.
  case write(String)
  /// O_TRUNC: what comes up has no data to copy.
  case cut(String)
}

extension ToyOperation {
  /// What the kernel refuses before it asks anybody.
  func isRefusedByKernel(in view: TreeView) -> Bool {
    switch self {
    case .rename(let path, let newPath, _):
      newPath.hasPrefix(path + "/") || path.hasPrefix(newPath + "/")
    case .link(let path, _), .write(let path), .cut(let path):
      view[path].map(\.isDirectory) ?? true
    default: false
    }
  }

  /// The name that is taken away.
  var freed: String? {
    switch self {
    case .unlink(let path), .removeDirectory(let path), .rename(let path, to: _, .replace),
      .rename(let path, to: _, .noReplace):
      path
    default: nil
    }
  }
}
