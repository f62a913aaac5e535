// What was found, as tables.

/// A table and what stands above it.
package struct Chapter: Sendable {
  package let title: String
  package let note: String
  package let table: Table
}

extension Findings {
  /// All tables, place by place.
  package var chapters: [Chapter] {
    places.flatMap { place in
      [comparison(on: place), between(on: place), price(on: place), encryption(on: place)].compactMap(\.self)
    }
  }

  /// For a terminal.
  package var text: String {
    chapters.map { "\($0.title)\n\n\($0.table.text)\n\n\($0.note)\n" }.joined(separator: "\n")
  }

  /// For the document: the part between the markers.
  package var markdown: String {
    let machine = surroundings.map { "- \($0.name): \($0.value)" }.joined(separator: "\n")
    let tables = chapters.map { "### \($0.title)\n\n\($0.table.markdown)\n\n\($0.note)" }
    return ([machine] + tables).joined(separator: "\n\n")
  }

  /// Everybody against the directory itself, and Varve against the best peer.
  private func comparison(on place: Request.Place) -> Chapter? {
    let native = Contender(.native)
    // One that is there only for the encrypted files to be held against is in their table.
    guard !compared.isEmpty, encrypted == nil || compared != [subject] else { return nil }
    // Without the directory itself there is nothing to be a ratio of: times then.
    let hasNative = contenders.contains(native)
    let others = compared.filter { $0 != native }
    var table = Table(
      ["work"] + (hasNative ? ["native"] : []) + others.map(\.name)
        + ["best peer", "varve / best peer", "target", "met"])
    for row in rows {
      let times = hasNative ? [median(seconds(of: native, in: row, on: place))] : []
      let nativeCells = times.map { time in time.map(row.measure.text) ?? "-" }
      let cells = others.map { other in
        hasNative
          ? ratioText(ratio(of: other, to: native, in: row, on: place))
          : median(seconds(of: other, in: row, on: place)).map(row.measure.text) ?? "-"
      }
      table.add([row.title] + nativeCells + cells + verdict(row, on: place))
    }
    let mean = meanToBestPeers(on: place)
    let note =
      mean.map { mean in
        "Geometric mean of Varve against the best peer of each row (cached names, data and rows without target "
          + "left out): \(ratioText(mean)); target \(ratioText(Findings.neededMean)): "
          + (mean >= Findings.neededMean ? "met." : "not met.")
      } ?? ""
    return Chapter(title: "Files on \(place.title)", note: note, table: table)
  }

  private func verdict(_ row: Row, on place: Request.Place) -> [String] {
    let best = bestPeer(in: row, on: place)
    let against = best.flatMap { best in
      subject.flatMap { ratio(of: $0, to: best, in: row, on: place) }
    }
    return [
      best?.name ?? "-", ratioText(against), row.target.text,
      isMet(row, on: place).map { $0 ? "yes" : "NO" } ?? "",
    ]
  }

  /// Arrangements of Varve against the first of them, with the worst and the best round.
  private func between(on place: Request.Place) -> Chapter? {
    guard let subject, !arrangements.isEmpty else { return nil }
    var table = Table(["work", subject.name] + arrangements.flatMap { [$0.name, "ratio", "worst", "best"] })
    for row in rows {
      let cells = arrangements.flatMap { other in
        let ratios = ratios(of: other, to: subject, in: row, on: place)
        return [
          median(seconds(of: other, in: row, on: place)).map(row.measure.text) ?? "-",
          ratioText(median(ratios)), ratioText(ratios.min()), ratioText(ratios.max()),
        ]
      }
      let own = median(seconds(of: subject, in: row, on: place)).map(row.measure.text) ?? "-"
      table.add([row.title, own] + cells)
    }
    let means = arrangements.map { other in
      let mean = geometricMean(rows.compactMap { ratio(of: other, to: subject, in: $0, on: place) })
      return "Geometric mean of \(other.name) against \(subject.name): \(ratioText(mean))."
    }
    return Chapter(
      title: "Arrangements of Varve, files on \(place.title)", note: means.joined(separator: "\n"),
      table: table)
  }

  /// With access lists on every item against without.
  private func price(on place: Request.Place) -> Chapter? {
    guard !priced.isEmpty else { return nil }
    var table = Table(
      ["work"] + priced.flatMap { [$0.withoutLists.name, $0.name, "ratio", "target", "met"] })
    for row in rows where row.tellsPrice {
      let cells = priced.flatMap { contender in
        let ratio = ratio(of: contender, to: contender.withoutLists, in: row, on: place)
        return [contender.withoutLists, contender].map { one in
          median(seconds(of: one, in: row, on: place)).map(row.measure.text) ?? "-"
        } + [
          ratioText(ratio), "\(ratioText(Findings.neededPrice))",
          ratio.map { $0 >= Findings.neededPrice ? "yes" : "NO" } ?? "",
        ]
      }
      table.add([row.title] + cells)
    }
    let means = priced.map { contender in
      let ratios = rows.filter(\.tellsPrice).compactMap { row in
        ratio(of: contender, to: contender.withoutLists, in: row, on: place)
      }
      return "Geometric mean of \(contender.name) against \(contender.withoutLists.name): "
        + "\(ratioText(geometricMean(ratios)))."
    }
    return Chapter(
      title: "The price of access lists, files on \(place.title)", note: means.joined(separator: "\n"),
      table: table)
  }
}

extension Findings {
  /// Encrypted files against another file system that encrypts, and against plain files of the same volume.
  private func encryption(on place: Request.Place) -> Chapter? {
    guard let encrypted else { return nil }
    let (peer, beside) = (Contender(.gocryptfs), contenders.filter { $0.kind == .securefs })
    var table = Table(
      ["work", "gocryptfs", encrypted.name, "ratio", "worst", "best", "target", "met"]
        + (subject.map { [$0.name, "ratio", "target", "met"] } ?? [])
        + beside.flatMap { [$0.name, "ratio"] })
    for row in rows {
      guard let target = row.encrypted else { continue }
      func time(_ contender: Contender) -> String {
        median(seconds(of: contender, in: row, on: place)).map(row.measure.text) ?? "-"
      }
      let ratios = ratios(of: encrypted, to: peer, in: row, on: place)
      var cells = [row.title, time(peer), time(encrypted), ratioText(median(ratios))]
      cells += [ratioText(ratios.min()), ratioText(ratios.max())] + verdict(median(ratios), target.gocryptfs)
      if let subject {
        let ratio = ratio(of: encrypted, to: subject, in: row, on: place)
        cells += [time(subject), ratioText(ratio)] + verdict(ratio, target.plain)
      }
      for other in beside {
        cells += [time(other), ratioText(ratio(of: encrypted, to: other, in: row, on: place))]
      }
      table.add(cells)
    }
    var means = [String]()
    if let mean = encryptedMean(to: peer, on: place) {
      let verdict = mean >= Findings.neededEncryptedMean ? "met" : "not met"
      means.append(
        "Geometric mean against gocryptfs: \(ratioText(mean)); "
          + "target \(ratioText(Findings.neededEncryptedMean)): \(verdict).")
    }
    for other in beside {
      guard let mean = encryptedMean(to: other, on: place) else { continue }
      means.append("Against \(other.name): \(ratioText(mean)).")
    }
    return Chapter(
      title: "Encrypted files on \(place.title)", note: means.joined(separator: " "), table: table)
  }

  private func verdict(_ ratio: Double?, _ target: Double) -> [String] {
    ["≥ \(ratioText(target))", ratio.map { $0 >= target ? "yes" : "NO" } ?? ""]
  }
}

extension Request.Place {
  package var title: String {
    switch self {
    case .tmpfs: "tmpfs"
    case .disk: "a disk"
    }
  }
}

extension Target {
  package var text: String {
    switch self {
    case .none: ""
    case .native(let ratio): "≥ \(ratioText(ratio)) native"
    case .bestPeer(let ratio): "≥ \(ratioText(ratio)) best peer"
    }
  }
}
