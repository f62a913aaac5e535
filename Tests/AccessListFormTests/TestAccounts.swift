// The accounts that texts in these tests name.

import AccessControl

extension NameBook {
  /// The accounts of the tests.
  static let testing = NameBook(
    users: [
      "ann": 1, "bob": 2, "ann smith": 3, "both": 4, "1000": 5, "a:b": 6, "everyone": 7, "jo@corp": 8,
      "nobody": 65534,
    ],
    groups: [
      "staff": 1, "everyone": 2, "both": 3, "domain users": 4, "man": 12, "uucp": 10, "tab\tbed": 13,
      " edge": 14,
    ])
}
