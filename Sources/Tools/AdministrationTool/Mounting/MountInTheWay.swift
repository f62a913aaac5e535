// Where the mount is that keeps a volume from being mounted again: the daemon that refuses knows only the other one's process.

import Arguments
import JSONForm
import LinuxFiles
import LinuxPrograms
import TextForms

/// The mount that a daemon's refusal is about, for the end of its message.
struct MountInTheWay {
  private let source: Word
  /// The value of `lang=` among the options of this mount.
  private let languages: Word?
  private let process: Int
  private let table: [MountedVolume]

  /// Nil where the message did not come from a volume's lock.
  init?(_ message: String, source: Word, options: [MountOption]) {
    guard message.contains("the volume is mounted already"),
      let process = MountInTheWay.lastNumber(of: message), let table = try? mountTable()
    else { return nil }
    (self.source, self.process, self.table) = (source, process, table)
    languages = options.last { $0.name == "lang" }?.value
  }

  /// Where it is, or where to look for one that cannot be seen.
  var words: String {
    let shown = table.filter { $0.isOurs && $0.source == source }
    // One that is mounted for reading may be beside it, so the process is compared before anything is guessed.
    let whole = shown.filter(\.showsAll)
    let left = shown.filter { $0.view != nil && $0.whole(in: table) == nil }
    if whole.isEmpty, !left.isEmpty { return "; \(MountState.leftViews(left))" }
    let others = table.filter { $0.isOurs && $0.showsAll && $0.source != source }
    if let seen = (whole + others).first(where: isServedByProcess)
      ?? whole.first(where: { !$0.isReadOnly && MountState($0) != .dead })
    {
      return ", on \(PathText.escaped(seen.mountPoint))\(viewAdvice)"
    }
    if !left.isEmpty { return "; \(MountState.leftViews(left))" }
    return
      ", and not to be seen here: it is in another mount namespace, or after 'umount -l' its daemon goes on "
      + "until no process uses the volume"
  }

  /// The mount point is another one, as it would be refused else; languages there are asked for by those who want a view.
  private var viewAdvice: String {
    guard let languages else { return "" }
    return "; for a view of it here add 'view=display': view=display,lang=\(PathText.escaped(languages))"
  }

  private func isServedByProcess(_ mount: MountedVolume) -> Bool {
    guard MountState(mount) == .serving else { return false }
    return (try? volumeStatus(mount)?["pid"]?.integer) == process
  }

  /// The number of the process with which a message ends.
  private static func lastNumber(of message: String) -> Int? {
    guard let word = message.split(separator: " ").last, message.hasSuffix(" by process \(word)") else {
      return nil
    }
    return Int(word)
  }
}
