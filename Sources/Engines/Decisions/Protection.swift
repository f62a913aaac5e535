import AccessControl

// Protected content, as far as decisions know of it: by which class a file is encrypted, and which classes have their keys.

/// The class by which a file is encrypted, or what is made in a directory.
package enum ProtectionClass: UInt8, CaseIterable, Hashable, Sendable {
  // The numbers of the stored forms.
  case complete = 1
  case completeUnlessOpen = 2
  case untilFirstUnlock = 3

  /// The word for users and programs.
  package var word: String {
    switch self {
    case .complete: "complete"
    case .completeUnlessOpen: "complete-unless-open"
    case .untilFirstUnlock: "until-first-unlock"
    }
  }

  /// Reads a word, or its short form.
  package init?(word: String) {
    switch word {
    case "complete", "a", "A": self = .complete
    case "complete-unless-open", "b", "B": self = .completeUnlessOpen
    case "until-first-unlock", "c", "C": self = .untilFirstUnlock
    default: return nil
    }
  }
}

/// Some of the classes.
package struct ProtectionClasses: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package init(_ protection: ProtectionClass) { self.init(rawValue: 1 << protection.rawValue) }

  package func contains(_ protection: ProtectionClass) -> Bool {
    contains(ProtectionClasses(protection))
  }
}

/// For which classes there are keys now.
package struct KeysAtHand: Hashable, Sendable {
  /// The volume has a keybag, locked or not.
  package var exist: Bool
  /// Files can be opened.
  package var opening: ProtectionClasses
  /// Files can be made: of `completeUnlessOpen` also while it is locked.
  package var making: ProtectionClasses

  package init(exist: Bool = false, opening: ProtectionClasses = [], making: ProtectionClasses = []) {
    self.exist = exist
    self.opening = opening
    self.making = making
  }
}

extension Item.Content {
  /// The class of an encrypted file, or of what is made in a directory.
  package var protection: ProtectionClass? {
    switch self {
    case .protected(let protection, _), .protecting(let protection): protection
    case .plain, .compressed, .replacing, .foreign: nil
    }
  }
}

extension Judge {
  /// What stands against the bytes of a file for want of a key; asked when all rights are there.
  ///
  /// `writes`: an empty file may be opened for writing where a new one could be made.
  func key(to item: Item, writes: Bool) -> Verdict {
    guard case .protected(let protection, let isEmpty) = item.content, item.kind == .file else {
      return .allowed(.nothingAsked)
    }
    let verdict = mark(of: item)
    guard verdict.isAllowed else { return verdict }
    guard !rules.keys.opening.contains(protection) else { return .allowed(.nothingAsked) }
    if writes, isEmpty, rules.keys.making.contains(protection) { return .allowed(.nothingAsked) }
    return .refused(.noKey, .locked(protection))
  }

  /// What stands against a file that is encrypted and whose record does not say so.
  ///
  /// A user who can write a file of their own could have the bytes of any other decrypted that they have a copy of.
  private func mark(of item: Item) -> Verdict {
    item.lacksMark && subject.user != 0 ? .refused(.noKey, .unmarked) : .allowed(.nothingAsked)
  }

  /// What stands against making a file in a directory for want of a key.
  func key(toMake kind: NewObject, in directory: Item) -> Verdict {
    guard kind == .file, case .protecting(let protection) = directory.content,
      !rules.keys.making.contains(protection)
    else { return .allowed(.nothingAsked) }
    return .refused(.noKey, .locked(protection))
  }

  /// Whether the class of an item may be changed; `nil`: its bytes are stored as they are.
  ///
  /// Who may write makes an item safer, and only who decides about access makes it less safe.
  func setClass(of item: Item, to wanted: ProtectionClass?) -> Verdict {
    guard item.kind == .file || item.isDirectory else { return .refused(by: .notFile) }
    let present = item.content.protection
    var rights: Rights = item.isDirectory ? [.addFile, .writeAttributes] : [.read, .write, .writeAttributes]
    if present != nil, wanted != present { rights.formUnion(.writeSecurity) }
    let verdict = check(item, rights).unless(item.damageToRecord)
    guard verdict.isAllowed else { return verdict }
    guard wanted != present else { return verdict.and { mark(of: item) } }
    if wanted != nil, !rules.keys.exist { return .refused(.noKey, .noKeybag) }
    guard !item.isDirectory else {
      // Who cannot open what is in there would not see that new files are plain among those that stay encrypted.
      if let present, !rules.keys.opening.contains(present) {
        return .refused(.noKey, .locked(present))
      }
      // Nothing could be made in it, and what is in it stays plain.
      return verdict.and { key(toMakeOf: wanted) }
    }
    return verdict.and { key(to: item, writes: false) }.and { key(toMakeOf: wanted) }
  }

  /// What stands against files of a class, as far as new ones are concerned.
  private func key(toMakeOf wanted: ProtectionClass?) -> Verdict {
    guard let wanted, !rules.keys.making.contains(wanted) else { return .allowed(.nothingAsked) }
    return .refused(.noKey, .locked(wanted))
  }

  /// A plain item does not enter a directory whose files are encrypted: who moves it there believes it is.
  func entering(_ item: Item, into directory: Item) -> Verdict {
    guard case .protecting = directory.content, item.content == .plain || item.content == .compressed,
      item.kind == .file || item.isDirectory
    else { return .allowed(.nothingAsked) }
    return .refused(.crossesProtection, .protectingDirectory)
  }
}
