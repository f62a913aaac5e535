// Property lists in XML: the elements. What they are made of is in `XMLMarkup`.

/// Goes through the elements with a stack of its own, so that no nesting can exhaust a thread's.
struct XMLReader {
  private enum Container {
    case dictionary
    case array
  }

  private var markup: XMLMarkup
  private var containers: [Container] = []
  /// In the innermost dictionary: a key comes next, not a value.
  private var expectsKey = false
  private var key = StringTable.Piece(start: 0, end: 0)
  private let limits: PropertyListLimits

  static func read(_ text: DecodedText, within limits: PropertyListLimits) throws(ParseFailure) -> StringTable
  {
    var reader = XMLReader(markup: try XMLMarkup(text), limits: limits)
    try reader.document()
    return reader.markup.table
  }

  private init(markup: XMLMarkup, limits: PropertyListLimits) {
    self.markup = markup
    self.limits = limits
  }

  private mutating func document() throws(ParseFailure) {
    try markup.prolog()
    guard try markup.startTag() == XMLMarkup.Tag(name: .plist, isEmpty: false) else { throw .malformed }
    try markup.skipBetweenElements()
    // Only a dictionary has strings to give.
    guard !markup.isAtEndTag, try markup.startTag() == XMLMarkup.Tag(name: .dict, isEmpty: false) else {
      return try emptyDictionary()
    }
    try open(.dictionary)
    while !containers.isEmpty { try element() }
    try end()
  }

  /// `<dict/>`, which has been passed: anything else at this position is an error.
  private mutating func emptyDictionary() throws(ParseFailure) {
    guard markup.lastTag == XMLMarkup.Tag(name: .dict, isEmpty: true) else { throw .malformed }
    try end()
  }

  private mutating func end() throws(ParseFailure) {
    try markup.skipBetweenElements()
    try markup.endTag(.plist)
    try markup.skipBetweenElements()
    guard markup.isAtEnd else { throw .malformed }
  }

  private mutating func open(_ container: Container) throws(ParseFailure) {
    guard containers.count < PropertyListLimits.depth else { throw .tooDeep }
    containers.append(container)
    expectsKey = container == .dictionary
  }

  private mutating func close() {
    containers.removeLast()
    // What was closed is the value of a key, if it stands in a dictionary.
    expectsKey = containers.last == .dictionary
  }

  /// The next thing in the innermost container: an element, or its end.
  private mutating func element() throws(ParseFailure) {
    try markup.skipBetweenElements()
    let isDictionary = containers.last == .dictionary
    if markup.isAtEndTag {
      guard !isDictionary || expectsKey else { throw .malformed }
      try markup.endTag(isDictionary ? .dict : .array)
      return close()
    }
    let tag = try markup.startTag()
    if tag.name == .key {
      guard isDictionary, expectsKey else { throw .malformed }
      key = try markup.content(of: tag, keeps: containers.count == 1)
      expectsKey = false
      return
    }
    guard !isDictionary || !expectsKey else { throw .malformed }
    try value(tag)
  }

  private mutating func value(_ tag: XMLMarkup.Tag) throws(ParseFailure) {
    let isTop = containers.count == 1
    switch tag.name {
    case .dict, .array:
      try open(tag.name == .dict ? .dictionary : .array)
      if isTop { markup.table.cut(to: key.start) }
      if tag.isEmpty { close() }
      return
    case .string where isTop:
      let value = try markup.content(of: tag, keeps: true)
      let before = markup.table.count
      try markup.table.add(key, value, within: limits)
      if markup.table.count == before { markup.table.cut(to: key.start) }
    case .string, .integer, .real, .date, .data:
      _ = try markup.content(of: tag, keeps: false)
      if isTop { markup.table.cut(to: key.start) }
    case .true, .false:
      let content = try markup.content(of: tag, keeps: true)
      guard content.start == content.end else { throw .malformed }
      if isTop { markup.table.cut(to: key.start) }
    case .key, .plist: throw .malformed
    }
    expectsKey = containers.last == .dictionary
  }
}
