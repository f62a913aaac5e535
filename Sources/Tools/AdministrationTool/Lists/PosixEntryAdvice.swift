// What is said of an entry in the form of setfacl, for people who come from POSIX ACLs: `u:bob:rw`, `d:g:staff:rwx`.

import TextForms

/// Ends a message about an entry that could not be read; empty if it does not look like one of setfacl.
func adviceOnPosixEntry(_ text: String) -> String {
  var parts = text.split(separator: ":", omittingEmptySubsequences: false).map { String($0) }[...]
  var isDefault = false
  if let first = parts.first, ["d", "default"].contains(first) {
    isDefault = true
    parts.removeFirst()
  }
  guard parts.count == 3, let kind = parts.popFirst(), let name = parts.popFirst(),
    let rights = parts.popFirst(),
    let kind = ["u": "user", "user": "user", "g": "group", "group": "group", "o": "other", "other": "other"][
      kind],
    !rights.isEmpty, rights.allSatisfy({ "rwxX-".contains($0) })
  else { return "" }
  guard kind != "other", !name.isEmpty else {
    return
      "; that is a form of setfacl, and what it says is set by the mode, as in: varve chmod \(kind.prefix(1))="
      + "\(rights.filter { $0 != "-" }) PATH"
  }
  let words = [("r", "read"), ("w", "write,append"), ("x", "execute"), ("X", "execute")]
    .filter { rights.contains($0.0) }.map(\.1)
  let inheritance = isDefault ? ["file_inherit", "directory_inherit", "only_inherit"] : []
  let verb = words.isEmpty ? "deny" : "allow"
  let entry =
    "\(kind):\(name) \(verb) \(((words.isEmpty ? ["read", "write", "execute"] : words) + inheritance).joined(separator: ","))"
  return "; that is a form of setfacl; the entry is: \(shellWord(Array(entry.utf8)))"
}
