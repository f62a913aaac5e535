// Who takes part. A contender is written NAME[+acl][+user][+encrypted][@BUILD][:OPTIONS]:
//
//   varve                          the build beside the benchmark
//   varve:threads=1                another arrangement of it
//   varve@/src/other/.build/release   another build
//   varve+acl+user                 access lists on every item, and clients that are not root
//   varve+encrypted                a volume whose root is encrypted, unlocked
//   mergerfs:cache.writeback=true  a peer with an option more

/// One of those that are compared.
package struct Contender: Hashable, Sendable {
  package enum Kind: String, CaseIterable, Sendable {
    case native
    case varve
    case bindfs
    case mergerfs
    case overlay = "fuse-overlayfs"
    /// The example of libfuse, made by `Benchmarks/passthrough_hp.sh`.
    case example = "passthrough_hp"
    /// For encrypted files alone, as is the next one.
    case gocryptfs
    case securefs

    /// Whether all that it keeps is encrypted.
    var encrypts: Bool { self == .gocryptfs || self == .securefs }
  }

  package let kind: Kind
  /// Whether every item carries an access list.
  package let hasLists: Bool
  /// Whether the clients are an ordinary user; root is above access lists.
  package let servesUser: Bool
  /// Whether its files are encrypted; of Varve's, that is.
  package let isEncrypted: Bool
  /// Where its programs are, if not beside the benchmark.
  package let build: String?
  /// Mount options, in addition to the usual ones.
  package let options: String?

  /// As it was written, and as the table shows it.
  package var name: String {
    kind.rawValue + (hasLists ? "+acl" : "") + (servesUser ? "+user" : "") + (isEncrypted ? "+encrypted" : "")
      + (build.map { "@\($0)" } ?? "") + (options.map { ":\($0)" } ?? "")
  }

  /// Whether it is there to tell the price of access lists, and not to be compared with others.
  package var tellsPrice: Bool { hasLists || servesUser }

  package var isPeer: Bool { kind != .native && kind != .varve && !encrypts }

  /// Whether what it keeps is encrypted: it is compared with its like.
  package var encrypts: Bool { isEncrypted || kind.encrypts }

  package init(
    _ kind: Kind, hasLists: Bool = false, servesUser: Bool = false, isEncrypted: Bool = false,
    build: String? = nil, options: String? = nil
  ) {
    self.kind = kind
    self.hasLists = hasLists
    self.servesUser = servesUser
    self.isEncrypted = isEncrypted
    self.build = build
    self.options = options
  }

  /// Reads the written form.
  package init(_ text: String) throws(UsageProblem) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let places = parts[0].split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
    let words = places[0].split(separator: "+", omittingEmptySubsequences: false)
    guard let kind = Kind(rawValue: String(words[0])) else {
      throw UsageProblem(
        "no contender '\(words[0])'; there are " + Kind.allCases.map(\.rawValue).joined(separator: ", "))
    }
    let marks = words.dropFirst()
    if let mark = marks.first(where: { !["acl", "user", "encrypted"].contains($0) }) {
      throw UsageProblem("a contender has '+acl', '+user' and '+encrypted', not '+\(mark)'")
    }
    if kind != .varve, marks.contains("acl") || marks.contains("encrypted") || places.count > 1 {
      throw UsageProblem("only varve has access lists, encrypted files and other builds: '\(text)'")
    }
    if kind == .native, parts.count > 1 { throw UsageProblem("a directory has no mount options: '\(text)'") }
    self.init(
      kind, hasLists: marks.contains("acl"), servesUser: marks.contains("user"),
      isEncrypted: marks.contains("encrypted"), build: places.count > 1 ? String(places[1]) : nil,
      options: parts.count > 1 ? String(parts[1]) : nil)
  }

  /// The one that is the same but for the lists: what this one is held against.
  package var withoutLists: Contender {
    Contender(kind, servesUser: servesUser, isEncrypted: isEncrypted, build: build, options: options)
  }

  /// Everybody who is asked when nobody is named.
  ///
  /// Varve a second time, as an older kernel has it: without files that are read and written without the daemon, which
  /// came with 6.9, and without names that are forgotten all at once, with 6.16.
  package static let usual: [Contender] =
    Kind.allCases.filter { !$0.encrypts }.map { Contender($0) } + [
      Contender(.varve, options: "passthrough=off,no_epoch"),
      Contender(.varve, servesUser: true), Contender(.varve, hasLists: true, servesUser: true),
    ]

  /// Those of the comparison of encrypted files: the same volume without encryption goes through the daemon, too.
  package static let encrypting: [Contender] = [
    Contender(.varve, options: "passthrough=off"), Contender(.varve, isEncrypted: true),
    Contender(.gocryptfs), Contender(.securefs),
  ]
}

/// A command line that cannot be understood.
package struct UsageProblem: Error, Equatable, Sendable {
  package let message: String

  package init(_ message: String) {
    self.message = message
  }
}
