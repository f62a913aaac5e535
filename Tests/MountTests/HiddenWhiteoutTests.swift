// Character devices 0:0 in a volume without lowers, as a layered upper has them that is mounted alone, or as another program left
// them: no name shows there, whatever is asked, and anything can be made there.

import MountSupport
import Testing

extension MountTests {
  @Suite("Whiteouts of volumes without lowers", .timeLimit(.minutes(1))) struct HiddenWhiteoutTests {
    private static let program = """
      import ctypes, errno, os, stat, sys
      libc = ctypes.CDLL(None, use_errno=True)
      def rename2(a, b, flags):
          if libc.renameat2(-100, a.encode(), -100, b.encode(), flags): raise OSError(ctypes.get_errno(), 'renameat2')
      def number(call):
          try: call(); return 'done'
          except OSError as e: return errno.errorcode[e.errno]
      def nameless(path):
          file = os.open(os.path.dirname(path), os.O_TMPFILE | os.O_RDWR, 0o600)
          os.link('/proc/self/fd/%d' % file, path, src_dir_fd=file); os.close(file)
      def create(path, flags=0): os.close(os.open(path, os.O_CREAT | os.O_RDWR | flags, 0o600))
      # In a directory D with a file, a directory and a whiteout W: what is not there for any of them.
      missing = {
        'stat': lambda d, w: os.stat(w), 'lstat': lambda d, w: os.lstat(w), 'open': lambda d, w: os.open(w, os.O_RDONLY),
        'open to write': lambda d, w: os.open(w, os.O_WRONLY), 'O_PATH': lambda d, w: os.open(w, os.O_PATH),
        'unlink': lambda d, w: os.unlink(w), 'rmdir': lambda d, w: os.rmdir(w), 'chmod': lambda d, w: os.chmod(w, 0o600),
        'chown': lambda d, w: os.chown(w, 1, 1), 'utimes': lambda d, w: os.utime(w), 'truncate': lambda d, w: os.truncate(w, 0),
        'getxattr': lambda d, w: os.getxattr(w, 'user.x'), 'listxattr': lambda d, w: os.listxattr(w), 'readlink': lambda d, w: os.readlink(w),
        'setxattr': lambda d, w: os.setxattr(w, 'user.x', b''), 'chdir': lambda d, w: os.chdir(w), 'beneath': lambda d, w: os.stat(w + '/x'),
        'link of': lambda d, w: os.link(w, d + '/new'), 'rename of': lambda d, w: os.rename(w, d + '/new'),
        'rename of, over a file': lambda d, w: os.rename(w, d + '/file'), 'NOREPLACE of': lambda d, w: rename2(w, d + '/new', 1),
        'exchange': lambda d, w: rename2(w, d + '/file', 2), 'exchange with': lambda d, w: rename2(d + '/file', w, 2),
      }
      # And what takes its place, with what is in the directory then.
      free = {
        'create': (lambda d, w: create(w, os.O_EXCL), 'dir file gone'), 'create, perhaps': (lambda d, w: create(w), 'dir file gone'),
        'mkdir': (lambda d, w: os.mkdir(w), 'dir file gone'), 'symlink': (lambda d, w: os.symlink('x', w), 'dir file gone'),
        'mkfifo': (lambda d, w: os.mkfifo(w), 'dir file gone'), 'mknod': (lambda d, w: os.mknod(w, 0o20600, os.makedev(1, 3)), 'dir file gone'),
        'link': (lambda d, w: os.link(d + '/file', w), 'dir file gone'), 'nameless': (lambda d, w: nameless(w), 'dir file gone'),
        'rename': (lambda d, w: os.rename(d + '/file', w), 'dir gone'), 'rename, dir': (lambda d, w: os.rename(d + '/dir', w), 'file gone'),
        'NOREPLACE': (lambda d, w: rename2(d + '/file', w, 1), 'dir gone'), 'NOREPLACE, dir': (lambda d, w: rename2(d + '/dir', w, 1), 'file gone'),
        'rmdir where nothing else is': (lambda d, w: os.rmdir(d + '/dir'), 'file'),
      }
      refused = {
        'mknod 0:0': (lambda d, w: os.mknod(d + '/n', 0o20600, 0), 'EPERM'), 'mknod 0:0 over': (lambda d, w: os.mknod(w, 0o20600, 0), 'EPERM'),
        'RENAME_WHITEOUT': (lambda d, w: rename2(d + '/file', d + '/g', 4), 'EINVAL'),
      }
      rows = [(n, f, 'ENOENT', 'dir file') for n, f in missing.items()] + [(n, f, 'done', names) for n, (f, names) in free.items()]
      rows += [(n, f, answer, 'dir file') for n, (f, answer) in refused.items()]
      if sys.argv[1] == 'make':
          for warm in (0, 1):
              for i in range(len(rows)):
                  d = 'upper/%d-%d' % (i, warm)
                  os.makedirs(d + '/dir'); open(d + '/file', 'w').write('file'); os.mknod(d + '/gone', 0o20000, 0); os.mknod(d + '/dir/gone', 0o20000, 0)
      else:
          for warm in (0, 1):
              for i, (name, call, answer, names) in enumerate(rows):
                  d = 'mount/%d-%d' % (i, warm); w = d + '/gone'
                  # By names that the kernel remembers, and those that it does not.
                  if warm: list(os.scandir(d)); os.path.lexists(w); os.stat(d + '/file'); os.stat(d + '/dir')
                  found = number(lambda: call(d, w))
                  seen = [' '.join(sorted(os.listdir(d))), ' '.join(sorted(e.name for e in os.scandir(d) if e.stat(follow_symlinks=False)))]
                  if found != answer or seen != [names, names]: print(name, warm, found, seen)
                  if answer != 'done' and stat.S_ISCHR(os.lstat(d.replace('mount', 'upper') + '/gone').st_mode) is False: print(name, 'took it away')
          print(2 * len(rows))
      """

    @Test(
      "A device 0:0 of a volume without lowers has no name: it cannot be asked, opened, moved or removed, and is written over",
      .enabled(if: Programs.has("python3"), "needs python3"),
      arguments: ["", "cache=none", "cache=exclusive,passthrough=off"])
    func hidden(options: String) throws {
      let stage = try LayerStage()
      defer { stage.remove() }
      let said = try stage.shell(
        """
        cat > ask.py <<'END'
        \(HiddenWhiteoutTests.program)
        END
        python3 ask.py make; varve mount -o '\(options.isEmpty ? "rw" : options)' upper mount; python3 ask.py ask
        varve umount mount; varve check upper
        """)
      #expect(said == "78\n", "\(said)")
    }
  }
}
