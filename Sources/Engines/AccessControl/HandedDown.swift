/// What has become of a file when its directory's list was handed down to many at once; the letter the daemon tells it by.
package enum HandedDown: Character, Sendable {
  /// The list is what it should be.
  case unchanged = "u"
  case changed = "c"
  /// The file asks to be left alone.
  case blocked = "b"
  /// Nothing was done, for a reason that only a question about this file alone tells.
  case aside = "a"
}
