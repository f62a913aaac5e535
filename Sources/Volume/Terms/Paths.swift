// Paths from the root of the volume, as bytes without a first slash.

extension [UInt8] {
  /// The path of a name below this one.
  func path(to name: [UInt8]) -> [UInt8] { isEmpty ? name : self + [UInt8(ascii: "/")] + name }
}
