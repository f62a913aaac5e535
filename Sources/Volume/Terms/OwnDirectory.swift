/// The directory of the volume's own at the root of an upper directory, and of a mount.
package enum OwnDirectory {
  package static let name: StaticString = ".varve"
  package static let bytes = Array(name.description.utf8)
}
