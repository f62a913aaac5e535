// What the kernel does without asking the volume, and what a native file system would refuse: each limit is shown beside
// the upper directory, where the kernel decides by the mode bits.

import CMountSupport
import Glibc
import LinuxFiles
import MountSupport
import Synchronization
import Testing

extension MountTests {
  @Suite("What only the kernel could forbid", .timeLimit(.minutes(1))) struct KernelLimitTests {
    /// Makes something and takes a right away after Bob has got hold of it; what Bob says then.
    private func afterBob<Held: Sendable>(
      holds: @escaping @Sendable () -> Held, _ change: () throws -> Void,
      says: @escaping @Sendable (Held) -> [Errno?]
    ) throws -> [Errno?] {
      let turns = Turns()
      let answers: Mutex<[Errno?]> = Mutex([])
      var crowd = Crowd()
      try crowd.add {
        defer { turns.end() }
        TestUser.bob.become(umask: 0)
        let held = holds()
        turns.finish(1)
        turns.await(2)
        let said = says(held)
        answers.withLock { $0 = said }
      }
      turns.await(1)
      // Bob must not wait for what has failed.
      defer {
        turns.finish(2)
        crowd.join()
      }
      try change()
      turns.finish(2)
      crowd.join()
      return answers.withLock { $0 }
    }

    @Test("Whoever may enter a directory can watch it, and sees the names of what is made there afterwards")
    func watching() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let box = try volume.directory("box", 0, 0, 0o733)
      try #require(Calls.write(box + "/before", "text") == nil)
      let names: Mutex<[String]> = Mutex([])
      // IN_CREATE
      let notice = 0x100 as UInt32
      let refusals = try afterBob {
        let watch = inotify_init1(O_NONBLOCK)
        let below = Calls.answer(inotify_add_watch(watch, volume.upper + "/box", notice))
        let above = Calls.answer(inotify_add_watch(watch, box, notice))
        return (watch, [Calls.list(box).refusal, below, above])
      } _: {
        try #require(Calls.write(box + "/afterwards", "text") == nil)
      } says: { watch, refusals in
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = max(0, read(watch, &bytes, bytes.count))
        close(watch)
        let text = String(decoding: bytes.prefix(count).filter { $0 >= 0x20 }, as: UTF8.self)
        names.withLock { $0 = ["before", "afterwards"].filter { text.contains($0) } }
        return refusals
      }
      #expect(refusals == [.accessDenied, .accessDenied, nil])
      #expect(names.withLock { $0 } == ["afterwards"])
    }

    private static let mayTrace = ((try? Text.read("/proc/sys/kernel/yama/ptrace_scope")) ?? "0\n") < "2"

    @Test(
      "Whoever may run a program that they may not read can read the memory it runs in",
      .enabled(
        if: Programs.has("perl", "setpriv") && mayTrace, "needs perl, setpriv and a kernel that lets trace"))
    func memory() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let program = try volume.file("program", 0, 0, 0o711)
      try Program.shell("cat /bin/sleep >'\(program)'")
      let reader = """
        my ($program) = @ARGV;
        print open(my $file, "<", $program) ? "file\\n" : "no file\\n";
        my $child = fork() // die;
        if (!$child) { exec($program, "60") or die }
        my $name = "";
        until ($name eq "program\\n") {
          open(my $comm, "<", "/proc/$child/comm") or die; $name = <$comm>; select(undef, undef, undef, 0.01);
        }
        my $start = open(MAPS, "<", "/proc/$child/maps") && <MAPS> =~ /^([0-9a-f]+)-/ ? $1 : "0";
        no warnings "portable";
        my $bytes = "";
        open(MEMORY, "<:raw", "/proc/$child/mem") && sysseek(MEMORY, hex($start), 0) && sysread(MEMORY, $bytes, 4);
        print $bytes eq "\\x7fELF" ? "memory\\n" : "no memory\\n";
        kill("KILL", $child);
        waitpid($child, 0);
        """
      func said(_ path: String) throws -> String {
        try Program.run(
          Programs.path(of: "setpriv") ?? "",
          ["--reuid", "1002", "--regid", "2009", "--clear-groups", "perl", "-e", reader, path]
        ).output
      }
      #expect(try said(volume.upper + "/program") == "no file\nno memory\n")
      #expect(try said(program) == "no file\nmemory\n")
    }

    @Test(
      "A working directory whose name somebody else is refused is called deleted, until it is looked up again, and goes on to work",
      .enabled(if: Programs.has("setpriv"), "needs setpriv"))
    func workingDirectory() throws {
      let volume = try MountedVolume()
      defer { volume.remove() }
      _ = try volume.directory("box", 0, 0, 0o700)
      _ = try volume.directory("box/child", 0, 0, 0o755)
      let said = try Program.run(
        "/bin/bash",
        [
          "-c",
          """
          cd '\(volume.path)/box/child'
          look() { readlink /proc/$$/cwd | grep -q ' (deleted)$' && echo deleted || echo there; }
          look; setpriv --reuid 65534 --regid 65534 --clear-groups stat '\(volume.path)/box/child' 2>&1 | grep -o 'Permission denied'
          look; echo text > file && cat file; stat '\(volume.path)/box/child' > /dev/null; look
          """,
        ], in: volume.base, environment: ["LC_ALL": "C"])
      #expect(said.output == "there\nPermission denied\ndeleted\ntext\nthere\n", "\(said.output)")
    }

    @Test("Whoever has found a pipe or socket opens it by O_PATH, whatever was taken away since") func pipes()
      throws
    {
      let volume = try MountedVolume()
      defer { volume.remove() }
      let (pipe, socket) = (volume.path + "/pipe", volume.path + "/socket")
      try #require(mknod(pipe, S_IFIFO | 0o666, 0) == 0)
      let listener = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
      defer { close(listener) }
      try #require(UnixAddress(socket).use(bind, listener) == 0 && listen(listener, 4) == 0)
      for path in [pipe, socket] { try #require(chmod(path, 0o666) == 0) }
      // On the mount and, beside it, on the file system below.
      for (directory, byDescriptor) in [(volume.path, nil), (volume.upper, .accessDenied)]
        as [(String, Errno?)]
      {
        for path in [pipe, socket] { try #require(chmod(path, 0o666) == 0) }
        let (pipe, socket) = (directory + "/pipe", directory + "/socket")
        let answers = try afterBob {
          [open(pipe, lt_o_path), open(socket, lt_o_path)]
        } _: {
          for path in [volume.path + "/pipe", volume.path + "/socket"] {
            try #require(chmod(path, 0o600) == 0)
          }
        } says: { held in
          defer { for descriptor in held { close(descriptor) } }
          let again = held.map { "/proc/self/fd/\($0)" }
          return [
            Calls.open(pipe, O_RDWR | O_NONBLOCK), UnixAddress(socket).connect(),
            Calls.open(again[0], O_RDWR | O_NONBLOCK), UnixAddress(again[1]).connect(),
          ]
        }
        #expect(answers == [.accessDenied, .accessDenied, byDescriptor, byDescriptor], "\(directory)")
      }
    }
  }
}

/// The name of a socket in the file system.
private struct UnixAddress {
  private var address = sockaddr_un()

  init(_ path: String) {
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) {
      $0.copyBytes(from: Array(path.utf8.prefix($0.count - 1)))
    }
  }

  /// Calls bind(2) or connect(2).
  func use(_ call: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt, _ socket: CInt) -> CInt {
    withUnsafeBytes(of: address) { bytes in
      guard let start = bytes.baseAddress else { return -1 }
      return call(socket, start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
  }

  /// Connects and hangs up.
  func connect() -> Errno? {
    let socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    return Calls.answer(use(Glibc.connect, socket))
  }
}
