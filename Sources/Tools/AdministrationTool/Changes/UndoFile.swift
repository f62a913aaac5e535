// `--undo FILE`: items as they were, written before each change.

import AccessForms
import Arguments
import LinuxFiles
import LinuxPrograms
import Synchronization
import TextForms

/// The way back.
///
/// A record is handed to the system before the change it is about: if the program is ended, however that happens,
/// the file knows of every item that was changed. A power failure is another matter: the disk has the whole file
/// only when the program has come to its end.
final class UndoFile: Sendable {
  private let file: WritableFile
  private let path: [UInt8]
  private let console: Console
  /// Whether this run made the file.
  private let isNew: Bool

  private struct Written {
    /// How long the file is, all of it whole lines and records.
    var length: Int
    var hasRecords = false
  }

  /// What is in the file.
  ///
  /// Held while something is written, so that records of several threads do not mix, even if the system takes
  /// them in pieces; and held for ever once that failed, so that nobody changes what has no record.
  private let written: Mutex<Written>

  /// Opens the file the options ask for; nil if they ask for none.
  init?(_ invocation: Invocation, _ console: Console) throws(UsageError) {
    guard let path = invocation.values(.undo).last else {
      if invocation.has(.resume) { throw UsageError("--resume goes with --undo FILE", verb: invocation.verb) }
      return nil
    }
    guard path != Word("-".utf8) else {
      throw invocation.mistake(
        "an undo file must be a file, and '-' would be standard output; name a file, and one of this name './-'"
      )
    }
    guard !invocation.has(.dryRun) else { return nil }
    self.path = path
    self.console = console
    func failure(_ words: String, _ start: String = "") -> UsageError {
      invocation.mistake("\(start)\(shown(path))\(words)")
    }
    let resumes = invocation.has(.resume)
    isNew = !resumes
    do throws(Errno) {
      let file = try WritableFile(appendingTo: path, mayExist: resumes)
      let sound = try UndoFile.soundPart(file)
      // A crash may have left half a record; what it is about was not changed.
      try file.cut(to: sound)
      let text =
        (sound > 0 ? "" : "\(DumpReader.header)\n")
        + "# What 'varve \(invocation.verb)' changed, as it was; 'varve acl restore FILE' goes back.\n"
      try UndoFile.begin(file, text, path, isNew: !resumes)
      written = Mutex(Written(length: sound + text.utf8.count))
      self.file = file
    } catch  where (try? Descriptor.item(atPath: path, .followed).status().kind) == .directory {
      throw failure(" is a directory; name a new file, in it or elsewhere")
    } catch .exists {
      throw failure(" exists: name another file, or add --resume to continue an interrupted run")
    } catch .again {
      throw failure("; wait for its end, or name another file", "another run is writing to ")
    } catch .tooManySymbolicLinks {
      throw failure(" is a link, and no undo file is written through one")
    } catch .badMessage {
      throw failure(" is not an undo file, or is damaged")
    } catch {
      throw failure(": \(error)\(error.advice(about: path))")
    }
  }

  /// Writes the first lines; what is new and empty is taken away again, or it would be in the way of the next try.
  private static func begin(
    _ file: borrowing WritableFile, _ text: String, _ path: [UInt8], isNew: Bool
  ) throws(Errno) {
    do throws(Errno) {
      try file.write(Array(text.utf8))
    } catch {
      // The first error is what is told.
      if isNew { try? removeFile(path) }
      throw error
    }
  }

  /// How much of a file is whole lines and whole records; 0 if there is nothing, EBADMSG if it is no dump.
  private static func soundPart(_ file: borrowing WritableFile) throws(Errno) -> Int {
    var reader = DumpReader()
    var (length, sound) = (0, 0)
    let line = try pieces(endedBy: UInt8(ascii: "\n"), of: { () throws(Errno) in try file.read() }) {
      line throws(Errno) in
      do throws(DumpFailure) { _ = try reader.read(line) } catch { throw .badMessage }
      length += line.count + 1
      if !reader.isInRecord { sound = length }
      return true
    }
    guard sound > 0 || (length == 0 && line.isEmpty) else { throw .badMessage }
    return sound
  }

  /// Says where the records that follow belong.
  func begin(_ root: [UInt8]) throws(Errno) {
    begin(resolved: try absolute(root))
  }

  /// The same for a path that begins with "/" and has no links.
  func begin(resolved root: [UInt8]) {
    write(DumpReader.rootLine(root) + "\n")
  }

  /// Keeps records; if that fails, the program ends before it changes what they are about.
  func keep(_ records: [DumpRecord]) {
    write(records.map { $0.text }.joined(), areRecords: true)
  }

  func end() {
    write("\(DumpReader.end)\n")
    do throws(Errno) { try file.synchronize() } catch { stop(error) }
  }

  private func write(_ text: String, areRecords: Bool = false) {
    let bytes = Array(text.utf8)
    written.withLock { written in
      do throws(Errno) {
        try file.write(bytes)
        written.length += bytes.count
        if areRecords { written.hasRecords = true }
      } catch {
        // What got in of a record only confuses; if it stays, reading it again tells that it is half of one.
        do throws(Errno) { try file.cut(to: written.length) } catch {}
        // A file without a record leads nowhere back, and would be in the way of the next try.
        if isNew, !written.hasRecords { try? removeFile(path) }
        stop(error)
      }
    }
  }

  private func stop(_ error: Errno) -> Never {
    // A user who wants silence about failures must still not take this for success.
    console.isSilent = false
    console.complain(path, "the undo file cannot be written: \(error); nothing more is changed")
    ThisProgram.exit(console.finish())
  }
}

/// A path from the root, for a file that is read elsewhere.
func absolute(_ path: [UInt8]) throws(Errno) -> [UInt8] {
  do throws(Errno) { return try realPath(path) } catch .nameTooLong {
    guard path.first != UInt8(ascii: "/") else { return path }
    return joined(try realPath(Array(".".utf8)), path)
  }
}

/// A word for a message.
func shown(_ word: Word) -> String { "'\(PathText.escaped(word))'" }
