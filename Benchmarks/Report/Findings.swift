// What was measured, and what follows from it.

/// Everything that was measured in one run.
package struct Findings: Sendable {
  private struct Key: Hashable {
    let place: Request.Place
    let row: String
    let contender: Contender
  }

  package let places: [Request.Place]
  package let rows: [Row]
  package let contenders: [Contender]
  package let rounds: Int
  /// What the table says about the machine: a name and a value each.
  package var surroundings: [(name: String, value: String)] = []
  /// Seconds for one piece of work, by round.
  private var samples: [Key: [Int: Double]] = [:]

  package init(places: [Request.Place], rows: [Row], contenders: [Contender], rounds: Int) {
    self.places = places
    self.rows = rows
    self.contenders = contenders
    self.rounds = rounds
  }

  package mutating func note(
    _ seconds: Double, of contender: Contender, in row: String, on place: Request.Place, round: Int
  ) {
    samples[Key(place: place, row: row, contender: contender), default: [:]][round] = seconds
  }

  /// The seconds of each round in which there was an answer, in order.
  package func seconds(of contender: Contender, in row: Row, on place: Request.Place) -> [Double] {
    byRound(contender, row, place).sorted { $0.key < $1.key }.map(\.value)
  }

  private func byRound(_ contender: Contender, _ row: Row, _ place: Request.Place) -> [Int: Double] {
    samples[Key(place: place, row: row.id, contender: contender)] ?? [:]
  }

  /// How many times as fast one was as the other, round by round.
  package func ratios(
    of contender: Contender, to other: Contender, in row: Row, on place: Request.Place
  ) -> [Double] {
    let (own, others) = (byRound(contender, row, place), byRound(other, row, place))
    return own.keys.sorted().compactMap { round in
      guard let own = own[round], let other = others[round], own > 0 else { return nil }
      return other / own
    }
  }

  /// The median of the ratios of all rounds: above 1 is faster.
  package func ratio(
    of contender: Contender, to other: Contender, in row: Row, on place: Request.Place
  ) -> Double? {
    median(ratios(of: contender, to: other, in: row, on: place))
  }
}

extension Findings {
  /// The Varve that is held to the targets: the first that is not there for the price.
  package var subject: Contender? {
    contenders.first { $0.kind == .varve && !$0.tellsPrice && !$0.isEncrypted }
  }

  /// The other arrangements of Varve.
  package var arrangements: [Contender] {
    contenders.filter { $0.kind == .varve && !$0.tellsPrice && !$0.isEncrypted && $0 != subject }
  }

  /// Those with access lists whose like without them took part as well.
  package var priced: [Contender] {
    contenders.filter { $0.hasLists && contenders.contains($0.withoutLists) }
  }

  /// The columns of the table.
  package var compared: [Contender] {
    contenders.filter { !$0.tellsPrice && !$0.encrypts }
  }

  /// The Varve whose files are encrypted.
  package var encrypted: Contender? { contenders.first(where: \.isEncrypted) }

  /// The geometric mean of encrypted files against a peer that encrypts.
  package func encryptedMean(to peer: Contender, on place: Request.Place) -> Double? {
    guard let encrypted else { return nil }
    return geometricMean(
      rows.filter { $0.encrypted != nil }.compactMap {
        ratio(of: encrypted, to: peer, in: $0, on: place)
      })
  }

  /// The peer that was quickest in a row, by the median of its times.
  package func bestPeer(in row: Row, on place: Request.Place) -> Contender? {
    let known = contenders.filter { $0.isPeer && !$0.tellsPrice }.compactMap { peer in
      median(seconds(of: peer, in: row, on: place)).map { (peer, $0) }
    }
    return known.min { $0.1 < $1.1 }?.0
  }

  /// What the target of a row is about: the ratio that was reached, if it could be measured.
  package func reached(in row: Row, on place: Request.Place) -> Double? {
    guard let subject else { return nil }
    switch row.target {
    case .none: return nil
    case .native: return ratio(of: subject, to: Contender(.native), in: row, on: place)
    case .bestPeer:
      return bestPeer(in: row, on: place).flatMap { ratio(of: subject, to: $0, in: row, on: place) }
    }
  }

  /// Whether the target was reached; nil if there is none or nothing to compare with.
  package func isMet(_ row: Row, on place: Request.Place) -> Bool? {
    guard let needed = row.target.ratio, let reached = reached(in: row, on: place) else { return nil }
    return reached >= needed
  }

  /// The geometric mean against the best peer of each row, over the rows that are part of it.
  package func meanToBestPeers(on place: Request.Place) -> Double? {
    geometricMean(rows.filter(\.isInMean).compactMap { reached(in: $0, on: place) })
  }
}

extension Findings {
  /// What the mean against the best peers has to reach.
  package static let neededMean = 1.3
  /// What the mean of encrypted files against gocryptfs has to reach.
  package static let neededEncryptedMean = 1.5
  /// What a volume with access lists on every item has to reach, against one without.
  package static let neededPrice = 0.90
}

extension Target {
  /// The number that has to be reached.
  package var ratio: Double? {
    switch self {
    case .none: nil
    case .native(let ratio), .bestPeer(let ratio): ratio
    }
  }
}
