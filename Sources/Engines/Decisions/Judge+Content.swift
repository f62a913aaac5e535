// Content this version cannot read or write, and directories that want what is made in them encrypted.
//
// Here and nowhere else it is decided that the bytes of an item may not be touched: every operation on content asks a
// right that reaches them, whether by a name or by a descriptor, and `varve why` asks the same. Root is bound too.

import AccessControl

extension Judge {
  /// The rights that reach the bytes of a file, or the names in a directory.
  private static let reaching: Rights = [.read, .write, .append, .execute]

  /// A verdict on rights, turned into a refusal where what it allows would reach foreign content.
  func refusingForeignContent(
    _ verdict: Verdict, of item: Item, _ asked: Rights, removingFrom parent: Item?
  ) -> Verdict {
    guard verdict.isAllowed else { return verdict }
    if item.hasForeignContent, !asked.isDisjoint(with: Judge.reaching) {
      return .refused(.unsupported, .foreignContent)
    }
    if let parent, parent.hasForeignContent { return .refused(.unsupported, .foreignContent, on: .parent) }
    return verdict
  }

  /// Whether the bytes may be touched through a descriptor that was opened before.
  package func touchContent(of item: Item) -> Verdict {
    if item.record == .damaged { return .refused(.damaged, .damagedRecord) }
    return item.hasForeignContent ? .refused(.unsupported, .foreignContent) : .allowed(.nothingAsked)
  }

  /// A verdict on adding to a directory, turned into a refusal where plain content would be added to one that wants
  /// it encrypted.
  ///
  /// `newcomer`: nil for what is about to be made.
  func refusingPlainContent(_ verdict: Verdict, _ newcomer: Item?, in directory: Item) -> Verdict {
    guard verdict.isAllowed, directory.content == .protecting, newcomer?.content != .foreign else {
      return verdict
    }
    return .refused(.unsupported, .protectingDirectory)
  }
}

extension Item {
  /// Links and special files have no content of their own that could be stored in another form.
  fileprivate var hasForeignContent: Bool { content == .foreign && (kind == .file || isDirectory) }
}
