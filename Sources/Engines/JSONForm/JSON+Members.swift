// Objects that are put together member by member.

extension [JSON.Member] {
  package mutating func add(_ name: String, _ value: JSON) { append(JSON.Member(name, value)) }
  package mutating func add(_ name: String, _ value: String) { add(name, .string(value)) }
  package mutating func add(_ name: String, _ value: Bool) { add(name, .bool(value)) }
  package mutating func add(_ name: String, _ value: Int) { add(name, .number(value)) }

  /// A name of a file: as text and, if that is not faithful, its bytes in hexadecimal beside it.
  package mutating func add(_ name: String, bytes: [UInt8]) { self += JSON.nameMembers(name, bytes) }

  /// Several such, as a list; if one is not faithful, a second list has the bytes of all.
  package mutating func add(_ name: String, list: [[UInt8]]) { self += JSON.nameListMembers(name, list) }
}
