// /etc/varve/varve.conf: options every mount begins with, sources of mount points, and what is locked when the machine
// goes to sleep.
//
//     # for every mount
//     options = noatime
//     sleep = lock
//
//     [/mnt/team]
//     source = /srv/varve/team
//     options = securelevel=1
//     sleep = nothing

/// The settings of an administrator.
package struct SettingsFile: Equatable, Sendable {
  package static let path = "/etc/varve/varve.conf"

  /// A line that cannot be understood.
  package struct Failure: Error, Equatable, Sendable {
    package let line: Int
    package let sentence: String
  }

  /// What is said about one mount point, or about all.
  package struct Section: Equatable, Sendable {
    package var source: [UInt8]?
    package var options: [MountOption] = []
    /// Whether the volume is locked when the machine goes to sleep; nil if nothing is said.
    package var locksForSleep: Bool?
  }

  package private(set) var common = Section()
  private var sections: [[UInt8]: Section] = [:]

  /// No settings.
  package init() {}

  /// Reads the text of the file.
  package init(_ text: [UInt8]) throws(Failure) {
    var present: [UInt8]?
    for (index, line) in text.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
      let line = SettingsFile.trimmed(line)
      guard let first = line.first, first != UInt8(ascii: "#") else { continue }
      if first == UInt8(ascii: "[") {
        guard line.last == UInt8(ascii: "]"), line.dropFirst().first == UInt8(ascii: "/") else {
          throw Failure(line: index + 1, sentence: "a section is an absolute mount point in brackets")
        }
        present = SettingsFile.withoutEndingSlashes(line.dropFirst().dropLast())
        continue
      }
      var section = present.map { sections[$0, default: Section()] } ?? common
      if let sentence = section.take(line, isCommon: present == nil) {
        throw Failure(line: index + 1, sentence: sentence)
      }
      if let present { sections[present] = section } else { common = section }
    }
  }

  /// What is said about a mount point.
  package func section(_ mountPoint: [UInt8]) -> Section? {
    sections[SettingsFile.withoutEndingSlashes(mountPoint[...])]
  }

  /// The options a mount there begins with; those of the command line come after them, and so win.
  package func options(for mountPoint: [UInt8]) -> [MountOption] {
    common.options + (section(mountPoint)?.options ?? [])
  }

  /// Whether a volume that is mounted there is locked when the machine goes to sleep.
  package func locksForSleep(_ mountPoint: [UInt8]) -> Bool {
    section(mountPoint)?.locksForSleep ?? common.locksForSleep ?? false
  }

  fileprivate static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = text
    while let first = text.first, isBlank(first) { text.removeFirst() }
    while let last = text.last, isBlank(last) { text.removeLast() }
    return text
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

  private static func withoutEndingSlashes(_ path: ArraySlice<UInt8>) -> [UInt8] {
    var path = path
    while path.count > 1, path.last == UInt8(ascii: "/") { path.removeLast() }
    return Array(path)
  }
}

extension SettingsFile.Section {
  /// Takes over `name = value`; answers what is wrong with it.
  fileprivate mutating func take(_ line: ArraySlice<UInt8>, isCommon: Bool) -> String? {
    guard let sign = line.firstIndex(of: UInt8(ascii: "=")) else { return "'=' is missing" }
    let name = String(decoding: SettingsFile.trimmed(line[..<sign]), as: UTF8.self)
    let value = Array(SettingsFile.trimmed(line[(sign + 1)...]))
    switch name {
    case "options": options += MountOption.list(value)
    case "source" where isCommon: return "'source' belongs into the section of a mount point"
    case "source":
      guard value.first == UInt8(ascii: "/") else { return "'source' is an absolute path" }
      source = value
    case "sleep" where value == Array("lock".utf8): locksForSleep = true
    case "sleep" where value == Array("nothing".utf8): locksForSleep = false
    case "sleep": return "'sleep' is 'lock' or 'nothing'"
    default: return "unknown setting '\(name)'; there are 'options', 'sleep' and 'source'"
    }
    return nil
  }
}
