package import JSONForm

// What was found, for programs.

extension Findings {
  /// The JSON as a file holds it.
  package var jsonText: String { json.indentedText() + "\n" }

  /// Every sample in seconds for one piece of work, and what was made of them.
  package var json: JSON {
    .object([
      .init("rounds", .number(rounds)),
      .init("surroundings", .object(surroundings.map { .init($0.name, .string($0.value)) })),
      .init("contenders", .array(contenders.map { .string($0.name) })),
      .init("places", .array(places.map(report))),
    ])
  }

  private func report(on place: Request.Place) -> JSON {
    .object([
      .init("place", .string(place.rawValue)),
      .init("meanToBestPeers", number(meanToBestPeers(on: place))),
      .init("rows", .array(rows.map { report($0, on: place) })),
    ])
  }

  private func report(_ row: Row, on place: Request.Place) -> JSON {
    let native = Contender(.native)
    return .object([
      .init("id", .string(row.id)),
      .init("title", .string(row.title)),
      .init(
        "seconds",
        .object(
          contenders.map { contender in
            .init(contender.name, .array(seconds(of: contender, in: row, on: place).map { number($0) }))
          })),
      .init(
        "ratioToNative",
        .object(
          contenders.map { contender in
            .init(contender.name, number(ratio(of: contender, to: native, in: row, on: place)))
          })),
      .init("bestPeer", bestPeer(in: row, on: place).map { .string($0.name) } ?? .null),
      .init(
        "ratioToBestPeer",
        number(
          subject.flatMap { subject in
            bestPeer(in: row, on: place).flatMap { ratio(of: subject, to: $0, in: row, on: place) }
          })),
      .init("target", number(row.target.ratio)),
      .init("met", isMet(row, on: place).map { .bool($0) } ?? .null),
      .init(
        "price",
        .object(
          row.tellsPrice
            ? priced.map { contender in
              .init(
                contender.name, number(ratio(of: contender, to: contender.withoutLists, in: row, on: place)))
            } : [])),
    ])
  }

  private func number(_ number: Double?) -> JSON {
    guard let number, number.isFinite else { return .null }
    return .number("\(number)")
  }
}
