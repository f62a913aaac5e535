// Locks, watches and working directories across the names of a file and several views.

import Foundation
import MountSupport
import Testing

extension MountTests {
  @Suite(
    "Locks and watches through views", .enabled(if: Programs.has("python3"), "needs python3"),
    .timeLimit(.minutes(2)))
  struct ViewLockTests {
    private func run(_ script: String) throws -> String {
      let volume = try MountedVolume()
      defer { volume.remove() }
      try Program.shell(
        """
        mkdir Library Library/Caches 'Fotos.localized' 'Fotos.localized/.localized' && touch Library/.localized
        echo inside >Library/Caches/a.md; echo 'Fotos = Photos;' >Fotos.localized/.localized/fr.strings
        echo 0123456789 >report.txt; cp report.txt other.txt
        """, in: volume.path)
      let result = try Program.run(
        try #require(Programs.path(of: "python3")), ["-c", script], in: volume.path)
      return result.output + (result.exit == 0 ? "" : "exit \(result.exit)\n")
    }

    @Test(
      "Locks of processes and of open files are those of the file, by whichever name and view it was opened")
    func locks() throws {
      let output = try run(
        """
        import errno, fcntl, os, struct
        names = ['report.txt', '.varve/view/de/report', '.varve/view/fr/report', '.varve/view/fr+de,all/report.txt']
        OFD_SETLK = 37
        def record(kind, start, length): return struct.pack('hhxxxxqqixxxx', kind, os.SEEK_SET, start, length, 0)
        def locked(fd, kind, start, length):
            try:
                fcntl.fcntl(fd, OFD_SETLK, record(kind, start, length))
                return False
            except OSError as error:
                assert error.errno in (errno.EAGAIN, errno.EACCES), error
                return True
        def elsewhere(name, kind, start, length):
            child = os.fork()
            if child == 0:
                fd = os.open(name, os.O_RDWR)
                try:
                    fcntl.lockf(fd, kind | fcntl.LOCK_NB, length, start)
                    os._exit(0)
                except OSError as error:
                    os._exit(1 if error.errno in (errno.EAGAIN, errno.EACCES) else 2)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for holder in names:
            held = os.open(holder, os.O_RDWR)
            fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB, 4, 2)
            for name in names:
                if elsewhere(name, fcntl.LOCK_SH, 0, 3) != 1: print(holder, name, 'not locked for a process')
                if elsewhere(name, fcntl.LOCK_EX, 6, 4) != 0: print(holder, name, 'locked beside it')
            # Closing any name of the file gives up all that the process has of it, as anywhere.
            os.close(os.open(names[-1], os.O_RDONLY))
            if elsewhere(names[0], fcntl.LOCK_EX, 0, 9) != 0: print(holder, 'kept after a close')
            os.close(held)
            held = os.open(holder, os.O_RDWR)
            if locked(held, fcntl.F_WRLCK, 2, 4): print(holder, 'cannot be locked')
            for name in names:
                fd = os.open(name, os.O_RDWR)
                if not locked(fd, fcntl.F_RDLCK, 0, 3): print(holder, name, 'not locked for an open file')
                if locked(fd, fcntl.F_WRLCK, 6, 4): print(holder, name, 'locked beside it')
                if elsewhere(name, fcntl.LOCK_SH, 2, 1) != 1: print(holder, name, 'not locked for a process')
                os.close(fd)
                # It is the open file's, whatever else is closed.
            if not locked(os.open(names[0], os.O_RDWR), fcntl.F_WRLCK, 2, 1): print(holder, 'lost')
            os.close(held)
        other = os.open('.varve/view/fr/other', os.O_RDWR)
        if locked(other, fcntl.F_WRLCK, 0, 10): print('another file is locked')
        print('done')
        """)
      #expect(output == "done\n")
    }

    @Test(
      "A watch on a file tells of changes by every name; one on a directory in a view of what goes through that view"
    )
    func watches() throws {
      let output = try run(
        """
        import ctypes, os, struct
        libc = ctypes.CDLL(None, use_errno=True)
        MODIFY, ATTRIB, OPEN, CREATE = 2, 4, 0x20, 0x100
        def watch(path, mask):
            fd = libc.inotify_init1(os.O_NONBLOCK)
            assert libc.inotify_add_watch(fd, path.encode(), mask) >= 0, path
            return fd
        def events(fd):
            try: data = os.read(fd, 65536)
            except BlockingIOError: return []
            found, place = [], 0
            while place < len(data):
                _, mask, _, length = struct.unpack_from('iIII', data, place)
                name = data[place + 16:place + 16 + length].rstrip(b'\\0').decode()
                found.append((mask & 0xFFF, name))
                place += 16 + length
            return found
        names = ['report.txt', '.varve/view/de/report', '.varve/view/fr/report', '.varve/view/fr/report.txt']
        for watched in names:
            fd = watch(watched, MODIFY | ATTRIB)
            for name in names:
                with open(name, 'r+') as file: file.write('x')
                if (MODIFY, '') not in events(fd): print(watched, name, 'a write is not told')
                os.chmod(name, 0o640 if name == names[0] else 0o644)
                if (ATTRIB, '') not in events(fd): print(watched, name, 'a mode is not told')
            with open('other.txt', 'r+') as file: file.write('x')
            if events(fd): print(watched, 'another file is told of')
            os.close(fd)
        tree, french, german = (watch(path, OPEN | CREATE) for path in ['.', '.varve/view/fr', '.varve/view/de'])
        os.close(os.open('.varve/view/fr/report', os.O_RDONLY))
        print([sorted({name for mask, name in events(fd) if mask & OPEN and name}) for fd in (tree, french, german)])
        os.close(os.open('report.txt', os.O_RDONLY))
        open('new.txt', 'w').close()
        print([sorted({name for mask, name in events(fd) if name}) for fd in (tree, french, german)])
        """)
      #expect(output == "[[], ['report'], []]\n[['new.txt', 'report.txt'], [], []]\n")
    }

    @Test("The working directory in a view stays where it is while names change, or is gone, and works on")
    func workingDirectory() throws {
      let output = try run(
        """
        import os, subprocess, time
        root = os.getcwd()
        view = root + '/.varve/view/fr'
        def here():
            try: return os.getcwd()
            except FileNotFoundError: return None
        def other(script): subprocess.run(['sh', '-ec', script], cwd=root, check=True)
        def settle(seconds=1.2):
            end = time.monotonic() + seconds
            while time.monotonic() < end: time.sleep(0.05)
        place = view + '/Bibliothèque/Caches'
        os.chdir(place)
        look = f"ls -R . '{root}/.varve/view/de' '{view}/Library/Caches' '{root}/.varve/view/en,all' >/dev/null; cat '{view}/Library/Caches/a' >/dev/null"
        changes = [
            'touch Library/b.txt; mv Library/b.txt Library/c.txt; rm Library/c.txt', 'mkdir Music; mv Music Musik; rmdir Musik',
            'mv Library/Caches/a.md Library/Caches/x.md; mv Library/Caches/x.md Library/Caches/a.md',
            'chmod 700 Library; chmod 755 Library', 'touch Library/Caches/a',
            'rm Library/Caches/a',
        ]
        for change in changes:
            other(look + '; ' + change + '; ' + look)
            if here() != place: print(change, here())
            with open('a.md') as file:
                if file.read() != 'inside\\n': print(change, 'another file')
        # What the directory above is shown as ends: then its path is gone, or the same, and never another one.
        for change, back in [
            ('rm Library/.localized', 'touch Library/.localized'), ('mv Library Other', 'mv Other Library'),
            ('mv Library/Caches Caches', 'mv Caches Library/Caches'), ('mkdir Bibliothèque', 'rmdir Bibliothèque'),
        ]:
            for script in change, back:
                other(script + '; (' + look + ') 2>/dev/null || :')
                for _ in range(2):
                    if here() not in (place, None): print(script, here())
                    with open('a.md') as file:
                        if file.read() != 'inside\\n': print(script, 'another file')
                    if os.stat('.').st_ino != os.stat(root + '/' + ('Other/Caches' if script == 'mv Library Other' else 'Caches' if script == change and 'Caches' in script else 'Library/Caches')).st_ino:
                        print(script, 'another directory')
                    settle()
        os.chdir(place)
        print(here() == place, sorted(os.listdir('.')))
        """)
      #expect(output == "True ['a']\n")
    }
  }
}
