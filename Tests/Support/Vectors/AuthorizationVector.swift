// The shared decision vectors, as typed values. The engines' tests and the real mounts replay the same file.

package import Foundation

/// One row of `Tests/Fixtures/authorization-vectors.json`.
package struct AuthorizationVector: Decodable, Sendable {
  package let number: Int
  package let scene: Scene
  /// What this file system answers.
  package let expected: Answer
  /// What the kernel of macOS answers, where somebody wants to know the difference.
  package let expectedOfXNU: Answer
  package let why: String

  enum CodingKeys: String, CodingKey {
    case number = "n"
    case scene = "case"
    case expected = "expect"
    case expectedOfXNU = "expect_xnu"
    case why
  }

  /// What a caller gets to see.
  package enum Answer: String, Decodable, Sendable {
    case ok
    case notPermitted = "EPERM"
    case accessDenied = "EACCES"
    case readOnly = "EROFS"
  }

  /// Who does what to which objects.
  package struct Scene: Decodable, Sendable {
    package let operation: Operation
    package let caller: Caller
    package let argument: Argument
    /// The object worked on; `nil` when the operation makes it.
    package let node: Object?
    /// The directory that holds the name; where none is given, any searchable directory will do.
    package let parent: Object?
    /// Where a link or a rename goes.
    package let newParent: Object?
    /// What a rename replaces.
    package let victim: Object?
    package let staysInParent: Bool
    package let volume: Volume

    enum CodingKeys: String, CodingKey {
      case operation = "op"
      case caller = "subject"
      case argument = "arg"
      case node, parent
      case newParent = "target_parent"
      case victim = "target"
      case staysInParent = "same_parent"
      case volume = "fs"
    }

    package init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      operation = try fields.decode(Operation.self, forKey: .operation)
      caller = try fields.decode(Caller.self, forKey: .caller)
      argument = try fields.decode(Argument.self, forKey: .argument)
      node = try fields.decodeIfPresent(Object.self, forKey: .node)
      parent = try fields.decodeIfPresent(Object.self, forKey: .parent)
      newParent = try fields.decodeIfPresent(Object.self, forKey: .newParent)
      victim = try fields.decodeIfPresent(Object.self, forKey: .victim)
      staysInParent = try fields.decodeIfPresent(Bool.self, forKey: .staysInParent) ?? false
      volume = try fields.decodeIfPresent(Volume.self, forKey: .volume) ?? Volume()
    }
  }

  /// The operations that occur in the file.
  package enum Operation: String, Decodable, Sendable {
    case openRead = "open_r"
    case openWrite = "open_w"
    case openReadWrite = "open_rw"
    case openAppend = "open_a"
    case openAppendTruncating = "open_at"
    case openReadTruncating = "open_rt"
    case openDirectory = "opendir"
    case execute = "exec"
    case access
    case stat
    case truncate
    case getExtended = "getxattr"
    case setExtended = "setxattr"
    case touch = "utimes_now"
    case setTimes = "utimes_set"
    case changeMode = "chmod"
    case changeOwner = "chown"
    case changeFlags = "chflags"
    case setList = "setacl"
    case create
    case makeDirectory = "mkdir"
    case unlink
    case removeDirectory = "rmdir"
    case link
    case rename
  }

  /// What stands in the parentheses behind an operation.
  package struct Argument: Decodable, Sendable {
    package let mode: UInt16?
    package let uid: UInt32?
    package let gid: UInt32?
    /// The complete set of flags asked for.
    package let flags: [String]?
    /// The letters of access(2).
    package let mask: String?
  }

  package struct Caller: Decodable, Sendable {
    package let uid: UInt32
    package let gid: UInt32
    package let groups: [UInt32]
  }

  package enum Kind: String, Decodable, Sendable {
    case file
    case directory = "dir"
    case pipe = "fifo"
  }

  /// An object as it stands before the operation.
  package struct Object: Decodable, Sendable {
    package let type: Kind
    package let uid: UInt32
    package let gid: UInt32
    package let mode: UInt16
    package let flags: [String]
    /// `nil` is "no list", which is not the same as an empty one.
    package let acl: [Entry]?
  }

  /// One entry, in the words of the command line.
  package struct Entry: Decodable, Sendable {
    package let kind: String
    /// `user:UID`, `group:GID`, `everyone`, `nobody`, `owner` or `group`.
    package let who: String
    package let rights: [String]
    package let flags: [String]
  }

  /// How the volume is mounted; everything left out is the usual.
  package struct Volume: Decodable, Sendable {
    package var isReadOnly = false
    package var forbidsExecution = false
    package var ignoresOwnership = false
    package var usesLists = true
    package var secureLevel = 0

    enum CodingKeys: String, CodingKey {
      case isReadOnly = "ro"
      case forbidsExecution = "noexec"
      case ignoresOwnership = "ignore_ownership"
      case usesLists = "acls"
      case secureLevel = "securelevel"
    }

    init() {}

    package init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      isReadOnly = try fields.decodeIfPresent(Bool.self, forKey: .isReadOnly) ?? false
      forbidsExecution = try fields.decodeIfPresent(Bool.self, forKey: .forbidsExecution) ?? false
      ignoresOwnership = try fields.decodeIfPresent(Bool.self, forKey: .ignoresOwnership) ?? false
      usesLists = try fields.decodeIfPresent(Bool.self, forKey: .usesLists) ?? true
      secureLevel = try fields.decodeIfPresent(Int.self, forKey: .secureLevel) ?? 0
    }
  }

  /// Reads the shared file.
  package static func load() throws -> [AuthorizationVector] {
    let data = try Data(contentsOf: Fixture.url("authorization-vectors.json"))
    return try JSONDecoder().decode([AuthorizationVector].self, from: data)
  }
}

/// Where the files shared by all tests lie.
package enum Fixture {
  /// `Tests/Fixtures`, found from where this source file was compiled.
  package static func url(_ name: String) -> URL {
    URL(filePath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appending(components: "Fixtures", name)
  }
}
