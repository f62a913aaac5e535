// What an administrator does to whole trees, one object at a time. Walking the tree, asking for permission and
// storing belong to the caller.

/// What propagation makes of one object.
package enum Propagation: Hashable, Sendable {
  /// The list is what it should be. Go on below.
  case unchanged
  /// Store this list (none: remove it), then go on below with it.
  case store(AccessList?)
  /// The object asks to be left alone, and with it everything below.
  case blocked
}

extension AccessList {
  /// One step of propagation, or the whole of "apply inheritance" to one object.
  ///
  /// Explicit entries stay, in front; inherited ones are replaced by what the parent hands down now, so a
  /// second run changes nothing. Symbolic links are not the business of this function: they take no part.
  ///
  /// - Parameters:
  ///   - list: the object's list.
  ///   - parent: the list its directory has now, that is after its own step.
  ///   - isDirectory: whether the object is a directory.
  ///   - isReplacing: whether the object is to hold exactly what is handed down: entries of its own go, and so does the
  ///     wish to be left alone.
  /// - Returns: what to do with the object.
  /// - Throws: ``TooManyEntries`` if what the parent hands down does not fit; the object stays as it is.
  package static func propagated(
    to list: AccessList?, from parent: AccessList?, forDirectory isDirectory: Bool,
    replacing isReplacing: Bool = false
  ) throws(TooManyEntries) -> Propagation {
    if isReplacing {
      let new = try inherited(from: parent, forDirectory: isDirectory)
      return new == list ? .unchanged : .store(new)
    }
    if let list, list.flags.contains(.noInherit) { return .blocked }
    let explicit = list?.withoutInherited
    var new = try inherited(from: parent, forDirectory: isDirectory, initial: explicit)
    // A new object starts without list flags; an old one keeps what it had.
    if let flags = list?.flags { new?.flags = flags }
    return new == list ? .unchanged : .store(new)
  }

  /// The explicit entries, or `nil` if there is nothing left to say: then the list is removed.
  package var withoutInherited: AccessList? {
    AccessList(entries.filter { !$0.isInherited }, flags: flags).unlessVoid
  }

  /// Every entry in its place, none of them inherited any more.
  package var withEverythingExplicit: AccessList {
    var list = self
    for index in list.entries.indices { list.entries[index].inheritance.remove(.inherited) }
    return list
  }
}

extension UInt16 {
  /// The mode that something below gets from this mode of a directory, by "copy permissions to descendants".
  ///
  /// A file becomes executable for nobody for whom it was not. It never gets a set-id or sticky bit: on the
  /// directory they mean something else, and a program in another's name must not come about this way.
  package func handedDownMode(to present: UInt16, ofDirectory isDirectory: Bool) -> UInt16 {
    isDirectory ? self : self & 0o666 | self & present & 0o111
  }
}
