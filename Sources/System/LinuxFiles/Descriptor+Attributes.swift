import CLinux

// Extended attributes of what a descriptor refers to, ordinary or `O_PATH`; read also `of:` a name in a directory, whose
// symbolic link is not followed.

/// Whether setting an attribute may create it, replace it, or either.
package enum AttributeSetting: Sendable {
  case createOrReplace
  /// EEXIST if it is there.
  case create
  /// ENODATA if it is not.
  case replace

  /// From the flags of `setxattr`; nil for bits nobody defined.
  package init?(flags: CInt) {
    switch flags {
    case 0: self = .createOrReplace
    case LV_XATTR_CREATE: self = .create
    case LV_XATTR_REPLACE: self = .replace
    default: return nil
    }
  }

  var flags: CInt {
    switch self {
    case .createOrReplace: 0
    case .create: LV_XATTR_CREATE
    case .replace: LV_XATTR_REPLACE
    }
  }
}

extension Descriptor {
  /// A value of any length in an array of its own; nil when there is no such attribute.
  package borrowing func attribute(_ attribute: borrowing AttributeName) throws(Errno) -> [UInt8]? {
    do throws(Errno) {
      return try growing { buffer throws(Errno) in try unsafe target.get(attribute.pointer, buffer) }
    } catch .noData {
      return nil
    }
  }

  package borrowing func attribute(
    _ attribute: borrowing AttributeName, of name: borrowing FileName
  ) throws(Errno) -> [UInt8]? {
    do throws(Errno) {
      return try growing { buffer throws(Errno) in
        try unsafe target.get(attribute.pointer, of: name.pointer, buffer)
      }
    } catch .noData {
      return nil
    }
  }

  /// `givesUp`: asked when a signal came; EINTR then, where the call is repeated otherwise.
  package borrowing func setAttribute(
    _ attribute: borrowing AttributeName, to value: Span<UInt8>,
    _ change: AttributeSetting = .createOrReplace, unless givesUp: () -> Bool = { false }
  ) throws(Errno) {
    try unsafe value.withUnsafeBytes { value throws(Errno) in
      try unsafe target.set(attribute.pointer, value, change.flags, unless: givesUp)
    }
  }

  package borrowing func setAttribute(
    _ attribute: borrowing AttributeName, to value: [UInt8], _ change: AttributeSetting = .createOrReplace
  ) throws(Errno) {
    try setAttribute(attribute, to: value.span, change)
  }

  /// Removes an attribute; ENODATA when it is not there.
  package borrowing func removeAttribute(_ attribute: borrowing AttributeName) throws(Errno) {
    try unsafe target.remove(attribute.pointer)
  }

  /// The names of all attributes this thread may see.
  package borrowing func attributeNames() throws(Errno) -> AttributeNames {
    AttributeNames(bytes: try growing { buffer throws(Errno) in try unsafe target.list(buffer) })
  }

  private var target: AttributeTarget { unsafe AttributeTarget(descriptor: rawValue, isPath: isPath) }
}
