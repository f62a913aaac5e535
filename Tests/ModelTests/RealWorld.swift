// The calls on a real mount. Every method runs on the thread of the user who makes the call.

import AccessControl
import CModelSupport
import CMountSupport
import FlagRules
import Glibc
import LinuxFiles

/// The mount, and the files open on it.
///
/// `@unchecked`: one operation at a time, each ordered after the one before by its actor's semaphores.
final class RealWorld: @unchecked Sendable {
  private let root: String
  private var slots: [Int: CInt] = [:]
  private var mappings: [Int: (start: UnsafeMutableRawPointer, isWritable: Bool)] = [:]

  init(_ root: String) {
    self.root = root
  }

  private func at(_ path: String) -> String { path.isEmpty ? root : "\(root)/\(path)" }

  func closeAll() {
    for (_, descriptor) in slots { _ = Glibc.close(descriptor) }
    slots = [:]
    for number in mappings.keys { unmap(number) }
  }

  func perform(_ call: Call) -> Outcome {
    switch call {
    case .open, .openUnnamed, .linkOpen, .close, .read, .readAt, .write, .writeAt, .cutOpen, .statusOfOpen:
      performOnOpen(call)
    case .map, .readMapped, .writeMapped, .unmap:
      performOnMapping(call)
    case .setFlags, .setFlagsText, .removeFlags, .getFlags, .setList, .setListText, .removeList, .getList,
      .setAttribute, .getAttribute, .removeAttribute, .listAttributes:
      performOnAttribute(call)
    default:
      performOnPath(call)
    }
  }

  // MARK: Open files

  private func performOnOpen(_ call: Call) -> Outcome {
    switch call {
    case .open(let slot, let path, let wish, let mode):
      close(slot)
      let descriptor = Glibc.open(at(path), wish.words, mode_t(mode))
      return keep(Int(descriptor), slot)
    case .openUnnamed(let slot, let path, let mode):
      close(slot)
      return keep(lm_open_unnamed(at(path), O_RDWR, UInt32(mode)), slot)
    case .close(let slot):
      return slots[slot] == nil ? .skipped : close(slot)
    case .linkOpen(let slot, let path):
      return with(slot) { answer(lm_link_open($0, at(path))) }
    case .read(let slot, let count):
      return with(slot) { descriptor in bytes(count) { Glibc.read(descriptor, $0, count) } }
    case .readAt(let slot, let offset, let count):
      return with(slot) { descriptor in bytes(count) { Glibc.pread(descriptor, $0, count, off_t(offset)) } }
    case .write(let slot, let byte, let count):
      return with(slot) { number(Glibc.write($0, [UInt8](repeating: byte, count: count), count)) }
    case .writeAt(let slot, let offset, let byte, let count):
      let data = [UInt8](repeating: byte, count: count)
      return with(slot) { number(Glibc.pwrite($0, data, count, off_t(offset))) }
    case .cutOpen(let slot, let size):
      return with(slot) { result(Glibc.ftruncate($0, off_t(size))) }
    case .statusOfOpen(let slot):
      return with(slot) { descriptor in status { Glibc.fstat(descriptor, $0) } }
    default:
      return .skipped
    }
  }

  /// Keeps an open file; directories and FIFOs are closed at once, it was only the answer that counted.
  private func keep(_ descriptor: Int, _ slot: Int) -> Outcome {
    guard descriptor >= 0 else {
      // The calls of C answer -1 and a number beside it; ours answer the number.
      return .failed(descriptor == -1 ? .current : Errno(rawValue: CInt(-descriptor)))
    }
    // fstat may be refused; lseek asks nobody and tells a FIFO from the rest.
    if Glibc.lseek(CInt(descriptor), 0, SEEK_CUR) >= 0, !isDirectory(CInt(descriptor)) {
      slots[slot] = CInt(descriptor)
    } else {
      _ = Glibc.close(CInt(descriptor))
    }
    return .done
  }

  /// A zero-length read of a directory is EISDIR, of a file that is not open for reading EBADF.
  private func isDirectory(_ descriptor: CInt) -> Bool {
    Glibc.read(descriptor, nil, 0) < 0 && Errno.current == .isDirectory
  }

  @discardableResult private func close(_ slot: Int) -> Outcome {
    guard let descriptor = slots.removeValue(forKey: slot) else { return .done }
    return result(Glibc.close(descriptor))
  }

  private func with(_ slot: Int, _ body: (CInt) -> Outcome) -> Outcome {
    slots[slot].map(body) ?? .skipped
  }

  // MARK: Mappings

  private func performOnMapping(_ call: Call) -> Outcome {
    switch call {
    case .map(let number, let slot, let writes):
      unmap(number)
      return with(slot) { descriptor in
        let protection = writes ? PROT_READ | PROT_WRITE : PROT_READ
        guard let start = mmap(nil, Mapping.length, protection, MAP_SHARED, descriptor, 0),
          start != MAP_FAILED
        else { return .failed(.current) }
        mappings[number] = (start, writes)
        return .done
      }
    case .readMapped(let number, let offset, let count):
      guard let mapping = mappings[number] else { return .skipped }
      return bytes(count, isNegated: true) { lm_read_memory(mapping.start + offset, $0, count) }
    case .writeMapped(let number, let offset, let byte, let count, let syncs):
      guard let mapping = mappings[number], mapping.isWritable else { return .skipped }
      let written = lm_write_memory(mapping.start + offset, [UInt8](repeating: byte, count: count), count)
      guard written >= 0 else { return answer(written) }
      guard !syncs || msync(mapping.start, Mapping.length, MS_SYNC) == 0 else { return .failed(.current) }
      return .number(written)
    case .unmap(let number):
      return unmap(number)
    default:
      return .skipped
    }
  }

  @discardableResult private func unmap(_ number: Int) -> Outcome {
    guard let mapping = mappings.removeValue(forKey: number) else { return .skipped }
    return result(munmap(mapping.start, Mapping.length))
  }

  // MARK: Paths

  private func performOnPath(_ call: Call) -> Outcome {
    switch call {
    case .truncate(let path, let size): result(Glibc.truncate(at(path), off_t(size)))
    case .makeDirectory(let path, let mode): result(Glibc.mkdir(at(path), mode_t(mode)))
    case .removeDirectory(let path): result(Glibc.rmdir(at(path)))
    case .unlink(let path): result(Glibc.unlink(at(path)))
    case .rename(let from, let to, let style):
      answer(lt_renameat2(AT_FDCWD, at(from), AT_FDCWD, at(to), style.rawValue))
    case .link(let from, let to): result(Glibc.link(at(from), at(to)))
    case .makeLink(let path, let target): result(Glibc.symlink(target, at(path)))
    case .readLink(let path): bytes(256) { Glibc.readlink(at(path), $0, 256) }
    case .makeFIFO(let path, let mode): result(Glibc.mknod(at(path), S_IFIFO | mode_t(mode), 0))
    case .changeMode(let path, let mode): result(Glibc.chmod(at(path), mode_t(mode)))
    case .changeOwner(let path, let user, let group, let follows):
      result(
        follows
          ? Glibc.chown(at(path), user ?? UInt32.max, group ?? UInt32.max)
          : Glibc.lchown(at(path), user ?? UInt32.max, group ?? UInt32.max))
    case .changeTimes(let path, let access, let modification):
      answer(lm_set_times(at(path), access.word, modification.word))
    case .access(let path, let mode): result(Glibc.access(at(path), CInt(mode)))
    case .status(let path, let follows):
      status { follows ? fstatat(AT_FDCWD, at(path), $0, 0) : Glibc.lstat(at(path), $0) }
    case .list(let path): list(at(path))
    default: .skipped
    }
  }

  private func list(_ path: String) -> Outcome {
    guard let directory = opendir(path) else { return .failed(.current) }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return .names(names.sorted())
  }

  // MARK: Extended attributes and doors

  private func performOnAttribute(_ call: Call) -> Outcome {
    switch call {
    case .setFlags(let path, let flags): set(path, "system.varve.flags", Array(flags.text.utf8))
    case .setFlagsText(let path, let text): set(path, "system.varve.flags", Array(text.utf8))
    case .removeFlags(let path): answer(lt_remove_attribute(at(path), "system.varve.flags"))
    case .getFlags(let path): get(path, "system.varve.flags")
    case .setList(let path, let list):
      set(
        path, "system.varve.acl",
        Array(AccessListText.print(list, for: .file, names: .numeric, detail: .complete).utf8))
    case .setListText(let path, let text): set(path, "system.varve.acl", Array(text.utf8))
    case .removeList(let path): answer(lt_remove_attribute(at(path), "system.varve.acl"))
    case .getList(let path): get(path, "system.varve.acl")
    case .setAttribute(let path, let name, let value, let mode):
      set(path, name, [UInt8](repeating: value, count: Int(value % 7)), mode)
    case .getAttribute(let path, let name): get(path, name)
    case .removeAttribute(let path, let name): answer(lt_remove_attribute(at(path), name))
    case .listAttributes(let path): attributeNames(path)
    default: .skipped
    }
  }

  private func set(_ path: String, _ name: String, _ value: [UInt8], _ mode: Int32 = 0) -> Outcome {
    answer(lt_set_attribute(at(path), name, value, value.count, mode))
  }

  private func get(_ path: String, _ name: String) -> Outcome {
    bytes(16_384, isNegated: true) { lt_attribute(at(path), name, $0, 16_384) }
  }

  private func attributeNames(_ path: String) -> Outcome {
    let answer = bytes(16_384, isNegated: true) { lt_attribute_names(at(path), $0, 16_384) }
    guard case .bytes(let bytes) = answer else { return answer }
    return .names(bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }.sorted())
  }

  // MARK: Answers

  private func result(_ value: CInt) -> Outcome { value == 0 ? .done : .failed(.current) }

  private func number(_ value: Int) -> Outcome { value >= 0 ? .number(value) : .failed(.current) }

  private func answer(_ value: Int) -> Outcome {
    value >= 0 ? .done : .failed(Errno(rawValue: CInt(-value)))
  }

  private func bytes(
    _ room: Int, isNegated: Bool = false, _ fill: (UnsafeMutablePointer<CChar>) -> Int
  ) -> Outcome {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: max(room, 1)) { buffer in
      guard let start = buffer.baseAddress else { return .skipped }
      let count = fill(start)
      guard count >= 0 else { return .failed(isNegated ? Errno(rawValue: CInt(-count)) : .current) }
      return .bytes([UInt8](UnsafeRawBufferPointer(start: start, count: count)))
    }
  }

  private func status(_ call: (UnsafeMutablePointer<stat>) -> CInt) -> Outcome {
    var buffer = stat()
    guard call(&buffer) == 0 else { return .failed(.current) }
    return .status(Status(buffer))
  }
}

extension Status {
  init(_ status: stat) {
    let kind: Kind =
      switch status.st_mode & S_IFMT {
      case S_IFDIR: .directory
      case S_IFLNK: .link
      case S_IFIFO: .fifo
      default: .file
      }
    self.init(
      kind: kind, mode: UInt16(status.st_mode & 0o7777), user: status.st_uid, group: status.st_gid,
      links: Int(status.st_nlink), size: Int(status.st_size), accessed: Int64(status.st_atim.tv_sec),
      modified: Int64(status.st_mtim.tv_sec))
  }
}

extension OpenWish {
  /// The flags of open(2).
  ///
  /// Never waiting, because a FIFO would.
  fileprivate var words: CInt {
    var words: CInt = (reads && writes ? O_RDWR : writes ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_CLOEXEC
    if creates { words |= O_CREAT }
    if excludes { words |= O_EXCL }
    if truncates { words |= O_TRUNC }
    if appends { words |= O_APPEND }
    if stopsAtLink { words |= O_NOFOLLOW }
    return words
  }
}

extension TimeWish {
  fileprivate var word: Int64 {
    switch self {
    case .now: Int64(LM_NOW)
    case .omit: Int64(LM_OMIT)
    case .seconds(let seconds): seconds
    }
  }
}
