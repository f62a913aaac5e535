// What the administrator has set for mounts, in /etc/varve/varve.conf.

import LinuxFiles
import LinuxPrograms
import TextForms

/// Why the settings cannot be gone by.
struct SettingsTrouble: Error {
  /// The file is there, and what it says cannot be understood.
  let isText: Bool
  let sentence: String
}

/// The settings; none, where there is no file.
func administratorSettings() throws(SettingsTrouble) -> SettingsFile {
  let text: [UInt8]
  do throws(Errno) {
    text = try Descriptor.reading(Array(SettingsFile.path.utf8)).readToEnd(limit: 1 << 20)
  } catch .noSuchFile {
    return SettingsFile()
  } catch {
    throw SettingsTrouble(isText: false, sentence: "\(SettingsFile.path): \(error)")
  }
  do throws(SettingsFile.Failure) {
    return try SettingsFile(text)
  } catch {
    throw SettingsTrouble(
      isText: true, sentence: "\(SettingsFile.path), line \(error.line): \(error.sentence)")
  }
}
