import CLinux

// Extended attributes of what a descriptor refers to, and of the names in a directory.
//
// Each call exists twice: for the object of the descriptor, ordinary or `O_PATH`, and `of:` a name,
// whose symbolic link is not followed.

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
  /// Reads a value and answers its length; nil when there is no such attribute.
  ///
  /// ERANGE when the buffer is too small, but an empty buffer asks for the length alone.
  @unsafe package borrowing func attribute(
    _ attribute: borrowing AttributeName, into buffer: UnsafeMutableRawBufferPointer
  ) throws(Errno) -> Int? {
    do throws(Errno) { return try unsafe place.get(attribute.pointer, buffer) } catch .noData { return nil }
  }

  @unsafe package borrowing func attribute(
    _ attribute: borrowing AttributeName, of name: borrowing FileName,
    into buffer: UnsafeMutableRawBufferPointer
  ) throws(Errno) -> Int? {
    do throws(Errno) {
      return try unsafe place(of: name).get(attribute.pointer, buffer)
    } catch .noData {
      return nil
    }
  }

  /// Reads a value and answers its length; nil when there is no such attribute.
  ///
  /// ERANGE when the span is too small, but an empty span asks for the length alone.
  package borrowing func attribute(
    _ attribute: borrowing AttributeName, into span: inout MutableSpan<UInt8>
  ) throws(Errno) -> Int? {
    try unsafe span.withUnsafeMutableBytes { buffer throws(Errno) in
      try unsafe self.attribute(attribute, into: buffer)
    }
  }

  package borrowing func attribute(
    _ attribute: borrowing AttributeName, of name: borrowing FileName,
    into span: inout MutableSpan<UInt8>
  ) throws(Errno) -> Int? {
    try unsafe span.withUnsafeMutableBytes { buffer throws(Errno) in
      try unsafe self.attribute(attribute, of: name, into: buffer)
    }
  }

  /// A value of any length in an array of its own; nil when there is no such attribute.
  package borrowing func attribute(_ attribute: borrowing AttributeName) throws(Errno) -> [UInt8]? {
    do throws(Errno) {
      return try growing { buffer throws(Errno) in try unsafe place.get(attribute.pointer, buffer) }
    } catch .noData {
      return nil
    }
  }

  package borrowing func attribute(
    _ attribute: borrowing AttributeName, of name: borrowing FileName
  ) throws(Errno) -> [UInt8]? {
    do throws(Errno) {
      return try growing { buffer throws(Errno) in
        try unsafe place(of: name).get(attribute.pointer, buffer)
      }
    } catch .noData {
      return nil
    }
  }

  package borrowing func setAttribute(
    _ attribute: borrowing AttributeName, to value: Span<UInt8>, _ change: AttributeSetting = .createOrReplace
  ) throws(Errno) {
    try unsafe value.withUnsafeBytes { value throws(Errno) in
      try unsafe place.set(attribute.pointer, value, change.flags)
    }
  }

  package borrowing func setAttribute(
    _ attribute: borrowing AttributeName, of name: borrowing FileName, to value: Span<UInt8>,
    _ change: AttributeSetting = .createOrReplace
  ) throws(Errno) {
    try unsafe value.withUnsafeBytes { value throws(Errno) in
      try unsafe place(of: name).set(attribute.pointer, value, change.flags)
    }
  }

  package borrowing func setAttribute(
    _ attribute: borrowing AttributeName, to value: [UInt8], _ change: AttributeSetting = .createOrReplace
  ) throws(Errno) {
    try setAttribute(attribute, to: value.span, change)
  }

  package borrowing func setAttribute(
    _ attribute: borrowing AttributeName, of name: borrowing FileName, to value: [UInt8],
    _ change: AttributeSetting = .createOrReplace
  ) throws(Errno) {
    try setAttribute(attribute, of: name, to: value.span, change)
  }

  /// Removes an attribute; ENODATA when it is not there.
  package borrowing func removeAttribute(_ attribute: borrowing AttributeName) throws(Errno) {
    try unsafe place.remove(attribute.pointer)
  }

  package borrowing func removeAttribute(
    _ attribute: borrowing AttributeName, of name: borrowing FileName
  ) throws(Errno) {
    try unsafe place(of: name).remove(attribute.pointer)
  }

  /// The names of all attributes this thread may see.
  package borrowing func attributeNames() throws(Errno) -> AttributeNames {
    AttributeNames(bytes: try growing { buffer throws(Errno) in try unsafe place.list(buffer) })
  }

  package borrowing func attributeNames(of name: borrowing FileName) throws(Errno) -> AttributeNames {
    AttributeNames(
      bytes: try growing { buffer throws(Errno) in try unsafe place(of: name).list(buffer) })
  }

  private var place: AttributePlace { unsafe AttributePlace(descriptor: rawValue, isPath: isPath, name: nil) }

  private borrowing func place(of name: borrowing FileName) -> AttributePlace {
    unsafe AttributePlace(descriptor: rawValue, isPath: isPath, name: name.pointer)
  }
}
