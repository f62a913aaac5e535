// A daemon whose system calls fail: programs see the error, and it lives.

import CMountSupport
import Faults
import Glibc
import LinuxFiles
import MountSupport
import Testing

extension FrontTests {
  @Suite("A daemon whose system calls fail", .timeLimit(.minutes(3))) struct DaemonFaultTests {
    private func withFaults(_ body: (DaemonFaults, _ base: String) throws -> Void) throws {
      let base = try TemporaryDirectory.make()
      for name in ["upper", "mount"] { mkdir("\(base)/\(name)", 0o755) }
      defer {
        umount2("\(base)/mount", CInt(MNT_DETACH))
        TemporaryDirectory.remove(base)
      }
      try body(try DaemonFaults("\(base)/faults", library: Program.built("libVarveFaults.so")), base)
    }

    private func varve(_ words: String..., faults: DaemonFaults) throws -> ProgramResult {
      try Program.run(Program.built("varve"), words, environment: faults.environment)
    }

    @Test("Programs see the error, nothing is half made, and the daemon goes on") func serves() throws {
      try withFaults { faults, base in
        let mounted = try varve("mount", "\(base)/upper", "\(base)/mount", faults: faults)
        try #require(mounted.exit == 0, "\(mounted.output)")
        let path = "\(base)/mount/new"
        let calls: [(CallKinds, () -> CInt)] = [
          (.make, { mkdir(path, 0o755) }), (.name, { rename("\(base)/mount/old", path) }),
          (.mode, { chmod("\(base)/mount/old", 0o600) }),
          (.owner, { chown("\(base)/mount/old", 1001, 1001) }),
          (.attribute, { CInt(lt_set_attribute("\(base)/mount/old", "system.varve.flags", "uchg", 4, 0)) }),
          (.name, { unlink("\(base)/mount/old") }),
        ]
        close(creat("\(base)/mount/old", 0o644))
        for (number, call) in calls.enumerated() {
          faults.begin(Fault(call.0, .noSpace))
          let result = call.1()
          let error = result < -1 ? -result : errno
          #expect(faults.end() == 1, "call \(number) was not reached")
          #expect(result < 0 && error == ENOSPC, "call \(number)")
          var status = stat()
          #expect(stat(path, &status) == -1 && stat("\(base)/mount/old", &status) == 0, "call \(number)")
          #expect(status.st_mode & 0o777 == 0o644 && status.st_uid == 0, "call \(number)")
        }
        #expect(mkdir(path, 0o755) == 0 && unlink("\(base)/mount/old") == 0)
        let unmounted = try varve("umount", "\(base)/mount", faults: faults)
        #expect(unmounted.exit == 0)
      }
    }

    @Test("What a store forgets with the name of a file, those have who have it open")
    func nameless() throws {
      try withFaults { faults, base in
        let mounted = try varve(
          "mount", "-o", "no_local,no_unlinked", "\(base)/upper", "\(base)/mount", faults: faults)
        try #require(mounted.exit == 0, "\(mounted.output)")
        let path = "\(base)/mount/file"
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o640)
        defer { close(file) }
        try #require(write(file, "before", 6) == 6)
        try #require(lt_set_attribute(path, "user.a", "1", 1, 0) == 0)
        try #require(lt_set_attribute(path, "system.varve.flags", "hidden", 6, 0) == 0)
        try #require(unlink(path) == 0)
        faults.begin(Fault([.attribute, .mode, .owner, .times], .stale, count: 1_000_000))
        func attribute(_ number: CInt, _ name: String, _ value: String = "") -> Int {
          var room = Array(value.utf8) + [UInt8](repeating: 0, count: 64)
          let size = number == CInt(SYS_fgetxattr) ? room.count : value.utf8.count
          let answer = name.withCString { name in
            room.withUnsafeMutableBytes { room in
              lt_call(
                Int(number), Int(file), Int(bitPattern: name), Int(bitPattern: room.baseAddress), size, 0, 0)
            }
          }
          if number == CInt(SYS_fgetxattr), answer >= 0 {
            #expect(String(decoding: room.prefix(answer), as: UTF8.self) == value, "\(name)")
          }
          return answer
        }
        #expect(fchmod(file, 0o600) == 0 && fchown(file, 1001, 2001) == 0 && ftruncate(file, 3) == 0)
        var times = [timespec(tv_sec: 1000, tv_nsec: 7), timespec(tv_sec: 2000, tv_nsec: 9)]
        #expect(futimens(file, &times) == 0)
        #expect(attribute(CInt(SYS_fgetxattr), "user.a", "1") == 1)
        #expect(attribute(CInt(SYS_fsetxattr), "user.b", "two") == 0)
        #expect(attribute(CInt(SYS_fgetxattr), "user.b", "two") == 3)
        #expect(attribute(CInt(SYS_fgetxattr), "user.c") == -Int(ENODATA))
        #expect(attribute(CInt(SYS_fgetxattr), "system.varve.flags", "hidden") == 6)
        #expect(attribute(CInt(SYS_fsetxattr), "system.varve.flags", "uappnd") == 0)
        #expect(pwrite(file, "x", 1, 0) == -1 && errno == EPERM)
        #expect(attribute(CInt(SYS_fremovexattr), "system.varve.flags") == 0)
        #expect(attribute(CInt(SYS_fsetxattr), "system.varve.acl", "user:1002 deny read") == 0)
        #expect(pwrite(file, "BEFORE", 6, 0) == 6)
        var status = stat()
        #expect(fstat(file, &status) == 0)
        #expect(status.st_mode & 0o7777 == 0o600 && status.st_uid == 1001 && status.st_gid == 2001)
        #expect(status.st_size == 6 && status.st_nlink == 0 && status.st_atim.tv_sec == 1000)
        #expect(faults.end() == 0)
        close(open("\(base)/mount/file", O_RDWR | O_CREAT | O_CLOEXEC, 0o644))
        #expect(stat(path, &status) == 0 && status.st_uid == 0 && status.st_size == 0)
        #expect(umount2("\(base)/mount", CInt(MNT_DETACH)) == 0)
      }
    }

    @Test("Every door of a file without a name changes what those see who have it open, and not the store")
    func doorsOfNameless() throws {
      try withFaults { faults, base in
        let mounted = try varve(
          "mount", "-o", "no_local,no_unlinked", "\(base)/upper", "\(base)/mount", faults: faults)
        try #require(mounted.exit == 0, "\(mounted.output)")
        let (path, listed) = ("\(base)/mount/file.txt", "\(base)/mount/listed")
        close(creat(listed, 0o644))
        try #require(lt_set_attribute(listed, "system.varve.acl", "user:1002 deny read", 19, 0) == 0)
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o640)
        let other = open(listed, O_RDONLY | O_CLOEXEC)
        defer {
          close(file)
          close(other)
        }
        let (info, state) = ("user.com.apple.FinderInfo", "system.varve.extension")
        try #require(OpenAttribute.set(file, state, Array("show".utf8)) == 0)
        try #require(unlink(path) == 0)
        faults.begin(Fault([.attribute, .mode, .owner, .times], .stale, count: 1_000_000))
        func reads(_ name: String, _ value: [UInt8]?) {
          #expect(OpenAttribute.get(file, name) == value, "\(name)")
        }
        func sets(_ name: String, _ value: [UInt8]) {
          #expect(OpenAttribute.set(file, name, value) == 0, "\(name)")
        }
        reads(state, Array("show".utf8))
        sets(state, Array("hide".utf8))
        reads(state, Array("hide".utf8))
        let zeros = [UInt8](repeating: 0, count: 22)
        reads(info, [UInt8](repeating: 0, count: 9) + [0x10] + zeros)
        // A type, and the invisible bit.
        let wanted = Array("TEXTttxt".utf8) + [0x40, 0] + zeros
        sets(info, wanted)
        reads(info, wanted)
        reads("system.varve.flags", Array("hidden".utf8))
        #expect(OpenAttribute.remove(file, info) == 0)
        reads(info, nil)
        reads("system.varve.flags", [])
        sets(state, Array("show".utf8))
        #expect(OpenAttribute.remove(file, state) == 0)
        reads(state, [])
        // Mode and list in one.
        let anyone: [UInt8] = [255, 255, 255, 255]
        let (owner, group, others): ([UInt8], [UInt8], [UInt8]) = (
          [1, 0, 7, 0], [4, 0, 5, 0], [32, 0, 1, 0]
        )
        sets(
          "system.posix_acl_access", [2, 0, 0, 0] + owner + anyone + group + anyone + others + anyone)
        var status = stat()
        #expect(fstat(file, &status) == 0 && status.st_mode & 0o7777 == 0o751)
        let list = try #require(OpenAttribute.get(other, "system.nfs4_acl"))
        sets("system.nfs4_acl", list)
        let text = OpenAttribute.get(file, "system.varve.acl").map { String(decoding: $0, as: UTF8.self) }
        #expect(text?.contains("1002 deny read") == true, "\(text ?? "none")")
        #expect(faults.end() == 0)
        #expect(umount2("\(base)/mount", CInt(MNT_DETACH)) == 0)
      }
    }

    @Test("A mount whose steps fail says so, and is none") func mounts() throws {
      try withFaults { faults, base in
        for number in 0..<100 {
          faults.begin(Fault([.make, .write, .name, .sync, .attribute], .inputOutput, after: number))
          let result = try varve("mount", "\(base)/upper", "\(base)/mount", faults: faults)
          let hits = faults.end()
          if result.exit == 0 {
            let unmounted = try varve("umount", "\(base)/mount", faults: faults)
            #expect(unmounted.exit == 0)
          } else {
            #expect(result.output.contains("EIO"), "call \(number): \(result.output)")
            #expect(access("\(base)/mount/.varve", F_OK) == -1, "call \(number)")
            #expect(access("\(base)/upper/.varve", F_OK) == -1, "call \(number) left '.varve'")
          }
          TemporaryDirectory.remove("\(base)/upper/.varve")
          guard hits > 0 else {
            #expect(number > 3 && result.exit == 0)
            return
          }
        }
        Issue.record("there was no end of calls")
      }
    }

    @Test("What a store says of its own connection is EIO, and no reason to take a live mount away")
    func lostServers() throws {
      try withFaults { faults, base in
        mkdir("\(base)/other", 0o755)
        let mounted = try varve("mount", "-o", "cache=none", "\(base)/upper", "\(base)/mount", faults: faults)
        try #require(mounted.exit == 0, "\(mounted.output)")
        close(creat("\(base)/mount/file", 0o644))
        for error in [Errno.notConnected, .shutDown, .connectionAborted] {
          faults.begin(Fault(.all, error, count: 1_000_000))
          var status = stat()
          #expect(stat("\(base)/mount/file", &status) == -1 && errno == EIO, "\(error)")
          #expect(stat("\(base)/mount", &status) == -1 && errno == EIO, "\(error)")
          let again = try varve("mount", "\(base)/other", "\(base)/mount", faults: faults)
          #expect(again.exit == 32 && !again.output.contains("without a daemon"), "\(again.output)")
          let told = try varve("status", faults: faults)
          #expect(!told.output.contains("dead"), "\(told.output)")
          faults.end()
          #expect(stat("\(base)/mount/file", &status) == 0, "\(error)")
        }
        let unmounted = try varve("umount", "\(base)/mount", faults: faults)
        #expect(unmounted.exit == 0)
      }
    }

    @Test(
      "A volume outlives a store of user space that dies",
      .enabled(if: Programs.has("bindfs"), "needs bindfs"))
    func deadStore() throws {
      let world = try World()
      defer { world.remove() }
      let output = try world.output(
        """
        mkdir store; bindfs -f -o attr_timeout=0 "$BASE/upper" "$BASE/store" </dev/null >/dev/null 2>&1 & bindfs=$!
        until mountpoint -q "$BASE/store"; do sleep 0.01; done
        varve mount -o cache=none "$BASE/store" "$BASE/mount"
        echo text >mount/file
        varve status "$BASE/mount" | sed -n 's/^ *lock: */lock: /p'
        daemon=$(grep -o '"pid":[0-9]*' mount/.varve/status | tr -dc 0-9)
        kill -9 $bindfs; wait $bindfs 2>/dev/null || true
        cat mount/file 2>&1 || true
        varve mount "$BASE/other" "$BASE/mount" 2>/dev/null || echo "status $?"
        grep -c " $BASE/mount fuse.varve" /proc/self/mounts
        varve status | grep -c dead || true
        varve umount "$BASE/mount"
        umount -l store
        # One that still ran would be waited for.
        while [ -e /proc/$daemon/exe ]; do sleep 0.01; done
        varve mount "$BASE/upper" "$BASE/mount" 2>/dev/null
        cat mount/file
        varve umount "$BASE/mount"
        """)
      #expect(
        output == """
          lock: held
          cat: mount/file: Input/output error
          status 32
          1
          0
          text

          """)
    }
  }
}

/// Attributes of an open file; minus an error number, or nil, where the call fails.
private enum OpenAttribute {
  static func get(_ file: CInt, _ name: String) -> [UInt8]? {
    var room = [UInt8](repeating: 0, count: 4096)
    let count = call(SYS_fgetxattr, file, name, &room)
    return count < 0 ? nil : Array(room.prefix(count))
  }

  static func set(_ file: CInt, _ name: String, _ value: [UInt8]) -> Int {
    var value = value
    return call(SYS_fsetxattr, file, name, &value)
  }

  static func remove(_ file: CInt, _ name: String) -> Int {
    var nothing: [UInt8] = []
    return call(SYS_fremovexattr, file, name, &nothing)
  }

  private static func call(_ number: CInt, _ file: CInt, _ name: String, _ room: inout [UInt8]) -> Int {
    let size = room.count
    return name.withCString { name in
      room.withUnsafeMutableBytes { room in
        lt_call(Int(number), Int(file), Int(bitPattern: name), Int(bitPattern: room.baseAddress), size, 0, 0)
      }
    }
  }
}
